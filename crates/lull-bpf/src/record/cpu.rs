//! `struct lull_cpu` and `struct lull_sched`: one record per possible CPU, and what all CPUs share.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use lull_core::base::histogram::BUCKETS;

use super::RawHistogram;

/// Processes of lull's own that can be named.
pub(crate) const OWN: usize = 6;

/// `struct lull_bursts`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawBursts {
    pub(crate) delays: AtomicU64,
    pub(crate) count: AtomicU64,
    pub(crate) on_cpu_ns: AtomicU64,
    pub(crate) cut_ns: AtomicU64,
}

/// `struct lull_cpu`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawCpu {
    pub(crate) class: AtomicU32,
    pid: AtomicU32,
    pub(crate) since_ns: AtomicU64,
    task_since_ns: AtomicU64,
    pub(crate) busy_ns: [AtomicU64; 2],
    pub(crate) bursts: [RawBursts; 2],
    pub(crate) watched_ns: AtomicU64,
    pub(crate) began: AtomicU64,
    pub(crate) crowded: AtomicU64,
    pub(crate) delay: [RawHistogram; 2],
    pub(crate) response: [RawHistogram; 2],
    pub(crate) io_ended: AtomicU64,
    unused: [u64; 3],
}

/// `struct lull_sched`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawSched {
    pub(crate) watched_ns: AtomicU64,
    pub(crate) spacing_ns: AtomicU64,
    pub(crate) job_group: AtomicU64,
    pub(crate) own: [AtomicU32; OWN],
    pub(crate) online: AtomicU32,
    pub(crate) need_above: AtomicU32,
    pub(crate) wake: AtomicU32,
    pub(crate) peak: AtomicU32,
    pub(crate) running: AtomicU64,
    last_wake_ns: AtomicU64,
    pub(crate) wakes_given: AtomicU64,
    pub(crate) most_ns: AtomicU64,
    unused: [u64; 4],
}

const _: () = {
    assert!(size_of::<RawCpu>() == 128 + 4 * 8 * (BUCKETS + 1) + 8 * 4);
    assert!(size_of::<RawCpu>().is_multiple_of(64));
    assert!(std::mem::offset_of!(RawCpu, busy_ns) == 24);
    assert!(std::mem::offset_of!(RawCpu, bursts) == 40);
    assert!(std::mem::offset_of!(RawCpu, watched_ns) == 104);
    assert!(std::mem::offset_of!(RawCpu, delay) == 128);
    assert!(size_of::<RawSched>() == 128);
    assert!(std::mem::offset_of!(RawSched, own) == 24);
    assert!(std::mem::offset_of!(RawSched, running) == 64);
    assert!(std::mem::offset_of!(RawSched, wakes_given) == 80);
};

impl RawSched {
    /// CPUs that run foreground and background.
    pub(crate) fn running(&self) -> [u32; 2] {
        let running = self.running.load(Ordering::Relaxed);
        [running & u64::from(u32::MAX), running >> 32].map(|half| u32::try_from(half).unwrap_or(0))
    }
}
