//! The preemption interval of a network interface, from the foreground's round trips.
//!
//! Problem: a TCP sender with a full window is silent until acknowledgements come back. An interval shorter than that
//! silence lets background into every gap of one and the same transfer; the paper finds the interval effective from about
//! one round trip on (sections 4.3, figures 11 and 12). Without TCP nothing is silent for that long, and a short interval
//! leaves the background most.
//!
//! Approach: the largest smoothed round trip that foreground connections had lately, a quarter more, between two bounds.
//! The largest is kept over two spans, the present one and the one before, so that it is forgotten after one to two spans
//! without such a connection.
//!
//! That interval is longer than need be where a preemption costs little: a sender with a full window loses of its throughput what
//! the background in the queue adds to its round trip. Where that is a twentieth at most, a few times the cost is enough, which bounds
//! what preemptions take of the link.
//!
//! ```text
//!   round trips   ──────●────●──┬──●────────────┬───────────────┬──▶ time
//!   largest of           this   │  before, this │ before        │ forgotten
//! ```
//!
//! Edge cases: round trips grow with the foreground's own queue; then its silences do, too. A clock that steps back
//! begins no new span.

use crate::base::time::{Interval, Nanos};

/// The bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTripSetting {
    /// The interval without foreground TCP: a few packets' time on the links that lull meets.
    pub least: Nanos,
    /// The longest, whatever the round trip.
    pub most: Nanos,
    /// How long the largest round trip counts at least.
    pub span: Nanos,
    /// A preemption costs little if it is this part of the largest round trip …
    pub little: u64,
    /// … and then the interval is so many times the cost.
    pub times: u64,
}

impl Default for RoundTripSetting {
    fn default() -> Self {
        Self {
            least: Nanos::from_micros(250),
            most: Nanos::from_millis(200),
            span: Nanos::from_secs(1),
            little: 20,
            times: 4,
        }
    }
}

/// Finds the interval of one interface.
#[derive(Clone, Debug)]
pub struct RoundTrips {
    setting: RoundTripSetting,
    began: Nanos,
    before: Nanos,
    this: Nanos,
}

impl RoundTrips {
    /// Nothing seen yet.
    pub fn new(setting: RoundTripSetting, now: Nanos) -> Self {
        Self { setting, began: now, before: Nanos::ZERO, this: Nanos::ZERO }
    }

    /// Takes in the largest round trip since the last step, and what a preemption costs now, if that is known: how long background
    /// takes to leave the queue. Returns the interval to use.
    pub fn step(&mut self, now: Nanos, largest: Option<Nanos>, cost: Option<Nanos>) -> Interval {
        let passed = now.since(self.began);
        if passed >= self.setting.span {
            self.before = if passed < self.setting.span.times(2) { self.this } else { Nanos::ZERO };
            (self.this, self.began) = (Nanos::ZERO, now);
        }
        self.this = self.this.max(largest.unwrap_or(Nanos::ZERO));
        let RoundTripSetting { little, times, .. } = self.setting;
        let largest = self.this.max(self.before);
        let enough = cost.filter(|cost| cost.times(little) <= largest).map(|cost| cost.times(times));
        let whole = self.a_quarter_more();
        self.bounded(enough.unwrap_or(whole).min(whole))
    }

    /// The interval where nothing is known of what a preemption costs, as after the latest step.
    pub fn whole(&self) -> Interval {
        self.bounded(self.a_quarter_more())
    }

    fn a_quarter_more(&self) -> Nanos {
        let largest = self.this.max(self.before);
        largest.plus(Nanos(largest.0 / 4))
    }

    fn bounded(&self, length: Nanos) -> Interval {
        Interval::Finite(length.max(self.setting.least).min(self.setting.most))
    }
}

#[cfg(test)]
mod tests;
