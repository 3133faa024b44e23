//! Think time between two requests of a closed loop: none, fixed, or exponential with a given mean.
//!
//! Exponential think times make a closed loop whose busy share is `s / (s + t)` for mean service time `s` and
//! mean think time `t`; [`for_intensity`] solves that for `t`.

use lull_core::Nanos;

use crate::units::whole;

/// How think times vary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Spread {
    /// Always the same.
    Fixed,
    /// Exponentially distributed around the mean.
    Exponential,
}

/// Draws think times.
#[derive(Clone, Debug)]
pub struct Think {
    mean: Nanos,
    spread: Spread,
    random: fastrand::Rng,
}

impl Think {
    /// Think times of mean `mean`; the same seed gives the same sequence.
    pub fn new(mean: Nanos, spread: Spread, seed: u64) -> Self {
        Self { mean, spread, random: fastrand::Rng::with_seed(seed) }
    }

    /// The next one.
    pub fn next_span(&mut self) -> Nanos {
        match self.spread {
            Spread::Fixed => self.mean,
            Spread::Exponential => {
                let uniform = 1.0 - self.random.f64();
                Nanos(whole(-uniform.ln() * self.mean.as_nanos() as f64))
            }
        }
    }
}

/// Think times of a warm-up and then of the counted time. Where they are random, those that are counted are a
/// sequence of their own, so that they do not depend on how long the warm-up was.
#[derive(Clone, Debug)]
pub struct Warmed {
    now: Think,
    /// When the warm-up ends, and what follows it.
    counted: Option<(Nanos, Think)>,
}

impl Warmed {
    /// Counted from `begun` on, with `seed`.
    pub fn new(begun: Nanos, mean: Nanos, spread: Spread, seed: u64) -> Self {
        let think = |seed| Think::new(mean, spread, seed);
        Self { now: think(!seed), counted: (spread == Spread::Exponential).then(|| (begun, think(seed))) }
    }

    /// When a think time is over that began at `last`. The first one that would end in the counted time
    /// begins anew with that: exponential times have no memory, so that this changes nothing else.
    pub fn next_after(&mut self, last: Nanos) -> Nanos {
        let next = last.plus(self.now.next_span());
        let Some((begun, counted)) = self.counted.take_if(|(begun, _)| next >= *begun) else { return next };
        self.now = counted;
        begun.max(last).plus(self.now.next_span())
    }
}

/// The mean think time with which a closed loop of mean service time `service` is busy for `percent` of the
/// time.
pub fn for_intensity(service: Nanos, percent: u64) -> Nanos {
    let percent = percent.clamp(1, 100);
    Nanos(service.as_nanos().saturating_mul(100 - percent) / percent)
}

#[cfg(test)]
mod tests;
