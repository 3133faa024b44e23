//! How long a piece of work usually takes.
//!
//! The work has two measures, processor time and bytes, and a program is made of both in changing parts. Each is given a
//! price in seconds, so that the work of past samples comes to the time they took: least squares through the origin,
//!
//! ```text
//!   minimise Σ wᵢ (spanᵢ − a·cpuᵢ − b·bytesᵢ)²     wᵢ falls by 1 − 1/memory with each later sample
//! ```
//!
//! Edge cases: where both measures go hand in hand they cannot be told apart, and a price below zero makes no sense: then
//! the one measure that alone explains more is priced, and the other is free. Without any work nothing is usual: 0 s.
//!
//! Source: as for the parent module; the normal equations of two unknowns are solved by Cramer's rule.

use super::Progress;
use crate::base::time::Nanos;

/// Bytes are counted in megabytes, so that both measures are of a size and sums stay exact.
const MEGABYTE: f64 = 1e6;
/// Below this share of its largest possible value the determinant says that the measures cannot be told apart.
const ALIKE: f64 = 1e-3;

/// Sums over past samples, the old ones fading.
#[derive(Clone, Copy, Debug)]
pub(super) struct TargetRate {
    keep: f64,
    cpu_cpu: f64,
    io_io: f64,
    cpu_io: f64,
    cpu_span: f64,
    io_span: f64,
}

fn measures(done: Progress) -> (f64, f64) {
    (done.cpu.as_secs_f64(), done.io_bytes as f64 / MEGABYTE)
}

impl TargetRate {
    /// Over about `memory` samples.
    pub(super) fn new(memory: u32) -> Self {
        let keep = 1.0 - 1.0 / f64::from(memory.max(1));
        Self { keep, cpu_cpu: 0.0, io_io: 0.0, cpu_io: 0.0, cpu_span: 0.0, io_span: 0.0 }
    }

    /// `done` took `span`.
    pub(super) fn learn(&mut self, span: Nanos, done: Progress) {
        let (span, (cpu, io)) = (span.as_secs_f64(), measures(done));
        let add = |sum: &mut f64, product: f64| *sum = *sum * self.keep + product;
        add(&mut self.cpu_cpu, cpu * cpu);
        add(&mut self.io_io, io * io);
        add(&mut self.cpu_io, cpu * io);
        add(&mut self.cpu_span, cpu * span);
        add(&mut self.io_span, io * span);
    }

    /// Seconds that `done` usually takes.
    pub(super) fn usual(&self, done: Progress) -> f64 {
        let ((cpu_price, io_price), (cpu, io)) = (self.prices(), measures(done));
        cpu_price * cpu + io_price * io
    }

    /// Seconds per second of processor time, and per megabyte.
    fn prices(&self) -> (f64, f64) {
        let most = self.cpu_cpu * self.io_io;
        let determinant = most - self.cpu_io * self.cpu_io;
        if determinant > ALIKE * most {
            let cpu = (self.cpu_span * self.io_io - self.io_span * self.cpu_io) / determinant;
            let io = (self.io_span * self.cpu_cpu - self.cpu_span * self.cpu_io) / determinant;
            if cpu >= 0.0 && io >= 0.0 {
                return (cpu, io);
            }
        }
        let alone = |span: f64, square: f64| if square > 0.0 { span / square } else { 0.0 };
        let (cpu, io) = (alone(self.cpu_span, self.cpu_cpu), alone(self.io_span, self.io_io));
        // The sum of squares that each explains by itself.
        if cpu * self.cpu_span >= io * self.io_span { (cpu, 0.0) } else { (0.0, io) }
    }
}

#[cfg(test)]
mod tests;
