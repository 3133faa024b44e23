//! What a guest gets beside an owner's load, and what it costs the owner, from bursts of tens of milliseconds.
//!
//! The owner computes in *bursts* and thinks, or waits for something, in between. The guest runs in the gaps only. When a burst comes, the guest
//! goes at once (requirement L-1), but the owner finds his registers and caches gone: the burst takes the *effective context-switch time* longer. The guest
//! pays the same when it is back. A burst that comes before the guest has done anything costs nothing.
//!
//! Bursts are hyperexponential (nine short ones to a long one) with a mean of 10 ms at no load, growing by 10 ms per quarter of load. The 10 ms are the
//! bound of Linger-Longer's authors read backwards (500 µs cost less than 5% at loads below a quarter, so bursts are no shorter); that longer
//! computations go with higher loads is an assumption. Gaps are exponential, as long as the load demands, and do not shrink when bursts grow.

use lull_core::Nanos;
use serde::Serialize;

use super::Estimate;
use crate::span::Random;

/// The mean burst of an owner with load `load`, in seconds.
fn mean_burst_s(load: f64) -> f64 {
    0.010 * (1.0 + 4.0 * load)
}

/// An owner's burst with this mean: nine in ten are short, the tenth makes up for half of the time.
fn burst_s(mean_s: f64, random: &mut Random) -> f64 {
    let mean_s = if random.uniform() < 0.9 { mean_s * 0.5 / 0.9 } else { mean_s * 0.5 / 0.1 };
    exponential(mean_s, random)
}

pub(super) fn exponential(mean: f64, random: &mut Random) -> f64 {
    -(1.0 - random.uniform()).ln() * mean
}

/// What one load gives and takes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Beside {
    /// The owner's load, alone.
    pub load: f64,
    /// What the guest gets of the CPU.
    pub share: f64,
    /// How much longer the owner's bursts take, of their own length.
    pub delay: f64,
}

/// One second and more of bursts at `load`, with a guest that always wants the CPU.
fn simulate(load: f64, switch: Nanos, bursts: u32, random: &mut Random) -> Beside {
    if load <= 0.0 {
        return Beside { load, share: 1.0, delay: 0.0 };
    }
    let switch_s = switch.as_secs_f64();
    let mean_s = mean_burst_s(load);
    let gap_s = mean_s * (1.0 - load) / load;
    let (mut busy, mut late, mut idle, mut worked) = (0.0, 0.0, 0.0, 0.0);
    for _ in 0..bursts {
        busy += burst_s(mean_s, random);
        let gap = if gap_s > 0.0 { exponential(gap_s, random) } else { 0.0 };
        idle += gap;
        if gap > switch_s {
            worked += gap - switch_s;
            late += switch_s;
        }
    }
    Beside { load, share: worked / (busy + late + idle), delay: late / busy }
}

/// The owner's delay at `load`, from `runs` simulations of `bursts` bursts each.
pub fn delay(load: f64, switch: Nanos, runs: u32, bursts: u32, seed: u64) -> Estimate {
    Estimate::of((0..runs).map(|run| {
        let mut random = Random::new(seed, u64::from(run));
        simulate(load, switch, bursts, &mut random).delay
    }))
}

/// Loads in the table, from 0 to 1.
const STEPS: usize = 40;
/// Bursts simulated for each.
const BURSTS: u32 = 20_000;

/// A table over loads.
#[derive(Clone, Debug)]
pub struct Gaps(Vec<Beside>);

impl Gaps {
    /// With this effective context-switch time.
    pub fn measure(switch: Nanos, seed: u64) -> Self {
        let mut random = Random::new(seed, u64::MAX);
        Self(
            (0..=STEPS)
                .map(|step| simulate(step as f64 / STEPS as f64, switch, BURSTS, &mut random))
                .collect(),
        )
    }

    /// Share and delay at `load`, between those of the table.
    pub fn at(&self, load: f64) -> (f64, f64) {
        let place = load.clamp(0.0, 1.0) * STEPS as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and STEPS")]
        let below = (place as usize).min(STEPS - 1);
        let part = place - below as f64;
        let (a, b) = (&self.0[below], &self.0[below + 1]);
        (a.share + (b.share - a.share) * part, a.delay + (b.delay - a.delay) * part)
    }
}

#[cfg(test)]
mod tests;
