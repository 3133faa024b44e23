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

use crate::base::share::{Loss, Share};
use crate::base::time::Nanos;

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
/// It begins with more than leaks between two looks, which are 100 ms apart; at the largest leak 250 ms without work empty the bucket.
const JOB: Size = Size { leak: LIGHT, begins: Nanos::from_millis(15), cap: Nanos::from_millis(25) };
/// A job that uses more of one CPU than this is tested, whatever is promised.
const LIGHT: Share = Share::percent(10);

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

    /// Of the job, on a machine of so many CPUs whose foreground may lose `promise`. A burst on the job's CPU takes twice as long at the
    /// worst, and a job that uses a share `f` of one of `n` CPUs meets `f / n` of the bursts: with `f` up to `n` times the promise no more than that is
    /// lost, though nobody tests.
    pub fn of_job(promise: Loss, cpus: u32) -> Self {
        let leak = Share::ppm(promise.as_ppm().saturating_mul(cpus).min(LIGHT.as_ppm()));
        Self::of(Size { leak, ..JOB })
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
