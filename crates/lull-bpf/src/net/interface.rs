//! The record of one interface.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lull_core::{Histogram, Interval, Nanos, Observation};
use memmap2::MmapRaw;

use crate::record::INFINITE_NS;
use crate::record::net::RawInterface;

/// One observed interface. Cheap to clone; readable from any thread without a system call.
#[derive(Clone, Debug)]
pub struct Interface {
    records: Arc<MmapRaw>,
    slot: usize,
    /// What an interface that had the record before left in it.
    before: Arc<InterfaceReport>,
}

/// What is only read now and then. Everything is cumulative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceReport {
    /// Time in the queue of foreground packets that found no background there.
    pub quiet: Histogram,
    /// … and of those that did.
    pub loaded: Histogram,
    /// Spans without foreground in the queue.
    pub gaps: Histogram,
    /// Time in the queue of background packets.
    pub service: Histogram,
    /// State × event counts (I-7), in the order I F B P × f b t i.
    pub counters: [[u64; 4]; 4],
    /// Background packets of the job, other than TCP's, that arrived in F or P.
    pub leaks: u64,
    /// Packets of the job that were sent to wait.
    pub parked: u64,
    /// Packets of background that no socket of the job sent.
    pub others: u64,
    /// Packets of neither class.
    pub neutral: u64,
    /// Packets and bytes of the foreground.
    pub foreground: (u64, u64),
    /// Packets and bytes of the background.
    pub background: (u64, u64),
}

impl InterfaceReport {
    /// What came after `before`.
    fn since(&self, before: &Self) -> Self {
        let of = |(packets, bytes): (u64, u64), (less, fewer): (u64, u64)| (packets - less, bytes - fewer);
        Self {
            quiet: self.quiet.since(&before.quiet),
            loaded: self.loaded.since(&before.loaded),
            gaps: self.gaps.since(&before.gaps),
            service: self.service.since(&before.service),
            counters: std::array::from_fn(|s| {
                std::array::from_fn(|e| self.counters[s][e] - before.counters[s][e])
            }),
            leaks: self.leaks - before.leaks,
            parked: self.parked - before.parked,
            others: self.others - before.others,
            neutral: self.neutral - before.neutral,
            foreground: of(self.foreground, before.foreground),
            background: of(self.background, before.background),
        }
    }
}

impl Interface {
    /// Takes a record, which another interface may have had.
    pub(super) fn begin(records: Arc<MmapRaw>, slot: usize) -> Self {
        let mut interface = Self { records, slot, before: Arc::default() };
        interface.raw().begin();
        interface.before = Arc::new(interface.report());
        interface
    }

    /// The number of its record.
    pub(super) fn slot(&self) -> usize {
        self.slot
    }

    fn raw(&self) -> &RawInterface {
        // SAFETY: the mapping holds MAX_DEVICES records and slot is below that; all fields that are shared are atomics,
        // so that the kernel may write while we read; the mapping lives as long as the Arc.
        unsafe { &*self.records.as_mut_ptr().cast::<RawInterface>().add(self.slot) }
    }

    /// Both classes at `now`.
    pub fn observation(&self, now: Nanos) -> Observation {
        self.raw().observation(now)
    }

    /// Background bytes in the interface's queue at `now`.
    pub fn queued_bytes(&self, now: Nanos) -> u64 {
        self.raw().queued_bytes(now)
    }

    /// Background packets, other than TCP's, that arrived in F or P, so far.
    pub fn leaks(&self) -> u64 {
        self.raw().device.leaks.load(Ordering::Relaxed) - self.before.leaks
    }

    /// Tells the kernel side the interval for what is sent, that for what is received, and the `flags` of the record.
    pub fn set_policy(&self, interval: Interval, receive: Interval, flags: u32) {
        let length_of = |interval| match interval {
            Interval::Finite(length) => length.0,
            Interval::Infinite => INFINITE_NS,
        };
        self.raw().device.interval_ns.store(length_of(interval), Ordering::Relaxed);
        self.raw().receive_interval_ns.store(length_of(receive), Ordering::Relaxed);
        self.raw().device.flags.store(flags, Ordering::Relaxed);
    }

    /// The interval that the kernel side was told.
    pub fn interval(&self) -> Interval {
        match self.raw().device.interval_ns.load(Ordering::Relaxed) {
            INFINITE_NS => Interval::Infinite,
            length => Interval::Finite(Nanos(length)),
        }
    }

    /// Lets the congestion control hold background in F and P up to `until`. To be said ever anew.
    pub fn hold_until(&self, until: Nanos) {
        self.raw().held_until_ns.store(until.0, Ordering::Relaxed);
    }

    /// Names the device of the waiting room for the job's datagrams; 0 for none.
    pub fn set_room(&self, index: u32) {
        self.raw().room.store(index.into(), Ordering::Relaxed);
    }

    /// Names the socket, by its cookie, through which what waited in the room comes: all of that is background.
    pub fn set_giver(&self, cookie: u64) {
        self.raw().giver.store(cookie, Ordering::Relaxed);
    }

    /// Says that the room is empty: what comes need not wait behind it.
    pub fn clear_room(&self) {
        self.raw().room_busy.store(0, Ordering::SeqCst);
    }

    /// Packets of background that no socket of the job sent, so far.
    pub fn others(&self) -> u64 {
        self.raw().others.load(Ordering::Relaxed) - self.before.others
    }

    /// Bounds the background bytes in the interface's queue; 0 for no bound.
    pub fn set_depth(&self, bytes: u64) {
        self.raw().depth_bytes.store(bytes, Ordering::Relaxed);
    }

    /// The largest smoothed round trip of foreground TCP that sent since this was last asked.
    pub fn take_rtt(&self) -> Option<Nanos> {
        Some(Nanos(self.raw().rtt_ns.swap(0, Ordering::Relaxed))).filter(|rtt| *rtt > Nanos::ZERO)
    }

    /// Time in the queue of background packets.
    pub fn service(&self) -> Histogram {
        self.raw().device.service.read().since(&self.before.service)
    }

    /// Asks for one wake-up at the next of these events (`WAKE_*`). Read the state again afterwards: the event may
    /// have come just before.
    pub fn ask_wake(&self, reasons: u32) {
        self.raw().device.wake.fetch_or(reasons, Ordering::SeqCst);
    }

    /// Everything that is kept.
    pub fn report(&self) -> InterfaceReport {
        let raw = self.raw();
        let device = &raw.device;
        let total = |class: usize| (device.view[class].read().started, device.view[class].bytes());
        let all = InterfaceReport {
            quiet: device.quiet.read(),
            loaded: device.loaded.read(),
            gaps: device.gaps.read(),
            service: device.service.read(),
            counters: std::array::from_fn(|s| {
                std::array::from_fn(|e| device.counters[s][e].load(Ordering::Relaxed))
            }),
            leaks: device.leaks.load(Ordering::Relaxed),
            parked: raw.parked.load(Ordering::Relaxed),
            others: raw.others.load(Ordering::Relaxed),
            neutral: device.neutral.load(Ordering::Relaxed),
            foreground: total(0),
            background: total(1),
        };
        all.since(&self.before)
    }
}
