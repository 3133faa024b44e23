//! The budget as a leaky bucket: it holds whatever the foreground does.
//!
//! Problem: the interval is chosen from what the foreground did of late. A foreground that does something else (that comes
//! the moment background has started, or whose gaps depend on what background does) makes every estimate wrong.
//!
//! Approach: book what was really lost, as it is measured, against a [`Budget`]; the first requests of bursts tell it:
//!
//! ```text
//!   lost = Σ latency of those that met background − their number · mean latency of those that did not
//! ```
//!
//! While there is not enough for one more background request, background waits until the foreground has stayed away
//! for as long as it takes to earn it:
//!
//! ```text
//!   wait = (cost of one request + debt − credit) / rate
//! ```
//!
//! So a foreground that comes just then loses no more than the rate, and a foreground that has gone is not waited for
//! any longer than that. What is spent steadily is the rate; the rest of the promise is the cap, which may come at once.
//!
//! Units: nanoseconds of the foreground's time. Edge cases: luck (requests that met background were faster) is kept, up
//! to a quarter of the cap, or noise would be booked as loss. The wait ends after [`LONGEST`] in any case.
//!
//! Source: section 5.1 of the paper, and `budget.rs`.

use crate::base::share::{Loss, Share};
use crate::base::time::Nanos;
use crate::promise::budget::{Budget, BudgetSetting};

/// The part of the promise that may come at once.
const BURST: Share = Share::percent(3);
/// Background waits no longer for a foreground that stays away.
const LONGEST: Nanos = Nanos::from_secs(10);

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Credits {
    budget: Budget,
    /// Gained by luck, in nanoseconds; from 0 on.
    luck: f64,
}

impl Credits {
    /// Full.
    pub(super) fn new(promise: Loss) -> Self {
        Self {
            budget: Budget::full(BudgetSetting { promise, burst: BURST, ..BudgetSetting::default() }),
            luck: 0.0,
        }
    }

    /// The foreground was at work for `span`, and has lost `lost` nanoseconds of it; less than none is luck.
    pub(super) fn book(&mut self, span: Nanos, lost: f64) {
        self.budget.pass(span);
        let net = lost - self.luck;
        self.luck = (-net).clamp(0.0, self.most_luck());
        self.budget.spend(super::nanos(net));
    }

    /// From now on `promise` is what may be lost.
    pub(super) fn set_promise(&mut self, promise: Loss) {
        self.budget.set_promise(promise);
        self.luck = self.luck.min(self.most_luck());
    }

    /// What was booked.
    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    fn most_luck(&self) -> f64 {
        self.budget.setting().cap().0 as f64 / 4.0
    }

    /// How long background has to wait after the foreground, when starting a request may cost `cost`.
    pub(super) fn wait(&self, cost: Nanos) -> Nanos {
        self.budget.affords_after(cost).map_or(LONGEST, |wait| wait.min(LONGEST))
    }
}

#[cfg(test)]
mod tests;
