//! The ways to run background work that are compared.
//!
//! | name | command |
//! |---|---|
//! | `alone` | the foreground with no background: the reference for latency and foreground throughput |
//! | `again` | `alone` a second time in the round: how far its ratios are from 1 is the noise |
//! | `solo` | the background with no foreground: the reference for background work |
//! | `none` | the background without any control |
//! | `nice+ionice` | `nice -n 19 ionice -c 3 CMD` |
//! | `bfq` | the same, with the disk's scheduler set to BFQ for that run |
//! | `idle` | `chrt -i 0 ionice -c 3 CMD` (SCHED_IDLE) |
//! | `nice` | `nice -n 19 CMD` |
//! | `sched-idle` | `chrt -i 0 CMD` |
//! | `cpu.idle` | `CMD` in a control group whose `cpu.idle` is 1 ([`group`]) |
//! | `idle-group` | `chrt -i 0 ionice -c 3 CMD` in a control group at the top of the tree with `cpu.idle` = 1: the idle class in force (`top`) |
//! | `nice-group` | `nice -n 19 ionice -c 3 CMD` in such a group with the least weight |
//! | `confined`, `confined-nice` | the same two under `taskset`, on all CPUs but the first |
//! | `cgroup` | `CMD` in control groups with `cpu.idle`, or the least weight, and the least I/O weight |
//! | `cgroup-bfq` | the same, with the disk's scheduler set to BFQ for that run, where I/O weights have an effect |
//! | `headroom` | `CMD` in a control group whose quota follows what the others leave ([`headroom`]) |
//! | `cpulimit` | `cpulimit -q -f -m -l 50N -- CMD` for N CPUs: together as much as half of every CPU |
//! | `dscp` | CMD marks its packets DSCP Lower Effort |
//! | `htb` | the same, on a link with two strict priorities (HTB) |
//! | `rate` | CMD keeps to a quarter of the link's rate |
//! | `bbr`, `cubic`, `lp`, `vegas` | CMD uses this TCP congestion control, if the kernel has it ([`congestion`]) |
//! | `limit` | CMD in a memory control group that is limited to what the foreground leaves |
//! | `nocache` | CMD throws what it has read or written out of the page cache (POSIX_FADV_DONTNEED), whoever else uses it |
//! | `dirty-bytes` | `nice+ionice` with `vm.dirty_bytes` set to 64 MiB for that run |
//! | `suspend` | `CMD` in a control group that is frozen every other second ([`suspend`]) |
//! | `smart` | `lull run --policy smart:WINDOW -- CMD` |
//! | `manners` | `lull run --policy manners -- CMD` |
//! | `lull` | `lull run -- CMD`; `lull FLAGS` for each further set of flags |
//! | `lull-now` | `lull run --resources disk,cpu,memory -- CMD`: memory from the job's beginning on, not once it is large |
//!
//! `bfq` and those with `ionice` belong to the experiments on disks; `nice`, `sched-idle`, `cpu.idle`, `headroom` and
//! `cpulimit` to those on the CPU, `idle-group` to `confined-nice` to these and those with real applications, `dscp` to `vegas` to those on the network, `limit` to `dirty-bytes` to those on
//! memory, `smart` and `manners` to those on the CPU and with real applications, `cgroup`, `cgroup-bfq` and `suspend` to the latter;
//! `again` to all but those on disks.

use std::ffi::OsString;
use std::path::Path;

use lull_core::Nanos;
use lull_linux::root::Root;
use lull_linux::topology::cpus::CpuSet;

use crate::Error;
use crate::netbed::Queue;
use crate::process::{Options, Proc, Program, shown};

pub mod congestion;
pub mod group;
pub mod headroom;
pub mod keeper;
pub mod scheduler;
pub mod setting;
pub mod suspend;
mod top;

use group::{Class, CpuGroup, Use};

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

const IDLE_GROUP: Contender = Contender::InForce { class: Class::Idle, confined: false };
const NICE_GROUP: Contender = Contender::InForce { class: Class::Nice, confined: false };
/// The idle class in force, on all CPUs but the first.
pub const CONFINED: Contender = Contender::InForce { class: Class::Idle, confined: true };
const CONFINED_NICE: Contender = Contender::InForce { class: Class::Nice, confined: true };

/// The contenders of the experiments on disks, in the order of tables.
static DISK: [Contender; 7] = [
    Contender::Alone,
    Contender::Solo,
    Contender::Unmanaged,
    Contender::NiceIonice,
    Contender::Bfq,
    Contender::Idle,
    Contender::Lull(Vec::new()),
];

