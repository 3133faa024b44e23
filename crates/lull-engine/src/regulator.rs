//! The policies that hold the whole job, and know nothing of requests: `smart` and `manners`, fed from `/proc`.
//!
//! ```text
//!  /proc/PID/stat of all others            ──▶ Smart   ─┐
//!                                                       ├─▶ held ──▶ hold gate
//!  /proc/PID/io, /proc/PID/stat of the job ──▶ Manners ─┘
//! ```
//!
//! `smart` wants the foreground's processor time. Processes fall in three groups (S-4): the job; kernel threads and lull itself, which are
//! neither; the foreground, all others. Processes that come and go within a window count once they are waited for. The machine's
//! own count, `/proc/stat`, would miss a foreground that wakes in step with the kernel's ticks. With `--protect PID` only those
//! processes and what descends from them count. Once per window it also looks at which programs the foreground consists of: when one
//! that matters comes, goes or is replaced ([`lull_core::rivals::smart::change`]), everything is learnt anew (S-3).
//!
//! `manners` wants the job's progress, of programs that do not tell it: the processor time that its processes have used, and
//! the bytes that their calls moved. Mapped files and the quality of what was computed are not in it.
//!
//! When the supervisor dies, the guardian lets go, as for every hold.

use lull_core::{
    Change, ChangeWatch, Character, HoldAction, Manners, MannersSetting, MannersState, Nanos, Progress, Seen,
    Smart, SmartSetting, SmartState,
};
use lull_linux::sense::processes;

use crate::job_processes::{self, JobProcesses};
use crate::report::Report;
use crate::report::status::Status;
use crate::resource::Resource;

enum Kind {
    Smart(Box<Learner>),
    Manners(Manners),
}

/// `smart`, and what tells it to learn anew.
struct Learner {
    smart: Smart,
    watch: ChangeWatch,
    /// How often the foreground has become another one, and how it did so last.
    changes: u64,
    latest: Option<Change>,
}

impl Learner {
    fn new(smart: Smart) -> Self {
        Self { smart, watch: ChangeWatch::new(), changes: 0, latest: None }
    }

    fn step(&mut self, now: Nanos, job_processes: &JobProcesses, protected: &[i32]) -> Option<HoldAction> {
        let learning = self.smart.state().is_learning();
        let foreground = foreground(job_processes, protected);
        if let Some(change) = self.watch.look(now, &applications(&foreground), learning) {
            self.smart.restart();
            self.changes += 1;
            self.latest = Some(change);
        }
        self.smart.step(now, processes::time_of_programs(&foreground))
    }

    fn doing(&self) -> String {
        match (self.smart.state(), &self.latest) {
            (SmartState::Alone, Some(change)) => {
                format!("smart: held, to learn the foreground anew, as {change}")
            }
            (SmartState::Alone, None) => "smart: held, to learn the foreground alone".to_owned(),
            (SmartState::Beside, _) => "smart: running, to learn the foreground beside the job".to_owned(),
            (SmartState::Active, _) => "smart: running, the foreground is calm".to_owned(),
            (SmartState::Suspended, _) => "smart: held, the foreground is busy".to_owned(),
        }
    }

    fn learnt(&self) -> String {
        let anew = match &self.latest {
            Some(change) => format!("; learnt anew {} times, last as {change}", self.changes),
            None => String::new(),
        };
        match self.smart.character() {
            None => format!("smart: ended before the foreground was learnt{anew}"),
            Some([alone, beside]) => format!(
                "smart: the foreground uses {} alone, {} beside the job{anew}",
                character(alone),
                character(beside)
            ),
        }
    }
}

/// Which of them.
#[derive(Clone, Copy, Debug)]
pub enum Regulation {
    /// Held in the foreground's busy periods.
    Smart(SmartSetting),
    /// Held when its own progress falls.
    Manners(MannersSetting),
}

/// See the module.
pub struct Regulator {
    kind: Kind,
    job_processes: JobProcesses,
    /// Who alone is foreground; empty: everybody.
    protected: Vec<i32>,
    held: bool,
}

