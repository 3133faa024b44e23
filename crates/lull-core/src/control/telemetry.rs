//! What control is told, and what it says of it.

use crate::histogram::Histogram;
use crate::share::{Loss, Share};
use crate::time::Nanos;

/// What a sensor has counted of one resource since it began; all cumulative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Latency of foreground requests that found no background in service on arrival.
    pub quiet: Histogram,
    /// Latency of foreground requests that found some.
    pub loaded: Histogram,
    /// Spans from the moment no foreground is in service to the next foreground arrival.
    pub gaps: Histogram,
    /// Time of background requests in the device.
    pub service: Histogram,
    /// When the latest foreground request finished.
    pub foreground_last_end: Nanos,
    /// Foreground requests that ever arrived.
    pub foreground_started: u64,
    /// Background requests that ever arrived.
    pub background_started: u64,
    /// Whether the device says that it rotates.
    pub rotational: bool,
}

/// The little of [`Telemetry`] that is asked for often; all cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Foreground requests that ended.
    pub requests: u64,
    /// Those of them that found background in service on arrival.
    pub met: u64,
    /// The time that all of them took, in nanoseconds.
    pub sum_ns: u64,
    /// Background requests that ever arrived.
    pub background: u64,
}

/// What background costs the foreground now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Loss of foreground throughput.
    pub loss: Loss,
    /// Delay of a request that meets background.
    pub delay: Nanos,
    /// Share of foreground requests that met background.
    pub met: Share,
    /// Time per foreground request while the foreground is at work.
    pub cycle: Nanos,
}

/// What `now` counts beyond `before`; all of it if the sensor has restarted.
pub(super) fn new_of(now: &Histogram, before: &Histogram) -> Histogram {
    if now.count() < before.count() { now.clone() } else { now.since(before) }
}
