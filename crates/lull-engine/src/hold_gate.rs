//! The hold gate: the whole job leaves the CPUs. Counts what it does.
//!
//! | `--hold` | how | what the job sees |
//! |---|---|---|
//! | `quota` | the CPU quota of its control group ([`lull_linux::cgroup::Quota`]) | nothing: it is slow, 100 ms at a stretch at most |
//! | `freeze` | the group's freezer; without one, signals that stop and continue each process | blocking calls end early, with part of their work or EINTR |
//!
//! Where the group has no quota, a job that nobody asked to be frozen is not held: the request gate and the idle class are left.

use std::sync::Arc;

use lull_core::Nanos;
use lull_linux::cgroup::{JobGroup, Quota};
use lull_linux::clock;
use lull_linux::gate::stop::Stopper;
use lull_linux::job::shared::Shared;

use crate::job_processes::JobProcesses;
use crate::memory::leftover::Leftover;

/// Finding and signalling every process costs milliseconds: between two holds so many times what the last one took.
const SIGNAL_SPACING: Nanos = Nanos(20);

/// How the whole job is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HoldBy {
    /// By a quota of CPU time, which interrupts no call.
    #[default]
    Quota,
    /// By the freezer, or by stop signals: exact, but blocking calls of the job end early.
    Freeze,
}

/// See the module.
pub struct HoldGate {
    group: Option<JobGroup>,
    way: Way,
    held_since: Option<Nanos>,
    count: u64,
    total: Nanos,
}

enum Way {
    Quota(Quota),
    Freezer,
    Signals(Signals),
    None,
}

/// The way without a group.
struct Signals {
    stopper: Stopper,
    job_processes: JobProcesses,
    /// Not again before.
    due: Nanos,
}

impl Signals {
    fn hold(&mut self, now: Nanos) -> bool {
        if now < self.due {
            return false;
        }
        self.stopper.hold(|| self.job_processes.pids());
        let after = clock::now();
        self.due = after.plus(after.since(now).times(SIGNAL_SPACING.0));
        self.stopper.is_holding()
    }
}

impl HoldGate {
    /// Holds `group`, or if there is none and it may be frozen the processes of `job_processes`; who is stopped is listed in `shared`.
    pub fn new(
        choice: HoldBy,
        group: Option<JobGroup>,
        job_processes: JobProcesses,
        shared: Arc<Shared>,
    ) -> Self {
        let way = match choice {
            HoldBy::Quota => group.as_ref().and_then(JobGroup::quota).map_or(Way::None, Way::Quota),
            HoldBy::Freeze if group.as_ref().is_some_and(JobGroup::can_freeze) => Way::Freezer,
            HoldBy::Freeze => {
                Way::Signals(Signals { stopper: Stopper::new(shared), job_processes, due: Nanos::ZERO })
            }
        };
        Self { group, way, held_since: None, count: 0, total: Nanos::ZERO }
    }

    /// The job's group.
    pub fn group(&self) -> Option<&JobGroup> {
        self.group.as_ref()
    }

    /// Can the job be held?
    pub const fn can_hold(&self) -> bool {
        !matches!(self.way, Way::None)
    }

    /// Can it be held for milliseconds, by one write?
    pub const fn is_prompt(&self) -> bool {
        matches!(self.way, Way::Quota(_) | Way::Freezer)
    }

    /// Whether the job is held.
    pub fn is_held(&self) -> bool {
        self.held_since.is_some()
    }

    /// How often it was held.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// For how long in all, the present hold included.
    pub fn total(&self, now: Nanos) -> Nanos {
        self.total.plus(self.held_since.map_or(Nanos::ZERO, |since| now.since(since)))
    }

    /// How long it was held by its quota, which the kernel counts as a want of CPUs.
    pub fn total_by_quota(&self, now: Nanos) -> Nanos {
        if matches!(self.way, Way::Quota(_)) { self.total(now) } else { Nanos::ZERO }
    }

    /// Holds or lets go. A group that refuses to be held is left alone; letting go is tried again at the end.
    pub fn set(&mut self, now: Nanos, held: bool) {
        match (held, self.held_since) {
            (true, None) if self.hold(now) => {
                self.held_since = Some(now);
                self.count += 1;
            }
            (false, Some(since)) if self.release() => {
                self.total = self.total.plus(now.since(since));
                self.held_since = None;
            }
            _ => {}
        }
    }

    fn hold(&mut self, now: Nanos) -> bool {
        match (&mut self.way, &self.group) {
            (Way::Quota(quota), _) => quota.hold().is_ok(),
            (Way::Freezer, Some(group)) => group.freeze().is_ok(),
            (Way::Signals(signals), _) => signals.hold(now),
            (Way::Freezer, None) | (Way::None, _) => false,
        }
    }

    fn release(&mut self) -> bool {
        match (&mut self.way, &self.group) {
            (Way::Quota(quota), _) => quota.release().is_ok(),
            (Way::Freezer, Some(group)) => group.thaw().is_ok(),
            (Way::Signals(signals), _) => {
                signals.stopper.release();
                true
            }
            (Way::Freezer, None) | (Way::None, _) => false,
        }
    }

    /// Whether no process of the job is left; true without a group.
    pub fn is_empty(&self) -> bool {
        is_empty(self.group.as_ref())
    }

    /// Lets the job go, and gives its group away: nothing is held from then on.
    pub fn give_up(mut self) -> Option<JobGroup> {
        self.release();
        self.group
    }

    /// Lets the job go, and removes the group if it is empty.
    pub fn finish(self, leftover: &Leftover) {
        remove_if_empty(self.group, leftover);
    }
}

/// Whether no process is left in the group; true without one, and when another of lull's processes has removed it.
pub fn is_empty(group: Option<&JobGroup>) -> bool {
    group.is_none_or(|group| group.procs().map_or(true, |procs| procs.is_empty()))
}

/// Removes a job's group, and what it may not leave in memory, unless processes of the job live on in it; those keep it,
/// free of any hold, until the guardian finds it empty.
pub fn remove_if_empty(group: Option<JobGroup>, leftover: &Leftover) {
    let Some(group) = group else { return };
    let _ = group.relieve();
    if group.procs().is_ok_and(|procs| procs.is_empty()) {
        leftover.from(&group);
        // The guardian tries again.
        let _ = group.remove();
    }
}

#[cfg(test)]
mod tests;
