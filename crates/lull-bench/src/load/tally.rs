//! The course of a background load: from its start until its time is up, its requests are made, or it is
//! asked to stop.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use lull_core::Nanos;

use super::{CommonArgs, LoadReport, end_after, own_cpu_ns};
use crate::progress::Progress;
use crate::{Error, clock, stop};

/// What a load has done, and what is left to do; threads of a load share it.
#[derive(Debug)]
pub struct Tally {
    progress: Option<Progress>,
    left: AtomicU64,
    requests: AtomicU64,
    bytes: AtomicU64,
    begun: Nanos,
    end: Option<Nanos>,
}

impl Tally {
    /// Begins now; without a number of seconds or of requests there is no such limit.
    ///
    /// # Errors
    /// When the progress file cannot be opened.
    pub fn begin(
        progress: Option<&Path>,
        seconds: Option<f64>,
        requests: Option<u64>,
    ) -> Result<Self, Error> {
        let progress = progress.map(Progress::open).transpose()?;
        let begun = clock::now();
        Ok(Self {
            progress,
            left: AtomicU64::new(requests.unwrap_or(u64::MAX)),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            begun,
            end: end_after(begun, seconds),
        })
    }

    /// The same by the arguments of a load of a disk.
    ///
    /// # Errors
    /// When the progress file cannot be opened.
    pub fn of(common: &CommonArgs) -> Result<Self, Error> {
        Self::begin(common.progress.as_deref(), common.seconds, common.requests)
    }

    /// Whether to make one more request, which is then taken from those that are left. Waits while the load
    /// is paused.
    pub fn goes_on(&self) -> bool {
        if let Some(progress) = &self.progress {
            progress.wait_while_paused(stop::requested);
        }
        !stop::requested()
            && self.end.is_none_or(|end| clock::now() < end)
            && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok()
    }

    /// Counts a request.
    pub fn add(&self, bytes: u64) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        if let Some(progress) = &self.progress {
            progress.add(bytes);
        }
    }

    /// Sleeps until what was done is no more than so many megabits per second, if there is such a limit.
    /// Short waits are left out.
    pub fn keep_to(&self, rate_mbit: Option<u32>, step: Nanos) {
        let Some(rate) = rate_mbit else { return };
        // Megabits per second are bits per microsecond.
        let bits = self.bytes.load(Ordering::Relaxed) * 8_000;
        let due = self.begun.plus(Nanos(bits / u64::from(rate.max(1))));
        if due > clock::now().plus(step) {
            clock::sleep_until(due);
        }
    }

    /// All of it, up to now.
    pub fn report(self, load: &str) -> LoadReport {
        LoadReport {
            requests: self.requests.into_inner(),
            bytes: self.bytes.into_inner(),
            ..LoadReport::between(load, [self.begun, clock::now()])
        }
    }

    /// The same, with the processor time of this process.
    pub fn report_with_cpu(self, load: &str) -> LoadReport {
        LoadReport { cpu_ns: own_cpu_ns(), ..self.report(load) }
    }
}