impl Regulator {
    /// `protected`: who alone is foreground; empty: everybody but the job.
    pub fn new(regulation: Regulation, protected: &[u32], job_processes: &JobProcesses) -> Self {
        let kind = match regulation {
            Regulation::Smart(setting) => Kind::Smart(Box::new(Learner::new(Smart::new(setting)))),
            Regulation::Manners(setting) => Kind::Manners(Manners::new(setting)),
        };
        let protected = protected.iter().filter_map(|pid| i32::try_from(*pid).ok()).collect();
        Self { kind, job_processes: job_processes.clone(), protected, held: false }
    }

    /// Asks the policy if it is time; returns when to ask again.
    fn ask(&mut self, now: Nanos) -> Nanos {
        if self.next(now) <= now {
            let action = match &mut self.kind {
                Kind::Smart(learner) => learner.step(now, &self.job_processes, &self.protected),
                Kind::Manners(manners) => {
                    let (progress, wants) = progress(&self.job_processes);
                    manners.step(now, progress, wants)
                }
            };
            self.held = match action {
                Some(HoldAction::Hold) => true,
                Some(HoldAction::Release) => false,
                None => self.held,
            };
        }
        self.next(now)
    }

    fn next(&self, now: Nanos) -> Nanos {
        match &self.kind {
            Kind::Smart(learner) => learner.smart.next_wake(now),
            Kind::Manners(manners) => manners.next_wake(now),
        }
    }

    /// What it is doing, for the status line.
    fn doing(&self) -> String {
        match &self.kind {
            Kind::Smart(learner) => learner.doing(),
            Kind::Manners(manners) => match manners.state() {
                MannersState::Calibrating => "manners: running, to learn its usual progress".to_owned(),
                MannersState::Resting => "manners: held, on probation".to_owned(),
                MannersState::Watching => "manners: running, progress as usual".to_owned(),
                MannersState::Suspended => "manners: held, its progress had fallen".to_owned(),
            },
        }
    }

    /// What it has learnt, for the summary.
    fn learnt(&self) -> String {
        match &self.kind {
            Kind::Smart(learner) => learner.learnt(),
            Kind::Manners(manners) => match manners.state() {
                MannersState::Calibrating | MannersState::Resting => {
                    "manners: ended before its usual progress was learnt".to_owned()
                }
                _ => format!("manners: the next suspension would last {}", manners.backoff()),
            },
        }
    }
}

impl Resource for Regulator {
    fn turn(&mut self, now: Nanos, _was_held: bool) -> Option<Nanos> {
        Some(self.ask(now))
    }

    fn wants_hold(&self) -> bool {
        self.held
    }

    fn status(&self, _now: Nanos, status: &mut Status) {
        status.regulation = Some(self.doing());
    }

    fn report(&self, _now: Nanos, report: &mut Report) {
        report.regulation = Some(self.learnt());
    }

    fn end(&mut self, _now: Nanos) {
        self.held = false;
    }
}

fn character(character: Character) -> String {
    format!("{:.2} CPUs in waves of {:.1} windows", character.mean, character.burst)
}

/// The processes of the foreground, kernel threads among them: neither the job nor lull itself.
fn foreground(job_processes: &JobProcesses, protected: &[i32]) -> Vec<i32> {
    let belongs =
        |pid: &i32| protected.is_empty() || protected.iter().any(|root| job_processes::descends(*pid, *root));
    job_processes.others().into_iter().filter(belongs).collect()
}

/// Its programs.
fn applications(foreground: &[i32]) -> Vec<Seen> {
    let seen =
        |program: processes::Program| Seen { pid: program.pid, application: program.name, busy: program.cpu };
    processes::programs(foreground).into_iter().map(seen).collect()
}

/// What the job has done, and whether it wants to do more.
fn progress(job_processes: &JobProcesses) -> (Progress, bool) {
    let used = processes::usage(&job_processes.pids());
    let cpu = job_processes.cpu_time().unwrap_or(used.cpu);
    (Progress { cpu, io_bytes: used.io_bytes }, used.wants)
}

#[cfg(test)]
mod tests;
