//! One resource of a world: its station, the clients there, and an agenda of their own.
//!
//! Nothing at one site depends on another: no client uses two stations. So each site is run by itself, and what it touches
//! stays in the CPU's cache meanwhile. One agenda for all would visit the sites in turn, and fetch each from memory at
//! every event.

use lull_core::Nanos;

use super::{BEGIN, Client};
use crate::agenda::Agenda;
use crate::class::Class;
use crate::device::Request;
use crate::span::Random;
use crate::station::{Later, Station};
use crate::workload::{Progress, Workload};

/// Bytes to which random places are rounded down.
const SECTOR_BYTES: u64 = 512;

#[derive(Clone, Debug)]
struct Active {
    client: Client,
    random: Random,
    progress: Progress,
    position: u64,
    /// For [`Workload::Spiteful`]: whether it lies in wait, and since when.
    lurks: Option<Nanos>,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// A client makes its next request.
    Issue(u32),
    /// A client learns that its request is over.
    Learn(u32),
    /// One request of a replayed group.
    Recorded(u32, u32),
    Station(Later),
    Control,
}

/// A station and its clients.
#[derive(Clone, Debug)]
pub(super) struct Site {
    now: Nanos,
    agenda: Agenda<Event>,
    station: Station,
    clients: Vec<Active>,
    /// The clients that lie in wait for background.
    spiteful: Vec<u32>,
    handled: u64,
}

impl Site {
    /// Without clients.
    pub(super) fn new(now: Nanos, station: Station) -> Self {
        let mut agenda = Agenda::default();
        if station.chooses() {
            agenda.add(now, Event::Control);
        }
        Self { now, agenda, station, clients: Vec::new(), spiteful: Vec::new(), handled: 0 }
    }

    /// Adds a client, which begins at `now` and draws from `random`.
    pub(super) fn add(&mut self, now: Nanos, client: Client, mut random: Random) {
        let number = index(self.clients.len());
        let mut progress = Progress::default();
        let first = client.workload.first(now, &mut progress, &mut random);
        if matches!(client.workload, Workload::Spiteful { .. }) {
            self.spiteful.push(number);
        }
        let lurks = matches!(client.workload, Workload::Spiteful { .. }).then_some(first);
        self.agenda.add(first, Event::Issue(number));
        self.clients.push(Active { client, random, progress, position: 0, lurks });
    }

    /// Lets the next event happen, if it comes before `end`; returns whether one did.
    pub(super) fn step(&mut self, end: Nanos) -> bool {
        let Some((at, event)) = self.agenda.next_before(end) else { return false };
        self.now = at;
        self.handled += 1;
        self.handle(event);
        true
    }

    pub(super) fn station(&self) -> &Station {
        &self.station
    }

    /// Events handled so far.
    pub(super) fn handled(&self) -> u64 {
        self.handled
    }

