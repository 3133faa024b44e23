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
//! | `tcp-down` | 100 Mb/s | a connection that sends at an intensity | a download (5.4) | – |
//! | `ask-down` | 100 Mb/s | 200-byte questions and answers, 3 ms apart | a download | – |
//! | `net-redis` | 100 Mb/s | Redis beside the job, 1,000 requests per second from the other host | rsync to the other host | – |
//! | `net-nginx` | 100 Mb/s | a web server beside the job, 50 files of 64 KiB per second | rsync to the other host | – |
//!
//! Requests to servers come at a constant rate, whatever the answers take. In `tcp-tcp` and `tcp-down` small
//! datagrams measure the round trip beside the connection; in `ask` and `ask-down` the questions do.

use std::ffi::OsString;
use std::net::SocketAddr;

use lull_core::Nanos;

use super::args::{NetArgs, NetCase};
use crate::contender::Contender;
use crate::experiment::apps::args::{App, AppJob};
use crate::experiment::apps::packages;
use crate::load::net::Protocol;
use crate::netbed::LinkPlan;
use crate::process::words;
use crate::units::name;

/// One way, of the far case.
const FAR: Nanos = Nanos::from_millis(10);
/// Requests per second to the servers.
const REDIS_RATE: u64 = 1_000;
const NGINX_RATE: u64 = 50;
/// Kilobytes per second, as rsync counts them, of a megabit per second.
const RSYNC_KIB: u32 = 122;
/// Bytes of a datagram, as in the paper.
const DATAGRAM_BYTES: u32 = 1_400;
/// Bytes of a write to a connection. A foreground begins its last write of a slice at any moment, so what it
/// loses shows in steps of one: they have to be small beside what the slowest link carries in a slice (625 kB
/// in 50 ms).
const WRITE_BYTES: u32 = 8 << 10;
/// The same of a background, which has no slices.
const FLOOD_BYTES: u32 = 128 << 10;
/// The fixed rate that is a contender, as a part of the link's.
const RATE_PART: u32 = 4;

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name in records and tables.
    pub name: String,
    /// The link.
    pub link: LinkPlan,
    /// The foreground.
    pub foreground: ForegroundKind,
    /// The background.
    pub background: Transfer,
}

/// A foreground.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForegroundKind {
    /// Arguments of a load, without its ends and times.
    Load(String),
    /// A server on the job's host.
    Server {
        /// Which.
        app: App,
        /// Requests per second.
        rate: u64,
    },
}

/// A background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Sends without end.
    Upload(Protocol),
    /// Receives without end, by TCP.
    Download,
    /// Copies files to the other host.
    Rsync,
}

fn write_bytes(protocol: Protocol, to_a_connection: u32) -> u32 {
    match protocol {
        Protocol::Tcp => to_a_connection,
        Protocol::Udp => DATAGRAM_BYTES,
    }
}

impl Case {
    /// The cases of that name: one for each intensity, where the foreground has one.
    pub fn all_of(group: NetCase, args: &NetArgs) -> Vec<Self> {
        let intensities =
            if has_intensity(group) { Some(&args.intensity[..]) } else { args.intensity.get(..1) };
        intensities.unwrap_or_default().iter().map(|percent| Self::of(group, *percent, args)).collect()
    }

