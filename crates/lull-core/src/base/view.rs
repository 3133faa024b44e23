//! What a sensor knows of one resource.
//!
//! A sensor does not stream events: at thousands of requests per second that would cost the foreground more than
//! background work does. It keeps, per class, a few cumulative numbers that can be read at any moment without a
//! system call; the policy reconciles itself with them when it has a decision to make.

use crate::base::time::Nanos;

/// One class (foreground or background) of one resource, as observed at one moment. Counts are cumulative since
/// the sensor began; times are monotonic instants, zero for "never".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassView {
    /// Requests in the device or queued before it.
    pub in_service: u32,
    /// Requests that ever arrived.
    pub started: u64,
    /// Requests that ever finished.
    pub ended: u64,
    /// When the latest one arrived.
    pub last_start: Nanos,
    /// When the latest one finished.
    pub last_end: Nanos,
    /// Bytes of those that ever arrived; 0 from a sensor that does not count them.
    pub started_bytes: u64,
    /// Bytes of those in service.
    pub in_service_bytes: u64,
}

/// Both classes of one resource at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Observation {
    /// Work that must not notice us.
    pub foreground: ClassView,
    /// Work that runs in the gaps.
    pub background: ClassView,
}
