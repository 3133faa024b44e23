//! Harm that no single request shows, found by withholding the job at random.
//!
//! Problem: which requests met the job is seen, and what that cost them. A device whose cache or queue remembers the job for longer makes
//! all requests slower, those without the job beside them too, and then nothing is to be seen.
//!
//! Approach: a [`Trial`] withholds the job for about one part in fifty of the time, and compares. Decisions do not wait for it. It
//! convicts when the lower end of its interval is beyond the promise: what is unseen then is put down to the window, and the window
//! follows as if it were seen. When a trial that began after that says that little is lost, half of it is taken off again.
//!
//! Units: losses are shares of the time in which the foreground is at work: the slowdown of its requests, times the share of the time for
//! which it is in service. A foreground that has several requests in service at a time loses the slowdown itself.
//!
//! Edge cases: while background has nothing to do nothing is withheld.

use super::telemetry::Latency;
use crate::base::share::Share;
use crate::base::time::Nanos;
use crate::idletime::setting::LEAST_BYTES;
use crate::promise::trial::{Arm, Measure, Reading, Slowdown, Trial, TrialSetting};

/// Background that has started nothing for this long has no work.
const IDLE_AFTER: Nanos = Nanos::from_millis(500);
/// The fewest comparisons that convict, and after so many what is likely is taken for known.
const SOME: u32 = 12;
const MANY: u32 = 24;
/// Where the order of arms begins; any number will do.
const SEED: u64 = 0x6C75_6C6C;

fn setting() -> TrialSetting {
    TrialSetting {
        measure: Measure::Mean,
        washout: Nanos::from_millis(2),
        recovery: 2,
        shortest: Nanos::from_millis(8),
        longest: Nanos::from_millis(400),
        requests: 32,
        dense: Share::percent(4),
        rare: Share::percent(2),
        ..TrialSetting::default()
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Audit {
    trial: Trial,
    /// Trials so far.
    trials: u64,
    /// Loss that no request shows, for each [`LEAST_BYTES`] of the window.
    unseen: f64,
    /// Background requests and when their number last grew.
    worked: (u64, Nanos),
}

impl Audit {
    pub(super) fn new() -> Self {
        Self { trial: Trial::new(setting(), SEED), trials: 0, unseen: 0.0, worked: (0, Nanos::ZERO) }
    }

    /// Takes in what the sensor has counted by `now`; `at_work`: whether there is a foreground to compare.
    pub(super) fn step(&mut self, now: Nanos, latency: &Latency, promise: f64, at_work: bool) {
        if latency.background != self.worked.0 {
            self.worked = (latency.background, now);
        }
        let works = latency.background > 0 && now.since(self.worked.1) < IDLE_AFTER;
        self.trial.set_budget(self.trial.budget_of(promise));
        let reading = Reading { count: latency.requests, sum: latency.sum_ns, work: latency.background };
        self.trial.record(now, reading, works && at_work);
    }

    pub(super) fn withholds(&self) -> bool {
        self.trial.arm() == Arm::Withheld
    }

    /// When the next step is due; `None` while nothing is tested.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.trial.next_change()
    }

    /// The slowdown of foreground requests as far as it is known.
    pub(super) fn slowdown(&self) -> Option<Slowdown> {
        self.trial.slowdown()
    }

    /// The share of its time that the foreground loses: likely, at least, at most.
    pub(super) fn loss(&self) -> Option<[f64; 3]> {
        self.trial.loss()
    }

    /// What is lost unseen under this window.
    pub(super) fn unseen(&self, window: u64) -> f64 {
        self.unseen * window as f64 / LEAST_BYTES as f64
    }

    /// Judges what was compared, when `seen` is the loss that requests show under this window.
    pub(super) fn judge(&mut self, seen: f64, window: u64, promise: f64) {
        let (Some([likely, least, _]), Some(Slowdown { pairs, .. })) = (self.loss(), self.trial.slowdown())
        else {
            return;
        };
        let steps = window as f64 / LEAST_BYTES as f64;
        if least > promise && likely > seen && pairs >= SOME {
            self.unseen = (likely - seen.max(0.0)) / steps;
        } else if self.unseen > 0.0 && pairs >= MANY && likely < promise / 2.0 {
            self.unseen /= 2.0;
        } else {
            return;
        }
        self.trials += 1;
        self.trial = Trial::new(setting(), SEED.wrapping_add(self.trials));
    }
}
