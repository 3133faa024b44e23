//! The paper's network: a sending host, a link, a receiving host; UDP and TCP (figures 9, 11, 12).
//!
//! ```text
//!  sending host                                                    receiving host
//!  process ─▶ kernel ─▶ queue per class ─▶ Resource ─▶ ring ─▶ wire ─▶ input queue ─▶ kernel ─▶ process
//!                ▲                                                                     │
//!                └──────────────────────────── acknowledgements ◀──────────────────────┘
//! ```
//!
//! What matters for the figures, and where the paper says it:
//!
//! - *One kernel.* FreeBSD 4.7 lets one CPU into the kernel at a time (section 4), first come, first served, whatever the
//!   class: a background `sendto` delays a foreground one. Preemption intervals keep it out only because its queue fills
//!   up, its sends fail, and it sleeps (section 2.2: lower queues absorb what upper schedulers decide).
//! - *Sends cost the kernel 50 µs*: the paper's measured service time. 20 µs bring a packet into its queue, 30 µs hand it
//!   to the driver.
//! - *UDP* sends do not block: with a full queue they fail, and the process sleeps 10 to 15 ms (section 4.3), in whole clock
//!   ticks.
//! - *TCP* ([`tcp`]): three connections, writes of 128 KB into buffers of 128 KB; slow start, congestion avoidance, fast
//!   retransmit, delayed acknowledgements, a round-trip estimator that counts 10 ms ticks.
//! - *The scheduler* stands where the driver takes packets (section 3.2). What it has handed over lies in the driver's
//!   ring, first in, first out: background packets there are in the way of all foreground behind them.
//! - *The interval* begins when the driver takes a foreground packet (section 3.3).
//!
//! - *The receiving host is slower* than the sending one: 60 µs per packet, and a queue of 50 before its kernel, first in,
//!   first out. What it cannot take is lost, and TCP learns of it. The paper does not give this number; it was chosen:
//!   up to 55 µs nothing is lost, and TCP needs an interval of 0.1 ms only.
//!
//! Not modelled: intervals on the receiving host, which sends nothing but acknowledgements here (the receiver of UDP
//! answers nothing); routing, ARP, checksums.
//!
//! Units: packets and nanoseconds. Source: sections 3.2, 3.3 and 4.3.

mod host;
mod receiver;
mod run;
pub mod tcp;

use lull_core::{Interval, Nanos, Share};

pub use run::{Outcome, run};

/// The protocol of the foreground.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Datagrams of 1,400 bytes.
    Udp,
    /// Three connections.
    Tcp,
}

/// The hosts and the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Rate of the link.
    pub bits_per_second: u64,
    /// From one host to the other.
    pub delay: Nanos,
    /// Packets that the driver's ring holds: of the paper's cards the PRO/1000F has 256 descriptors; the PRO/100 has 128
    /// control blocks, of which its driver keeps one free.
    pub ring: usize,
    /// Packets that wait per class before the driver.
    pub queue: usize,
    /// Packets that wait in the receiving host.
    pub input_queue: usize,
    /// Kernel time to bring a packet into its queue.
    pub output: Nanos,
    /// Kernel time to hand a packet to the driver.
    pub transmit: Nanos,
    /// Kernel time for an acknowledgement that comes in.
    pub acknowledge: Nanos,
    /// Kernel time of the receiving host per packet.
    pub receive: Nanos,
}

impl Network {
    /// 1 Gb/s between two hosts side by side.
    pub const LAN: Self = Self {
        bits_per_second: 1_000_000_000,
        delay: Nanos::from_micros(5),
        ring: 256,
        queue: 50,
        input_queue: 50,
        output: Nanos::from_micros(20),
        transmit: Nanos::from_micros(30),
        acknowledge: Nanos::from_micros(15),
        receive: Nanos::from_micros(60),
    };
    /// 100 Mb/s with 10 ms each way.
    pub const WAN: Self =
        Self { bits_per_second: 100_000_000, delay: Nanos::from_millis(10), ring: 127, ..Self::LAN };
}

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The foreground's protocol.
    pub protocol: Protocol,
    /// Its intensity; `None`: there is none.
    pub foreground: Option<Share>,
    /// Whether a greedy UDP sender runs in the background.
    pub background: bool,
    /// The preemption interval.
    pub interval: Interval,
}

/// The CPU quantum by which processes work and sleep.
pub(crate) const QUANTUM: Nanos = Nanos::from_millis(100);
/// The clock tick by which they sleep.
pub(crate) const TICK: Nanos = Nanos::from_millis(10);
/// TCP connections of the foreground.
pub(crate) const CONNECTIONS: usize = 3;
/// Bytes of a datagram with its headers.
pub(crate) const DATAGRAM_BYTES: u64 = 1_428;
/// Bytes of a full TCP segment with its headers.
pub(crate) const SEGMENT_BYTES: u64 = 1_500;

#[cfg(test)]
mod tests;
