//! The loss that was promised, spent like money (X-1).
//!
//! Problem: the user promises the foreground that it loses at most some share of its time, for example 5%. A mean over
//! the whole run would allow a minute of ruin after an hour of peace; a limit at each moment would forbid all learning.
//!
//! Approach: a leaky bucket. While the foreground is at work it earns credits at a rate, up to a cap; whatever background
//! makes it lose is taken from them. There is one bucket per resource, and one promise over all of
//! them ([`ledger`](crate::promise::ledger)); what one may lose can change while it is in force.
//!
//! ```text
//!   earned: rate · time the foreground was at work          rate = promise · (1 − burst)
//!           │
//!           ▼          spilled
//!        ┌──────┐ ────────────▶                             cap  = promise · burst · window
//!        │      │ cap
//!        │credit│
//!        └──┬───┘ 0
//!           ▼ spent: loss · time; below 0 is debt
//! ```
//!
//! **Bound.** Let a window be a stretch of `W` of the foreground's time, and `D` the largest debt in it. What is spent in it is
//! what was there before, plus what was earned, less what spilled and what is left:
//!
//! ```text
//!   spent ≤ cap + rate · W + D
//! ```
//!
//! since no more than `cap` was there and no less than `−D` is left. With the cap and rate above, for every `W ≥ window`,
//!
//! ```text
//!   spent ≤ promise · burst · window + promise · (1 − burst) · W + D ≤ promise · W + D
//! ```
//!
//! So an owner that never spends more than [`available`](Budget::available) keeps the promise in every window of that
//! length and of any greater one, and a shorter one loses at most `cap` more than its share. Loss that has happened
//! cannot be refused: it is booked, the debt is kept, and nothing is available until it has been earned back. The worst
//! window that really was is kept for the report.
//!
//! **A promise that changes.** When it becomes less, so does the cap, and what lies above it spills at once; when it becomes
//! more, nothing is given: it has to be earned. So `cap` above is the one at the beginning of the window, and `rate · W`
//! the sum over the window of what was in force.
//!
//! Units: nanoseconds of foreground time, and loss in nanoseconds (a slowdown of 5% for 100 ms of work without background loses
//! 5 ms); inside in millionths of a nanosecond, so that nothing is lost in rounding. Edge cases: time in which the
//! foreground does nothing earns nothing and ages nothing: it is no part of any window. A promise of zero never has
//! anything to spend. Sums saturate.
//!
//! Source: section 5.1 of the paper: n requests served without a preemption earn a credit to skip an interval; the
//! leaky bucket is what it suggests against spending all credits in a short period. Here a credit is time, because
//! resources and requests differ in what a preemption costs.

mod windows;

use serde::{Deserialize, Serialize};

use crate::base::share::{Loss, Share};
use crate::base::time::Nanos;
use windows::Windows;

/// What is promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BudgetSetting {
    /// What the foreground may lose of its time in any window.
    pub promise: Loss,
    /// The shortest window, in time the foreground is at work.
    pub window: Nanos,
    /// The part of a window's loss that may come at once. The rest is what can be spent steadily.
    pub burst: Share,
}

impl Default for BudgetSetting {
    fn default() -> Self {
        Self { promise: Loss::percent(5), window: Nanos::from_secs(60), burst: Share::percent(20) }
    }
}

impl BudgetSetting {
    /// What can be lost steadily, for ever.
    pub fn rate(&self) -> Loss {
        let part = u64::from(self.promise.as_ppm()) * u64::from(MILLION - self.burst.as_ppm());
        u32::try_from(part / u64::from(MILLION)).map_or(Share::ALL, Share::ppm)
    }

    /// The most that can be saved up.
    pub fn cap(&self) -> Nanos {
        self.promise.of(self.burst.of(self.window))
    }
}

const MILLION: u32 = 1_000_000;

/// How the promise was kept so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kept {
    /// Share of the foreground's time that was lost in the worst window; over the whole run if it is shorter than one.
    pub worst: f64,
    /// Over the whole run.
    pub overall: f64,
    /// Whether the worst window is within the promise that is in force.
    pub promise: bool,
}

/// An account book that does not balance: a defect of this module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the budget does not balance: {problem}")]
pub struct Unbalanced {
    problem: &'static str,
}

/// Credits, and where they went. Amounts are in millionths of a nanosecond.
#[derive(Clone, Debug)]
pub struct Budget {
    setting: BudgetSetting,
    credit: i128,
    earned: i128,
    spilled: i128,
    spent: i128,
    /// The largest promise there ever was.
    largest: Loss,
    worked: Nanos,
    /// The largest debt there ever was.
    debt: i128,
    windows: Windows,
}

