//! Datagrams at a rate, and who reads them (Bruno and others, USENIX 1999, 5.4).
//!
//! ```text
//!  sender: so many a second to each server, whatever becomes of them ──▶ server: read one, compute, read the next
//! ```
//! An open loop of datagrams of 10 bytes: more than a server can read are dropped somewhere, and what the server reads in a second tells what
//! that dropping cost. One system call sends up to 64 of them (`UDP_SEGMENT`), so that one CPU can send more than another can take.

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;

use lull_core::Nanos;
use nix::sys::socket::{setsockopt, sockopt};

use super::net::PATIENCE;
use crate::error::Context;
use crate::load::{LoadReport, ShiftArgs, own_cpu_ns};
use crate::{Error, clock, stop};

/// As in the paper.
const PACKET_BYTES: u16 = 10;
/// What one call may send at once.
const MOST_AT_ONCE: u64 = 64;
/// Calls in a second, as long as that is not more than can be sent at once.
const CALLS_PER_SECOND: u64 = 2_000;

/// Arguments of `load packets-serve`.
#[derive(Clone, Debug, clap::Args)]
pub struct ServeArgs {
    /// When it counts and how it reports; the warm-up begins with the first datagram.
    #[command(flatten)]
    pub shift: ShiftArgs,
    /// Where it reads.
    #[arg(long, value_name = "IP:PORT")]
    pub address: SocketAddr,
    /// Random numbers that are computed for each datagram.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub work: u64,
}

/// Arguments of `load packets-send`.
#[derive(Clone, Debug, clap::Args)]
pub struct SendArgs {
    /// When it counts and how it reports.
    #[command(flatten)]
    pub shift: ShiftArgs,
    /// A server. Repeatable.
    #[arg(long, value_name = "IP:PORT", required = true)]
    pub to: Vec<SocketAddr>,
    /// Datagrams per second, to each.
    #[arg(long, value_name = "N")]
    pub rate: u64,
}

/// `load packets-serve`.
pub(super) fn serve(args: &ServeArgs) -> Result<LoadReport, Error> {
    let socket = UdpSocket::bind(args.address).to("listen for datagrams")?;
    socket.set_read_timeout(Some(PATIENCE)).to("prepare a socket")?;
    read_all(&socket, args)
}

fn read_all(socket: &UdpSocket, args: &ServeArgs) -> Result<LoadReport, Error> {
    let mut begun = None;
    let mut random = fastrand::Rng::with_seed(1);
    let (mut packets, mut data) = (0_u64, [0; 64]);
    let (first, ended) = loop {
        let is_read = match socket.recv(&mut data) {
            Ok(_) => true,
            Err(error) if super::net::is_pause(&error) => false,
            Err(error) => return Err(error).to("read a datagram"),
        };
        let now = clock::now();
        if is_read && begun.is_none() {
            begun = Some(now.plus(args.shift.warmup));
        }
        let from = begun.unwrap_or(now);
        if stop::requested() || begun.and_then(|begun| args.shift.end(begun)).is_some_and(|end| now >= end) {
            break (from.min(now), now);
        }
        packets += u64::from(is_read && now >= from);
        if is_read {
            let sum = (0..args.work).fold(0_u64, |sum, _| sum.wrapping_add(random.u64(..)));
            std::hint::black_box(sum);
        }
    };
    Ok(LoadReport {
        requests: packets,
        bytes: packets * u64::from(PACKET_BYTES),
        cpu_ns: own_cpu_ns(),
        ..LoadReport::between("packets-serve", [first, ended])
    })
}

/// How many to send in one call.
fn at_once(rate: u64) -> u64 {
    (rate / CALLS_PER_SECOND).clamp(1, MOST_AT_ONCE)
}

/// `load packets-send`.
pub(super) fn send(args: &SendArgs) -> Result<LoadReport, Error> {
    clock::sharp_timers()?;
    let sockets: Result<Vec<UdpSocket>, Error> = args.to.iter().map(|to| open(*to)).collect();
    let sockets = sockets?;
    let each = at_once(args.rate);
    let data = vec![7; usize::try_from(each * u64::from(PACKET_BYTES)).unwrap_or_default()];
    let begun = clock::now();
    let counted = begun.plus(args.shift.warmup);
    let end = args.shift.end(counted).unwrap_or(Nanos::MAX);
    let (mut sent, mut before) = (0_u64, 0_u64);
    let ended = loop {
        let now = clock::now();
        if now >= end || stop::requested() {
            break now;
        }
        // Who is late by more than a call does not catch up.
        let due = begun.plus(Nanos(
            u64::try_from(u128::from(sent) * 1_000_000_000 / u128::from(args.rate.max(1)))
                .unwrap_or(u64::MAX),
        ));
        if due > now {
            clock::sleep_until(due);
            continue;
        }
        for socket in &sockets {
            // What nobody listens to, or finds no room, counts as sent.
            let _ = socket.send(&data);
        }
        sent += each;
        if now < counted {
            before = sent;
        }
    };
    let packets = (sent - before) * sockets.len() as u64;
    Ok(LoadReport {
        requests: packets,
        bytes: packets * u64::from(PACKET_BYTES),
        cpu_ns: own_cpu_ns(),
        ..LoadReport::between("packets-send", [counted.min(ended), ended])
    })
}

fn open(to: SocketAddr) -> Result<UdpSocket, Error> {
    let own: SocketAddr = match to {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
    };
    let socket = UdpSocket::bind(own).to("open a socket")?;
    socket.connect(to).to("connect to a server")?;
    setsockopt(&socket.as_fd(), sockopt::UdpGsoSegment, &PACKET_BYTES.into()).to("cut datagrams")?;
    Ok(socket)
}

#[cfg(test)]
mod tests;
