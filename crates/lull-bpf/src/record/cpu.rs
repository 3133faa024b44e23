//! `struct lull_cpu` and `struct lull_sched`: one record per possible CPU, and what all CPUs share.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use lull_core::histogram::BUCKETS;

use super::RawHistogram;

/// Processes of lull's own that can be named.
pub(crate) const OWN: usize = 6;
/// A foreground task that was woken this long ago and has not run since: its start was missed.
pub(crate) const PENDING_NS: u64 = 10_000_000;

/// `struct lull_cpu_class`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawCpuClass {
    pub(crate) started: AtomicU64,
    pub(crate) ended: AtomicU64,
    pub(crate) last_start_ns: AtomicU64,
    pub(crate) last_end_ns: AtomicU64,
    pub(crate) busy_ns: AtomicU64,
}

/// `struct lull_bursts`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawBursts {
    pub(crate) delays: AtomicU64,
    pub(crate) count: AtomicU64,
    pub(crate) on_cpu_ns: AtomicU64,
}

/// `struct lull_cpu`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawCpu {
    pub(crate) class: AtomicU32,
    pid: AtomicU32,
    pub(crate) since_ns: AtomicU64,
    task_since_ns: AtomicU64,
    pub(crate) view: [RawCpuClass; 2],
    pub(crate) bursts: [RawBursts; 2],
    pub(crate) watched_ns: AtomicU64,
    unused: [u64; 4],
    pub(crate) delay: [RawHistogram; 2],
    pub(crate) response: [RawHistogram; 2],
    pub(crate) gaps: RawHistogram,
    unused_end: [u64; 3],
}

/// `struct lull_sched`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawSched {
    pub(crate) watched_ns: AtomicU64,
    pub(crate) quiet_ns: AtomicU64,
    pub(crate) spacing_ns: AtomicU64,
    pub(crate) job_group: AtomicU64,
    pub(crate) own: [AtomicU32; OWN],
    pub(crate) wake: AtomicU32,
    unused: u32,
    pub(crate) running: AtomicU64,
    pub(crate) begun_ns: AtomicU64,
    pub(crate) woken_ns: AtomicU64,
    pub(crate) quiet_since_ns: AtomicU64,
    bg_start_ns: AtomicU64,
    last_wake_ns: AtomicU64,
    pub(crate) gap_ns: AtomicU64,
    pub(crate) alarm_armed: AtomicU32,
    pub(crate) wakes_given: AtomicU32,
}

const _: () = {
    assert!(size_of::<RawCpu>() == 192 + 5 * 8 * (BUCKETS + 1) + 24);
    assert!(size_of::<RawCpu>().is_multiple_of(64));
    assert!(std::mem::offset_of!(RawCpu, view) == 24);
    assert!(std::mem::offset_of!(RawCpu, bursts) == 104);
    assert!(std::mem::offset_of!(RawCpu, watched_ns) == 152);
    assert!(std::mem::offset_of!(RawCpu, delay) == 192);
    assert!(size_of::<RawSched>() == 128);
    assert!(std::mem::offset_of!(RawSched, own) == 32);
    assert!(std::mem::offset_of!(RawSched, running) == 64);
    assert!(std::mem::offset_of!(RawSched, gap_ns) == 112);
    assert!(std::mem::offset_of!(RawSched, alarm_armed) == 120);
};

impl RawSched {
    /// CPUs that run foreground and background.
    pub(crate) fn running(&self) -> [u32; 2] {
        let running = self.running.load(Ordering::Relaxed);
        [running & u64::from(u32::MAX), running >> 32].map(|half| u32::try_from(half).unwrap_or(0))
    }

    /// Whether a foreground task can run and waits for a CPU while none runs, at `now_ns`.
    pub(crate) fn foreground_waits(&self, now_ns: u64) -> bool {
        let (begun, woken) = (self.begun_ns.load(Ordering::Relaxed), self.woken_ns.load(Ordering::Relaxed));
        foreground_waits(self.running.load(Ordering::Relaxed), begun, woken, now_ns)
    }
}

/// `lull_foreground_waits` of `lull_policy.h`.
pub(crate) fn foreground_waits(running: u64, begun_ns: u64, woken_ns: u64, now_ns: u64) -> bool {
    running & u64::from(u32::MAX) == 0 && woken_ns > begun_ns && now_ns < woken_ns.saturating_add(PENDING_NS)
}
