//! What a trial compares, what it is told, and what it is allowed to cost.

use serde::{Deserialize, Serialize};

use crate::base::share::{Loss, Share};
use crate::base::time::Nanos;

/// What of the foreground is compared between the two arms.
///
/// The one that varies least from request to request decides soonest: the time to be sure grows with the square of
/// its coefficient of variation. The time in service of equal requests is far better than their time in the system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// `sum / count`, less is better: latency, run-queue delay, length of a burst.
    #[default]
    Mean,
    /// `count / time`, more is better: requests per second of a closed loop.
    Rate,
    /// `sum / count`, more is better: a throughput that the user's own command prints.
    Level,
}

/// What the sensors have counted since they began; all only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Foreground requests that ended, or values that were sampled.
    pub count: u64,
    /// The sum of what is measured of them, in any unit. [`Measure::Rate`] does not use it.
    pub sum: u64,
    /// Background work that was done, in any unit; 0 where nobody asks.
    pub work: u64,
}

/// What happened in one counted stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epoch {
    /// Requests that ended.
    pub count: u64,
    /// The sum of what is measured of them.
    pub sum: u64,
    /// Background work that was done.
    pub work: u64,
    /// How long it was.
    pub span: Nanos,
}

impl Epoch {
    /// Both together.
    #[must_use]
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            sum: self.sum.saturating_add(other.sum),
            work: self.work.saturating_add(other.work),
            span: self.span.plus(other.span),
        }
    }

    /// From one reading to the next; `None` if a sensor went back.
    pub(super) fn between(began: (Nanos, Reading), ended: (Nanos, Reading)) -> Option<Self> {
        Some(Self {
            count: ended.1.count.checked_sub(began.1.count)?,
            sum: ended.1.sum.checked_sub(began.1.sum)?,
            work: ended.1.work.checked_sub(began.1.work)?,
            span: ended.0.since(began.0),
        })
    }
}

/// What is done with the resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arm {
    /// Background may use it, as its policy says.
    Lent,
    /// Background is held.
    Withheld,
}

/// How to test, and how much testing may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrialSetting {
    /// What is compared.
    pub measure: Measure,
    /// The slowdown that matters.
    pub budget: Loss,
    /// Time at the head of an epoch that does not count, because the arm before still shows: caches fill, what was
    /// in service drains.
    pub washout: Nanos,
    /// The washout is at least so many mean requests, where sums are nanoseconds: what queues outlasts the moment that
    /// made it wait. An eighth of the longest hold at the most; 0 for none.
    pub recovery: u32,
    /// The shortest hold that the mechanism carries out well, without the washout.
    pub shortest: Nanos,
    /// The longest time withheld without a break. An epoch is at most half of it, since two may meet.
    pub longest: Nanos,
    /// Foreground requests that a withheld epoch should see; its length follows their rate.
    pub requests: u32,
    /// Share of time withheld while the answer is open.
    pub dense: Share,
    /// Share of time withheld once it is known.
    pub rare: Share,
}

impl Default for TrialSetting {
    /// For requests of a millisecond or less.
    fn default() -> Self {
        Self {
            measure: Measure::Mean,
            budget: Loss::percent(5),
            washout: Nanos::from_millis(2),
            recovery: 0,
            shortest: Nanos::from_millis(5),
            longest: Nanos::from_millis(100),
            requests: 16,
            dense: Share::percent(20),
            rare: Share::percent(2),
        }
    }
}

impl TrialSetting {
    /// For a number that the user's own command prints every `period`: a value shows the time before it, so one
    /// period is washed out, and an epoch sees three.
    #[must_use]
    pub fn sampled_every(period: Nanos) -> Self {
        Self {
            washout: period,
            shortest: period.times(3),
            longest: period.times(8),
            requests: 3,
            ..Self::default()
        }
    }

    /// What `longest` has to be at the least for a withheld epoch to see anything after its washout.
    pub fn least_longest(&self) -> Nanos {
        self.washout.plus(self.shortest).times(2)
    }

    /// The washout for a foreground of such a pace.
    pub(super) fn washout_for(&self, pace: &Pace) -> Nanos {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float saturates")]
        let recovery = Nanos((f64::from(self.recovery) * pace.mean()) as u64);
        self.washout.max(recovery.min(Nanos(self.longest.0 / 8)))
    }

    /// How long a withheld and a lent epoch count, at a share of time withheld and such a pace of the foreground.
    pub(super) fn lengths(&self, share: Share, pace: &Pace) -> (Nanos, Nanos) {
        let washout = self.washout_for(pace);
        let room = Nanos(self.longest.0 / 2).since(washout).max(Nanos(1));
        let wanted = f64::from(self.requests) / pace.per_second.max(1e-9) * 1e9;
        let least = if washout > self.washout { self.shortest.max(washout.times(2)) } else { self.shortest };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float saturates")]
        let withheld = Nanos(wanted as u64).max(least).min(room);
        let hold = withheld.plus(washout);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a length needs no more than nine digits, and a float saturates"
        )]
        let block = Nanos((hold.0 as f64 / share.fraction().clamp(1e-4, 0.5)) as u64);
        (withheld, block.since(hold).since(washout).max(withheld))
    }
}

/// Blocks over which the mean request is averaged.
const MEAN_OVER: f64 = 64.0;

/// How many requests the foreground makes, and how long they are, in recent blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    per_second: f64,
    count: f64,
    sum: f64,
    span_ns: f64,
}

impl Pace {
    /// Before anything is known, epochs of the shortest length would do.
    pub(super) fn unknown(setting: &TrialSetting) -> Self {
        let per_second = f64::from(setting.requests) / setting.shortest.as_secs_f64().max(1e-9);
        Self { per_second, count: 0.0, sum: 0.0, span_ns: 0.0 }
    }

    /// Takes in a whole block.
    pub(super) fn add(&mut self, block: &Epoch) {
        let per_second = block.count as f64 / block.span.as_secs_f64().max(1e-9);
        self.per_second += (per_second - self.per_second) / 4.0;
        let kept = 1.0 - 1.0 / MEAN_OVER;
        self.count = self.count * kept + block.count as f64;
        self.sum = self.sum * kept + block.sum as f64;
        self.span_ns = self.span_ns * kept + block.span.0 as f64;
    }

    /// The sum of what is measured, per request; 0 before anything is known.
    pub(super) fn mean(&self) -> f64 {
        self.sum / self.count.max(f64::MIN_POSITIVE)
    }

    /// What is measured per nanosecond: how many requests there are at a time, where sums are nanoseconds.
    pub(super) fn load(&self) -> f64 {
        self.sum / self.span_ns.max(1.0)
    }
}
