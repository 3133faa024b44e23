//! Recording: every request that ends on a watched device, one by one.
//!
//! Problem: `lull advise` replays what a machine's foreground did, request by request; the counts and histograms of
//! [`BlockSensor`] do not tell that. Other tracers do not know which requests lull takes for background.
//!
//! Approach: the same programs as for `lull run`, with one more thing switched on before they are loaded: a request
//! that ends is copied into a ring, 32 bytes each. The programs wake nobody, so that the machine that is recorded is
//! disturbed as little as possible; the owner calls [`Recorder::take`] every few milliseconds.
//!
//! ```text
//!   block_rq_complete ──▶ ring (RING_BYTES) ──▶ take(), every 20 ms ──▶ the owner's file
//!                            └ full: counted in `dropped`
//! ```
//!
//! What is missing is counted: requests without room ([`DeviceReport::dropped`](crate::DeviceReport)), requests of
//! neither class (`neutral`), requests whose end was missed (`healed`), and events for which the kernel skipped a program
//! ([`Recorder::missed`]): it does so when a program would interrupt itself on a CPU.
//!
//! Units: nanoseconds of CLOCK_MONOTONIC, bytes. Edge cases: a request that is completed in parts counts once, with all
//! of its bytes; one that was merged into another is part of that one.

use std::cell::RefCell;
use std::rc::Rc;

use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};
use lull_core::Nanos;

use crate::load::{Observers, Protect, SensorError};
use crate::record::RawRequest;
use crate::sensor::{BlockSensor, Device};

/// Room for a quarter of a million requests: more than a device serves between two calls of [`Recorder::take`].
const RING_BYTES: u32 = 8 << 20;

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When it arrived at the device's queue.
    pub arrival: Nanos,
    /// When the device had finished it.
    pub end: Nanos,
    /// How much it moved.
    pub bytes: u64,
    /// Whether it was background; foreground if not.
    pub background: bool,
    /// Position of its device in the order of [`Recorder::watch`].
    pub device: usize,
}

impl From<RawRequest> for Recorded {
    fn from(raw: RawRequest) -> Self {
        Self {
            arrival: Nanos(raw.arrived_ns),
            end: Nanos(raw.ended_ns.max(raw.arrived_ns)),
            bytes: raw.bytes,
            background: raw.class == 1,
            device: raw.slot as usize,
        }
    }
}

/// The loaded observers, recording.
pub struct Recorder {
    // Before the programs, whose ring it maps.
    ring: RingBuffer<'static>,
    taken: Rc<RefCell<Vec<Recorded>>>,
    sensor: BlockSensor,
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder").field("sensor", &self.sensor).finish_non_exhaustive()
    }
}

impl Recorder {
    /// Loads and attaches the programs. Needs CAP_BPF and CAP_PERFMON (or root) and kernel BTF.
    ///
    /// # Errors
    /// When the kernel has no BTF, the rights are missing or a program is refused.
    pub fn load(protect: &Protect) -> Result<Self, SensorError> {
        Self::with_ring(protect, RING_BYTES)
    }

    /// As [`load`](Self::load), with a ring of this size: a power of two, at least a page.
    ///
    /// # Errors
    /// As [`load`](Self::load); also when the kernel refuses the size.
    pub fn with_ring(protect: &Protect, ring_bytes: u32) -> Result<Self, SensorError> {
        let step = |source| SensorError::Bpf {
            observers: Observers::Block,
            step: "listen for requests that end",
            source,
        };
        let sensor = BlockSensor::load_recording(protect, ring_bytes)?;
        let taken = Rc::new(RefCell::new(Vec::new()));
        let ring = {
            let map = sensor.programs().map("requests")?;
            let into = Rc::clone(&taken);
            let mut builder = RingBufferBuilder::new();
            let take = move |bytes: &[u8]| {
                into.borrow_mut().extend(RawRequest::of(bytes).map(Recorded::from));
                0
            };
            builder.add(&map as &dyn MapCore, take).map_err(step)?;
            builder.build().map_err(step)?
        };
        Ok(Self { ring, taken, sensor })
    }

    /// Begins to record the device with this number.
    ///
    /// # Errors
    /// When all slots are taken.
    pub fn watch(&mut self, major: u32, minor: u32) -> Result<Device, SensorError> {
        self.sensor.watch(major, minor)
    }

    /// The requests that have ended since the last call, in the order of their ends.
    ///
    /// # Errors
    /// When the ring cannot be read.
    pub fn take(&mut self) -> Result<Vec<Recorded>, SensorError> {
        let read = self.ring.consume();
        read.map_err(|source| SensorError::Bpf {
            observers: Observers::Block,
            step: "read the recorded requests",
            source,
        })?;
        Ok(self.taken.take())
    }

    /// Events so far for which the kernel skipped a program, on any device; `None` where it does not say.
    pub fn missed(&self) -> Option<u64> {
        self.sensor.programs().missed()
    }
}
