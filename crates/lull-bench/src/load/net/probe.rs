//! Round trips beside a load: a small datagram now and then, and its echo.
//!
//! The problem: how much of a transfer arrives does not say how long others wait on its link. So a thread of
//! the load sends a datagram of 64 bytes to the other host, whose echo comes back at once, at random times,
//! so that it keeps no step with anything: from one and a half to half as often as asked for, and whether or
//! not the echo of the one before has come. That changes the case a little: each is a packet of the
//! foreground, and begins a preemption interval.
//!
//! ```text
//!  from:  number of nanoseconds ──▶ into: the same ──▶ from: now - that number
//! ```
//! One whose echo has not come a second after the last was sent is lost, and counts as a second: for who
//! waits, it is no better.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lull_core::Nanos;
use nix::poll::{PollFd, PollFlags, ppoll};
use serde::{Deserialize, Serialize};

use super::PATIENCE;
use crate::error::Context;
use crate::load::latency::{Latency, Recorder};
use crate::netbed::Namespace;
use crate::{Error, clock, stop};

/// Of a probe, without headers.
const BYTES: usize = 64;
/// Of the time in it.
const STAMP: usize = size_of::<u64>();
/// When an echo that has not come is given up.
const GIVEN_UP: Nanos = Nanos::from_secs(1);
/// The same times in every run.
const SEED: u64 = 1;

/// What the probes saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probed {
    /// From sending to the echo.
    pub latency: Latency,
    /// Probes.
    pub sent: u64,
    /// Those without an echo; they count as a second in the latencies.
    pub lost: u64,
}

/// Both ends, ready.
#[derive(Debug)]
pub(super) struct Prober {
    near: UdpSocket,
    far: UdpSocket,
    every: Nanos,
}

impl Prober {
    /// Between these namespaces, to this address.
    pub(super) fn open(from: &Namespace, into: &Namespace, to: IpAddr, every: Nanos) -> Result<Self, Error> {
        let far = into.inside(|| UdpSocket::bind(SocketAddr::new(to, 0)))?;
        let far = far.to("echo probes")?;
        let at = far.local_addr().to("echo probes")?;
        far.set_read_timeout(Some(PATIENCE)).to("echo probes")?;
        let near = from.inside(|| {
            let any: IpAddr = if to.is_ipv4() { [0; 4].into() } else { [0_u16; 8].into() };
            let near = UdpSocket::bind(SocketAddr::new(any, 0))?;
            near.connect(at)?;
            near.set_nonblocking(true)?;
            Ok::<_, std::io::Error>(near)
        })?;
        Ok(Self { near: near.to("send probes")?, far, every })
    }

    /// Probes between two instants, or until stopped.
    pub(super) fn run(&self, [begun, end]: [Nanos; 2]) -> Probed {
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| self.echo(&is_done));
            let probed = self.ask([begun, end]);
            is_done.store(true, Ordering::Relaxed);
            probed
        })
    }

    fn ask(&self, [begun, end]: [Nanos; 2]) -> Probed {
        let mut random = fastrand::Rng::with_seed(SEED);
        let (mut next, mut given_up) = (begun, Nanos::ZERO);
        let (mut sent, mut latencies) = (0, Recorder::new());
        loop {
            let now = clock::now();
            let is_over = next >= end || stop::requested();
            if !is_over && now >= next {
                // What the stack does not take is lost like what the link drops.
                let _ = self.near.send(&stamped(now));
                sent += 1;
                next = now.plus(Nanos(self.every.0 / 2)).plus(Nanos(random.u64(0..=self.every.0)));
                given_up = now.plus(GIVEN_UP);
                continue;
            }
            if is_over && (latencies.count() >= sent || now >= given_up) {
                break;
            }
            self.await_echo(if is_over { given_up } else { next }.since(now));
            let mut space = [0; BYTES];
            while let Ok(BYTES) = self.near.recv(&mut space) {
                latencies.record(clock::now().since(stamp_of(&space)));
            }
        }
        let lost = sent - latencies.count().min(sent);
        for _ in 0..lost {
            latencies.record(GIVEN_UP);
        }
        Probed { latency: latencies.summary(), sent, lost }
    }

    /// Until an echo is there, or so long.
    fn await_echo(&self, span: Nanos) {
        let mut wanted = [PollFd::new(self.near.as_fd(), PollFlags::POLLIN)];
        // EINTR only means that the caller looks at its stop flag.
        let _ = ppoll(&mut wanted, Some(clock::timespec(span)), None);
    }

    fn echo(&self, is_done: &AtomicBool) {
        let mut space = [0; BYTES];
        while !is_done.load(Ordering::Relaxed) {
            match self.far.recv_from(&mut space) {
                Ok((BYTES, asker)) => drop(self.far.send_to(&space, asker)),
                Ok(_) => {}
                Err(error) if [ErrorKind::WouldBlock, ErrorKind::Interrupted].contains(&error.kind()) => {}
                // The other side counts what gets no echo.
                Err(_) => return,
            }
        }
    }
}

fn stamped(now: Nanos) -> [u8; BYTES] {
    let mut probe = [0; BYTES];
    probe[..STAMP].copy_from_slice(&now.as_nanos().to_le_bytes());
    probe
}

fn stamp_of(echo: &[u8; BYTES]) -> Nanos {
    let mut stamp = [0; STAMP];
    stamp.copy_from_slice(&echo[..STAMP]);
    Nanos(u64::from_le_bytes(stamp))
}

#[cfg(test)]
mod tests;
