//! A leaky bucket of delay: a loss that is bounded in every window, whatever the foreground does (section 5.1).
//!
//! Problem: an interval that costs 4% on average may cost 50% for a second, and a foreground that knows it (or is
//! unlucky) can make background always be in its way. The paper asks for a bound on saved credits.
//!
//! Approach: the bucket fills with `budget` nanoseconds of delay per nanosecond, up to `cap`. Time for which foreground
//! waits while background holds the device is taken out of it. Background may start only while the bucket holds what
//! the longest background request so far has taken, the most that one start can cost. So in any window
//!
//! ```text
//!   delay(window) ≤ cap + budget × length(window)
//! ```
//! as long as no background request takes longer than every one before it; one that does is overdrawn by the
//! difference, and paid back before the next start.
//!
//! Units: nanoseconds of delay of the device (requests that wait together wait once). The cap counts as at least the
//! longest service, or nothing would ever start. For devices that serve one request at a time.

use lull_core::{Loss, Nanos};
use serde::{Deserialize, Serialize};

use crate::span::nanos;

/// What is promised.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BucketSetting {
    /// Share of the time that foreground may wait for background.
    pub budget: Loss,
    /// Delay that may be saved up.
    pub cap: Nanos,
    /// What a background request is taken to cost before one was seen.
    pub assumed: Nanos,
}

/// The bucket.
#[derive(Clone, Debug)]
pub struct Bucket {
    setting: BucketSetting,
    /// Delay that may be caused now, in nanoseconds; negative when overdrawn.
    level: f64,
    /// When the level was that.
    at: Nanos,
    longest: Nanos,
}

impl Bucket {
    /// Full.
    pub fn new(setting: BucketSetting) -> Self {
        Self { setting, level: setting.cap.0 as f64, at: Nanos::ZERO, longest: setting.assumed }
    }

    fn cap(&self) -> f64 {
        self.setting.cap.max(self.longest).0 as f64
    }

    fn fill(&mut self, now: Nanos) {
        self.level =
            (self.level + self.setting.budget.fraction() * now.since(self.at).0 as f64).min(self.cap());
        self.at = now;
    }

    /// Foreground has waited for `delay`.
    pub fn pay(&mut self, now: Nanos, delay: Nanos) {
        self.fill(now);
        self.level -= delay.0 as f64;
    }

    /// A background request has taken `service`.
    pub fn served(&mut self, service: Nanos) {
        self.longest = self.longest.max(service);
    }

    /// From when on a start can be paid for: `now` if it can be already.
    pub fn affordable_from(&mut self, now: Nanos) -> Nanos {
        self.fill(now);
        let missing = self.longest.0 as f64 - self.level;
        let budget = self.setting.budget.fraction();
        if missing <= 0.0 {
            now
        } else if budget <= 0.0 {
            Nanos::MAX
        } else {
            now.plus(nanos((missing / budget).ceil())).plus(Nanos(1))
        }
    }
}

#[cfg(test)]
mod tests;
