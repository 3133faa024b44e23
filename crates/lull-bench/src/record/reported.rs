//! The slowdown that lull itself reports, to be held against the one that the harness measured.
//!
//! `lull run --summary FILE --json` writes an object. In it, `cpu.slowdown` says what the job cost the
//! foreground's bursts, as ratios to the same foreground without the job, with the ends of the 95% confidence
//! interval:
//!
//! ```text
//! "cpu": { "slowdown": { "ratio": 1.031, "low": 1.012, "high": 1.050, "pairs": 57 }, … }
//! ```
//!
//! An interval without an upper end (`null`) says nothing yet, and counts as no report.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::stats::Interval;

/// A slowdown with its 95% confidence interval, as ratios to the undisturbed foreground: 1.03 is 3% slower.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reported {
    /// The best guess.
    pub estimate: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Reported {
    /// Whether a measured ratio lies inside the interval.
    pub fn contains(&self, ratio: f64) -> bool {
        (self.low..=self.high).contains(&ratio)
    }

    /// Whether a measured ratio with an error of its own can be the same as this one.
    pub fn overlaps(&self, measured: &Interval) -> bool {
        self.low <= measured.high && measured.low <= self.high
    }
}

/// What a summary of `lull run` says about the CPU; none if it says nothing.
pub fn reported_cpu_slowdown(summary: &Value) -> Option<Reported> {
    let slowdown = summary.get("cpu")?.get("slowdown")?;
    let ratio = |name: &str| slowdown.get(name)?.as_f64();
    Some(Reported { estimate: ratio("ratio")?, low: ratio("low")?, high: ratio("high")? })
}

#[cfg(test)]
mod tests;
