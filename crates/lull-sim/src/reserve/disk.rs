//! Files of 100 MB (figure 6): each site has one, side by side on the disk; each client reads it to the end, a piece after the other, and again.
//! Clients are at places of their own, and find nothing in memory.
//!
//! Reserved: a disk queue per site, YFQ between them, batches in which the disk takes the order of its arm (C-LOOK). Plain: one queue for all,
//! as long as it is, in the order of the arm.
//!
//! The disk is [`crate::device::disk`] with the numbers of a drive of 1999 (7,200 rotations per minute, 9 GB). Units: bytes.

use std::collections::VecDeque;
use std::num::NonZero;

use lull_core::Nanos;
use lull_core::proportional::yfq::{Batching, ServiceId, Yfq};
use lull_core::proportional::{QueueId, Weight};

use super::{Meter, Setup, Site};
use crate::agenda::Agenda;
use crate::class::Class;
use crate::device::disk::{Disk, DiskSetting};
use crate::device::{Device, Request};
use crate::span::Random;

/// A file.
const FILE_BYTES: u64 = 100_000_000;
/// Where the files of both sites begin.
const PLACES: [u64; 2] = [3_000_000_000, 3_100_000_000];
/// Read at once, as a file system's clustered read-ahead does.
const PIECE_BYTES: u64 = 64 * 1024;
/// From a piece to asking for the next, on average.
const PAUSE: Nanos = Nanos::from_micros(500);

/// The drive of the experiments.
fn drive() -> DiskSetting {
    DiskSetting {
        capacity_bytes: 9_000_000_000,
        track_bytes: 150_000,
        seek_min: Nanos::from_millis(1),
        seek_max: Nanos::from_millis(16),
        rotation: Nanos::from_micros(8_330),
        overhead: Nanos::from_micros(300),
    }
}

/// Where a client is.
#[derive(Clone, Copy)]
struct Client {
    offset: u64,
    left_bytes: u64,
    asked: Nanos,
}

enum Event {
    Ask(u32),
    Done(u32, ServiceId),
}

/// One run, with batches of `batch` requests.
pub fn run(setup: &Setup, batch: NonZero<u32>) -> Site {
    // The plain system is one queue and a batch without end.
    let (batch, batching) = match setup.share {
        Some(_) => (batch, Batching::Whole),
        None => (NonZero::<u32>::MAX, Batching::Rolling),
    };
    let mut yfq = Yfq::new(batch, batching);
    let share = setup.share.unwrap_or_default();
    yfq.set(QueueId(0), Weight::new(share.as_ppm()));
    yfq.set(QueueId(1), Weight::new(setup.other(share).as_ppm()));
    let mut disk = Device::Disk(Disk::new(drive()));
    let mut random = Random::new(setup.seed, 2);
    let count = setup.clients + setup.load;
    let begin = |client: u32| PLACES[usize::from(client >= setup.clients)];
    let mut clients: Vec<Client> = (0..count)
        .map(|client| {
            let read = random.below(FILE_BYTES / PIECE_BYTES) * PIECE_BYTES;
            Client { offset: begin(client) + read, left_bytes: FILE_BYTES - read, asked: Nanos::ZERO }
        })
        .collect();
    let mut agenda = Agenda::default();
    for client in 0..count {
        agenda.add(random.exponential(PAUSE), Event::Ask(client));
    }
    // The sort queue, with the names of its services beside it.
    let (mut sort, mut services) = (VecDeque::new(), VecDeque::new());
    let (mut is_busy, mut meter) = (false, Meter::default());
    while let Some((now, event)) = agenda.next_before(setup.length) {
        match event {
            Event::Ask(client) => {
                let is_other = client >= setup.clients;
                let queue = QueueId(u32::from(is_other && setup.share.is_some()));
                let bytes = PIECE_BYTES.min(clients[client as usize].left_bytes);
                // Both queues were made above.
                let _ = yfq.arrive(queue, bytes, client);
            }
            Event::Done(number, service) => {
                is_busy = false;
                yfq.complete(service);
                let client = &mut clients[number as usize];
                let bytes = PIECE_BYTES.min(client.left_bytes);
                client.offset += bytes;
                client.left_bytes -= bytes;
                if number < setup.clients {
                    meter.add(setup, now, client.asked, bytes as f64);
                }
                client.asked = now;
                if client.left_bytes == 0 {
                    *client = Client { offset: begin(number), left_bytes: FILE_BYTES, asked: now };
                }
                agenda.add(now.plus(random.exponential(PAUSE)), Event::Ask(number));
            }
        }
        while let Some(selected) = yfq.select() {
            let client = clients[selected.request as usize];
            sort.push_back(Request {
                client: selected.request,
                class: Class::Foreground,
                offset: client.offset,
                bytes: selected.bytes,
                work: None,
                arrived: now,
                loaded: false,
                head: false,
            });
            services.push_back(selected.service);
        }
        if !is_busy && !sort.is_empty() {
            let at = disk.pick(&sort);
            if let (Some(request), Some(service)) = (sort.remove(at), services.remove(at)) {
                is_busy = true;
                let busy = disk.serve(now, &request, 0, &mut random).busy;
                agenda.add(now.plus(busy), Event::Done(request.client, service));
            }
        }
    }
    meter.site(setup)
}
