//! The work of one request: a fixed number of random reads over a buffer, each address depending on the value
//! read before it, as when following pointers.
//!
//! A fixed number, not a fixed time: whatever disturbs the request (a cold cache, a busy memory bus, a
//! preemption) makes it longer, and that is what is measured. The number that takes a given time is found
//! once per measurement, while nothing else runs ([`calibrate`]), and then used for every contender.

use std::hint::black_box;
use std::time::Duration;

use lull_core::Nanos;
use nix::time::{ClockId, clock_gettime};

use crate::Error;
use crate::units::{Bytes, whole};

/// Reads in the first batch of a calibration: short enough for any machine.
const FIRST_BATCH: u64 = 2_000;
/// Batches whose median counts.
const BATCHES: usize = 101;
/// Passes of a calibration, and the pause between two: a machine can be slow for a second.
const PASSES: usize = 8;
const PAUSE: Duration = Duration::from_millis(250);

/// A buffer of random words and the place of the next read.
#[derive(Clone, Debug)]
pub struct RandomReads {
    words: Vec<u64>,
    state: u64,
}

impl RandomReads {
    /// Fills a buffer of this size, at least one word.
    pub fn new(size: Bytes, seed: u64) -> Result<Self, Error> {
        let count = size.as_usize() / size_of::<u64>();
        if count == 0 || u32::try_from(count).is_err() {
            return Err(Error::Argument {
                argument: format!("--buffer {size}"),
                problem: "it must be between 8 bytes and 32 GiB".to_owned(),
            });
        }
        let mut random = fastrand::Rng::with_seed(seed);
        Ok(Self { words: (0..count).map(|_| random.u64(..)).collect(), state: seed })
    }

    /// Makes that many reads.
    pub fn run(&mut self, reads: u64) {
        let count = self.words.len() as u64;
        let mut state = self.state;
        for _ in 0..reads {
            // The upper half of the state, scaled to the number of words: never out of range.
            let index = ((state >> 32) * count) >> 32;
            let word = usize::try_from(index).ok().and_then(|index| self.words.get(index));
            state = (state ^ word.copied().unwrap_or(0))
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
        }
        self.state = black_box(state);
    }
}

/// Processor time of the calling thread.
fn thread_time() -> Nanos {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(Nanos::ZERO, |time| Nanos(u64::try_from(Duration::from(time).as_nanos()).unwrap_or(u64::MAX)))
}

/// How many reads take `service`, if batches of `batch` reads took `times`; none without times.
///
/// The median of the times, so that batches that an interrupt made longer do not count.
pub fn reads_for(service: Nanos, batch: u64, times: &mut [Nanos]) -> Option<u64> {
    times.sort_unstable();
    let median = times.get(times.len() / 2).filter(|time| **time > Nanos::ZERO)?;
    Some(whole(batch as f64 * service.as_nanos() as f64 / median.as_nanos() as f64).max(1))
}

/// The number of reads over a buffer of this size that takes `service` of processor time, found over two
/// seconds.
///
/// What disturbs makes reads slower, never faster, so the pass that made most of them counts.
pub fn calibrate(service: Nanos, buffer: Bytes) -> Result<u64, Error> {
    let mut work = RandomReads::new(buffer, 1)?;
    // The first pass finds the order of magnitude, the others measure batches of about the length wanted.
    let about = pass(&mut work, service, FIRST_BATCH)?;
    let mut most = 0;
    for _ in 0..PASSES {
        std::thread::sleep(PAUSE);
        most = most.max(pass(&mut work, service, about)?);
    }
    Ok(most)
}

/// How many reads take `service` now, from batches of so many.
fn pass(work: &mut RandomReads, service: Nanos, batch: u64) -> Result<u64, Error> {
    let mut times = [Nanos::ZERO; BATCHES];
    for time in &mut times {
        let before = thread_time();
        work.run(batch);
        *time = thread_time().since(before);
    }
    reads_for(service, batch, &mut times).ok_or_else(|| Error::Unmet {
        what: "a clock of the thread's processor time".to_owned(),
        detail: "it stands still, so no request can be calibrated".to_owned(),
    })
}

#[cfg(test)]
mod tests;
