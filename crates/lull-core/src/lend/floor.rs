//! The least that the job gets: a share of time, and no hold without end.
//!
//! Problem: beside a foreground that never rests, holding for its sake would hold for ever. A job that never runs may
//! keep a lock, a connection or a user waiting.
//!
//! Approach: what is owed to the job grows by a share of the time it wants to run and shrinks by the time it ran. When it
//! was held for as long as a hold may last, or a slice is owed, it runs whatever the foreground does, until nothing is owed.
//!
//! ```text
//!            held for `longest`, or a slice is owed
//!  ┌──────┐ ───────────────────────────────────────▶ ┌────────┐      slice = floor · longest
//!  │ Free │                                          │ Forced │
//!  └──────┘ ◀─────────────────────────────────────── └────────┘
//!                 nothing is owed, or it has ended
//! ```
//!
//! So in any stretch of `W` in which the owner obeys at once the job runs for `floor · W` less one slice, at the least.
//! Time beyond its share is not saved up. A floor of zero owes nothing, and holds are not bounded here.
//!
//! Units: nanoseconds. Edge cases: a forced run lasts at least until the job was seen to run; a job that does not want to
//! run is owed nothing.

use crate::share::Share;
use crate::time::Nanos;

#[derive(Clone, Debug)]
pub(super) struct Floor {
    share: Share,
    /// As told at the last look.
    longest: Nanos,
    owed: Nanos,
    latest: Option<(Nanos, Nanos)>,
    /// When the job last ran.
    last_run: Nanos,
    forced: bool,
}

impl Floor {
    pub(super) fn new(share: Share) -> Self {
        Self {
            share,
            longest: Nanos::ZERO,
            owed: Nanos::ZERO,
            latest: None,
            last_run: Nanos::ZERO,
            forced: false,
        }
    }

    /// Takes in for how long the job was ever let run, and how long a hold may last; returns whether it has to run now.
    pub(super) fn step(&mut self, now: Nanos, ran: Nanos, wants: bool, longest: Nanos) -> bool {
        self.longest = longest;
        let (then, before) = self.latest.replace((now, ran)).unwrap_or((now, ran));
        let ran = ran.since(before);
        if !wants || self.share == Share::ZERO {
            (self.owed, self.last_run, self.forced) = (Nanos::ZERO, now, false);
            return false;
        }
        if ran > Nanos::ZERO || self.last_run == Nanos::ZERO {
            self.last_run = now;
        }
        self.owed = self.owed.plus(self.share.of(now.since(then))).since(ran);
        let held = now.since(self.last_run);
        if self.forced {
            self.forced = self.owed > Nanos::ZERO;
        } else {
            self.forced =
                self.owed > Nanos::ZERO && (held >= self.longest || self.owed >= self.share.of(self.longest));
        }
        self.forced
    }

    /// When nothing is owed any more, if the job runs until then; `None` unless it has to.
    pub(super) fn ends(&self) -> Option<Nanos> {
        // While it runs, what is owed grows by its share and shrinks by all of the time.
        let rest = 1.0 - self.share.fraction();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float saturates")]
        let left = Nanos((self.owed.0 as f64 / rest.max(f64::MIN_POSITIVE)).ceil() as u64);
        let (then, _) = self.latest.filter(|_| self.forced)?;
        Some(then.plus(left.max(Nanos(1))))
    }

    /// When the job will have to run, if it is held until then; `None` before the first look.
    pub(super) fn due(&self) -> Option<Nanos> {
        (self.share > Share::ZERO && self.latest.is_some()).then(|| self.last_run.plus(self.longest))
    }
}

#[cfg(test)]
mod tests;
