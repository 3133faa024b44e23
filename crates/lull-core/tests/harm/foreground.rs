//! A foreground whose slowdown by background is known, and the loop that tests it.
//!
//! Requests arrive by themselves (open) or think after each answer (closed, one client). A request takes its service
//! time, `1 + harm` times as long if background may run when it starts; there is no queue, so the ratio of the means is
//! the harm and nothing else. It is counted when it ends.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lull_core::{Arm, Nanos, Reading};

/// Random numbers for models; the policy has its own.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// From 0, exclusive, to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    }

    pub(crate) fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// Service times, of mean 1.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Service {
    Fixed,
    Exponential,
    /// With this deviation of the logarithm.
    LogNormal(f64),
}

/// When requests come.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrivals {
    /// So many per second, at random.
    Poisson(f64),
    /// The same in bursts: both lengths are means, in milliseconds.
    OnOff { per_second: f64, on_ms: f64, off_ms: f64 },
    /// One client that thinks for this mean time, in milliseconds.
    Closed { think_ms: f64 },
}

#[derive(Clone, Debug)]
pub(crate) struct Foreground {
    pub(crate) arrivals: Arrivals,
    pub(crate) service: Service,
    /// Mean service time.
    pub(crate) mean_ms: f64,
    /// What background adds to the service time: 0.05 for 5%.
    pub(crate) harm: f64,
    /// Service times grow by this share per second, whatever background does.
    pub(crate) trend: f64,
    /// One request in this many takes 300 times as long; 0 for none.
    pub(crate) stalls: u64,
    dice: Dice,
    next_ms: f64,
    on_until_ms: f64,
    ending: BinaryHeap<Reverse<(u64, u64)>>,
    reading: Reading,
    started: u64,
}

impl Foreground {
    pub(crate) fn new(arrivals: Arrivals, service: Service, harm: f64, seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        let next_ms = dice.unit();
        Self {
            arrivals,
            service,
            mean_ms: 1.0,
            harm,
            trend: 0.0,
            stalls: 0,
            dice,
            next_ms,
            on_until_ms: 0.0,
            ending: BinaryHeap::new(),
            reading: Reading::default(),
            started: 0,
        }
    }

    /// Lets time pass under `arm`; returns what the sensor has counted.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times of a model are positive and short"
    )]
    pub(crate) fn run_until(&mut self, now: Nanos, arm: Arm) -> Reading {
        let now_ms = now.0 as f64 / 1e6;
        while self.next_ms <= now_ms {
            let start = self.next_ms;
            let took_ms = self.service_ms(start, arm);
            let took = (took_ms * 1e6) as u64;
            self.started += 1;
            self.ending.push(Reverse(((start * 1e6) as u64 + took, took)));
            self.next_ms = self.after(start, took_ms);
        }
        while let Some(Reverse((end, took))) = self.ending.peek().copied().filter(|e| e.0.0 <= now.0) {
            debug_assert!(end <= now.0);
            self.ending.pop();
            self.reading.count += 1;
            self.reading.sum += took;
        }
        self.reading
    }

    fn service_ms(&mut self, start_ms: f64, arm: Arm) -> f64 {
        let drawn = match self.service {
            Service::Fixed => 1.0,
            Service::Exponential => self.dice.exponential(),
            Service::LogNormal(sigma) => (sigma * self.dice.normal() - sigma * sigma / 2.0).exp(),
        };
        let stalled = self.stalls > 0 && self.dice.unit() * (self.stalls as f64) < 1.0;
        let harm = if arm == Arm::Lent { 1.0 + self.harm } else { 1.0 };
        let trend = 1.0 + self.trend * start_ms / 1e3;
        self.mean_ms * drawn * harm * trend * if stalled { 300.0 } else { 1.0 }
    }

    fn after(&mut self, start_ms: f64, took_ms: f64) -> f64 {
        match self.arrivals {
            Arrivals::Poisson(per_second) => start_ms + self.dice.exponential() * 1e3 / per_second,
            Arrivals::Closed { think_ms } => start_ms + took_ms + self.dice.exponential() * think_ms,
            Arrivals::OnOff { per_second, on_ms, off_ms } => {
                let next = start_ms + self.dice.exponential() * 1e3 / per_second;
                if next <= self.on_until_ms {
                    return next;
                }
                let on_again = self.on_until_ms.max(start_ms) + self.dice.exponential() * off_ms;
                self.on_until_ms = on_again + self.dice.exponential() * on_ms;
                on_again
            }
        }
    }
}
