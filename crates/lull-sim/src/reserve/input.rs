//! UDP packets of 10 bytes at a fixed rate (figures 8 and 9), more than the CPU can take.
//!
//! ```text
//!   plain   packet ─▶ interrupt: driver, IP, UDP (cost i) ─▶ socket queue, or dropped there ─▶ application reads (cost a)
//!   SRP     packet ─▶ interrupt: which socket? (cost c) ─▶ queue, or dropped at once ─▶ in the receiver's turn: IP, UDP, read (cost p)
//! ```
//! Interrupts come before everything. In the plain system applications take turns, under SRP each has a share of the CPU (MTR-LS). What a
//! packet costs in all is the same on both sides: `i + a = c + p`, one over the plateau of 5,700 packets per second.
//!
//! Units: packets, nanoseconds of CPU. Which part of the work the interrupt does, the paper does not say: here a third.

use lull_core::proportional::QueueId;
use lull_core::proportional::mtr_ls::MtrLs;
use lull_core::proportional::srp::{Amount, Srp};
use lull_core::{Nanos, Share};

use crate::span::{Random, nanos};

/// What a host is like.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// CPU time of a packet from its arrival to the application.
    pub packet: Nanos,
    /// … of which the plain system's interrupt takes this part.
    pub interrupt: Share,
    /// CPU time of finding a packet's socket, or of dropping it.
    pub demultiplex: Nanos,
    /// Packets that wait at a socket.
    pub bound: u64,
}

impl Default for Host {
    fn default() -> Self {
        Self {
            packet: Nanos(1_000_000_000 / 5_700),
            interrupt: Share::ppm(333_333),
            demultiplex: Nanos::from_micros(2),
            bound: 64,
        }
    }
}

/// A round of MTR-LS.
const ROUND: Nanos = Nanos::from_millis(100);

/// Packets per second that each application receives; `rate` come to each. With shares SRP, without the plain system.
pub fn run(
    host: &Host,
    apps: u32,
    shares: Option<&[Share]>,
    rate: f64,
    length: Nanos,
    seed: u64,
) -> Vec<f64> {
    let (interrupt, read) = match shares {
        Some(_) => (host.demultiplex, host.packet.since(host.demultiplex)),
        None => (host.interrupt.of(host.packet), host.packet.since(host.interrupt.of(host.packet))),
    };
    let (mut list, mut sockets) = (MtrLs::new(ROUND), Srp::default());
    for app in 0..apps {
        let even = Share::ppm(1_000_000 / apps);
        list.set(QueueId(app), shares.map_or(even, |shares| shares[app as usize]));
        sockets.set(QueueId(app), Amount::of_packets(host.bound));
    }
    let mut random = Random::new(seed, 4);
    let gap = nanos(1e9 / (rate * f64::from(apps)).max(1e-3));
    let (mut now, mut arrival) = (Nanos::ZERO, Nanos::ZERO);
    let begin = Nanos(length.0 / 10);
    let mut left = vec![Nanos::ZERO; apps as usize];
    let mut received = vec![0_u64; apps as usize];
    while now < length {
        arrival = arrival.plus(random.exponential(gap));
        // Until the next packet comes, applications run; if it has come already, nobody does.
        while now < arrival.min(length) {
            let Some((app, most)) = list.next() else {
                now = arrival;
                break;
            };
            let at = app.0 as usize;
            if left[at] == Nanos::ZERO {
                if sockets.take(app).is_none() {
                    list.block(app);
                    continue;
                }
                left[at] = read;
            }
            let span = most.min(left[at]).min(arrival.since(now));
            now = now.plus(span);
            left[at] = left[at].since(span);
            list.ran(app, span);
            if left[at] == Nanos::ZERO {
                received[at] += u64::from(now >= begin);
            }
        }
        let app = QueueId(u32::try_from(random.below(u64::from(apps))).unwrap_or(0));
        now = now.plus(interrupt);
        sockets.arrive(app, (), 0);
        list.wake(app);
    }
    let length_s = length.since(begin).as_secs_f64();
    received.into_iter().map(|packets| packets as f64 / length_s).collect()
}