    /// Events that are yet to come.
    pub(super) fn pending(&self) -> usize {
        self.agenda.len()
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Issue(client) => self.issue(client),
            Event::Learn(client) => self.learn(client),
            Event::Recorded(client, number) => self.replay_one(client, number),
            Event::Control => {
                let agenda = &mut self.agenda;
                self.station.control(self.now, &mut |at, later| agenda.add(at, Event::Station(later)));
                agenda.add(self.station.next_control(self.now), Event::Control);
                self.provoke();
            }
            Event::Station(later) => {
                let agenda = &mut self.agenda;
                let mut add = |at, later| agenda.add(at, Event::Station(later));
                match later {
                    Later::Timer => self.station.timer(self.now, &mut add),
                    Later::Leave(place) => {
                        if let Some(done) = self.station.leave(self.now, place, &mut add) {
                            if done.after == Nanos::ZERO {
                                self.learn(done.client);
                            } else {
                                let at = self.now.plus(done.after);
                                self.agenda.add(at, Event::Learn(done.client));
                            }
                        }
                    }
                }
                self.provoke();
            }
        }
    }

    /// A client makes its next request, and an open one plans the one after.
    fn issue(&mut self, number: u32) {
        let active = &mut self.clients[number as usize];
        match &active.client.workload {
            Workload::Replay(replay) => {
                let Some(group) = replay.groups.get(active.progress.group) else { return };
                active.progress.open = group.requests.len();
                for (place, recorded) in group.requests.iter().enumerate() {
                    self.agenda.add(self.now.plus(recorded.offset), Event::Recorded(number, index(place)));
                }
                return;
            }
            Workload::Spiteful { .. } => {
                // Only the time that it lies in wait until counts; an earlier one was overtaken by its chance.
                if active.lurks != Some(self.now) {
                    return;
                }
                active.lurks = None;
            }
            _ => {}
        }
        if !active.client.workload.is_closed() {
            let next = active.client.workload.next(BEGIN, self.now, &mut active.progress, &mut active.random);
            self.agenda.add(next, Event::Issue(number));
        }
        self.send(number, None);
    }

    fn replay_one(&mut self, number: u32, place: u32) {
        let active = &self.clients[number as usize];
        let Workload::Replay(replay) = &active.client.workload else { return };
        let group = replay.groups.get(active.progress.group);
        if let Some(recorded) = group.and_then(|group| group.requests.get(place as usize)) {
            let what = (recorded.bytes, recorded.work);
            self.send(number, Some(what));
        }
    }

    fn send(&mut self, number: u32, recorded: Option<(u64, Nanos)>) {
        let active = &mut self.clients[number as usize];
        let capacity = self.station.device().capacity();
        let (bytes, work) = match recorded {
            Some((bytes, work)) => (bytes, Some(work)),
            None => (active.client.bytes, active.client.work.map(|span| active.random.draw(span))),
        };
        let offset = if active.client.sequential {
            let offset = active.position;
            active.position = offset.saturating_add(bytes) % capacity;
            offset
        } else {
            active.random.below(capacity) / SECTOR_BYTES * SECTOR_BYTES
        };
        let class = active.client.class;
        let request = Request {
            client: number,
            class,
            offset,
            bytes,
            work,
            arrived: self.now,
            loaded: false,
            head: false,
        };
        let agenda = &mut self.agenda;
        let later = &mut |at, later| agenda.add(at, Event::Station(later));
        if !self.station.arrive(self.now, request, later) {
            self.plan(number);
        }
    }

    /// A client's request is over.
    fn learn(&mut self, number: u32) {
        let active = &mut self.clients[number as usize];
        if let Workload::Replay(replay) = &active.client.workload {
            active.progress.open = active.progress.open.saturating_sub(1);
            if active.progress.open > 0 {
                return;
            }
            active.progress.group = (active.progress.group + 1) % replay.groups.len().max(1);
        }
        if active.client.workload.is_closed() {
            self.plan(number);
        }
    }

    /// Plans a client's next request; makes it at once if it does not think.
    fn plan(&mut self, number: u32) {
        let active = &mut self.clients[number as usize];
        if !active.client.workload.is_closed() {
            return;
        }
        let next = active.client.workload.next(BEGIN, self.now, &mut active.progress, &mut active.random);
        if active.lurks.is_none() && matches!(active.client.workload, Workload::Spiteful { .. }) {
            active.lurks = Some(next);
        }
        if next > self.now || active.client.class == Class::Foreground {
            self.agenda.add(next, Event::Issue(number));
        } else {
            self.send(number, None);
        }
    }

    /// If background has just started, whoever lies in wait for that comes now.
    fn provoke(&mut self) {
        if !self.station.took_background() {
            return;
        }
        for place in 0..self.spiteful.len() {
            let client = self.spiteful[place];
            if self.clients[client as usize].lurks.take().is_some() {
                self.send(client, None);
            }
        }
    }

    /// Checks all invariants.
    #[cfg(test)]
    pub(super) fn check(&self) {
        self.station.check(self.now);
    }
}

/// A position as it is kept in events.
fn index(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
