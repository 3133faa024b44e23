//! Periodic suspension: a job that runs for a while and stands still for as long, whatever anybody else does.
//!
//! The simplest thing that suspends at all, and the yardstick of the `smart` paper for *when* to do it
//! (observation 1). The group is frozen instead of its processes being stopped one by one, so that nothing
//! that the job starts escapes.
//!
//! Edge case: at the end the group is thawed, however the run ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lull_core::Nanos;
use lull_linux::cgroup::JobGroup;

use super::ticker::Ticker;
use crate::{Error, clock};

/// Time running, and time frozen.
pub const HALF_PERIOD: Duration = Duration::from_secs(1);

/// Freezes and thaws a group in turn; ends when dropped.
#[derive(Debug)]
pub struct Suspender {
    _ticker: Ticker,
    began: Nanos,
    frozen: Arc<Frozen>,
}

/// How long a group was frozen: for what is over, and since when it is again, in nanoseconds of the clock; 0:
/// it is not.
#[derive(Debug, Default)]
struct Frozen {
    over: AtomicU64,
    since: AtomicU64,
}

impl Frozen {
    /// The group has just been frozen, or let go.
    fn turn(&self, frozen: bool, now: Nanos) {
        let since = self.since.swap(if frozen { now.0 } else { 0 }, Ordering::Relaxed);
        if since > 0 {
            self.over.fetch_add(now.since(Nanos(since)).0, Ordering::Relaxed);
        }
    }

    fn until(&self, now: Nanos) -> Nanos {
        let present = match self.since.load(Ordering::Relaxed) {
            0 => Nanos::ZERO,
            since => now.since(Nanos(since)),
        };
        Nanos(self.over.load(Ordering::Relaxed)).plus(present)
    }
}

impl Suspender {
    /// Begins with a time of running.
    pub fn start(group: &JobGroup) -> Result<Self, Error> {
        let unmet = |detail: String| Error::Unmet { what: "a group that can be frozen".to_owned(), detail };
        let group = JobGroup::open(&group.paths()).map_err(|error| unmet(error.to_string()))?;
        if !group.can_freeze() {
            return Err(unmet("neither cgroup.freeze nor the freezer controller is here".to_owned()));
        }
        let (began, frozen) = (clock::now(), Arc::new(Frozen::default()));
        let (account, thawed) = (Arc::clone(&frozen), JobGroup::open(&group.paths()));
        let mut is_frozen = false;
        let tick = move || {
            is_frozen = !is_frozen;
            let done = if is_frozen { group.freeze() } else { group.thaw() };
            done.map_err(|error| unmet(error.to_string()))?;
            account.turn(is_frozen, clock::now());
            Ok(())
        };
        // A group that cannot be thawed was never frozen.
        let last = move || drop(thawed.map(|group| group.thaw()));
        Ok(Self { _ticker: Ticker::every(HALF_PERIOD, tick, last), began, frozen })
    }

    /// How long the group was frozen so far, and how long that is going on.
    pub fn frozen(&self) -> (Nanos, Nanos) {
        let now = clock::now();
        (self.frozen.until(now), now.since(self.began))
    }
}

#[cfg(test)]
mod tests;