impl Budget {
    /// With nothing saved up.
    pub fn new(setting: BudgetSetting) -> Self {
        Self {
            setting,
            credit: 0,
            earned: 0,
            spilled: 0,
            spent: 0,
            largest: setting.promise,
            worked: Nanos::ZERO,
            debt: 0,
            windows: Windows::new(setting.window),
        }
    }

    /// With as much saved up as can be: the foreground was spared before. The bound is the same.
    pub fn full(setting: BudgetSetting) -> Self {
        let mut budget = Self::new(setting);
        (budget.credit, budget.earned) = (budget.cap(), budget.cap());
        budget
    }

    /// What is promised now.
    pub fn setting(&self) -> &BudgetSetting {
        &self.setting
    }

    /// From now on `promise` is what may be lost. What is saved beyond its cap spills.
    pub fn set_promise(&mut self, promise: Loss) {
        self.setting.promise = promise;
        self.largest = self.largest.max(promise);
        self.spill_above(self.cap());
    }

    /// The foreground was at work for `span`, beyond what was told before.
    pub fn pass(&mut self, span: Nanos) {
        let earned = i128::from(self.setting.rate().as_ppm()) * i128::from(span.0);
        self.credit += earned;
        self.earned += earned;
        self.worked = self.worked.plus(span);
        self.windows.pass(span);
        self.spill_above(self.cap());
    }

    /// The loss that may be spent now.
    pub fn available(&self) -> Nanos {
        nanos(self.credit)
    }

    /// The loss that was spent and is not earned yet.
    pub fn debt(&self) -> Nanos {
        nanos(-self.credit)
    }

    /// How long the foreground has to be at work until `cost` can be spent; `None` if nothing is ever earned. A cost beyond
    /// the cap counts as the cap, or it would never come: it is overdrawn by the difference.
    pub fn affords_after(&self, cost: Nanos) -> Option<Nanos> {
        let missing = amount(cost).min(self.cap()) - self.credit;
        if missing <= 0 && self.cap() > 0 {
            return Some(Nanos::ZERO);
        }
        let rate = i128::from(self.setting.rate().as_ppm());
        (rate > 0).then(|| Nanos(u64::try_from((missing + rate - 1) / rate).unwrap_or(u64::MAX)))
    }

    /// The foreground has lost `loss`.
    pub fn spend(&mut self, loss: Nanos) {
        let amount = amount(loss);
        self.spent += amount;
        self.credit -= amount;
        self.debt = self.debt.max(-self.credit);
        self.windows.spend(loss);
        debug_assert_eq!(self.check(), Ok(()));
    }

    /// What the foreground has lost so far.
    pub fn lost(&self) -> Nanos {
        nanos(self.spent)
    }

    /// How long the foreground was at work so far.
    pub fn worked(&self) -> Nanos {
        self.worked
    }

    /// How the promise was kept so far.
    pub fn kept(&self) -> Kept {
        let overall = self.lost().0 as f64 / (self.worked.0 as f64).max(1.0);
        let worst = self.windows.worst().unwrap_or(overall);
        Kept { worst, overall, promise: worst <= self.setting.promise.fraction() }
    }

    /// Everything that must hold at any time.
    ///
    /// # Errors
    /// Names the first condition that does not hold.
    pub fn check(&self) -> Result<(), Unbalanced> {
        let latest = amount(self.windows.latest());
        let length = i128::from(self.windows.span().0);
        let most = BudgetSetting { promise: self.largest, ..self.setting };
        let bound = amount(most.cap()) + i128::from(most.rate().as_ppm()) * length + self.debt;
        let problem = if self.credit > self.cap() {
            "more is saved than the cap"
        } else if self.credit != self.earned - self.spilled - self.spent {
            "the credit is not what was earned less what was spilled and spent"
        } else if self.spilled < 0 || self.spilled > self.earned || self.debt < -self.credit {
            "more was spilled than earned, or the debt was larger than noted"
        } else if latest > bound {
            "the latest window lost more than its bound"
        } else {
            return Ok(());
        };
        Err(Unbalanced { problem })
    }

    fn spill_above(&mut self, most: i128) {
        let credit = self.credit.min(most);
        self.spilled += self.credit - credit;
        self.credit = credit;
        debug_assert_eq!(self.check(), Ok(()));
    }

    fn cap(&self) -> i128 {
        amount(self.setting.cap())
    }
}

/// Millionths of a nanosecond.
fn amount(span: Nanos) -> i128 {
    i128::from(span.0) * i128::from(MILLION)
}

/// Whole nanoseconds, none for a negative amount.
fn nanos(amount: i128) -> Nanos {
    Nanos(u64::try_from((amount / i128::from(MILLION)).max(0)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
