//! The hold gate: the job's control group, frozen and thawed. Counts what it does.

use lull_core::Nanos;
use lull_linux::cgroup::JobGroup;

pub(crate) struct Freezer {
    group: Option<JobGroup>,
    frozen_since: Option<Nanos>,
    count: u64,
    total: Nanos,
}

impl Freezer {
    pub(crate) fn new(group: Option<JobGroup>) -> Self {
        Self { group, frozen_since: None, count: 0, total: Nanos::ZERO }
    }

    pub(crate) fn can_freeze(&self) -> bool {
        self.group.as_ref().is_some_and(JobGroup::can_freeze)
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
        let Some(group) = &self.group else { return };
        match (frozen, self.frozen_since) {
            (true, None) if group.freeze().is_ok() => {
                self.frozen_since = Some(now);
                self.count += 1;
            }
            (false, Some(since)) if group.thaw().is_ok() => {
                self.total = self.total.plus(now.since(since));
                self.frozen_since = None;
            }
            _ => {}
        }
    }

    /// Whether no process of the job is left; true without a group.
    pub(crate) fn is_empty(&self) -> bool {
        is_empty(self.group.as_ref())
    }

    /// Thaws, and removes the group if it is empty.
    pub(crate) fn finish(self) {
        remove_if_empty(self.group);
    }
}

/// Whether no process is left in the group; true without one, and when another of lull's processes has removed it.
pub(crate) fn is_empty(group: Option<&JobGroup>) -> bool {
    group.is_none_or(|group| group.procs().map_or(true, |procs| procs.is_empty()))
}

/// Removes a job's group unless processes of the job live on in it; those keep it, thawed, until the guardian finds it
/// empty.
pub(crate) fn remove_if_empty(group: Option<JobGroup>) {
    let Some(group) = group else { return };
    let _ = group.relieve();
    if group.procs().is_ok_and(|procs| procs.is_empty()) {
        // The guardian tries again.
        let _ = group.remove();
    }
}