/// Those of the experiments on the CPU.
static CPU: [Contender; 16] = [
    Contender::Alone,
    Contender::Again,
    Contender::Solo,
    Contender::Unmanaged,
    Contender::Nice,
    Contender::SchedIdle,
    Contender::CpuIdle,
    IDLE_GROUP,
    NICE_GROUP,
    CONFINED,
    CONFINED_NICE,
    Contender::Headroom,
    Contender::CpuLimit,
    Contender::Policy("smart"),
    Contender::Policy("manners"),
    Contender::Lull(Vec::new()),
];

/// Those of the experiments on the network.
static NET: [Contender; 12] = [
    Contender::Alone,
    Contender::Again,
    Contender::Solo,
    Contender::Unmanaged,
    Contender::Marked,
    Contender::Priority,
    Contender::FixedRate,
    Contender::Congestion("bbr"),
    Contender::Congestion("cubic"),
    Contender::Congestion("lp"),
    Contender::Congestion("vegas"),
    Contender::Lull(Vec::new()),
];

/// Those of the experiments on memory.
static MEMORY: [Contender; 10] = [
    Contender::Alone,
    Contender::Again,
    Contender::Solo,
    Contender::Unmanaged,
    Contender::NiceIonice,
    Contender::Bfq,
    Contender::MemoryLimit,
    Contender::NoCache,
    Contender::DirtyBytes,
    Contender::Lull(Vec::new()),
];

/// Those of the experiments with real applications.
static APPS: [Contender; 19] = [
    Contender::Alone,
    Contender::Again,
    Contender::Solo,
    Contender::Unmanaged,
    Contender::Nice,
    Contender::NiceIonice,
    Contender::Bfq,
    Contender::Idle,
    IDLE_GROUP,
    NICE_GROUP,
    CONFINED,
    CONFINED_NICE,
    Contender::Cgroup,
    Contender::CgroupBfq,
    Contender::Suspend,
    Contender::Headroom,
    Contender::Policy("smart"),
    Contender::Policy("manners"),
    Contender::Lull(Vec::new()),
];

fn parse(text: &str, known: &[Contender]) -> Result<Contender, UnknownContender> {
    known.iter().find(|contender| contender.name() == text).cloned().ok_or_else(|| UnknownContender {
        text: text.to_owned(),
        choice: known.iter().map(Contender::name).collect::<Vec<_>>().join(", "),
    })
}

/// Where a name stands in tables: references first, lull and its variants last.
pub fn rank(name: &str) -> usize {
    const REFERENCES: [Contender; 3] = [Contender::Alone, Contender::Again, Contender::Solo];
    let is_lull = |contender: &&Contender| matches!(contender, Contender::Lull(_));
    let known = REFERENCES
        .iter()
        .chain(&DISK)
        .chain(&CPU)
        .chain(&NET)
        .chain(&MEMORY)
        .chain(&APPS)
        .filter(|contender| !is_lull(contender));
    let last = known.clone().count();
    let place = known.clone().position(|contender| contender.name() == name);
    place.unwrap_or(if name == "lull" { last } else { last + 1 })
}

/// Flags of the contender `lull-now`.
const NOW: [&str; 2] = ["--resources", "disk,cpu,memory"];

impl Contender {
    /// Memory managed from the job's beginning on, with further flags; without any it is `lull-now`.
    pub fn lull_now(more: impl IntoIterator<Item = String>) -> Self {
        Self::Lull(NOW.map(str::to_owned).into_iter().chain(more).collect())
    }

    /// By its name, among those of the experiments on disks.
    pub fn of_disk(text: &str) -> Result<Self, UnknownContender> {
        parse(text, &DISK)
    }

    /// By its name, among those of the experiments on the CPU.
    pub fn of_cpu(text: &str) -> Result<Self, UnknownContender> {
        parse(text, &CPU)
    }

    /// By its name, among those of the experiments on the network.
    pub fn of_net(text: &str) -> Result<Self, UnknownContender> {
        parse(text, &NET)
    }

    /// By its name, among those of the experiments on memory.
    pub fn of_memory(text: &str) -> Result<Self, UnknownContender> {
        if text == "lull-now" { Ok(Self::lull_now([])) } else { parse(text, &MEMORY) }
    }

