//! The hold gate: the job's control group, frozen and thawed; without one that can be, its processes stopped and continued by
//! signals. Counts what it does.

use std::sync::Arc;

use lull_core::Nanos;
use lull_linux::cgroup::JobGroup;
use lull_linux::clock;
use lull_linux::gate::stop::Stopper;
use lull_linux::job::shared::Shared;

use super::family::Family;
use super::memory::shed::Shed;

/// Finding and signalling every process costs milliseconds: between two holds so many times what the last one took.
const SIGNAL_SPACING: Nanos = Nanos(20);

pub(crate) struct Freezer {
    group: Option<JobGroup>,
    signals: Option<Signals>,
    frozen_since: Option<Nanos>,
    count: u64,
    total: Nanos,
}

/// The way without a group.
struct Signals {
    stopper: Stopper,
    family: Family,
    /// Not again before.
    due: Nanos,
}

impl Signals {
    fn hold(&mut self, now: Nanos) -> bool {
        if now < self.due {
            return false;
        }
        self.stopper.hold(|| self.family.pids());
        let after = clock::now();
        self.due = after.plus(after.since(now).times(SIGNAL_SPACING.0));
        self.stopper.is_holding()
    }
}

impl Freezer {
    /// Freezes `group`, or if there is none that can be frozen stops the processes of `family`; who is stopped is listed in
    /// `shared`.
    pub(crate) fn new(group: Option<JobGroup>, family: Family, shared: Arc<Shared>) -> Self {
        let signals = (!group.as_ref().is_some_and(JobGroup::can_freeze)).then(|| Signals {
            stopper: Stopper::new(shared),
            family,
            due: Nanos::ZERO,
        });
        Self { group, signals, frozen_since: None, count: 0, total: Nanos::ZERO }
    }

    pub(crate) fn group(&self) -> Option<&JobGroup> {
        self.group.as_ref()
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen_since.is_some()
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn total(&self, now: Nanos) -> Nanos {
        self.total.plus(self.frozen_since.map_or(Nanos::ZERO, |since| now.since(since)))
    }

    /// Freezes or thaws. A group that refuses to freeze is left alone; thawing is tried again at the end.
    pub(crate) fn set(&mut self, now: Nanos, frozen: bool) {
        match (frozen, self.frozen_since) {
            (true, None) if self.hold(now) => {
                self.frozen_since = Some(now);
                self.count += 1;
            }
            (false, Some(since)) if self.release() => {
                self.total = self.total.plus(now.since(since));
                self.frozen_since = None;
            }
            _ => {}
        }
    }

    fn hold(&mut self, now: Nanos) -> bool {
        match (&mut self.signals, &self.group) {
            (Some(signals), _) => signals.hold(now),
            (None, Some(group)) => group.freeze().is_ok(),
            (None, None) => false,
        }
    }

    fn release(&mut self) -> bool {
        match (&mut self.signals, &self.group) {
            (Some(signals), _) => {
                signals.stopper.release();
                true
            }
            (None, Some(group)) => group.thaw().is_ok(),
            (None, None) => false,
        }
    }

    /// Whether no process of the job is left; true without a group.
    pub(crate) fn is_empty(&self) -> bool {
        is_empty(self.group.as_ref())
    }

    /// Thaws, and gives the group away: nothing is held from then on.
    pub(crate) fn give_up(mut self) -> Option<JobGroup> {
        self.release();
        self.group
    }

    /// Thaws, and removes the group if it is empty.
    pub(crate) fn finish(self, shed: &Shed) {
        remove_if_empty(self.group, shed);
    }
}

/// Whether no process is left in the group; true without one, and when another of lull's processes has removed it.
pub(crate) fn is_empty(group: Option<&JobGroup>) -> bool {
    group.is_none_or(|group| group.procs().map_or(true, |procs| procs.is_empty()))
}

/// Removes a job's group, and what it may not leave in memory, unless processes of the job live on in it; those keep it,
/// thawed, until the guardian finds it empty.
pub(crate) fn remove_if_empty(group: Option<JobGroup>, shed: &Shed) {
    let Some(group) = group else { return };
    let _ = group.relieve();
    if group.procs().is_ok_and(|procs| procs.is_empty()) {
        shed.from(&group);
        // The guardian tries again.
        let _ = group.remove();
    }
}
