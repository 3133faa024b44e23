//! What background costs beyond the requests that meet it.
//!
//! Problem: the sensor sees which foreground requests met background, and what that cost them. Devices have more ways
//! to be slow: a virtual disk's host goes elsewhere, a drive looks after what it has just done, and a request that
//! follows background closely pays without having met it. On such disks the sensor sees a tenth of the harm.
//!
//! Approach: a [`Trial`] withholds background for short, random moments. Each of its blocks compares the foreground's
//! latency with and without background; divided by the time per request that is a loss, measured. What the requests
//! that met background explain is taken off; the rest is put down to the background requests served meanwhile, each
//! with the same part of its time in the device. That part is fitted by least squares through the origin over
//! recent blocks and an assumed part of zero:
//!
//! ```text
//!              Σ served · unexplained / σ²
//!   part = ────────────────────────────────       served: time of background in the device per foreground time
//!            Σ served² / σ²  +  1 / τ²            σ²: of one block's loss about the fitted one
//!                                                 τ:  how large the part may well be
//! ```
//!
//! Through the origin, because background that is not there costs nothing. So stretches in which little was lent
//! hardly count, and noise in them cannot make background look harmful.
//!
//! Units: losses and served time are shares of the foreground's time per request.
//!
//! Edge cases: the mean of an epoch counts at most [`CLIP`] times the usual, or one hiccup of the device would decide.
//! Slow devices and a sparse foreground are not tested: there waiting is all there is, which the sensor sees, and an
//! epoch would take seconds.
//!
//! Source: Bayesian linear regression with known variance, in any textbook.

use super::telemetry::Latency;
use crate::share::Loss;
use crate::time::Nanos;
use crate::trial::{Arm, Measure, Reading, Slowdown, Trial, TrialSetting};

/// How large the part may well be.
const TAU: f64 = 1.0;
/// What a block is worth after another one has come.
const KEPT: f64 = 1.0 - 1.0 / 96.0;
/// The mean of an epoch counts at most this many times the usual.
const CLIP: f64 = 4.0;
/// Variance of a block's measured loss before any was seen, and its weight in blocks.
const ASSUMED_VARIANCE: f64 = 0.06 * 0.06;
const ASSUMED_BLOCKS: f64 = 4.0;
/// The part is at most this.
const MOST: f64 = 20.0;
/// Background that has started nothing for this long has no work.
const IDLE_AFTER: Nanos = Nanos::from_millis(500);

/// Where the order of arms begins; any number will do.
const SEED: u64 = 0x6C75_6C6C;

/// What a trial of a disk costs and sees.
fn setting(budget: Loss) -> TrialSetting {
    TrialSetting {
        measure: Measure::Mean,
        budget,
        washout: Nanos::from_millis(2),
        shortest: Nanos::from_millis(8),
        longest: Nanos::from_millis(60),
        requests: 32,
        ..TrialSetting::default()
    }
}

/// Sums over recent blocks, the older the less.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    /// Blocks.
    weight: f64,
    /// Served squared; served times unexplained; unexplained squared.
    xx: f64,
    xy: f64,
    yy: f64,
    /// Latency without background, in nanoseconds.
    usual: f64,
}

/// What is known without a test; all in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    /// Delay of a foreground request that meets background, as the sensor saw it.
    pub(super) delay: f64,
    /// Foreground time per request.
    pub(super) cycle: f64,
    /// Time of a background request in the device.
    pub(super) service: f64,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Correction {
    trial: Trial,
    sums: Sums,
    /// What happened in lent time since the last block.
    lent: Latency,
    last: Option<Latency>,
    /// Background requests and when their number last grew.
    worked: (u64, Nanos),
}

impl Correction {
    pub(super) fn new(budget: Loss) -> Self {
        Self {
            trial: Trial::new(setting(budget), SEED),
            sums: Sums::default(),
            lent: Latency::default(),
            last: None,
            worked: (0, Nanos::ZERO),
        }
    }

    /// From now on `budget` is the loss that matters.
    pub(super) fn set_budget(&mut self, budget: Loss) {
        self.trial.set_budget(budget);
    }

    /// Takes in what the sensor has counted; `model` is `None` when nothing is to be tested.
    pub(super) fn step(&mut self, now: Nanos, latency: &Latency, model: Option<&Model>) {
        let before = self.last.replace(*latency).unwrap_or(*latency);
        if self.trial.arm() == Arm::Lent {
            self.lent.requests += latency.requests.saturating_sub(before.requests);
            self.lent.met += latency.met.saturating_sub(before.met);
            self.lent.background += latency.background.saturating_sub(before.background);
        }
        if latency.background != self.worked.0 {
            self.worked = (latency.background, now);
        }
        let works = latency.background > 0 && now.since(self.worked.1) < IDLE_AFTER;
        let reading = Reading { count: latency.requests, sum: latency.sum_ns, work: latency.background };
        self.trial.record(now, reading, works && model.is_some());
        let (Some(model), Some((lent, withheld))) = (model, self.trial.take_block()) else { return };
        let seen = std::mem::take(&mut self.lent);
        if let (Some(lent), Some(withheld)) = (lent.mean(), withheld.mean())
            && seen.requests > 0
        {
            self.add(model, &seen, lent, withheld);
        }
    }

    fn add(&mut self, model: &Model, seen: &Latency, lent: f64, withheld: f64) {
        let usual = if self.sums.usual > 0.0 { self.sums.usual } else { withheld };
        let [lent, withheld] = [lent, withheld].map(|mean| mean.min(CLIP * usual));
        let per_request = |count: u64| count as f64 / seen.requests as f64;
        let explained = per_request(seen.met) * model.delay;
        let unexplained = (lent - withheld - explained) / model.cycle;
        let served = per_request(seen.background) * model.service / model.cycle;
        let sums = &mut self.sums;
        sums.usual = usual + (withheld - usual) / 16.0;
        sums.weight = KEPT * sums.weight + 1.0;
        sums.xx = KEPT * sums.xx + served * served;
        sums.xy = KEPT * sums.xy + served * unexplained;
        sums.yy = KEPT * sums.yy + unexplained * unexplained;
    }

    /// What each background request costs, beyond the requests that meet it, as a part of its time in the device.
    pub(super) fn part(&self) -> f64 {
        let Sums { weight, xx, xy, yy, .. } = self.sums;
        let rest = if xx > 0.0 { (yy - xy * xy / xx).max(0.0) } else { yy };
        let variance = (ASSUMED_BLOCKS * ASSUMED_VARIANCE + rest) / (ASSUMED_BLOCKS + weight);
        (xy / (xx + variance / (TAU * TAU))).clamp(0.0, MOST)
    }

    /// Whether background is to be held now, to see the foreground without it.
    pub(super) fn withholds(&self) -> bool {
        self.trial.arm() == Arm::Withheld
    }

    /// When the next step is due; `None` while nothing is tested.
    pub(super) fn next(&self) -> Option<Nanos> {
        self.trial.next_change()
    }

    /// The slowdown of foreground requests as far as the trial knows it.
    pub(super) fn slowdown(&self) -> Option<Slowdown> {
        self.trial.slowdown()
    }

    /// What background costs has changed.
    pub(super) fn restart(&mut self) {
        self.sums = Sums { usual: self.sums.usual, ..Sums::default() };
    }
}

#[cfg(test)]
mod tests;
