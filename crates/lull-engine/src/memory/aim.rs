//! What is wanted of the job's memory.

use lull_core::{MemoryThresholds, Nanos};

/// A job that ends sooner does not pay for the observer, whose loading takes a good part of such a job's time.
pub const SHORT_JOB: Nanos = Nanos::from_secs(1);
/// A job with less than this in memory is left to the kernel.
pub const LARGE_BYTES: u64 = 32 << 20;
/// What may stay in the page cache unless the user says otherwise, in bytes.
pub const CACHE_KEEP_BYTES: u64 = 64 << 20;
/// One part in so many of the memory that nobody uses, not even as page cache, may be the job's page cache, too: it displaces nobody.
const UNUSED_SHARE: u64 = 4;
/// … up to this, since each file that is kept is remembered.
const MOST_KEPT_BYTES: u64 = 1 << 30;
/// The longest hold for the sake of dirty pages.
pub const LONGEST_DIRTY_HOLD: Nanos = Nanos::from_millis(250);

/// When the job's memory begins to be managed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Begins {
    /// Once the job is large: nothing was said about it.
    #[default]
    WhenLarge,
    /// With the job, and a person is told if it cannot be had: it was named.
    AtOnce,
}

/// What the user wants of the job's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAim {
    /// When it begins.
    pub begins: Begins,
    /// Bytes of the job's pages that may stay in the page cache while it runs.
    pub cache_keep_bytes: u64,
    /// More of them may stay where nobody uses the memory.
    pub keeps_unused: bool,
    /// Bytes of the job's that may be dirty.
    pub dirty_bytes: u64,
    /// Below and above what the job's pages stay, and go first.
    pub room: MemoryThresholds,
    /// What is taken from the job at a time; `None`: what is missing.
    pub batch_bytes: Option<u64>,
    /// Whether the job's memory is written to swap ahead of need.
    pub cleans: bool,
    /// How long the job may be held for the sake of memory; `None`: it never is.
    pub longest_hold: Option<Nanos>,
}

impl MemoryAim {
    /// What may stay in the page cache while the job runs, if that has so much there now and nobody uses so much.
    pub(super) fn may_keep(&self, has_bytes: u64, unused_bytes: u64) -> u64 {
        let of_unused = (has_bytes.saturating_add(unused_bytes) / UNUSED_SHARE).min(MOST_KEPT_BYTES);
        self.cache_keep_bytes.max(if self.keeps_unused { of_unused } else { 0 })
    }
}

#[cfg(test)]
mod tests;
