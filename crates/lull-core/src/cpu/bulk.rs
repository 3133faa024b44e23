//! For how much a burst counts at the most.
//!
//! Problem: where a few bursts take most of the time, by stalls of the machine or by nature, no mean of a few hundred tells anything.
//! Approach: the longest are cut so far that a tenth of all time is cut off; how many of them there are is what the late share is for. The
//! cut is the same beside the job and without it, and follows only where it would differ by much, since a comparison spans no change.
//!
//! Edge cases: with few bursts nothing is cut. A foreground whose time lies in long bursts keeps them.

use crate::base::histogram::Histogram;
use crate::base::time::Nanos;

/// What is cut off, of all time.
const CUT_OFF: f64 = 0.1;
/// Fewer bursts say nothing of the longest.
const ENOUGH: u64 = 1000;
/// It follows when it would differ by one part in so many.
const FOLLOWS: u64 = 4;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Bulk(Nanos);

impl Default for Bulk {
    fn default() -> Self {
        Self(Nanos::MAX)
    }
}

impl Bulk {
    /// Takes in all bursts so far; returns the most that one counts for, if that is new.
    pub fn look(&mut self, bursts: &Histogram) -> Option<Nanos> {
        let most = bursts.bulk(CUT_OFF).filter(|_| bursts.count() >= ENOUGH)?;
        let is_new = most.0.abs_diff(self.0.0) > self.0.0 / FOLLOWS;
        is_new.then(|| {
            self.0 = most;
            most
        })
    }
}
