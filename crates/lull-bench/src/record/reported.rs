//! The slowdown that lull itself reports, to be held against the one that the harness measured.
//!
//! `lull run --summary FILE --json` writes an object. In it, `slowdown` is a list with one entry per resource:
//!
//! ```text
//! "slowdown": [ { "resource": "cpu", "estimate": 0.031, "low": 0.012, "high": 0.050 }, … ]
//! ```
//! Numbers are the foreground's loss in parts of one (0.031: 3.1% slower), `low` and `high` the ends of the 95% confidence
//! interval. Here they become ratios to the foreground alone (1.031), as the harness measures them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
}

/// What a summary of `lull run` says about the CPU; none if it says nothing.
pub fn reported_cpu_slowdown(summary: &Value) -> Option<Reported> {
    let entries = summary.get("slowdown")?.as_array()?;
    let cpu = entries.iter().find(|entry| entry.get("resource").and_then(Value::as_str) == Some("cpu"))?;
    let ratio = |name: &str| Some(1.0 + cpu.get(name)?.as_f64()?);
    Some(Reported { estimate: ratio("estimate")?, low: ratio("low")?, high: ratio("high")? })
}

#[cfg(test)]
mod tests;
