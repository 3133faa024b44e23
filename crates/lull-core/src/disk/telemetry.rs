//! What control is told, and what it says of it.

use crate::base::histogram::Histogram;
use crate::base::share::{Loss, Share};
use crate::base::time::Nanos;

/// How many, and how long together. Cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// How many.
    pub count: u64,
    /// How long together, in nanoseconds.
    pub sum_ns: u64,
}

impl Total {
    /// Counts one span.
    pub fn record(&mut self, span: Nanos) {
        self.merge(&Self { count: 1, sum_ns: span.0 });
    }

    /// Adds all that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
    }

    /// Mean, in nanoseconds.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64)
    }

    /// What was counted since `earlier`; all of it if the sensor has restarted.
    fn since(&self, earlier: &Self) -> Self {
        if self.count < earlier.count || self.sum_ns < earlier.sum_ns {
            return *self;
        }
        Self { count: self.count - earlier.count, sum_ns: self.sum_ns - earlier.sum_ns }
    }
}

impl From<&Histogram> for Total {
    fn from(histogram: &Histogram) -> Self {
        Self { count: histogram.count(), sum_ns: histogram.sum_ns }
    }
}

/// Latency of the foreground requests that arrived while no other foreground was in service: nothing of it is waiting
/// for the foreground itself, so that the difference of the two means is what background costs. Cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heads {
    /// Those that found no background in service, nor shortly before.
    pub quiet: Total,
    /// Those that found some.
    pub loaded: Total,
}

impl Heads {
    /// What was counted since `earlier`.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        Self { quiet: self.quiet.since(&earlier.quiet), loaded: self.loaded.since(&earlier.loaded) }
    }
}

/// What a sensor has counted of one resource since it began; all cumulative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Latency of foreground requests that found no background in service on arrival, nor shortly before ([`RECENTLY`]).
    pub quiet: Histogram,
    /// Latency of foreground requests that found some.
    pub loaded: Histogram,
    /// The part of both that began a burst; nothing from a sensor that does not tell them apart.
    pub heads: Heads,
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
    /// Bytes of them.
    pub background_bytes: u64,
    /// Whether the device says that it rotates.
    pub rotational: bool,
    /// Whether background had to wait for room under the window since the last time ([`take_full`](crate::Resource::take_full)).
    pub is_full: bool,
}

/// A foreground request that follows background within this time has met it: a device's cache or queue may remember it.
pub const RECENTLY: Nanos = Nanos::from_millis(1);

impl Telemetry {
    /// The requests that began a burst; all of them if the sensor does not tell them apart.
    pub(super) fn heads(&self) -> Heads {
        if self.heads == Heads::default() {
            return Heads { quiet: Total::from(&self.quiet), loaded: Total::from(&self.loaded) };
        }
        self.heads
    }
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
    /// The share of its time at work that the foreground loses.
    pub loss: Loss,
    /// Delay of a request that meets background.
    pub delay: Nanos,
    /// Share of foreground requests that met background.
    pub met: Share,
}

/// What `now` counts beyond `before`; all of it if the sensor has restarted.
pub(super) fn new_of(now: &Histogram, before: &Histogram) -> Histogram {
    if now.count() < before.count() { now.clone() } else { now.since(before) }
}
