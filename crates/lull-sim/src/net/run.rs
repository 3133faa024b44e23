//! One run: the processes of both classes above the hosts.

use lull_core::{Nanos, Share};

use super::host::{Host, Job, Later, Packet, transmission};
use super::receiver::{Effect, Sink};
use super::tcp::{BUFFER, Sender};
use super::{CONNECTIONS, Network, Protocol, QUANTUM, TICK, Traffic};
use crate::agenda::Agenda;
use crate::class::Class;
use crate::span::Random;
use crate::workload::{Intensity, usleep};

#[derive(Clone, Copy, Debug)]
enum Event {
    Host(Later),
    /// A packet reaches the receiving host.
    Reach(Packet),
    Received,
    Due(usize),
    /// An acknowledgement reaches the sending host.
    Acknowledge {
        connection: usize,
        segment: u64,
    },
    /// The process of a class goes on.
    Wake(Class),
    /// A retransmission timer may have run out.
    Timeout(usize),
}

/// What was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Foreground packets per second: handed to the driver (UDP), acknowledged (TCP).
    pub foreground_per_s: f64,
    /// Background packets per second, handed to the driver.
    pub background_per_s: f64,
    /// Packets that the receiving host had no room for.
    pub dropped: u64,
    /// The longest smoothed round-trip time of a connection at the end.
    pub round_trip: Option<Nanos>,
    /// Events of the simulation.
    pub events: u64,
}

/// A process that sends: when its quantum began, and what it is doing.
#[derive(Clone, Copy, Debug)]
struct Process {
    intensity: Intensity,
    began: Nanos,
}

/// What TCP's process has yet to put into the buffer of each connection, of the chunk that it writes there; `None`: it
/// writes nothing.
type Chunks = [Option<u64>; CONNECTIONS];

struct Run {
    network: Network,
    now: Nanos,
    agenda: Agenda<Event>,
    host: Host,
    sink: Sink,
    senders: [Sender; CONNECTIONS],
    /// Whether an output job of the connection is under way.
    output: [bool; CONNECTIONS],
    /// When the timeout event that stands for each connection goes off.
    armed: [Option<Nanos>; CONNECTIONS],
    processes: [Process; 2],
    chunks: Chunks,
    protocol: Protocol,
    random: Random,
    events: u64,
}

/// Runs `traffic` over `network` for `length`, of which the first tenth is not counted.
pub fn run(network: Network, traffic: &Traffic, seed: u64, length: Nanos) -> Outcome {
    let begin = crate::world::BEGIN;
    let process = |share| Process {
        intensity: Intensity { intensity: share, quantum: QUANTUM, tick: TICK, cost: Nanos::ZERO },
        began: begin,
    };
    let mut run = Run {
        network,
        now: begin,
        agenda: Agenda::default(),
        host: Host::new(network, traffic.interval),
        sink: Sink::new(network),
        senders: std::array::from_fn(|_| Sender::default()),
        output: [false; CONNECTIONS],
        armed: [None; CONNECTIONS],
        processes: [process(traffic.foreground.unwrap_or(Share::ZERO)), process(Share::ALL)],
        chunks: [None; CONNECTIONS],
        protocol: traffic.protocol,
        random: Random::new(seed, 0xE7),
        events: 0,
    };
    for (class, takes_part) in
        [(Class::Foreground, traffic.foreground.is_some()), (Class::Background, traffic.background)]
    {
        if takes_part {
            let first = begin.plus(Nanos(run.random.below(QUANTUM.0)));
            run.processes[class.index()].began = first;
            run.agenda.add(first, Event::Wake(class));
        }
    }
    let warm = length.0 / 10;
    run.until(begin.plus(Nanos(warm)));
    let before = run.totals();
    run.until(begin.plus(length));
    let after = run.totals();
    let seconds = length.since(Nanos(warm)).as_secs_f64();
    Outcome {
        foreground_per_s: (after[0] - before[0]) as f64 / seconds,
        background_per_s: (after[1] - before[1]) as f64 / seconds,
        dropped: run.sink.dropped,
        round_trip: run.senders.iter().filter_map(Sender::round_trip).max(),
        events: run.events,
    }
}

impl Run {
    fn totals(&self) -> [u64; 2] {
        let [datagrams, background] = self.host.sent;
        match self.protocol {
            Protocol::Udp => [datagrams, background],
            Protocol::Tcp => [self.senders.iter().map(Sender::acknowledged).sum(), background],
        }
    }

