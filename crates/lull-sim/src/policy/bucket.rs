//! A leaky bucket of delay: a loss that is bounded in every window, whatever the foreground does (section 5.1).
//!
//! Problem: an interval that costs 4% on average may cost 50% for a second, and a foreground that knows it (or is
//! unlucky) can make background always be in its way. The paper asks for a bound on saved credits.
//!
//! Approach: the credits are those of [`lull_core::Budget`], the same that the live engine's policies spend. Here all
//! time earns, and time for which foreground waits while background holds the device is spent. Background may start only
//! while there is as much as the longest background request so far has taken, the most that one start can cost. So what
//! is promised holds in every window, as long as no background request takes longer than every one before it; one that
//! does is overdrawn by the difference, and paid back before the next start.
//!
//! Units: nanoseconds of delay of the device (requests that wait together wait once). For devices that serve one request
//! at a time. Edge cases: a request longer than all that can be saved up may start once the bucket is full.

use lull_core::{Budget, BudgetSetting, Loss, Nanos, Share};
use serde::{Deserialize, Serialize};

/// What is promised: the keys of [`BudgetSetting`], and a first guess.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketSetting {
    /// Share of the time in any window that foreground may wait for background.
    pub budget: Loss,
    /// The shortest window.
    #[serde(default = "window")]
    pub window: Nanos,
    /// The part of a window's loss that may come at once.
    #[serde(default = "burst")]
    pub burst: Share,
    /// What a background request is taken to cost before one was seen.
    pub assumed: Nanos,
}

fn window() -> Nanos {
    BudgetSetting::default().window
}

fn burst() -> Share {
    BudgetSetting::default().burst
}

impl BucketSetting {
    /// With the window and the burst of [`BudgetSetting`].
    pub fn new(budget: Loss, assumed: Nanos) -> Self {
        Self { budget, window: window(), burst: burst(), assumed }
    }

    /// What the credits are.
    pub fn credits(&self) -> BudgetSetting {
        BudgetSetting { promise: self.budget, window: self.window, burst: self.burst }
    }
}

/// The bucket.
#[derive(Clone, Debug)]
pub struct Bucket {
    budget: Budget,
    /// Up to when time has earned.
    at: Nanos,
    longest: Nanos,
}

impl Bucket {
    /// Full.
    pub fn new(setting: BucketSetting) -> Self {
        Self { budget: Budget::full(setting.credits()), at: Nanos::ZERO, longest: setting.assumed }
    }

    fn fill(&mut self, now: Nanos) {
        self.budget.pass(now.since(self.at));
        self.at = now;
    }

    /// Foreground has waited for `delay`.
    pub fn pay(&mut self, now: Nanos, delay: Nanos) {
        self.fill(now);
        self.budget.spend(delay);
    }

    /// A background request has taken `service`.
    pub fn served(&mut self, service: Nanos) {
        self.longest = self.longest.max(service);
    }

    /// From when on a start can be paid for: `now` if it can be already.
    pub fn affordable_from(&mut self, now: Nanos) -> Nanos {
        self.fill(now);
        self.budget.affords_after(self.longest).map_or(Nanos::MAX, |wait| now.plus(wait))
    }
}

#[cfg(test)]
mod tests;
