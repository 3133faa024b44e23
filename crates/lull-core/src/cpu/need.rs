//! How many CPUs the foreground needs: the most that it used at once of late.
//!
//! Of the present stretch of time and the one before, so that a peak counts for one to two stretches.

use crate::base::time::Nanos;

/// A stretch.
const STRETCH: Nanos = Nanos::from_millis(2);

#[derive(Clone, Debug, Default)]
pub(super) struct Need {
    began: Nanos,
    peak: u32,
    before: u32,
}

impl Need {
    /// `peak`: the most CPUs that it used at once since the last look.
    pub(super) fn look(&mut self, now: Nanos, peak: u32) {
        let passed = now.since(self.began);
        if passed >= STRETCH {
            self.before = if passed >= STRETCH.times(2) { 0 } else { self.peak };
            (self.began, self.peak) = (now, 0);
        }
        self.peak = self.peak.max(peak);
    }

    pub(super) fn most(&self) -> u32 {
        self.peak.max(self.before)
    }
}