    fn until(&mut self, end: Nanos) {
        while let Some((at, event)) = self.agenda.next_before(end) {
            self.now = at;
            self.events += 1;
            self.handle(event);
        }
        self.now = end;
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Host(Later::JobDone) => self.job_done(),
            Event::Host(Later::WireDone) => {
                let agenda = &mut self.agenda;
                let packet =
                    self.host.wire_done(self.now, &mut |at, later| agenda.add(at, Event::Host(later)));
                if let Some(packet) = packet {
                    self.agenda.add(self.now.plus(self.network.delay), Event::Reach(packet));
                }
            }
            Event::Host(Later::Timer) => {
                let agenda = &mut self.agenda;
                self.host.timer(self.now, &mut |at, later| agenda.add(at, Event::Host(later)));
            }
            Event::Reach(packet) => {
                if let Some(at) = self.sink.arrive(self.now, packet) {
                    self.agenda.add(at, Event::Received);
                }
            }
            Event::Received => {
                let (effect, next) = self.sink.done(self.now);
                if let Some(at) = next {
                    self.agenda.add(at, Event::Received);
                }
                self.take_effect(effect);
            }
            Event::Due(connection) => {
                let effect = self.sink.overdue(self.now, connection);
                self.take_effect(effect);
            }
            Event::Acknowledge { connection, segment } => {
                self.interrupt(Job::Acknowledged { connection, segment });
            }
            Event::Wake(class) => self.wake(class),
            Event::Timeout(connection) => {
                if self.armed[connection].is_some_and(|at| at <= self.now) {
                    self.armed[connection] = None;
                    self.senders[connection].expire(self.now);
                    self.drive(connection);
                }
            }
        }
    }

    fn take_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Nothing => {}
            Effect::Acknowledge { connection, segment } => {
                const ACK_BYTES: u64 = 52;
                let at = self.now.plus(transmission(&self.network, ACK_BYTES)).plus(self.network.delay);
                self.agenda.add(at, Event::Acknowledge { connection, segment });
            }
            Effect::Due { connection, at } => self.agenda.add(at, Event::Due(connection)),
        }
    }

    fn ask(&mut self, job: Job) {
        let agenda = &mut self.agenda;
        self.host.ask(self.now, job, &mut |at, later| agenda.add(at, Event::Host(later)));
    }

    fn interrupt(&mut self, job: Job) {
        let agenda = &mut self.agenda;
        self.host.interrupt(self.now, job, &mut |at, later| agenda.add(at, Event::Host(later)));
    }

    fn job_done(&mut self) {
        match self.host.job_done(self.now) {
            Some(Job::Datagram(class)) => {
                let taken = self.host.enqueue(self.now, Packet::Datagram(class));
                self.after_datagram(class, taken);
            }
            Some(Job::Output(connection)) => self.output(connection),
            Some(Job::Acknowledged { connection, segment }) => {
                self.senders[connection].acknowledge(self.now, segment);
                self.write(connection);
                self.drive(connection);
            }
            Some(Job::Transmit(_)) | None => {}
        }
        let agenda = &mut self.agenda;
        self.host.work(self.now, &mut |at, later| agenda.add(at, Event::Host(later)));
    }

    /// A segment of `connection` leaves TCP, and the next one follows at once: the kernel is not given away in between.
    fn output(&mut self, connection: usize) {
        self.output[connection] = false;
        if let Some(number) = self.senders[connection].send(self.now)
            && !self.host.enqueue(self.now, Packet::Segment { connection, number })
        {
            self.senders[connection].quench();
        }
        self.drive(connection);
    }

    /// Lets a connection send if it may, and sets its timer.
    fn drive(&mut self, connection: usize) {
        if self.senders[connection].can_send() && !self.output[connection] {
            self.output[connection] = true;
            self.ask(Job::Output(connection));
        }
        if let Some(at) = self.senders[connection].timeout()
            && self.armed[connection].is_none_or(|armed| armed > at)
        {
            self.armed[connection] = Some(at);
            self.agenda.add(at, Event::Timeout(connection));
        }
    }

    /// A process goes on after its sleep.
    fn wake(&mut self, class: Class) {
        if class == Class::Background || self.protocol == Protocol::Udp {
            self.ask(Job::Datagram(class));
        } else {
            self.chunks = [Some(BUFFER); CONNECTIONS];
            for connection in 0..CONNECTIONS {
                self.write(connection);
                self.drive(connection);
            }
        }
    }

    /// A datagram is in its queue, or there was no room.
    fn after_datagram(&mut self, class: Class, taken: bool) {
        if !taken {
            let pause = Nanos::from_millis(10).plus(Nanos(self.random.below(5_000_001)));
            let woken = usleep(self.now, pause, TICK);
            let (next, anew) = self.go_on(class, woken);
            if anew {
                self.processes[class.index()].began = next;
            }
            self.agenda.add(next, Event::Wake(class));
            return;
        }
        self.next_turn(class);
    }

    fn go_on(&self, class: Class, now: Nanos) -> (Nanos, bool) {
        let process = &self.processes[class.index()];
        process.intensity.next(process.began, now)
    }

    /// The process goes on at once, or sleeps for the rest of its quantum.
    fn next_turn(&mut self, class: Class) {
        let (next, anew) = self.go_on(class, self.now);
        if anew {
            self.processes[class.index()].began = next;
            self.agenda.add(next, Event::Wake(class));
        } else {
            self.wake(class);
        }
    }

    /// Puts as much of a connection's chunk into its buffer as fits. After the last chunk of a quantum the process sleeps.
    fn write(&mut self, connection: usize) {
        while let Some(left) = self.chunks[connection] {
            let fits = left.min(self.senders[connection].space());
            self.senders[connection].write(fits);
            self.chunks[connection] = Some(left - fits);
            if left > fits {
                return;
            }
            let (next, anew) = self.go_on(Class::Foreground, self.now);
            if !anew {
                self.chunks[connection] = Some(BUFFER);
                continue;
            }
            self.chunks[connection] = None;
            if self.chunks.iter().all(Option::is_none) {
                self.processes[0].began = next;
                self.agenda.add(next, Event::Wake(Class::Foreground));
            }
        }
    }
}
