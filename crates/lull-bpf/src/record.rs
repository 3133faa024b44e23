//! The Rust mirror of `bpf/lull_record.h`: one record per observed device or interface, one per CPU and one of all
//! CPUs, in memory mapped from the kernel; and one per request that ended, through the ring of a recording.
//!
//! Every field is an atomic, read relaxed: each is one machine word that the kernel programs write alone, and a
//! decision made on a reading a few nanoseconds old is as good as any. The layout is asserted here at compile time
//! against the same sums as in the header.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use lull_core::base::histogram::BUCKETS;
use lull_core::{ClassView, Histogram, Nanos, Observation, Total};

pub(crate) mod cpu;
pub(crate) mod net;

/// Devices that can be observed at once.
pub const MAX_DEVICES: usize = 16;
/// `interval_ns` for an interval that never ends.
pub const INFINITE_NS: u64 = u64::MAX;
/// `flags`: the interval starts with the foreground request, not with its completion.
pub const START_ON_REQUEST: u32 = 1;
/// `flags`: variant with B on b to P.
pub const PAUSE_AFTER_BACKGROUND: u32 = 2;
/// `flags`: variant with B on i to P.
pub const PAUSE_AFTER_BACKGROUND_IDLE: u32 = 4;
/// `wake`: when the last foreground request in service ends.
pub const WAKE_FOREGROUND_END: u32 = 1;
/// `wake`: when a background request ends.
pub const WAKE_BACKGROUND_END: u32 = 2;
/// `wake`: when a background request starts in F or P.
pub const WAKE_LEAK: u32 = 4;

/// `struct lull_class_view`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawView {
    started: AtomicU64,
    ended: AtomicU64,
    last_start_ns: AtomicU64,
    last_end_ns: AtomicU64,
    bytes: AtomicU64,
    in_service: AtomicU64,
    in_service_bytes: AtomicU64,
}

/// `struct lull_histogram`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawHistogram {
    buckets: [AtomicU64; BUCKETS],
    sum_ns: AtomicU64,
}

/// `struct lull_total`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawTotal {
    count: AtomicU64,
    sum_ns: AtomicU64,
}

impl RawTotal {
    pub(crate) fn read(&self) -> Total {
        Total { count: self.count.load(Ordering::Relaxed), sum_ns: self.sum_ns.load(Ordering::Relaxed) }
    }
}

/// `struct lull_device`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawDevice {
    pub(crate) interval_ns: AtomicU64,
    pub(crate) flags: AtomicU32,
    pub(crate) wake: AtomicU32,
    pub(crate) view: [RawView; 2],
    pub(crate) counters: [[AtomicU64; 4]; 4],
    pub(crate) leaks: AtomicU64,
    pub(crate) neutral: AtomicU64,
    pub(crate) healed: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) heads: [RawTotal; 2],
    pub(crate) quiet: RawHistogram,
    pub(crate) loaded: RawHistogram,
    pub(crate) gaps: RawHistogram,
    pub(crate) service: RawHistogram,
}

/// `struct lull_request`, as it comes through the ring.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawRequest {
    pub(crate) arrived_ns: u64,
    pub(crate) ended_ns: u64,
    pub(crate) bytes: u64,
    pub(crate) slot: u32,
    pub(crate) class: u32,
}

const _: () = {
    assert!(size_of::<RawView>() == 56);
    assert!(size_of::<RawHistogram>() == 8 * (BUCKETS + 1));
    assert!(size_of::<RawDevice>() == 16 + 2 * 56 + 8 * 16 + 32 + 32 + 4 * 8 * (BUCKETS + 1));
    assert!(size_of::<RawRequest>() == 32);
    assert!(std::mem::offset_of!(RawDevice, view) == 16);
    assert!(std::mem::offset_of!(RawDevice, counters) == 128);
    assert!(std::mem::offset_of!(RawDevice, leaks) == 256);
    assert!(std::mem::offset_of!(RawDevice, heads) == 288);
    assert!(std::mem::offset_of!(RawDevice, quiet) == 320);
    assert!(std::mem::offset_of!(RawRequest, slot) == 24);
};

