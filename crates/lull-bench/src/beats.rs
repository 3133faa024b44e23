//! Moments with and without background within one run, so that a machine that changes by itself changes for
//! both alike.
//!
//! Problem: on a machine that is shared, the same foreground may be twice as fast a minute later. Whoever
//! compares a run with background against another without measures the machine.
//!
//! Approach: time is cut into beats of one length, in pairs: one loaded, one quiet, in an order that a hash
//! of the pair's number decides. The harness pauses the job's load in quiet beats, through the file in which
//! the load counts ([`Progress`](crate::progress::Progress)): no signal is sent and nothing is told to the
//! control around the job, which just sees a job that has no work for a while. The foreground counts its
//! requests by the beat in which they arrive.
//!
//! ```text
//!   ├─ loaded ─┼─ quiet ──┼─ quiet ──┼─ loaded ─┤ …
//!   ├w┬counted─┼w┬counted─┼w┬counted─┼w┬counted─┤      w  washout: a fifth of the beat belongs to neither
//! ```
//! Beats follow CLOCK_MONOTONIC, so harness and foreground agree on them without a word.
//!
//! Edge cases: effects that outlast the washout (a backlog that takes longer to go) make loaded and quiet
//! more alike than they are.

use lull_core::Nanos;

/// The part of a beat that counts for neither, one in so many.
const WASHOUT: u64 = 5;

/// Whether background may run in a beat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// The job has work.
    Loaded,
    /// It has none.
    Quiet,
}

/// When background runs and when it does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beats {
    length: Nanos,
}

impl Beats {
    /// Beats of this length; none for zero: background runs all the time.
    pub fn of(length: Nanos) -> Option<Self> {
        (length > Nanos::ZERO).then_some(Self { length })
    }

    /// How long a beat is.
    pub fn length(self) -> Nanos {
        self.length
    }

    /// The beat that this instant of CLOCK_MONOTONIC is in.
    pub fn at(self, now: Nanos) -> Beat {
        let index = now.0 / self.length.0;
        let loaded_first = fastrand::Rng::with_seed(self.pair(now)).bool();
        if index.is_multiple_of(2) == loaded_first { Beat::Loaded } else { Beat::Quiet }
    }

    /// The number of the pair of beats, one of each kind, that this instant is in.
    pub fn pair(self, now: Nanos) -> u64 {
        now.0 / self.length.0 / 2
    }

    /// The beat, unless the instant belongs to the washout between two different beats.
    pub fn counted(self, now: Nanos) -> Option<Beat> {
        let into = Nanos(now.0 % self.length.0);
        let beat = self.at(now);
        let is_new =
            Nanos(now.0 - into.0).0.checked_sub(1).is_none_or(|before| self.at(Nanos(before)) != beat);
        (!is_new || into.0 >= self.length.0 / WASHOUT).then_some(beat)
    }

    /// The loaded time between two instants.
    pub fn loaded(self, from: Nanos, to: Nanos) -> Nanos {
        let (mut at, mut sum) = (from, Nanos::ZERO);
        while at < to {
            let end = Nanos((at.0 / self.length.0 + 1).saturating_mul(self.length.0)).min(to);
            if self.at(at) == Beat::Loaded {
                sum = sum.plus(end.since(at));
            }
            at = end;
        }
        sum
    }
}

#[cfg(test)]
mod tests;
