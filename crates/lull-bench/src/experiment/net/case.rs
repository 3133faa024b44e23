//! The cases: which link, which foreground, beside which background.
//!
//! A case whose foreground has an intensity is named with it: `udp-udp-25`.
//!
//! | case | link | foreground | background | paper |
//! |---|---|---|---|---|
//! | `udp-udp` | 1 Gb/s | 3 sockets of datagrams at an intensity | datagrams | figure 9 |
//! | `tcp-udp` | 1 Gb/s | 3 connections at an intensity | datagrams | figure 11 |
//! | `tcp-udp-far` | 100 Mb/s, 10 ms each way | 3 connections at an intensity | datagrams | figure 12 |
//! | `tcp-tcp` | 100 Mb/s | a connection at an intensity | an upload | – |
//! | `ask` | 100 Mb/s | 200-byte questions and answers, 3 ms apart | an upload | – |

use std::ffi::OsString;
use std::net::SocketAddr;

use clap::ValueEnum;
use lull_core::Nanos;

use super::args::{NetArgs, NetCase};
use crate::contender::Contender;
use crate::load::net::Protocol;
use crate::netbed::LinkPlan;

/// One way, of the far case.
const FAR: Nanos = Nanos::from_millis(10);
const SLOW_MBIT: u32 = 100;
/// Bytes of a datagram, and of a write to a connection, as in the paper.
const DATAGRAM_BYTES: u32 = 1_400;
const WRITE_BYTES: u32 = 128 << 10;
/// The fixed rate that is a contender, as a part of the link's.
const RATE_PART: u32 = 4;

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name in records and tables.
    pub name: String,
    /// The link.
    pub link: LinkPlan,
    /// Arguments of the foreground's load, without its ends and times.
    pub foreground: Vec<String>,
    /// What carries the background.
    pub background: Protocol,
}

fn write_bytes(protocol: Protocol) -> u32 {
    match protocol {
        Protocol::Tcp => WRITE_BYTES,
        Protocol::Udp => DATAGRAM_BYTES,
    }
}

fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

impl Case {
    /// The cases of that name: one for each intensity, where the foreground has one.
    pub fn all_of(group: NetCase, args: &NetArgs) -> Vec<Self> {
        let intensities =
            if group == NetCase::Ask { args.intensity.get(..1) } else { Some(&args.intensity[..]) };
        intensities.unwrap_or_default().iter().map(|percent| Self::of(group, *percent, args)).collect()
    }

    fn of(group: NetCase, percent: u64, args: &NetArgs) -> Self {
        let fast = LinkPlan::of_rate(args.fast_mbit);
        let slow = LinkPlan::of_rate(SLOW_MBIT);
        let transfer = |protocol: Protocol, flows: u32| {
            let (size, intensity) = (write_bytes(protocol).to_string(), percent.to_string());
            ["net-transfer", "--protocol", &word(&protocol), "--flows", &flows.to_string()]
                .into_iter()
                .chain(["--size", &size, "--intensity", &intensity])
                .map(str::to_owned)
                .collect()
        };
        let (link, foreground, background) = match group {
            NetCase::UdpUdp => (fast, transfer(Protocol::Udp, 3), Protocol::Udp),
            NetCase::TcpUdp => (fast, transfer(Protocol::Tcp, 3), Protocol::Udp),
            NetCase::TcpUdpFar => (slow.with_delay(FAR), transfer(Protocol::Tcp, 3), Protocol::Udp),
            NetCase::TcpTcp => (slow, transfer(Protocol::Tcp, 1), Protocol::Tcp),
            NetCase::Ask => (slow, vec!["net-ask".to_owned()], Protocol::Tcp),
        };
        let name = if group == NetCase::Ask { word(&group) } else { format!("{}-{percent}", word(&group)) };
        Self { name, link, foreground, background }
    }

    /// Arguments of the background's load under this contender.
    pub fn flood(&self, to: SocketAddr, contender: &Contender) -> Vec<OsString> {
        let mut words =
            ["net-flood", "--json", "--protocol", &word(&self.background)].map(str::to_owned).to_vec();
        words.extend(["--to".to_owned(), to.to_string()]);
        words.extend(["--size".to_owned(), write_bytes(self.background).to_string()]);
        if contender.marks() {
            words.push("--mark".to_owned());
        }
        if *contender == Contender::FixedRate {
            words.extend(["--rate-mbit".to_owned(), (self.link.rate_mbit / RATE_PART).to_string()]);
        }
        if let Contender::Congestion(name) = contender {
            words.extend(["--congestion".to_owned(), (*name).to_owned()]);
        }
        words.into_iter().map(OsString::from).collect()
    }

    /// Why a contender makes no sense in this case.
    pub fn obstacle(&self, contender: &Contender) -> Option<String> {
        (matches!(contender, Contender::Congestion(_)) && self.background == Protocol::Udp)
            .then(|| "datagrams have no congestion control".to_owned())
    }
}

#[cfg(test)]
mod tests;
