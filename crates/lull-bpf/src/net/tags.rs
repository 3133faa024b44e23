//! What a person names as background although no job of lull's sends it: ports, local addresses, marks, and who answers.
//!
//! Text forms: `6881-6889` or `873`; an IP address; `0x10` or `0x10/0xff`, a value and the bits that count, as `ip rule` and
//! iptables write it. A packet is named if its source or destination port, its source address or its mark is.
//!
//! The kernel side is `bpf/lull_tag.h`.

use std::net::{IpAddr, Ipv6Addr};
use std::path::PathBuf;
use std::str::FromStr;

/// How many of each kind there may be.
pub const MAX_TAGS: usize = 16;
/// `struct lull_tags`.
const RECORD_BYTES: usize = 464;
const PORTS_AT: usize = 16;
const ADDRESSES_AT: usize = PORTS_AT + MAX_TAGS * 4;
const MARKS_AT: usize = ADDRESSES_AT + MAX_TAGS * 16;
const _: () = assert!(MARKS_AT + MAX_TAGS * 8 == RECORD_BYTES);

/// Ports of any transport protocol, source or destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl FromStr for PortRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let port = |port: &str| match port.parse::<u16>() {
            Ok(0) | Err(_) => {
                Err(format!("'{text}' is no range of ports; use FIRST-LAST, each from 1 to 65535"))
            }
            Ok(port) => Ok(port),
        };
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let range = Self { first: port(first)?, last: port(last)? };
        if range.first > range.last {
            return Err(format!("'{text}' is no range of ports: {} comes after {}", range.first, range.last));
        }
        Ok(range)
    }
}

/// A mark that packets carry inside this host (netfilter's, SO_MARK).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketMark {
    value: u32,
    mask: u32,
}

impl FromStr for PacketMark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |number: &str| {
            let hexadecimal = number.strip_prefix("0x").or_else(|| number.strip_prefix("0X"));
            let parsed = hexadecimal.map_or_else(|| number.parse(), |digits| u32::from_str_radix(digits, 16));
            parsed.map_err(|_| format!("'{text}' is no mark; use a number as 16, 0x10 or 0x10/0xff"))
        };
        let (value, mask) = text.split_once('/').unwrap_or((text, "0xffffffff"));
        let mark = Self { value: number(value)?, mask: number(mask)? };
        if mark.value & !mark.mask != 0 {
            return Err(format!("'{text}' names no packet: the value has bits that the mask leaves out"));
        }
        // What nobody marked has the mark 0.
        if mark.value == 0 {
            return Err(format!("'{text}' would name all packets that nobody marked; use a value above 0"));
        }
        Ok(mark)
    }
}

/// All that is named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags {
    /// By port.
    pub ports: Vec<PortRange>,
    /// By local address.
    pub addresses: Vec<IpAddr>,
    /// By mark.
    pub marks: Vec<PacketMark>,
    /// Sockets of this control group, and of those below, answer in the class in which they were asked.
    pub answers: Option<PathBuf>,
    /// The root of the v2 hierarchy, for the connections of all programs.
    pub root_group: Option<PathBuf>,
}

impl Tags {
    /// Nothing is named.
    pub const fn is_empty(&self) -> bool {
        !self.names_packets() && self.answers.is_none()
    }

    /// Packets or connections are named.
    pub const fn names_packets(&self) -> bool {
        !(self.ports.is_empty() && self.addresses.is_empty() && self.marks.is_empty())
    }

    /// `struct lull_tags`, in the byte order of this host but for addresses.
    pub(super) fn record(&self) -> [u8; RECORD_BYTES] {
        let mut record = [0; RECORD_BYTES];
        let mut put = |at: usize, bytes: &[u8]| record[at..at + bytes.len()].copy_from_slice(bytes);
        let count = |len: usize| u32::try_from(len.min(MAX_TAGS)).unwrap_or(0).to_ne_bytes();
        put(0, &count(self.ports.len()));
        put(4, &count(self.addresses.len()));
        put(8, &count(self.marks.len()));
        put(12, &u32::from(self.answers.is_some()).to_ne_bytes());
        for (at, range) in (PORTS_AT..).step_by(4).zip(self.ports.iter().take(MAX_TAGS)) {
            put(at, &range.first.to_ne_bytes());
            put(at + 2, &range.last.to_ne_bytes());
        }
        for (at, address) in (ADDRESSES_AT..).step_by(16).zip(self.addresses.iter().take(MAX_TAGS)) {
            put(at, &as_v6(*address).octets());
        }
        for (at, mark) in (MARKS_AT..).step_by(8).zip(self.marks.iter().take(MAX_TAGS)) {
            put(at, &mark.value.to_ne_bytes());
            put(at + 4, &mark.mask.to_ne_bytes());
        }
        record
    }
}

/// IPv4 as ::ffff:a.b.c.d.
const fn as_v6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

#[cfg(test)]
mod tests;
