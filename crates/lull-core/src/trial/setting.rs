//! What a trial compares, what it is told, and what it is allowed to cost.

use serde::{Deserialize, Serialize};

use crate::share::{Loss, Share};
use crate::time::Nanos;

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
    /// What is measured, per request.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

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

    /// How long a withheld and a lent epoch count, at a share of time withheld and a foreground with `per_second`
    /// requests per second.
    pub(super) fn lengths(&self, share: Share, per_second: f64) -> (Nanos, Nanos) {
        let room = Nanos(self.longest.0 / 2).since(self.washout).max(Nanos(1));
        let wanted = f64::from(self.requests) / per_second.max(1e-9) * 1e9;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float saturates")]
        let withheld = Nanos(wanted as u64).max(self.shortest).min(room);
        let hold = withheld.plus(self.washout);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a length needs no more than nine digits, and a float saturates"
        )]
        let block = Nanos((hold.0 as f64 / share.fraction().clamp(1e-4, 0.5)) as u64);
        (withheld, block.since(hold).since(self.washout).max(withheld))
    }
}
