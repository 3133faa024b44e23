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
//! Edge cases: a packet for nobody is dropped; a bound of nothing drops all; a bound that is lowered drops no packet that waits. Units:
//! packets. Source: R-13; Eclipse/BSD, section 3.4; Mogul and Ramakrishnan, *Eliminating Receive Livelock in an Interrupt-Driven Kernel*,
//! USENIX 1996.

use std::collections::{BTreeMap, VecDeque};

use super::QueueId;

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
    bound: usize,
    waiting: VecDeque<T>,
    counts: Counts,
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
    /// A socket of which at most `bound` packets wait.
    pub fn set(&mut self, socket: QueueId, bound: usize) {
        let fresh = || Socket { bound, waiting: VecDeque::new(), counts: Counts::default() };
        self.sockets.entry(socket).or_insert_with(fresh).bound = bound;
    }

    /// A socket is closed; what waits there is gone. Returns its counts.
    pub fn remove(&mut self, socket: QueueId) -> Option<Counts> {
        let socket = self.sockets.remove(&socket)?;
        let waiting = socket.waiting.len() as u64;
        Some(Counts { dropped: socket.counts.dropped + waiting, ..socket.counts })
    }

    /// A packet has come.
    pub fn arrive(&mut self, socket: QueueId, packet: T) -> Fate {
        let Some(socket) = self.sockets.get_mut(&socket) else {
            self.stray += 1;
            return Fate::Dropped;
        };
        socket.counts.arrived += 1;
        if socket.waiting.len() >= socket.bound {
            socket.counts.dropped += 1;
            return Fate::Dropped;
        }
        socket.waiting.push_back(packet);
        if socket.waiting.len() == 1 { Fate::Signal } else { Fate::Queued }
    }

    /// The receiver takes the next packet, to process it in its own time.
    pub fn take(&mut self, socket: QueueId) -> Option<T> {
        let socket = self.sockets.get_mut(&socket)?;
        let packet = socket.waiting.pop_front()?;
        socket.counts.taken += 1;
        Some(packet)
    }

    /// How many wait at a socket.
    pub fn waiting(&self, socket: QueueId) -> usize {
        self.sockets.get(&socket).map_or(0, |socket| socket.waiting.len())
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
        }
    }
}

#[cfg(test)]
mod tests;