    /// By its name, among those of the experiments with real applications.
    pub fn of_apps(text: &str) -> Result<Self, UnknownContender> {
        parse(text, &APPS)
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
        match self {
            Self::Alone => "alone".to_owned(),
            Self::Again => "again".to_owned(),
            Self::Solo => "solo".to_owned(),
            Self::Unmanaged => "none".to_owned(),
            Self::NiceIonice => "nice+ionice".to_owned(),
            Self::Bfq => "bfq".to_owned(),
            Self::Idle => "idle".to_owned(),
            Self::Nice => "nice".to_owned(),
            Self::SchedIdle => "sched-idle".to_owned(),
            Self::CpuIdle => "cpu.idle".to_owned(),
            Self::InForce { class: Class::Idle, confined: false } => "idle-group".to_owned(),
            Self::InForce { class: Class::Nice, confined: false } => "nice-group".to_owned(),
            Self::InForce { class: Class::Idle, confined: true } => "confined".to_owned(),
            Self::InForce { class: Class::Nice, confined: true } => "confined-nice".to_owned(),
            Self::Cgroup => "cgroup".to_owned(),
            Self::CgroupBfq => "cgroup-bfq".to_owned(),
            Self::Headroom => "headroom".to_owned(),
            Self::CpuLimit => "cpulimit".to_owned(),
            Self::Marked => "dscp".to_owned(),
            Self::Priority => "htb".to_owned(),
            Self::FixedRate => "rate".to_owned(),
            Self::Congestion(name) => (*name).to_owned(),
            Self::MemoryLimit => "limit".to_owned(),
            Self::NoCache => "nocache".to_owned(),
            Self::DirtyBytes => "dirty-bytes".to_owned(),
            Self::Suspend => "suspend".to_owned(),
            Self::Policy(name) => (*name).to_owned(),
            Self::Lull(flags) if flags.is_empty() => "lull".to_owned(),
            Self::Lull(flags) if *flags == NOW => "lull-now".to_owned(),
            Self::Lull(flags) => format!("lull {}", flags.join(" ")),
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
    fn group_use(&self) -> Option<Use> {
        match self {
            Self::CpuIdle => Some(Use::Idle),
            Self::InForce { class, .. } => Some(Use::Top(*class)),
            Self::Cgroup | Self::CgroupBfq => Some(Use::Least),
            Self::Headroom => Some(Use::Quota),
            Self::Suspend => Some(Use::Freeze),
            _ => None,
        }
    }

    /// Makes the control group that it needs, if any; it goes when dropped.
    pub fn group(&self) -> Result<Option<CpuGroup>, Error> {
        self.group_use().map(CpuGroup::create).transpose()
    }

    /// The command line that runs `job` this way; one that needs a control group wraps it further
    /// ([`CpuGroup::wrap`]).
    pub fn wrap(&self, job: Vec<OsString>, program: &Program) -> Vec<OsString> {
        let mut argv: Vec<OsString> = match self {
            Self::Alone | Self::Again | Self::Solo | Self::Unmanaged => Vec::new(),
            Self::CpuIdle | Self::Headroom | Self::Suspend | Self::Cgroup | Self::CgroupBfq => Vec::new(),
            Self::Marked | Self::Priority | Self::FixedRate | Self::Congestion(_) => Vec::new(),
            Self::MemoryLimit | Self::NoCache => Vec::new(),
            Self::NiceIonice | Self::Bfq | Self::DirtyBytes => {
                words(&["nice", "-n", "19", "ionice", "-c", "3"])
            }
            Self::Idle => words(&["chrt", "-i", "0", "ionice", "-c", "3"]),
            Self::Nice => words(&["nice", "-n", "19"]),
            Self::SchedIdle => words(&["chrt", "-i", "0"]),
            Self::InForce { class, confined } => {
                let mut all = if *confined {
                    words(&["taskset", "-c", &all_but_the_first().to_string()])
                } else {
                    Vec::new()
                };
                all.extend(match class {
                    Class::Idle => words(&["chrt", "-i", "0", "ionice", "-c", "3"]),
                    Class::Nice => words(&["nice", "-n", "19", "ionice", "-c", "3"]),
                });
                all
            }
            Self::CpuLimit => {
                let half = 50 * std::thread::available_parallelism().map_or(1, usize::from);
                words(&["cpulimit", "-q", "-f", "-m", "-l", &half.to_string(), "--"])
            }
            Self::Policy(name) => program.run_argv(&["--policy".to_owned(), (*name).to_owned()]),
            Self::Lull(flags) => program.run_argv(flags),
        };
        argv.extend(job);
        argv
    }

    /// What keeps it from running here: a missing tool, right, scheduler or congestion control. `disk` is the name under `/sys/block`.
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
        let mut argv = self.wrap(words(&["true"]), program);
        if let Some(group) = &group {
            argv = group.wrap(argv);
        }
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
            _ => shown(&self.wrap(words(&["CMD"]), program)),
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

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests;
