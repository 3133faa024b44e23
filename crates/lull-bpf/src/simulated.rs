//! A disk without a kernel that observes it: whoever has it writes the record that programs in the kernel would write.
//!
//! What reads the record is what reads it in a run, so that the whole engine can be driven on a virtual clock, by anybody.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lull_core::ClassView;
use memmap2::{MmapMut, MmapRaw};

use crate::record::RawDevice;
use crate::sensor::Device;

/// See the module.
#[derive(Debug)]
pub struct SimulatedDevice(Device);

impl SimulatedDevice {
    /// One that nothing has happened on.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new() -> std::io::Result<Self> {
        let records = MmapMut::map_anon(size_of::<RawDevice>())?;
        Ok(Self(Device::first_of(Arc::new(MmapRaw::from(records)))))
    }

    /// What an engine is given.
    pub fn device(&self) -> Device {
        self.0.clone()
    }

    /// What the foreground and the background have done so far.
    pub fn set_views(&self, foreground: &ClassView, background: &ClassView) {
        let raw = self.0.raw();
        raw.view[0].write(foreground);
        raw.view[1].write(background);
    }

    /// Background requests that have started in F or P so far.
    pub fn set_leaks(&self, leaks: u64) {
        self.0.raw().leaks.store(leaks, Ordering::Relaxed);
    }

    /// The wake-ups that were asked for since the last call (`WAKE_*`).
    pub fn take_wakes(&self) -> u32 {
        self.0.raw().wake.swap(0, Ordering::SeqCst)
    }
}
