//! Figures of which every resource tells some, and how a person reads them.

use lull_core::{Histogram, Nanos, Slowdown};
use serde::{Deserialize, Serialize};

/// How much slower the foreground was with background than without, as tested by withholding it now and then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowdownSummary {
    /// Time per foreground request with background over without: 1 for no slowdown.
    pub ratio: f64,
    /// The 95% interval of the ratio; no upper end while nothing excludes any slowdown.
    pub low: f64,
    /// See `low`.
    pub high: Option<f64>,
    /// Comparisons it rests on.
    pub pairs: u32,
}

impl From<Slowdown> for SlowdownSummary {
    fn from(slowdown: Slowdown) -> Self {
        let Slowdown { ratio, low, high, pairs } = slowdown;
        Self { ratio, low, high: Some(high).filter(|high| high.is_finite()), pairs }
    }
}

impl SlowdownSummary {
    /// As a share, with its interval.
    pub fn text(&self) -> String {
        let Some(high) = self.high else { return "not known yet".to_owned() };
        format!("{} ({} to {})", signed(self.ratio), signed(self.low), signed(high))
    }

    /// The loss that is proved.
    pub fn proved(&self) -> f64 {
        (self.low - 1.0).max(0.0)
    }
}

/// Whether a promise was kept, in words.
pub fn verdict(kept: Option<bool>) -> &'static str {
    match kept {
        Some(true) => "kept",
        Some(false) => "NOT kept",
        None => "neither proved nor refuted",
    }
}

/// A ratio as what it is more than 1.
fn signed(ratio: f64) -> String {
    format!("{:+.1}%", (ratio - 1.0) * 100.0)
}

/// A share with its 95% interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LossSummary {
    /// As likely more as less.
    pub likely: f64,
    /// The lower end.
    pub least: f64,
    /// The upper end; none while nothing excludes any loss.
    pub most: Option<f64>,
}

impl From<[f64; 3]> for LossSummary {
    fn from([likely, least, most]: [f64; 3]) -> Self {
        Self { likely, least, most: Some(most).filter(|most| most.is_finite()) }
    }
}

/// How long something of the foreground took; none when there was nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delays {
    /// When it met no background on arrival.
    pub quiet_mean_ns: Option<u64>,
    /// Of one in a hundred it was more.
    pub quiet_p99_ns: Option<u64>,
    /// … and when it met some.
    pub loaded_mean_ns: Option<u64>,
    /// Of one in a hundred it was more.
    pub loaded_p99_ns: Option<u64>,
}

impl Delays {
    /// The means and tails of these times.
    pub fn of(quiet: &Histogram, loaded: &Histogram) -> Self {
        let ns = |time: Option<Nanos>| time.map(|time| time.0);
        Self {
            quiet_mean_ns: ns(quiet.mean()),
            quiet_p99_ns: ns(quiet.quantile(0.99)),
            loaded_mean_ns: ns(loaded.mean()),
            loaded_p99_ns: ns(loaded.quantile(0.99)),
        }
    }

    /// What a person reads of those that met no background.
    pub fn quiet(&self) -> Option<String> {
        Some(format!("{} (p99 {})", Nanos(self.quiet_mean_ns?), Nanos(self.quiet_p99_ns?)))
    }

    /// … and of those that met some.
    pub fn loaded(&self) -> Option<String> {
        Some(format!("{} (p99 {})", Nanos(self.loaded_mean_ns?), Nanos(self.loaded_p99_ns?)))
    }
}

/// Bytes with a binary unit.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub fn bytes(n: u64) -> String {
    let mut value = n as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{n} B") } else { format!("{value:.1} {unit}") }
}

#[cfg(test)]
mod tests;
