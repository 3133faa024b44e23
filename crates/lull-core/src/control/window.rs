//! What was measured recently: two generations of counts.
//!
//! A generation is closed when it is at least a second old and holds at least 200 foreground requests; the view is
//! the sum of the open one and the one before. So the window is one to two seconds long on a fast device, 200 to
//! 400 requests on a slow one, and forgetting costs nothing between the closings.
//!
//! What depends on the bound (latency beside background, background service) is kept apart and starts anew when
//! the bound changes.

use super::telemetry::{Heads, Total};
use crate::histogram::{BUCKETS, Histogram, lower_bound};
use crate::time::Nanos;

const SPAN: Nanos = Nanos::from_secs(1);
const REQUESTS: u64 = 200;

/// Counts of one generation.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Foreground latency with no background in service on arrival.
    pub(super) quiet: Histogram,
    /// Spans without foreground in service.
    pub(super) gaps: Histogram,
    /// Foreground latency with background in service on arrival, at the present bound.
    pub(super) loaded: Histogram,
    /// Those that began a burst, without background; and with it, at the present bound, while no gap closed.
    pub(super) heads: Heads,
    /// Background latency at the present bound.
    pub(super) service: Histogram,
    /// Time during which the foreground was at work.
    pub(super) active: Nanos,
    /// Foreground requests that arrived in that time.
    pub(super) arrived: u64,
    /// Foreground requests that arrived at the present bound.
    pub(super) arrived_at_bound: u64,
    /// Gaps that were longer than the interval in force, while none closed.
    pub(super) exposed: u64,
    /// Bursts whose first request met background, while no gap closed.
    pub(super) exposed_met: u64,
    /// Arrivals with the present number of rounds per gap.
    pub(super) closed: u64,
    /// Bursts among them whose first request met background.
    pub(super) closed_met: u64,
    /// Bursts whose first request met background, at any bound.
    pub(super) met: u64,
    /// Background requests that were served while the foreground was at work, at the present bound.
    pub(super) served: u64,
    /// Background requests that were served while the foreground was at work, at any bound.
    pub(super) served_at_all: u64,
    /// The time in which those at the present bound were served.
    pub(super) served_in: Nanos,
}

impl Counts {
    pub(super) fn merge(&mut self, other: &Self) {
        self.quiet.merge(&other.quiet);
        self.gaps.merge(&other.gaps);
        self.loaded.merge(&other.loaded);
        self.service.merge(&other.service);
        self.active = self.active.plus(other.active);
        self.arrived += other.arrived;
        self.arrived_at_bound += other.arrived_at_bound;
        self.heads.quiet.merge(&other.heads.quiet);
        self.heads.loaded.merge(&other.heads.loaded);
        self.exposed += other.exposed;
        self.exposed_met += other.exposed_met;
        self.closed += other.closed;
        self.closed_met += other.closed_met;
        self.met += other.met;
        self.served += other.served;
        self.served_at_all += other.served_at_all;
        self.served_in = self.served_in.plus(other.served_in);
    }

    fn forget_depth(&mut self) {
        self.loaded = Histogram::default();
        self.heads.loaded = Total::default();
        self.arrived_at_bound = 0;
        self.service = Histogram::default();
        self.served = 0;
        self.served_in = Nanos::ZERO;
    }

    fn forget_rounds(&mut self) {
        self.closed = 0;
        self.closed_met = 0;
    }

    fn forget_costs(&mut self) {
        self.forget_depth();
        self.forget_rounds();
        self.exposed = 0;
        self.exposed_met = 0;
        self.met = 0;
        self.served_at_all = 0;
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    open: Counts,
    opened: Nanos,
    before: Counts,
}

impl Window {
    pub(super) fn add(&mut self, now: Nanos, counts: &Counts) {
        self.open.merge(counts);
        if now.since(self.opened) >= SPAN && self.open.arrived >= REQUESTS {
            self.before = std::mem::take(&mut self.open);
            self.opened = now;
        }
        self.opened = self.opened.min(now);
    }

    /// The bound has changed.
    pub(super) fn forget_depth(&mut self) {
        self.open.forget_depth();
        self.before.forget_depth();
    }

    /// The number of rounds per gap has changed.
    pub(super) fn forget_rounds(&mut self) {
        self.open.forget_rounds();
        self.before.forget_rounds();
    }

    /// What background costs has changed; what the foreground does by itself has not.
    pub(super) fn forget_costs(&mut self) {
        self.open.forget_costs();
        self.before.forget_costs();
    }

    /// Both generations.
    pub(super) fn view(&self) -> Counts {
        let mut sum = self.before.clone();
        sum.merge(&self.open);
        sum
    }
}

/// How many values are above `limit`, as far as the buckets tell.
pub(super) fn above(histogram: &Histogram, limit: Nanos) -> u64 {
    (0..BUCKETS)
        .rev()
        .take_while(|index| lower_bound(*index) >= limit)
        .map(|index| histogram.buckets[index])
        .sum()
}

/// Mean, in nanoseconds.
pub(super) fn mean(histogram: &Histogram) -> Option<f64> {
    let count = histogram.count();
    (count > 0).then(|| histogram.sum_ns as f64 / count as f64)
}

/// Variance of the mean, in square nanoseconds, from the middles of the buckets.
pub(super) fn variance_of_mean(histogram: &Histogram) -> f64 {
    let (Some(mean), count) = (mean(histogram), histogram.count() as f64) else { return 0.0 };
    let squares: f64 = histogram
        .buckets
        .iter()
        .enumerate()
        .filter(|(_, n)| **n > 0)
        .map(|(index, n)| {
            let middle = (lower_bound(index).0 + lower_bound(index + 1).0) as f64 / 2.0;
            *n as f64 * (middle - mean).powi(2)
        })
        .sum();
    squares / count / count
}
