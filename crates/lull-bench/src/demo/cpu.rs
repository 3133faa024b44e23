//! The second act: a request server beside a compile.
//!
//! The server takes so many requests that it is busy for a part of the time of one CPU; they arrive at random
//! times that are the same for every contender of a round, and their latency counts from then
//! ([`load::serve`](crate::load::serve)). The background is `make` of a C project, over and over, with as
//! many compilers as there are CPUs ([`apps::case`](crate::experiment::apps::case)). Its work is counted in
//! compiled files: make prints the command of each.

use std::path::Path;

use lull_core::Nanos;

use super::act::{Act, SEED};
use crate::Error;
use crate::contender::{self, Contender};
use crate::experiment::apps::case::{self, Places};
use crate::experiment::apps::{AppJob, packages};
use crate::experiment::cpu::case::{Requests, calibrate};
use crate::experiment::trial::{Foreground, Job, Meter};
use crate::load::think::Spread;
use crate::process::Program;
use crate::units::Bytes;

/// Share of one CPU that the requests take, in percent.
const LOAD: u64 = 20;
/// Processor time of a request.
const SERVICE: Nanos = Nanos::from_micros(100);
/// Memory that the requests read: little, so that what a request takes does not follow who else uses the
/// caches of the machine.
const BUFFER: Bytes = Bytes(256 * Bytes::KIB);
/// Compilers of one `make`.
const COMPILERS: usize = 2;

/// The act with its project and its requests.
pub(super) struct Serving {
    places: Places,
    requests: Requests,
    /// How often the project is compiled at once.
    instances: u32,
}

impl Serving {
    /// Makes the project, and finds out how much work a request is.
    pub(super) fn prepare(data: &Path, program: &Program) -> Result<Self, Error> {
        if let Some(detail) = packages::obstacle(packages::of_work(AppJob::Compile)) {
            return Err(Error::Unmet { what: "a compile".to_owned(), detail });
        }
        let places = Places::make(data, 0, Bytes(0), SEED)?;
        let reads = calibrate(SERVICE, BUFFER, program)?;
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self {
            places,
            requests: Requests { service: SERVICE, buffer: BUFFER, spread: Spread::Exponential, reads },
            instances: u32::try_from(cpus.div_ceil(COMPILERS)).unwrap_or(1),
        })
    }
}

impl Act for Serving {
    fn title(&self) -> &'static str {
        "a request server beside a compile"
    }

    fn about(&self) -> [String; 2] {
        let per_s = LOAD as f64 / 100.0 / SERVICE.as_secs_f64();
        [
            format!("{per_s:.0} requests per second at random times, each {SERVICE} of a CPU"),
            format!("make -j{COMPILERS} of a C project, {} at once, over and over", self.instances),
        ]
    }

    fn rivals(&self) -> [Contender; 2] {
        [Contender::NiceIonice, contender::CONFINED]
    }

    fn warmup(&self) -> Nanos {
        Nanos::from_secs(1)
    }

    fn foreground(&self, round: u32) -> Foreground {
        self.requests.served(LOAD).in_round(SEED, round)
    }

    fn job(&self, program: &Program) -> Result<Job, Error> {
        self.places.clear()?;
        let job = case::prepare(AppJob::Compile, self.instances, &self.places, program)?;
        Ok(Job { meter: Meter::Lines(Box::new(compiled)), ..job })
    }

    fn speed(&self, per_s: f64) -> String {
        format!("{per_s:.0} files/s")
    }
}

/// A line of make: a file if it is the command that compiles one.
fn compiled(line: &str) -> u64 {
    u64::from(line.split_whitespace().any(|word| word == "-c"))
}

#[cfg(test)]
mod tests;
