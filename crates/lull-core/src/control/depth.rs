//! How many background requests may be in service at once.
//!
//! Problem: a parallel device serves several without harm, a one-at-a-time device only lengthens its queue. Which
//! one it is shows only by trying.
//!
//! Approach: one more while the foreground does not notice, half as many as soon as it does (additive increase,
//! multiplicative decrease). A bound that hurt, or that gained nothing, becomes a ceiling, and is tried again only
//! after a time that doubles with each failure.
//!
//! ```text
//!         foreground unharmed, bound in use, below the ceiling: +1
//!        ┌──────────┐
//!        │          ▼                        ┌─ ceiling = depth, back-off × 2
//!        └──────── depth ── harm: ÷ 2 ───────┤
//!                    └───── no gain: − 1 ────┘
//! ```
//!
//! *Gain*: by Little's law `depth` requests of latency `S` are `depth / S` per second. Where one more gains less
//! than a quarter of the ideal, the device has no room for it, and more waiting for nothing is not worth any risk.

use super::ceiling::Ceiling;
use super::tail::Tail;
use crate::time::Nanos;

const MOST: u32 = 256;
/// Loaded requests and background services that a judgement takes.
const ENOUGH: u64 = 100;

/// What was measured at the present bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// Foreground requests that met background at this bound, or did not although it ran in each gap.
    pub(super) loaded: u64,
    /// Foreground loss, and its standard error.
    pub(super) loss: f64,
    pub(super) error: f64,
    /// Foreground loss that nobody minds.
    pub(super) free: f64,
    /// Whether slow foreground requests became slower.
    pub(super) tail: Tail,
    /// Background services counted, and their mean length in nanoseconds.
    pub(super) services: u64,
    pub(super) service: f64,
    /// Whether background uses what it may.
    pub(super) in_use: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Search {
    depth: u32,
    ceiling: Ceiling,
    /// Requests per second at the bound below, once it was judged.
    rate_below: Option<f64>,
}

impl Default for Search {
    fn default() -> Self {
        Self { depth: 1, ceiling: Ceiling::default(), rate_below: None }
    }
}

impl Search {
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Something outside has changed: what failed may succeed, and rates compare no longer.
    pub(super) fn restart(&mut self) {
        self.ceiling = Ceiling::default();
        self.rate_below = None;
    }

    /// Judges the present bound; true if it changed and evidence must be gathered anew.
    pub(super) fn judge(&mut self, now: Nanos, evidence: &Evidence) -> bool {
        let harmed = evidence.loss - 2.0 * evidence.error > evidence.free || evidence.tail == Tail::Suffers;
        if self.depth > 1 && evidence.loaded >= ENOUGH / 4 && harmed {
            self.ceiling.lower_to(now, self.depth);
            self.depth /= 2;
            self.rate_below = None;
            return true;
        }
        if evidence.loaded < ENOUGH || evidence.services < ENOUGH {
            return false;
        }
        let rate = f64::from(self.depth) / evidence.service.max(1.0);
        if let (Some(below), true) = (self.rate_below, self.depth > 1) {
            let ideal = 1.0 / f64::from(self.depth - 1);
            if rate / below - 1.0 < ideal / 4.0 {
                self.ceiling.lower_to(now, self.depth);
                self.depth -= 1;
                self.rate_below = None;
                return true;
            }
        }
        let unharmed = evidence.loss <= evidence.free / 2.0
            && evidence.loss + evidence.error <= evidence.free
            && evidence.tail == Tail::Fine;
        if unharmed && evidence.in_use && !self.ceiling.bars(now, self.depth + 1) && self.depth < MOST {
            self.rate_below = Some(rate);
            self.depth += 1;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests;
