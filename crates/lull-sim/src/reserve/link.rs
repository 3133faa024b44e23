//! A document of 1.5 MB (figure 7): each client fetches it over a connection, and asks again.
//!
//! ```text
//!   root ─┬─ site of interest ─┬─ connection      a window of packets is on its way at most;
//!         │                    └─ connection      one that was sent is acknowledged a round trip later
//!         └─ competing site ──── connection
//! ```
//! Reserved: H-WF²Q over this tree. Plain: one queue, first in first out. Units: bytes; the link's rate in bits per second.

use lull_core::Nanos;
use lull_core::proportional::Weight;
use lull_core::proportional::wf2q::{Node, Wf2q};

use super::{Meter, Setup, Site};
use crate::agenda::Agenda;
use crate::span::{Random, nanos};

/// The document.
const DOCUMENT_BYTES: u64 = 1_500_000;
/// A packet's content, and the whole on the wire.
const PACKET_BYTES: u64 = 1_460;
const WIRE_BYTES: u64 = 1_538;
/// Packets of a connection on their way, as with a socket buffer of 16 KiB.
const WINDOW: u64 = 11;
/// From a packet's end to the next one that its acknowledgement lets in, but for a random part of the same length.
const ROUND_TRIP: Nanos = Nanos::from_micros(300);

#[derive(Clone, Copy)]
struct Client {
    /// Bytes that have yet to enter the queue, and to be acknowledged.
    to_send: u64,
    to_acknowledge: u64,
    asked: Nanos,
}

enum Event {
    Ask(u32),
    Sent,
    Acknowledged(u32, u64),
}

/// One run on a link of `bits_per_s`.
pub fn run(setup: &Setup, bits_per_s: u64) -> Site {
    let count = setup.clients + setup.load;
    let mut link: Wf2q<u32> = Wf2q::default();
    let queues: Vec<Node> = match setup.share {
        Some(share) => {
            let sites = [share, setup.other(share)]
                .map(|share| link.add(Wf2q::<u32>::ROOT, Weight::new(share.as_ppm())));
            (0..count)
                .map(|client| link.add(sites[usize::from(client >= setup.clients)], Weight::LEAST))
                .collect()
        }
        None => vec![link.add(Wf2q::<u32>::ROOT, Weight::LEAST); count as usize],
    };
    let mut random = Random::new(setup.seed, 3);
    let mut agenda = Agenda::default();
    let mut clients = vec![Client { to_send: 0, to_acknowledge: 0, asked: Nanos::ZERO }; count as usize];
    for client in 0..count {
        agenda.add(random.exponential(Nanos::from_millis(20)), Event::Ask(client));
    }
    let (mut on_link, mut meter) = (None, Meter::default());
    while let Some((now, event)) = agenda.next_before(setup.length) {
        // Packets that a client's window lets in now.
        let (mut who, mut packets) = (None, 0);
        match event {
            Event::Ask(number) => {
                let whole = Client { to_send: DOCUMENT_BYTES, to_acknowledge: DOCUMENT_BYTES, asked: now };
                clients[number as usize] = whole;
                (who, packets) = (Some(number), WINDOW);
            }
            Event::Sent => {
                link.sent();
                if let Some((number, bytes)) = on_link.take() {
                    if number < setup.clients {
                        meter.amount += if now >= setup.begin() { bytes as f64 } else { 0.0 };
                    }
                    let trip = ROUND_TRIP.plus(random.exponential(ROUND_TRIP));
                    agenda.add(now.plus(trip), Event::Acknowledged(number, bytes));
                }
            }
            Event::Acknowledged(number, bytes) => {
                let client = &mut clients[number as usize];
                client.to_acknowledge = client.to_acknowledge.saturating_sub(bytes);
                (who, packets) = (Some(number), 1);
                if client.to_acknowledge == 0 {
                    if number < setup.clients {
                        meter.add(setup, now, client.asked, 0.0);
                    }
                    agenda.add(now.plus(ROUND_TRIP), Event::Ask(number));
                }
            }
        }
        if let Some(number) = who {
            let client = &mut clients[number as usize];
            for _ in 0..packets {
                let bytes = client.to_send.min(PACKET_BYTES);
                if bytes > 0 {
                    client.to_send -= bytes;
                    link.arrive(queues[number as usize], bytes, number);
                }
            }
        }
        if let Some((_, bytes, number)) = link.send() {
            on_link = Some((number, bytes));
            let wire_bits = (bytes + WIRE_BYTES - PACKET_BYTES) * 8;
            let span = nanos(wire_bits as f64 * 1e9 / bits_per_s.max(1) as f64);
            agenda.add(now.plus(span), Event::Sent);
        }
    }
    meter.site(setup)
}
