//! Arrival times of an open loop, decided before the first request is sent.
//!
//! A closed loop that is slowed down sends less, and so hides what happened to the requests that it did not
//! send (*coordinated omission*). Here the instants are a sequence of their own: they depend on the seed,
//! never on how long a request took. A late request is still measured from the instant at which it should
//! have arrived.
//!
//! Gaps are exponential (Poisson arrivals) or all the same. Where they are random, those that are counted are
//! a sequence of their own, begun anew when the warm-up ends: contenders with different warm-ups are compared
//! by the same arrivals, and where these come close together decides the longest requests.

use lull_core::Nanos;

use crate::load::think::{Spread, Warmed};

/// The instants at which requests arrive; without end.
#[derive(Clone, Debug)]
pub struct Arrivals {
    last: Nanos,
    gaps: Warmed,
}

impl Arrivals {
    /// Arrivals after `begin` whose gaps have this mean. Those after `begun`, where counting begins, depend
    /// on nothing but the seed if they are random; at a constant rate the gap at `begun` is as long as the
    /// others.
    pub fn new([begin, begun]: [Nanos; 2], mean_gap: Nanos, spread: Spread, seed: u64) -> Self {
        Self { last: begin, gaps: Warmed::new(begun, mean_gap, spread, seed) }
    }
}

impl Iterator for Arrivals {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        self.last = self.gaps.next_after(self.last);
        Some(self.last)
    }
}

/// The mean gap at which requests of `service` keep one server busy for `percent` of the time.
pub fn gap_for_load(service: Nanos, percent: u64) -> Nanos {
    Nanos(service.as_nanos().saturating_mul(100) / percent.clamp(1, 100))
}

#[cfg(test)]
mod tests;