    fn of(group: NetCase, percent: u64, args: &NetArgs) -> Self {
        let fast = LinkPlan::of_rate(args.fast_mbit);
        let slow = LinkPlan::of_rate(args.slow_mbit);
        let transfer = |protocol: Protocol, flows: u32| {
            let size = write_bytes(protocol, WRITE_BYTES);
            let carrier = name(&protocol);
            format!("net-transfer --protocol {carrier} --flows {flows} --size {size} --intensity {percent}")
        };
        let plain = |protocol, flows| ForegroundKind::Load(transfer(protocol, flows));
        let every = args.probe.as_nanos();
        let probe = if every > 0 { format!(" --probe {every}ns") } else { String::new() };
        let probed = || ForegroundKind::Load(transfer(Protocol::Tcp, 1) + &probe);
        let ask = ForegroundKind::Load("net-ask".to_owned());
        let upload = Transfer::Upload;
        let (link, foreground, background) = match group {
            NetCase::UdpUdp => (fast, plain(Protocol::Udp, 3), upload(Protocol::Udp)),
            NetCase::TcpUdp => (fast, plain(Protocol::Tcp, 3), upload(Protocol::Udp)),
            NetCase::TcpUdpFar => (slow.with_delay(FAR), plain(Protocol::Tcp, 3), upload(Protocol::Udp)),
            NetCase::TcpTcp => (slow, probed(), upload(Protocol::Tcp)),
            NetCase::Ask => (slow, ask, upload(Protocol::Tcp)),
            NetCase::TcpDown => (slow, probed(), Transfer::Download),
            NetCase::AskDown => (slow, ask, Transfer::Download),
            NetCase::NetRedis => {
                (slow, ForegroundKind::Server { app: App::Redis, rate: REDIS_RATE }, Transfer::Rsync)
            }
            NetCase::NetNginx => {
                (slow, ForegroundKind::Server { app: App::Nginx, rate: NGINX_RATE }, Transfer::Rsync)
            }
        };
        let name = if has_intensity(group) { format!("{}-{percent}", name(&group)) } else { name(&group) };
        Self { name, link, foreground, background }
    }

    /// Arguments of the background's load under this contender.
    pub fn flood(&self, protocol: Protocol, to: SocketAddr, contender: &Contender) -> Vec<OsString> {
        let size = write_bytes(protocol, FLOOD_BYTES);
        let congestion = match contender {
            Contender::Congestion(name) => format!("--congestion {name}"),
            _ => String::new(),
        };
        let (protocol, manner) = (name(&protocol), self.manner(contender));
        words(&format!(
            "net-flood --json --protocol {protocol} --to {to} --size {size} {manner} {congestion}"
        ))
    }

    /// The same of a download.
    pub fn fetch(&self, from: SocketAddr, contender: &Contender) -> Vec<OsString> {
        words(&format!("net-fetch --from {from} {}", self.manner(contender)))
    }

    /// What the job's own load does for others.
    fn manner(&self, contender: &Contender) -> String {
        match contender {
            Contender::FixedRate => format!("--rate-mbit {}", self.fixed_mbit()),
            other if other.marks() => "--mark".to_owned(),
            _ => String::new(),
        }
    }

    /// What rsync is told under this contender.
    pub fn limit_of_rsync(&self, contender: &Contender) -> String {
        match contender {
            Contender::FixedRate => format!("--bwlimit={}", self.fixed_mbit() * RSYNC_KIB),
            _ => String::new(),
        }
    }

    fn fixed_mbit(&self) -> u32 {
        self.link.rate_mbit / RATE_PART
    }

    /// Why a contender makes no sense in this case.
    pub fn obstacle(&self, contender: &Contender) -> Option<String> {
        let chooses = matches!(contender, Contender::Congestion(_));
        let why = match self.background {
            Transfer::Upload(Protocol::Udp) if chooses => "datagrams have no congestion control",
            Transfer::Download if chooses => "the other side of a download chooses its congestion control",
            Transfer::Rsync if *contender == Contender::Marked => "rsync does not mark its packets",
            _ => return None,
        };
        Some(why.to_owned())
    }

    /// What has to be installed.
    pub fn missing(&self) -> Vec<&'static str> {
        let server = match &self.foreground {
            ForegroundKind::Server { app, .. } => packages::of_app(*app),
            ForegroundKind::Load(_) => &[],
        };
        let work = if self.background == Transfer::Rsync { packages::of_work(AppJob::Rsync) } else { &[] };
        packages::missing(server.iter().chain(work))
    }
}

/// Whether the foreground sends at an intensity.
fn has_intensity(group: NetCase) -> bool {
    !matches!(group, NetCase::Ask | NetCase::AskDown | NetCase::NetRedis | NetCase::NetNginx)
}

#[cfg(test)]
mod tests;
