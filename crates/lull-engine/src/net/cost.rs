//! What a preemption costs on an interface.

use lull_core::{Histogram, Nanos};

/// From so many packets it is said what a preemption costs.
pub(super) const COST_PACKETS: u64 = 64;

/// What a preemption costs: how long background packets are in the queue, in the middle.
#[derive(Debug, Default)]
pub(super) struct Cost {
    before: Histogram,
    last: Option<Nanos>,
}

impl Cost {
    pub(super) fn step(&mut self, service: &Histogram) -> Option<Nanos> {
        self.last = self.fresh(service).or(self.last);
        self.last
    }

    /// As soon as enough packets have passed since the last.
    pub(super) fn fresh(&mut self, service: &Histogram) -> Option<Nanos> {
        let new = service.since(&self.before);
        if new.count() < COST_PACKETS {
            return None;
        }
        self.before.clone_from(service);
        new.quantile(0.5)
    }
}

#[cfg(test)]
mod tests;
