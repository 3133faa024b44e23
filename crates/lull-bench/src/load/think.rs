//! Think time between two requests of a closed loop: none, fixed, or exponential with a given mean.
//!
//! Exponential think times make a closed loop whose busy share is `s / (s + t)` for mean service time `s` and mean think
//! time `t`; [`for_intensity`] solves that for `t`.

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

/// The mean think time with which a closed loop of mean service time `service` is busy for `percent` of the time.
pub fn for_intensity(service: Nanos, percent: u64) -> Nanos {
    let percent = percent.clamp(1, 100);
    Nanos(service.as_nanos().saturating_mul(100 - percent) / percent)
}

#[cfg(test)]
mod tests;
