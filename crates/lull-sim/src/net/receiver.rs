//! The receiving host: an input queue of limited length, one kernel, and the receivers of the connections.

use std::collections::VecDeque;

use lull_core::Nanos;

use super::host::Packet;
use super::tcp::{Answer, Receiver};
use super::{CONNECTIONS, Network};

/// The host that throws away what it receives.
#[derive(Debug)]
pub(super) struct Sink {
    network: Network,
    queue: VecDeque<Packet>,
    busy: Option<Packet>,
    connections: [Receiver; CONNECTIONS],
    /// Packets that found the queue full.
    pub(super) dropped: u64,
}

/// What an arrival causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Nothing,
    /// An acknowledgement leaves now.
    Acknowledge {
        connection: usize,
        segment: u64,
    },
    /// It may be due at this moment.
    Due {
        connection: usize,
        at: Nanos,
    },
}

impl Sink {
    pub(super) fn new(network: Network) -> Self {
        let connections = std::array::from_fn(|_| Receiver::default());
        Self { network, queue: VecDeque::new(), busy: None, connections, dropped: 0 }
    }

    /// A packet arrives; returns when the kernel will be done with it, if it begins now.
    pub(super) fn arrive(&mut self, now: Nanos, packet: Packet) -> Option<Nanos> {
        if self.queue.len() >= self.network.input_queue {
            self.dropped += 1;
            return None;
        }
        self.queue.push_back(packet);
        if self.busy.is_some() { None } else { self.begin(now) }
    }

    fn begin(&mut self, now: Nanos) -> Option<Nanos> {
        self.busy = self.queue.pop_front();
        self.busy.map(|_| now.plus(self.network.receive))
    }

    /// The kernel is done with a packet; returns what it causes and when the next one will be done.
    pub(super) fn done(&mut self, now: Nanos) -> (Effect, Option<Nanos>) {
        let effect = match self.busy.take() {
            Some(Packet::Segment { connection, number }) => {
                match self.connections[connection].take(now, number) {
                    Answer::Now(segment) => Effect::Acknowledge { connection, segment },
                    Answer::Later(at) => Effect::Due { connection, at },
                }
            }
            _ => Effect::Nothing,
        };
        let next = self.begin(now);
        (effect, next)
    }

    /// A delayed acknowledgement may be due.
    pub(super) fn overdue(&mut self, now: Nanos, connection: usize) -> Effect {
        match self.connections[connection].overdue(now) {
            Some(segment) => Effect::Acknowledge { connection, segment },
            None => Effect::Nothing,
        }
    }
}
