//! Whether trapped calls pass without being looked at.
//!
//! The engine writes it, under its lock, with the count of foreground requests that it has seen. A foreground request since then closes the
//! gate by itself, because whoever asks compares the count with the sensors' mapped records.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use lull_bpf::Device;

/// No count of requests.
const CLOSED: u64 = u64::MAX;

/// Whether calls pass without being looked at.
#[derive(Debug)]
pub(crate) struct Open {
    /// Foreground requests on all disks when the engine found them open, or [`CLOSED`].
    seen: AtomicU64,
    /// Once they are observed.
    devices: OnceLock<Vec<Device>>,
    /// Calls that passed so.
    passed: AtomicU64,
}

impl Default for Open {
    fn default() -> Self {
        Self { seen: AtomicU64::new(CLOSED), devices: OnceLock::new(), passed: AtomicU64::new(0) }
    }
}

impl Open {
    /// The disks whose foreground closes the gate; once.
    pub(crate) fn watch(&self, devices: Vec<Device>) {
        self.close();
        let _ = self.devices.set(devices);
    }

    /// Foreground requests so far.
    pub(crate) fn count(&self) -> u64 {
        let devices = self.devices.get().into_iter().flatten();
        devices.map(|device| device.observation().foreground.started).fold(0, u64::wrapping_add)
    }

    /// Every disk admits without a bound, and did so when [`Self::count`] was `seen`.
    pub(crate) fn open(&self, seen: u64) {
        self.seen.store(seen, Ordering::Release);
    }

    pub(crate) fn close(&self) {
        self.seen.store(CLOSED, Ordering::Release);
    }

    pub(crate) fn is_open(&self) -> bool {
        let seen = self.seen.load(Ordering::Acquire);
        seen != CLOSED && seen == self.count()
    }

    /// One call has passed so.
    pub(crate) fn count_one(&self) {
        self.passed.fetch_add(1, Ordering::Relaxed);
    }

    /// Calls that passed without being looked at.
    pub(crate) fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
