//! Whether the slowest foreground requests became slower beside background.
//!
//! Problem: a bound can leave the mean alone and still ruin one request in a hundred. The 99th percentile of a
//! window is noisy, and buckets are an eighth of a power of two wide.
//!
//! Approach: compare the percentile of all requests with that of the quiet ones, interpolated within the bucket, and
//! believe a difference only when the number of slow requests proves it: requests above the quiet percentile are
//! more frequent beside background by several standard errors. With few quiet requests the 95th percentile is used.

use super::window::above;
use crate::histogram::{Histogram, lower_bound};
use crate::time::Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Within 5% of what it is without background, as far as can be told.
    Fine,
    /// In between.
    Strained,
    /// More than 10% slower, proved.
    Suffers,
}

const ENOUGH_QUIET: u64 = 200;
const ENOUGH_LOADED: u64 = 100;

pub(super) fn judge(quiet: &Histogram, loaded: &Histogram) -> Tail {
    if quiet.count() < ENOUGH_QUIET || loaded.count() < ENOUGH_LOADED {
        return Tail::Fine;
    }
    let rank = if quiet.count() < 10 * ENOUGH_QUIET { 0.95 } else { 0.99 };
    let mut all = quiet.clone();
    all.merge(loaded);
    let ratio = quantile(&all, rank) / quantile(quiet, rank).max(1.0);
    let errors = excess(quiet, loaded, rank);
    if ratio > 1.10 && errors > 4.0 {
        Tail::Suffers
    } else if ratio > 1.05 && errors > 2.0 {
        Tail::Strained
    } else {
        Tail::Fine
    }
}

/// By how many standard errors requests above the quiet percentile are more frequent beside background.
fn excess(quiet: &Histogram, loaded: &Histogram, rank: f64) -> f64 {
    let Some(limit) = quiet.quantile(rank) else { return 0.0 };
    let (quiets, loadeds) = (quiet.count() as f64, loaded.count() as f64);
    let (slow_quiet, slow_loaded) = (above(quiet, limit) as f64, above(loaded, limit) as f64);
    let pooled = (slow_quiet + slow_loaded + 1.0) / (quiets + loadeds);
    let error = (pooled * (1.0 / quiets + 1.0 / loadeds)).sqrt();
    (slow_loaded / loadeds - (slow_quiet + 1.0) / quiets) / error
}

/// The value of rank `rank`, in nanoseconds, as if values were spread evenly within a bucket.
fn quantile(histogram: &Histogram, rank: f64) -> f64 {
    let wanted = rank * histogram.count() as f64;
    let mut seen = 0.0;
    for (index, n) in histogram.buckets.iter().enumerate().filter(|(_, n)| **n > 0) {
        let n = *n as f64;
        if seen + n >= wanted {
            let (Nanos(low), Nanos(high)) = (lower_bound(index), lower_bound(index + 1));
            return low as f64 + (high - low) as f64 * (wanted - seen) / n;
        }
        seen += n;
    }
    0.0
}

#[cfg(test)]
mod tests;
