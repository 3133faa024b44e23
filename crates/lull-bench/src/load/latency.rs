//! Latency summaries from an hdrhistogram with three significant digits, 1 ns to 1 h.

use std::fmt;

use hdrhistogram::Histogram;
use lull_core::Nanos;
use serde::{Deserialize, Serialize};

use crate::units::whole;

/// The largest latency that is told apart from longer ones.
const HIGHEST_NS: u64 = 3_600_000_000_000;

/// Records latencies one by one.
#[derive(Clone, Debug)]
pub struct Recorder {
    histogram: Histogram<u64>,
    sum_ns: u64,
}

impl Recorder {
    /// An empty one.
    pub fn new() -> Self {
        // Bounds and precision are constants within the library's limits; the fallback grows by itself.
        let histogram = Histogram::new_with_bounds(1, HIGHEST_NS, 3).or_else(|_| Histogram::new(3));
        Self {
            histogram: histogram.unwrap_or_else(|_| unreachable!("three digits are within 0..=5")),
            sum_ns: 0,
        }
    }

    /// Counts one latency.
    pub fn record(&mut self, latency: Nanos) {
        self.histogram.saturating_record(latency.as_nanos().clamp(1, HIGHEST_NS));
        self.sum_ns = self.sum_ns.saturating_add(latency.as_nanos());
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.histogram.reset();
        self.sum_ns = 0;
    }

    /// Counts all that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        // Same bounds and precision, so nothing can fall outside.
        let _ = self.histogram.add(&other.histogram);
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }

    /// Sum of all latencies.
    pub fn sum(&self) -> Nanos {
        Nanos(self.sum_ns)
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Latencies in nanoseconds and how many were at most as long, about ten points per power of two.
    pub fn distribution(&self) -> Vec<(u64, u64)> {
        let mut points: Vec<(u64, u64)> = Vec::new();
        let (mut first, mut seen) = (0_u64, 0);
        for value in self.histogram.iter_recorded() {
            seen += value.count_since_last_iteration();
            let at = value.value_iterated_to();
            match points.last_mut() {
                Some(last) if at < first.saturating_add(first / 15) => *last = (at, seen),
                _ => {
                    first = at;
                    points.push((at, seen));
                }
            }
        }
        points
    }

    /// The summary so far; all zero when nothing was counted.
    pub fn summary(&self) -> Latency {
        let at =
            |fraction| if self.histogram.is_empty() { 0 } else { self.histogram.value_at_quantile(fraction) };
        Latency {
            mean_ns: whole(self.sum_ns as f64 / self.count().max(1) as f64),
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: if self.histogram.is_empty() { 0 } else { self.histogram.max() },
        }
    }
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

/// A distribution of latencies in six numbers, in nanoseconds. The mean is exact, the rest is within 0.1%.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Arithmetic mean.
    pub mean_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [mean, p50, p99, max] = [self.mean_ns, self.p50_ns, self.p99_ns, self.max_ns].map(Nanos);
        write!(f, "latency mean {mean}, median {p50}, p99 {p99}, longest {max}")
    }
}

#[cfg(test)]
mod tests;
