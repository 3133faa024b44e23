//! The sending host below its processes: one kernel, a queue per class, the idletime scheduler, the driver's ring.
//!
//! The kernel does one job at a time. Handing a packet to the driver, and what acknowledgements cause, come before what
//! processes ask for; among processes the first comes first.

use std::collections::VecDeque;

use lull_core::{Input, Interval, LEAST_BYTES, Nanos, Resource, Setting, StartRule, Ticket};

use super::Network;
use crate::class::Class;
use crate::sensor::Sensor;

/// A packet on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packet {
    Datagram(Class),
    Segment { connection: usize, number: u64 },
}

impl Packet {
    pub(super) fn class(self) -> Class {
        match self {
            Self::Datagram(class) => class,
            Self::Segment { .. } => Class::Foreground,
        }
    }

    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Datagram(_) => super::DATAGRAM_BYTES,
            Self::Segment { .. } => super::SEGMENT_BYTES,
        }
    }
}

/// Work for the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// A process sends a datagram.
    Datagram(Class),
    /// A connection sends what its window allows, one segment after the other.
    Output(usize),
    /// An acknowledgement has come in.
    Acknowledged { connection: usize, segment: u64 },
    /// The driver takes a packet.
    Transmit(Packet),
}

/// The kernel and what lies below it.
#[derive(Debug)]
pub(super) struct Host {
    network: Network,
    jobs: VecDeque<Job>,
    busy: Option<Job>,
    queues: [VecDeque<Packet>; 2],
    /// Background packets at the head of their queue that may go.
    granted: usize,
    ring: VecDeque<Packet>,
    wire: bool,
    resource: Resource,
    sensor: Sensor,
    started: Vec<Ticket>,
    tickets: u64,
    timer: Option<Nanos>,
    /// Packets that the driver took, by class.
    pub(super) sent: [u64; 2],
}

/// What the host wants to happen later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Later {
    JobDone,
    WireDone,
    Timer,
}

impl Host {
    pub(super) fn new(network: Network, interval: Interval) -> Self {
        let setting =
            Setting { interval, start_rule: StartRule::Request, settle: Nanos::MAX, ..Setting::default() };
        Self {
            network,
            jobs: VecDeque::new(),
            busy: None,
            queues: [VecDeque::new(), VecDeque::new()],
            granted: 0,
            ring: VecDeque::new(),
            wire: false,
            resource: Resource::new(setting),
            sensor: Sensor::default(),
            started: Vec::new(),
            tickets: 0,
            timer: None,
            sent: [0; 2],
        }
    }

    /// A process asks for `job`.
    pub(super) fn ask(&mut self, now: Nanos, job: Job, later: &mut impl FnMut(Nanos, Later)) {
        self.jobs.push_back(job);
        self.work(now, later);
    }

    /// `job` comes before what processes ask for.
    pub(super) fn interrupt(&mut self, now: Nanos, job: Job, later: &mut impl FnMut(Nanos, Later)) {
        self.jobs.push_front(job);
        self.work(now, later);
    }

    /// The job that was under way; the kernel is free for the next, which [`Self::work`] begins.
    pub(super) fn job_done(&mut self, now: Nanos) -> Option<Job> {
        let job = self.busy.take()?;
        if let Job::Transmit(packet) = job {
            let class = packet.class();
            self.sent[class.index()] += 1;
            self.ring.push_back(packet);
            self.sensor.leaves(now, class, LEAST_BYTES);
            self.observe(now);
        }
        Some(job)
    }

    /// Puts a packet into the queue of its class; false if that is full.
    pub(super) fn enqueue(&mut self, now: Nanos, packet: Packet) -> bool {
        let class = packet.class();
        let queue = &mut self.queues[class.index()];
        if queue.len() >= self.network.queue {
            return false;
        }
        queue.push_back(packet);
        match class {
            Class::Foreground => {
                self.sensor.arrives(now, class, LEAST_BYTES);
                self.resource.note(now, self.sensor.view);
            }
            Class::Background => {
                self.tickets += 1;
                self.resource.step(now, Input::Arrive(Ticket(self.tickets), LEAST_BYTES), &mut self.started);
                self.grant(now);
            }
        }
        true
    }

    /// The interval may be over.
    pub(super) fn timer(&mut self, now: Nanos, later: &mut impl FnMut(Nanos, Later)) {
        if self.timer.is_some_and(|at| at <= now) {
            self.timer = None;
            self.resource.step(now, Input::Tick, &mut self.started);
            self.grant(now);
            self.work(now, later);
        }
    }

    /// The packet that has left the wire.
    pub(super) fn wire_done(&mut self, now: Nanos, later: &mut impl FnMut(Nanos, Later)) -> Option<Packet> {
        self.wire = false;
        let packet = self.ring.pop_front();
        self.work(now, later);
        packet
    }

    fn observe(&mut self, now: Nanos) {
        self.resource.step(now, Input::Observe(self.sensor.view), &mut self.started);
        self.grant(now);
    }

    fn grant(&mut self, now: Nanos) {
        for _ in self.started.drain(..) {
            self.granted += 1;
            self.sensor.arrives(now, Class::Background, LEAST_BYTES);
        }
    }

    /// The next packet for the driver: foreground first.
    fn next_packet(&mut self, now: Nanos) -> Option<Packet> {
        if self.ring.len() >= self.network.ring {
            return None;
        }
        if let Some(packet) = self.queues[0].pop_front() {
            self.sensor.is_handed_over(now, Class::Foreground);
            self.resource.note(now, self.sensor.view);
            return Some(packet);
        }
        self.granted = self.granted.checked_sub(1)?;
        self.queues[1].pop_front()
    }

    /// Begins what can be begun: the next job, the next packet on the wire, the timer.
    pub(super) fn work(&mut self, now: Nanos, later: &mut impl FnMut(Nanos, Later)) {
        if self.busy.is_none() {
            let job = self.next_packet(now).map(Job::Transmit).or_else(|| self.jobs.pop_front());
            if let Some(job) = job {
                self.busy = Some(job);
                let length = match job {
                    Job::Datagram(_) | Job::Output(_) => self.network.output,
                    Job::Acknowledged { .. } => self.network.acknowledge,
                    Job::Transmit(_) => self.network.transmit,
                };
                later(now.plus(length), Later::JobDone);
            }
        }
        if !self.wire
            && let Some(packet) = self.ring.front()
        {
            self.wire = true;
            later(now.plus(transmission(&self.network, packet.bytes())), Later::WireDone);
        }
        if self.queues[1].len() > self.granted
            && let Some(at) = self.resource.wake(now).at.filter(|at| *at < Nanos::MAX)
            && self.timer.is_none_or(|timer| timer > at)
        {
            self.timer = Some(at);
            later(at, Later::Timer);
        }
    }
}

/// How long a packet of `bytes` is on the wire.
pub(super) fn transmission(network: &Network, bytes: u64) -> Nanos {
    let setting = crate::device::link::LinkSetting {
        bits_per_second: network.bits_per_second,
        delay: network.delay,
        queue: network.queue,
    };
    crate::device::link::Link::new(setting).transmission(bytes)
}
