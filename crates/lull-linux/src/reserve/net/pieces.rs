//! In what pieces an interface is shared.
//!
//! Problem: TCP hands the interface up to 64 KiB at once, to be cut into packets behind the queue. On a fast line that is nothing; at
//! 10 Mb/s it is a twentieth of a second, in which nobody else sends: over a second or two shares are wrong by a tenth, and answers take as
//! long as all those pieces. TCP makes them small where the way is long, but not on a short way, however slow the line. Approach: an
//! interface that is slow by its reserved rate is told to take less at once (`gso_max_size`), a millisecond of its rate; and turns of siblings that
//! borrow are as short as their weights allow.
//!
//! Connections take the size over when they are made.
//!
//! Units: bytes, bytes per second. Source: ip-link(8), tc-htb(8); `tcp_tso_autosize` in `net/ipv4/tcp_output.c`.

use std::io;

use super::run;

/// What may leave in one piece, and at least in one turn: this part of a second at the rate.
const PER_SECOND: u64 = 1_000;
/// Two packets of an Ethernet and the kernel's allowance for headers.
const LEAST_PIECE_BYTES: u64 = 4_096;
/// The largest packet of IP.
const MOST_PIECE_BYTES: u64 = 65_536;
/// What a turn of the heaviest sibling is at most, and of the lightest at least: a packet.
pub(super) const MOST_TURN_BYTES: u64 = 200_000;
pub(super) const LEAST_TURN_BYTES: u64 = 1_600;

/// The largest piece at this rate.
pub(super) fn largest(rate: u64) -> u64 {
    (rate / PER_SECOND).clamp(LEAST_PIECE_BYTES, MOST_PIECE_BYTES)
}

/// A turn of one with this weight beside siblings of which the lightest and the heaviest that weigh anything have those.
pub(super) fn turn(weight: u64, lightest: u64, heaviest: u64, rate: u64) -> u64 {
    let (lightest, heaviest) = (lightest.max(1), heaviest.max(1));
    let of_heaviest = (LEAST_TURN_BYTES * heaviest).div_ceil(lightest).max(rate / PER_SECOND);
    let turn = of_heaviest.min(MOST_TURN_BYTES) * weight / heaviest;
    turn.max(LEAST_TURN_BYTES)
}

/// What the interface takes at once.
pub(super) fn largest_of(interface: &str) -> io::Result<Option<u64>> {
    Ok(largest_in(&run(&format!("ip -d link show dev {interface}"))?))
}

/// Sets what it takes at once.
pub(super) fn set_largest(interface: &str, bytes: u64) -> io::Result<()> {
    run(&format!("ip link set dev {interface} gso_max_size {bytes}")).map(drop)
}

/// From `ip -d link show`.
fn largest_in(shown: &str) -> Option<u64> {
    let mut words = shown.split_whitespace().skip_while(|word| *word != "gso_max_size");
    words.nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests;