impl RawView {
    #[cfg(test)]
    pub(crate) fn of(view: &ClassView) -> Self {
        Self {
            started: view.started.into(),
            ended: view.ended.into(),
            last_start_ns: view.last_start.0.into(),
            last_end_ns: view.last_end.0.into(),
            bytes: view.started_bytes.into(),
            in_service: u64::from(view.in_service).into(),
            in_service_bytes: view.in_service_bytes.into(),
        }
    }

    /// What a program in the kernel would write.
    pub(crate) fn write(&self, view: &ClassView) {
        self.started.store(view.started, Ordering::Relaxed);
        self.ended.store(view.ended, Ordering::Relaxed);
        self.last_start_ns.store(view.last_start.0, Ordering::Relaxed);
        self.last_end_ns.store(view.last_end.0, Ordering::Relaxed);
        self.bytes.store(view.started_bytes, Ordering::Relaxed);
        self.in_service.store(view.in_service.into(), Ordering::Relaxed);
        self.in_service_bytes.store(view.in_service_bytes, Ordering::Relaxed);
    }

    /// A copy; a count that a missed event drove below zero reads as zero.
    pub(crate) fn read(&self) -> ClassView {
        let in_service = self.in_service.load(Ordering::Relaxed).cast_signed().max(0);
        ClassView {
            in_service: u32::try_from(in_service).unwrap_or(u32::MAX),
            started: self.started.load(Ordering::Relaxed),
            ended: self.ended.load(Ordering::Relaxed),
            last_start: Nanos(self.last_start_ns.load(Ordering::Relaxed)),
            last_end: Nanos(self.last_end_ns.load(Ordering::Relaxed)),
            started_bytes: self.bytes(),
            in_service_bytes: if in_service == 0 { 0 } else { self.in_service_bytes() },
        }
    }

    /// Nothing waits and nothing happened lately; numbers go on.
    pub(crate) fn begin(&self) {
        self.ended.store(self.started.load(Ordering::Relaxed), Ordering::Relaxed);
        self.last_start_ns.store(0, Ordering::Relaxed);
        self.last_end_ns.store(0, Ordering::Relaxed);
    }

    fn in_service_bytes(&self) -> u64 {
        let bytes = self.in_service_bytes.load(Ordering::Relaxed).cast_signed();
        bytes.max(0).cast_unsigned()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl RawHistogram {
    pub(crate) fn sum_ns(&self) -> u64 {
        self.sum_ns.load(Ordering::Relaxed)
    }

    pub(crate) fn read(&self) -> Histogram {
        let mut copy = Histogram { sum_ns: self.sum_ns(), ..Histogram::default() };
        for (to, from) in copy.buckets.iter_mut().zip(&self.buckets) {
            *to = from.load(Ordering::Relaxed);
        }
        copy
    }

    /// How many values, and their sum, without a copy.
    pub(crate) fn total(&self) -> (u64, u64) {
        let count = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).sum();
        (count, self.sum_ns.load(Ordering::Relaxed))
    }
}

impl RawRequest {
    /// From the bytes of one record; `None` if they are of another length.
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        let [arrived, ended, moved, last] = words else { return None };
        let [slot, class] = last.as_chunks::<4>().0 else { return None };
        Some(Self {
            arrived_ns: u64::from_ne_bytes(*arrived),
            ended_ns: u64::from_ne_bytes(*ended),
            bytes: u64::from_ne_bytes(*moved),
            slot: u32::from_ne_bytes(*slot),
            class: u32::from_ne_bytes(*class),
        })
    }
}

impl RawDevice {
    pub(crate) fn observation(&self) -> Observation {
        Observation { foreground: self.view[0].read(), background: self.view[1].read() }
    }

    /// Takes one request of a class, of so many bytes, whose end was missed, off the counts.
    pub(crate) fn end_missed(&self, class: usize, bytes: u64) {
        let view = &self.view[class & 1];
        view.in_service_bytes.fetch_sub(bytes, Ordering::Relaxed);
        view.in_service.fetch_sub(1, Ordering::Relaxed);
        self.healed.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
