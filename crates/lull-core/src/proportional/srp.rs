//! Signaled receiver processing (SRP): network input that cannot take the CPU away from those who read it.
//!
//! Problem: the usual stack handles a packet, up to the socket, before anybody else may run, and throws it away when the socket's queue
//! turns out to be full. Beyond some rate that takes the whole CPU and every packet is handled for nothing: *receive livelock*. Approach:
//! find a packet's socket first, which is cheap, and leave it there unprocessed, in a bounded queue; a packet that comes to a full
//! queue is dropped at once. Protocols are processed when the receiver runs, in its own share of the CPU.
//!
//! ```text
//!   packet ─▶ which socket? ─┬─ queue full ─▶ dropped (cost so far: c)
//!                            └─ queue ─▶ signal the receiver ─▶ … in its turn: protocol, read (cost p)
//! ```
//!
//! With packets at rate `r` and a receiver with share `s` of what interrupts leave, `min(r, s (1 - r c) / p)` packets per second are
//! received: a plateau that falls by the cost of dropping alone. The usual stack receives `min(r, (1 - r i) / a)`, with `i` most of the
//! work: nothing from `1 / i` packets per second on.
//!
//! *Where the stock kernel handles protocols.* On Linux a packet that is let through is handled before its receiver runs, but one that comes
//! to a full queue is not: then what is handled for a receiver is what it reads, at most its bound ahead, so the protocol work that a receiver
//! causes is bounded by its share of the CPU as here. `lull-bpf/src/bpf/lull_srp.h` has [`Amount::takes`] again.
//!
//! Edge cases: a packet for nobody is dropped; a bound of no packets drops all; an empty queue takes a packet of any size; a bound that is lowered
//! drops no packet that waits. Units: packets, bytes. Source: R-13; Eclipse/BSD, section 3.4; Mogul and Ramakrishnan, *Eliminating Receive Livelock in an Interrupt-Driven Kernel*,
//! USENIX 1996.

use std::collections::{BTreeMap, VecDeque};

use super::QueueId;

/// What waits at a socket, or the most that may.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Packets.
    pub packets: u64,
    /// What they take.
    pub bytes: u64,
}

impl Amount {
    /// No bound.
    pub const ENDLESS: Self = Self { packets: u64::MAX, bytes: u64::MAX };

    /// So many packets, of any size.
    pub const fn of_packets(packets: u64) -> Self {
        Self { packets, bytes: u64::MAX }
    }

    /// Whether there is room for one more packet, of so many bytes, while so much waits.
    pub const fn takes(self, waiting: Self, bytes: u64) -> bool {
        waiting.packets < self.packets
            && (waiting.bytes == 0 || waiting.bytes <= self.bytes && bytes <= self.bytes - waiting.bytes)
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It waits, and the receiver is to be signaled: nothing waited before.
    Signal,
    /// It waits behind others.
    Queued,
    /// It is gone.
    Dropped,
}

#[derive(Clone, Debug)]
struct Socket<T> {
    room: Amount,
    waiting: VecDeque<(T, u64)>,
    bytes: u64,
    counts: Counts,
}

impl<T> Socket<T> {
    fn amount(&self) -> Amount {
        Amount { packets: self.waiting.len() as u64, bytes: self.bytes }
    }
}

/// What has happened at a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that came.
    pub arrived: u64,
    /// … of which the receiver took.
    pub taken: u64,
    /// … of which were dropped.
    pub dropped: u64,
}

/// The unprocessed input of all sockets.
#[derive(Clone, Debug)]
pub struct Srp<T> {
    sockets: BTreeMap<QueueId, Socket<T>>,
    /// Packets for nobody.
    stray: u64,
}

impl<T> Default for Srp<T> {
    fn default() -> Self {
        Self { sockets: BTreeMap::new(), stray: 0 }
    }
}

impl<T> Srp<T> {
    /// A socket at which at most so much waits.
    pub fn set(&mut self, socket: QueueId, room: Amount) {
        let fresh = || Socket { room, waiting: VecDeque::new(), bytes: 0, counts: Counts::default() };
        self.sockets.entry(socket).or_insert_with(fresh).room = room;
    }

    /// A socket is closed; what waits there is gone. Returns its counts.
    pub fn remove(&mut self, socket: QueueId) -> Option<Counts> {
        let socket = self.sockets.remove(&socket)?;
        let waiting = socket.waiting.len() as u64;
        Some(Counts { dropped: socket.counts.dropped + waiting, ..socket.counts })
    }

    /// A packet has come, of so many bytes.
    pub fn arrive(&mut self, socket: QueueId, packet: T, bytes: u64) -> Fate {
        let Some(socket) = self.sockets.get_mut(&socket) else {
            self.stray += 1;
            return Fate::Dropped;
        };
        socket.counts.arrived += 1;
        if !socket.room.takes(socket.amount(), bytes) {
            socket.counts.dropped += 1;
            return Fate::Dropped;
        }
        socket.waiting.push_back((packet, bytes));
        socket.bytes += bytes;
        if socket.waiting.len() == 1 { Fate::Signal } else { Fate::Queued }
    }

    /// The receiver takes the next packet, to process it in its own time.
    pub fn take(&mut self, socket: QueueId) -> Option<T> {
        let socket = self.sockets.get_mut(&socket)?;
        let (packet, bytes) = socket.waiting.pop_front()?;
        socket.bytes -= bytes;
        socket.counts.taken += 1;
        Some(packet)
    }

    /// How much waits at a socket.
    pub fn waiting(&self, socket: QueueId) -> Amount {
        self.sockets.get(&socket).map_or_else(Amount::default, Socket::amount)
    }

    /// What has happened at a socket.
    pub fn counts(&self, socket: QueueId) -> Counts {
        self.sockets.get(&socket).map_or_else(Counts::default, |socket| socket.counts)
    }

    /// Packets for nobody.
    pub const fn stray(&self) -> u64 {
        self.stray
    }

    /// Panics unless all that must hold does hold.
    ///
    /// # Panics
    /// When an invariant is broken: that is a bug in this crate.
    pub fn check_invariants(&self) {
        for (id, socket) in &self.sockets {
            let Counts { arrived, taken, dropped } = socket.counts;
            let waiting = socket.waiting.len() as u64;
            assert_eq!(arrived, taken + dropped + waiting, "no packet of {id} is lost or doubled");
            let bytes: u64 = socket.waiting.iter().map(|(_, bytes)| bytes).sum();
            assert_eq!(bytes, socket.bytes, "{id} knows how much waits");
        }
    }
}

#[cfg(test)]
mod tests;
