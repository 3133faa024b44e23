//! Proportional sharing: who is served next, so that each gets its share of a resource.
//!
//! Problem: reservations say how much each queue is to have; a device serves one request after the other, whole. Approach: a fluid model
//! says what each queue would have got if all were served at once, each at its rate (`tests/gps.rs`, *generalized processor sharing*). A scheduler
//! follows it as closely as whole requests allow. Which one fits depends on what is known of a request, and on whether it can be stopped:
//!
//! | module | resource | length of a request | preempted | bound against the fluid model |
//! |---|---|---|---|---|
//! | [`mtr_ls`] | CPU | unknown | yes | a process is behind by less than a quarter of a round |
//! | [`yfq`] | disk | known | no | two busy queues differ by one request of each |
//! | [`wf2q`] | network output | known | no | ahead by less than one packet, behind by one, per level |
//! | [`srp`] | network input | – | – | (who pays for a packet, and which is dropped) |
//!
//! All are values: they are told what arrived, what was served and what is done, and answer who is next. They read no clock: the time of a
//! proportional-share scheduler is the service that was given. Each has a function `check_invariants` with all that must hold of it.
//!
//! Units: service in whatever the resource is counted in (bytes, nanoseconds of a CPU); weights in parts of whatever all weights add up
//! to. Virtual times are service per weight, [`Virtual`], in whole numbers, so that the same run gives the same order everywhere.
//!
//! Sources: Parekh and Gallager, *A Generalized Processor Sharing Approach to Flow Control*, 1993; Bruno and others, *Retrofitting Quality of
//! Service into a Time-Sharing Operating System* (Eclipse/BSD), USENIX 1999, section 3; each module names its own.

pub mod mtr_ls;
pub mod srp;
pub mod wf2q;
pub mod yfq;

use std::fmt;
use std::num::NonZero;

/// A queue, named by its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u32);

impl fmt::Display for QueueId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "q{}", self.0)
    }
}

/// How a queue shares with the others: never nothing, so that no busy queue starves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Weight(NonZero<u32>);

impl Weight {
    /// The least.
    pub const LEAST: Self = Self(NonZero::<u32>::MIN);

    /// So many parts; of nothing, [`Self::LEAST`].
    pub const fn new(parts: u32) -> Self {
        match NonZero::new(parts) {
            Some(parts) => Self(parts),
            None => Self::LEAST,
        }
    }

    /// An amount that need not fit, on a scale of a million parts to `whole`.
    pub fn of(amount: u64, whole: u64) -> Self {
        let parts = u128::from(amount) * 1_000_000 / u128::from(whole.max(1));
        Self::new(u32::try_from(parts).unwrap_or(u32::MAX))
    }

    /// The parts.
    pub const fn parts(self) -> u32 {
        self.0.get()
    }
}

/// A virtual time: service per weight. 2^64 bytes for one part fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Virtual(u128);

/// Binary places of a [`Virtual`] behind the point: a tag is wrong by less than 2^-32 of a unit of service per part.
const PLACES: u32 = 32;

impl Virtual {
    /// The beginning.
    pub const ZERO: Self = Self(0);

    /// What `service` is to one with this weight.
    pub fn of(service: u64, weight: Weight) -> Self {
        Self::per(service, u64::from(weight.parts()))
    }

    /// What `service` is to all whose weights add up to `parts`.
    pub fn per(service: u64, parts: u64) -> Self {
        Self((u128::from(service) << PLACES) / u128::from(parts.max(1)))
    }

    /// This time, `span` later.
    #[must_use]
    pub const fn plus(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// As a number, for figures and tests.
    #[expect(clippy::cast_precision_loss, reason = "figures need three digits, not thirty")]
    pub const fn as_f64(self) -> f64 {
        self.0 as f64 / (1_u64 << PLACES) as f64
    }
}

#[cfg(test)]
mod tests;
