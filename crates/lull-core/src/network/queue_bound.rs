//! How much background may be in an interface's queue at once, where it is given packet by packet.
//!
//! Problem: what is there delays the foreground, so it should be little; but too little leaves the link idle until whoever gives
//! the next packet has woken up. What is enough depends on the link's rate, which nobody knows.
//!
//! Approach: keep the time that background packets spend in the queue between two values. It is in proportion to the bound as
//! long as the link is the narrow place.
//!
//! ```text
//!   time in the queue    0 ───────────── short ─────────────── long ────────▶
//!   the bound            doubled           │  stays as it is    │   halved
//! ```
//! Edge cases: `long` is more than twice `short`, so that no step undoes the last. A job that sends little looks like a fast link;
//! then there is little in the queue in any case. A bound that a person has given in packets stays.
//!
//! Units: bytes as the kernel counts them, with its bookkeeping, which is about half as much again.

use crate::base::time::Nanos;

/// About seven packets of an Ethernet, and about sixty.
const LEAST_BYTES: u32 = 16 << 10;
const MOST_BYTES: u32 = 128 << 10;
/// Of an Ethernet's largest packet, with the bookkeeping.
const PACKET_BYTES: u32 = 2_304;
const SHORT: Nanos = Nanos::from_micros(200);
const LONG: Nanos = Nanos::from_micros(500);

/// The bound of one interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueBound {
    bytes: u32,
    is_fixed: bool,
}

impl Default for QueueBound {
    fn default() -> Self {
        Self { bytes: LEAST_BYTES, is_fixed: false }
    }
}

impl QueueBound {
    /// A bound of so many of an Ethernet's largest packets, whatever the link.
    pub const fn of_packets(packets: u32) -> Self {
        Self { bytes: packets.saturating_mul(PACKET_BYTES), is_fixed: true }
    }

    /// The bound now.
    pub const fn bytes(self) -> u32 {
        self.bytes
    }

    /// Takes in how long packets were in the queue since the last step.
    pub fn step(&mut self, in_queue: Nanos) {
        if self.is_fixed {
            return;
        }
        if in_queue < SHORT {
            self.bytes = (self.bytes * 2).min(MOST_BYTES);
        } else if in_queue > LONG {
            self.bytes = (self.bytes / 2).max(LEAST_BYTES);
        }
    }
}

#[cfg(test)]
mod tests;
