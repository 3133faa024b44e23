//! Whether the foreground is at work on the CPUs.
//!
//! Problem: every machine wakes its daemons now and then. A job that left CPUs free for them would lose half of a small machine for
//! nothing; but the first burst of real work has to count within a millisecond or two.
//!
//! Approach: a leaky bucket of the foreground's CPU time. What it uses flows in; a fiftieth of one CPU leaks out. It is at work from
//! [`BEGINS`] in the bucket until it is empty. What uses less than leaks can lose little, since a loss is a share of what it uses.
//!
//! ```text
//!             the bucket holds `BEGINS`
//!  ┌──────┐ ────────────────────────────▶ ┌─────────┐
//!  │ Away │                               │ At work │
//!  └──────┘ ◀──────────────────────────── └─────────┘
//!                  it is empty
//! ```

use crate::share::Share;
use crate::time::Nanos;

/// Of one CPU.
const LEAK: Share = Share::percent(2);
/// Less CPU time than this at once is a daemon's.
const BEGINS: Nanos = Nanos::from_micros(500);
/// The most that the bucket holds: it runs empty in 125 ms.
const CAP: Nanos = Nanos::from_micros(2500);

#[derive(Clone, Debug, Default)]
pub(super) struct Presence {
    latest: Option<(Nanos, Nanos)>,
    level: Nanos,
    at_work: bool,
}

impl Presence {
    /// Takes in the foreground's CPU time so far; returns whether it is at work.
    pub(super) fn look(&mut self, now: Nanos, busy: Nanos) -> bool {
        let (then, before) = self.latest.replace((now, busy)).unwrap_or((now, busy));
        let leaked = LEAK.of(now.since(then));
        // What has leaked since the last look is not taken from what came meanwhile.
        self.level = self.level.since(leaked).plus(busy.since(before)).min(CAP);
        self.at_work = if self.at_work { self.level > Nanos::ZERO } else { self.level >= BEGINS };
        self.at_work
    }

    /// How long the foreground has to run on before it counts as at work.
    pub(super) fn missing(&self) -> Nanos {
        BEGINS.since(self.level).max(Nanos::from_micros(100))
    }
}
