//! Arrival times of an open loop, decided before the first request is sent.
//!
//! A closed loop that is slowed down sends less, and so hides what happened to the requests that it did not send
//! (*coordinated omission*). Here the instants are a sequence of their own: they depend on the seed, never on how long
//! a request took. A late request is still measured from the instant at which it should have arrived.
//!
//! Gaps are exponential (Poisson arrivals) or all the same.

use lull_core::Nanos;

use crate::load::think::{Spread, Think};

/// The instants at which requests arrive; without end.
#[derive(Clone, Debug)]
pub struct Arrivals {
    last: Nanos,
    gaps: Think,
}

impl Arrivals {
    /// Arrivals after `begin` whose gaps have this mean; the same seed gives the same instants.
    pub fn new(begin: Nanos, mean_gap: Nanos, spread: Spread, seed: u64) -> Self {
        Self { last: begin, gaps: Think::new(mean_gap, spread, seed) }
    }
}

impl Iterator for Arrivals {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        self.last = self.last.plus(self.gaps.next_span());
        Some(self.last)
    }
}

/// The mean gap at which requests of `service` keep one server busy for `percent` of the time.
pub fn gap_for_load(service: Nanos, percent: u64) -> Nanos {
    Nanos(service.as_nanos().saturating_mul(100) / percent.clamp(1, 100))
}

#[cfg(test)]
mod tests;
