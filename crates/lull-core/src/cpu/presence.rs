//! Whether the foreground, or the job, is at work on the CPUs.
//!
//! Problem: every machine wakes its daemons now and then. A job that left CPUs free for them would lose half of a small machine for
//! nothing; but the first burst of real work has to count within a millisecond or two.
//!
//! Approach: a leaky bucket of the foreground's CPU time. What it uses flows in; a fiftieth of one CPU leaks out. It is at work from
//! `begins` in the bucket until it is empty. What uses less than leaks can lose little, since a loss is a share of what it uses.
//!
//! ```text
//!             the bucket holds `begins`
//!  ┌──────┐ ────────────────────────────▶ ┌─────────┐
//!  │ Away │                               │ At work │
//!  └──────┘ ◀──────────────────────────── └─────────┘
//!                  it is empty
//! ```

use crate::share::Share;
use crate::time::Nanos;

/// Who is looked at.
#[derive(Clone, Copy, Debug)]
struct Size {
    /// What leaks out, of one CPU.
    leak: Share,
    /// Less CPU time than this at once is no work.
    begins: Nanos,
    /// The most that the bucket holds.
    cap: Nanos,
}

/// Less than half a millisecond is a daemon's; 125 ms without work empty the bucket.
const FOREGROUND: Size =
    Size { leak: Share::percent(2), begins: Nanos::from_micros(500), cap: Nanos::from_micros(2500) };
/// A burst on the job's CPU takes twice as long at the worst, and of two CPUs a job that uses a tenth of one meets one burst in twenty: no
/// more is lost than the promise, though nobody tests. It begins with more than leaks between two looks, which are 100 ms apart; 250 ms
/// without work empty the bucket.
const JOB: Size =
    Size { leak: Share::percent(10), begins: Nanos::from_millis(15), cap: Nanos::from_millis(25) };

/// See the module.
#[derive(Clone, Debug)]
pub struct Presence {
    size: Size,
    latest: Option<(Nanos, Nanos)>,
    level: Nanos,
    at_work: bool,
}

impl Presence {
    pub(super) fn of_foreground() -> Self {
        Self::of(FOREGROUND)
    }

    /// Of the job.
    pub fn of_job() -> Self {
        Self::of(JOB)
    }

    fn of(size: Size) -> Self {
        Self { size, latest: None, level: Nanos::ZERO, at_work: false }
    }

    /// Takes in the CPU time used so far; returns whether that is work. Time in which who is looked at may not run is left out of `now`.
    pub fn look(&mut self, now: Nanos, busy: Nanos) -> bool {
        let (then, before) = self.latest.replace((now, busy)).unwrap_or((now, busy));
        let leaked = self.size.leak.of(now.since(then));
        // What has leaked since the last look is not taken from what came meanwhile.
        let left = self.level.since(leaked);
        self.level = left.plus(busy.since(before)).min(self.size.cap);
        self.at_work = (self.at_work && left > Nanos::ZERO) || self.level >= self.size.begins;
        self.at_work
    }

    /// How long who is looked at has to run on before it counts as at work.
    pub(super) fn missing(&self) -> Nanos {
        self.size.begins.since(self.level).max(Nanos::from_micros(100))
    }
}
