//! `struct lull_interface`: one record per observed network interface.

use std::sync::atomic::{AtomicU64, Ordering};

use lull_core::{ClassView, Nanos, Observation};

use super::RawDevice;

/// No packet waits in an interface's queue for longer than this; one that seems to has left unseen.
pub(crate) const STALE: Nanos = Nanos::from_secs(1);

/// `struct lull_interface`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct RawInterface {
    pub(crate) device: RawDevice,
    pub(crate) held_until_ns: AtomicU64,
    pub(crate) ended_bytes: [AtomicU64; 2],
    pub(crate) rtt_ns: AtomicU64,
    pub(crate) room: AtomicU64,
    pub(crate) depth_bytes: AtomicU64,
    pub(crate) room_busy: AtomicU64,
    pub(crate) parked: AtomicU64,
    pub(crate) others: AtomicU64,
    pub(crate) asked_ns: AtomicU64,
    pub(crate) receive_interval_ns: AtomicU64,
    pub(crate) giver: AtomicU64,
}

const _: () = {
    assert!(size_of::<RawInterface>() == size_of::<RawDevice>() + 96);
    assert!(std::mem::offset_of!(RawInterface, held_until_ns) == size_of::<RawDevice>());
    assert!(std::mem::offset_of!(RawInterface, rtt_ns) == size_of::<RawDevice>() + 24);
    assert!(std::mem::offset_of!(RawInterface, parked) == size_of::<RawDevice>() + 56);
    assert!(std::mem::offset_of!(RawInterface, giver) == size_of::<RawDevice>() + 88);
};

/// `lull_in_queue` of `lull_policy.h`: packets of a class that wait.
pub(crate) fn in_queue(view: &ClassView, now: Nanos) -> u64 {
    if now.0 >= view.last_start.0.saturating_add(STALE.0) {
        return 0;
    }
    view.started.saturating_sub(view.ended)
}

impl RawInterface {
    /// Makes it that of another interface. Packets are numbered on, and sums too: an entry of a packet of the interface before
    /// may still be found, and must not seem to have left this one's queue.
    pub(crate) fn begin(&self) {
        for (view, ended_bytes) in self.device.view.iter().zip(&self.ended_bytes) {
            view.begin();
            ended_bytes.store(view.bytes(), Ordering::Relaxed);
        }
        self.device.wake.store(0, Ordering::Relaxed);
        let others = [&self.held_until_ns, &self.rtt_ns, &self.room, &self.depth_bytes, &self.room_busy];
        for word in others.into_iter().chain([&self.asked_ns, &self.giver]) {
            word.store(0, Ordering::Relaxed);
        }
    }

    /// Both classes at `now`.
    pub(crate) fn observation(&self, now: Nanos) -> Observation {
        let Observation { mut foreground, mut background } = self.device.observation();
        for view in [&mut foreground, &mut background] {
            view.in_service = u32::try_from(in_queue(view, now)).unwrap_or(u32::MAX);
        }
        Observation { foreground, background }
    }

    /// Background bytes that wait at `now`.
    pub(crate) fn queued_bytes(&self, now: Nanos) -> u64 {
        if self.observation(now).background.in_service == 0 {
            return 0;
        }
        self.device.view[1].bytes().saturating_sub(self.ended_bytes[1].load(Ordering::Relaxed))
    }
}
