//! The ways to run background work that are compared: [`known`] has them in a table.
//!
//! `lull FLAGS` is one more contender for each further set of flags; `lull-now` is `lull run --resources
//! disk,cpu,memory`, which manages memory from the job's beginning on, not once it is large.

use std::ffi::OsString;
use std::path::Path;

use lull_core::Nanos;
use lull_linux::root::Root;
use lull_linux::topology::cpus::CpuSet;

use crate::Error;
use crate::netbed::Queue;
use crate::process::{Options, Proc, Program, shown, words};

pub mod congestion;
pub mod group;
pub mod headroom;
pub mod known;
pub mod quota;
pub mod restorer;
pub mod scheduler;
pub mod setting;
pub mod suspend;
pub mod ticker;
mod top;

use group::{CpuGroup, Purpose};
pub use known::{CONFINED, rank};
use known::{Known, NOW};
pub use top::Class;

/// One way to run background work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contender {
    /// No background.
    Alone,
    /// No background, once more.
    Again,
    /// No foreground.
    Solo,
    /// No control.
    Unmanaged,
    /// `nice -n 19 ionice -c 3`.
    NiceIonice,
    /// The same under the BFQ scheduler.
    Bfq,
    /// `chrt -i 0 ionice -c 3`.
    Idle,
    /// `nice -n 19`.
    Nice,
    /// `chrt -i 0`.
    SchedIdle,
    /// A control group with `cpu.idle`.
    CpuIdle,
    /// A class in a control group at the top of the tree.
    InForce {
        /// Which.
        class: Class,
        /// Whether the first CPU is left to the foreground.
        confined: bool,
    },
    /// Control groups with the least weight on CPUs and disks.
    Cgroup,
    /// The same under the BFQ scheduler.
    CgroupBfq,
    /// A control group with a quota that is adapted.
    Headroom,
    /// `cpulimit` at half of every CPU.
    CpuLimit,
    /// DSCP Lower Effort, set by the job itself.
    Marked,
    /// The same, and a link that sends marked packets last.
    Priority,
    /// A rate that the job keeps to.
    FixedRate,
    /// One of the kernel's congestion controls.
    Congestion(&'static str),
    /// A control group with a memory limit.
    MemoryLimit,
    /// A job that cleans the page cache behind itself.
    NoCache,
    /// A small bound on what may be dirty on the whole machine.
    DirtyBytes,
    /// Frozen every other second.
    Suspend,
    /// `lull run` with this policy.
    Policy(&'static str),
    /// `lull run` with these flags.
    Lull(Vec<String>),
}

/// A name that is no contender's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a contender here; choose from {choice}")]
pub struct UnknownContender {
    text: String,
    choice: String,
}

impl Contender {
    /// Memory managed from the job's beginning on, with further flags; without any it is `lull-now`.
    pub fn lull_now(more: impl IntoIterator<Item = String>) -> Self {
        Self::Lull(NOW.map(str::to_owned).into_iter().chain(more).collect())
    }

    /// By its name, among those of an experiment: one of [`known`]'s numbers.
    pub fn among(experiment: u8) -> impl Fn(&str) -> Result<Self, UnknownContender> + Clone {
        move |text| {
            if experiment == known::MEMORY && text == "lull-now" {
                return Ok(Self::lull_now([]));
            }
            let here = || known::of(experiment);
            here().find(|known| known.name == text).map(|known| known.contender.clone()).ok_or_else(|| {
                let choice = here().map(|known| known.name).collect::<Vec<_>>().join(", ");
                UnknownContender { text: text.to_owned(), choice }
            })
        }
    }

    fn known(&self) -> Option<&'static Known> {
        known::all().find(|known| known.contender == *self)
    }

    /// Whether it is a `lull run`, of whatever policy.
    pub const fn is_run(&self) -> bool {
        matches!(self, Self::Policy(_) | Self::Lull(_))
    }

    /// Whether it adapts to what it measures, so that what it does at first says little.
    pub const fn learns(&self) -> bool {
        self.is_run() || matches!(self, Self::Headroom)
    }

    /// The flag that chooses its policy, if it is a run of another one than lull's own; `window` is smart's.
    pub fn policy_flags(&self, window: Nanos) -> Option<[String; 2]> {
        let Self::Policy(name) = self else { return None };
        let policy = if *name == "smart" { format!("smart:{window}") } else { (*name).to_owned() };
        Some(["--policy".to_owned(), policy])
    }

    /// Whether the job marks its packets itself.
    pub fn marks(&self) -> bool {
        matches!(self, Self::Marked | Self::Priority)
    }

    /// In which order the link sends.
    pub fn link_queue(&self) -> Queue {
        if *self == Self::Priority { Queue::LowerEffortLast } else { Queue::Shared }
    }

    /// The name in records and tables.
    pub fn name(&self) -> String {
        match (self, self.known()) {
            (_, Some(known)) => known.name.to_owned(),
            (Self::Lull(flags), None) if *flags == NOW => "lull-now".to_owned(),
            (Self::Lull(flags), None) => format!("lull {}", flags.join(" ")),
            (other, None) => format!("{other:?}"),
        }
    }

    /// Whether the foreground runs.
    pub fn has_foreground(&self) -> bool {
        *self != Self::Solo
    }

    /// Whether the background runs.
    pub fn has_background(&self) -> bool {
        !matches!(self, Self::Alone | Self::Again)
    }

    /// The disk scheduler that it needs.
    pub fn scheduler(&self) -> Option<&'static str> {
        matches!(self, Self::Bfq | Self::CgroupBfq).then_some("bfq")
    }

    /// What its control group is for, if it needs one.
    fn purpose(&self) -> Option<Purpose> {
        match self {
            Self::CpuIdle => Some(Purpose::Idle),
            Self::InForce { class, .. } => Some(Purpose::Top(*class)),
            Self::Cgroup | Self::CgroupBfq => Some(Purpose::Least),
            Self::Headroom => Some(Purpose::Quota),
            Self::Suspend => Some(Purpose::Freeze),
            _ => None,
        }
    }

    /// Makes the control group that it needs, if any; it goes when dropped.
    pub fn group(&self) -> Result<Option<CpuGroup>, Error> {
        self.purpose().map(CpuGroup::create).transpose()
    }

    /// The command line that runs `job` this way; one that needs a control group wraps it further
    /// ([`CpuGroup::wrap`]).
    pub fn wrap(&self, job: Vec<OsString>, program: &Program) -> Vec<OsString> {
        let before = match self {
            Self::Lull(flags) => program.run_argv(flags),
            Self::Policy(name) => program.run_argv(&["--policy".to_owned(), (*name).to_owned()]),
            Self::CpuLimit => {
                let half = 50 * std::thread::available_parallelism().map_or(1, usize::from);
                words(&format!("cpulimit -q -f -m -l {half} --"))
            }
            _ => words(self.known().map_or("", |known| known.before)),
        };
        let mut argv = match self {
            Self::InForce { confined: true, .. } => words(&format!("taskset -c {}", all_but_the_first())),
            _ => Vec::new(),
        };
        argv.extend(before);
        argv.extend(job);
        argv
    }

    /// What keeps it from running here: a missing tool, right, scheduler or congestion control. `disk` is the
    /// name under `/sys/block`.
    pub fn obstacle(&self, disk: Option<&str>, program: &Program) -> Option<String> {
        if let Some(wanted) = self.scheduler() {
            let Some(disk) = disk else {
                return Some(
                    "no single disk is behind the directory, so no scheduler can be selected".to_owned(),
                );
            };
            if let Some(problem) = scheduler::obstacle(Path::new(scheduler::SYS_BLOCK), disk, wanted) {
                return Some(problem);
            }
        }
        if matches!(self, Self::InForce { confined: true, .. }) && all_but_the_first().is_empty() {
            return Some("there is one CPU only".to_owned());
        }
        if let Self::Congestion(name) = self {
            return congestion::obstacle(name);
        }
        // The cheapest question that answers everything else: does `true` run this way?
        let group = match self.group() {
            Ok(group) => group,
            Err(error) => return Some(error.to_string()),
        };
        let argv = CpuGroup::wrap_in(group.as_ref(), self.wrap(words("true"), program));
        let tried = Proc::spawn(&argv, Options::default()).and_then(|(mut process, _stdout)| {
            let exit = process.wait()?;
            if exit.status.success() { Ok(()) } else { Err(process.failed(&exit.status.to_string())) }
        });
        tried.err().map(|error| error.to_string())
    }

    /// One line for reports: the name and the command.
    pub fn about(&self, program: &Program) -> String {
        let command = match self {
            Self::Alone | Self::Again => "no background".to_owned(),
            Self::Solo => "no foreground".to_owned(),
            Self::CpuIdle => "CMD in a control group with cpu.idle = 1".to_owned(),
            Self::Cgroup | Self::CgroupBfq => {
                "CMD in control groups with the least weight on CPUs and disks".to_owned()
            }
            Self::Headroom => "CMD in a control group whose quota is adapted".to_owned(),
            Self::MemoryLimit => "CMD in a control group with a memory limit".to_owned(),
            Self::Suspend => "CMD in a control group that is frozen every other second".to_owned(),
            _ => shown(&self.wrap(words("CMD"), program)),
        };
        let place = match self {
            Self::InForce { class: Class::Idle, .. } => ", in a top-level control group with cpu.idle = 1",
            Self::InForce { class: Class::Nice, .. } => {
                ", in a top-level control group with the least weight"
            }
            _ => "",
        };
        match self.scheduler() {
            Some(scheduler) => format!("{}: {command}, scheduler {scheduler}", self.name()),
            None => format!("{}: {command}{place}", self.name()),
        }
    }
}

/// The CPUs of a job that leaves one to the foreground.
fn all_but_the_first() -> CpuSet {
    CpuSet::online(&Root::real()).iter().skip(1).collect()
}

#[cfg(test)]
mod tests;
