//! The late share: requests that take far longer than nearly all do without the job.
//!
//! Late is what takes longer than the greater of one and a half times the foreground's own 99th percentile, and that percentile and
//! an absolute delay: a few microseconds more on a short request are no harm. The job's part is the share beside it less the share
//! without it.

use crate::base::histogram::{Histogram, bucket_of};
use crate::base::time::Nanos;

/// Requests that may be late because of the job, in parts per million: one in a hundred.
pub const PROMISED_PPM: u32 = 10_000;
/// Fewer requests have no 99th percentile.
const ENOUGH: u64 = 1000;
/// Standard errors that make it sure. They are those of requests that are late each by itself; one stall makes several late, so it
/// takes twice as many as usual.
const SURE: f64 = 4.0;

/// The share of requests that are late because of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Late {
    /// In parts per million of all requests.
    pub ppm: u32,
    /// What is sure of it.
    pub least_ppm: u32,
}

/// Of requests `beside` the job and `without` it; `max_delay`: what nobody minds. `None` while too few are known.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a million")]
pub fn late_share(without: &Histogram, beside: &Histogram, max_delay: Nanos) -> Option<Late> {
    let (known, seen) = (without.count(), beside.count());
    if known < ENOUGH || seen < ENOUGH {
        return None;
    }
    let own = without.quantile(0.99)?;
    let bound = bucket_of(Nanos(own.0 / 2 * 3).max(own.plus(max_delay)));
    let late_in = |histogram: &Histogram| histogram.buckets[bound + 1..].iter().sum::<u64>() as f64;
    let own_share = late_in(without) / known as f64;
    let share = late_in(beside) / seen as f64;
    let variance = own_share * (1.0 - own_share) / known as f64 + share * (1.0 - share) / seen as f64;
    let excess = share - own_share;
    let ppm = |share: f64| (share.max(0.0) * 1e6) as u32;
    Some(Late { ppm: ppm(excess), least_ppm: ppm(excess - SURE * variance.sqrt()) })
}
