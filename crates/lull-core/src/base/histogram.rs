//! Latency histograms with log-linear buckets: eight linear steps per power of two, from 1 ns to about 18 min.
//!
//! The kernel programs count into the same buckets (`lull_record.h` repeats [`bucket_of`], and a test compares the
//! two), so reading them is a copy. A value below [`SUB`] has a bucket of its own; above, a bucket spans an eighth of
//! its power of two, so a quantile is at most 12.5% above the true one. The exact sum is kept beside the buckets: means
//! are exact.

use crate::base::time::Nanos;

/// Linear steps per power of two.
pub const SUB: usize = 8;
const SUB_BITS: u32 = SUB.ilog2();
/// Number of buckets; values of 2^40 ns and more fall in the last.
pub const BUCKETS: usize = SUB * (40 - SUB_BITS as usize + 1);

/// The bucket that counts `value`.
#[expect(clippy::cast_possible_truncation, reason = "bounded by BUCKETS")]
pub const fn bucket_of(value: Nanos) -> usize {
    let v = value.0;
    if v < SUB as u64 {
        return v as usize;
    }
    let log = v.ilog2();
    let index = ((log - SUB_BITS + 1) as usize) * SUB + ((v >> (log - SUB_BITS)) as usize & (SUB - 1));
    if index < BUCKETS { index } else { BUCKETS - 1 }
}

/// The smallest value that bucket `index` counts.
#[expect(clippy::cast_possible_truncation, reason = "index is below BUCKETS")]
pub const fn lower_bound(index: usize) -> Nanos {
    if index < SUB {
        return Nanos(index as u64);
    }
    let shift = (index / SUB - 1) as u32;
    Nanos(((SUB + index % SUB) as u64) << shift)
}

/// Counts per bucket and the exact sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// How many values fell in each bucket.
    pub buckets: [u64; BUCKETS],
    /// The sum of all values, in nanoseconds.
    pub sum_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: [0; BUCKETS], sum_ns: 0 }
    }
}

impl Histogram {
    /// Counts one value.
    pub fn record(&mut self, value: Nanos) {
        self.buckets[bucket_of(value)] += 1;
        self.sum_ns = self.sum_ns.saturating_add(value.0);
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The exact mean; `None` when empty.
    pub fn mean(&self) -> Option<Nanos> {
        self.sum_ns.checked_div(self.count()).map(Nanos)
    }

    /// The middle of the bucket that holds the value of rank `fraction` (0 to 1); `None` when empty.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a rank within the count"
    )]
    pub fn quantile(&self, fraction: f64) -> Option<Nanos> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = ((fraction.clamp(0.0, 1.0) * count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (index, n) in self.buckets.iter().enumerate() {
            seen += n;
            if seen >= rank {
                let low = lower_bound(index).0;
                let high = lower_bound(index + 1).0;
                return Some(Nanos(low + (high - low) / 2));
            }
        }
        None
    }

    /// The least value for which what is longer than it adds up to at most this share of all time; `None` when empty.
    pub fn bulk(&self, beyond: f64) -> Option<Nanos> {
        let middle = |index: usize| (lower_bound(index).0 + lower_bound(index + 1).0) as f64 / 2.0;
        let (mut longer, mut count) = (0.0, 0.0);
        for (index, n) in self.buckets.iter().enumerate().rev() {
            // What is cut off if all that is longer counts for the middle of this bucket.
            let cut_off = longer - count * middle(index);
            if cut_off > beyond * self.sum_ns as f64 {
                return Some(lower_bound(index + 1));
            }
            longer += *n as f64 * middle(index);
            count += *n as f64;
        }
        (count > 0.0).then_some(Nanos::ZERO)
    }

    /// What was counted since `earlier`, an older copy of this histogram.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut delta = Self { sum_ns: self.sum_ns.saturating_sub(earlier.sum_ns), ..Self::default() };
        for (slot, (now, then)) in delta.buckets.iter_mut().zip(self.buckets.iter().zip(&earlier.buckets)) {
            *slot = now.saturating_sub(*then);
        }
        delta
    }

    /// Forgets half of what was counted: what comes from now on weighs more.
    pub fn halve(&mut self) {
        self.buckets.iter_mut().for_each(|n| *n /= 2);
        self.sum_ns /= 2;
    }

    /// Variance over the square of the mean, from the middles of the buckets; 1 where too little is known.
    pub fn spread(&self) -> f64 {
        let count = self.count() as f64;
        if count < 8.0 {
            return 1.0;
        }
        let middle = |index| (lower_bound(index).0 + lower_bound(index + 1).0) as f64 / 2.0;
        let used = || self.buckets.iter().enumerate().filter(|(_, n)| **n > 0);
        let mean = used().map(|(index, n)| *n as f64 * middle(index)).sum::<f64>() / count;
        let squares: f64 = used().map(|(index, n)| *n as f64 * (middle(index) - mean).powi(2)).sum();
        squares / count / (mean * mean).max(1.0)
    }

    /// Adds all that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        for (slot, n) in self.buckets.iter_mut().zip(&other.buckets) {
            *slot += n;
        }
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }
}

#[cfg(test)]
mod tests;
