//! A run: stations, clients, one clock.
//!
//! Each client belongs to a station and to a class, and follows its [`Workload`]. All randomness comes from the seed, each
//! client and each class of each device with a sequence of its own: two runs that differ in the policy see the same
//! foreground. Memory depends on the number of stations and clients, not on the length of the run.
//!
//! Time begins at one second, because zero means "never" to the policy.

use lull_core::{Counters, Nanos, Setting};

use crate::agenda::Agenda;
use crate::class::Class;
use crate::device::{Device, Request};
use crate::policy::{CONTROL_EVERY, Policy};
use crate::span::Random;
use crate::station::{Later, Station, Tally};
use crate::workload::{Progress, Workload};

/// The first moment.
pub const BEGIN: Nanos = Nanos::from_secs(1);

/// Bytes to which random places are rounded down.
const SECTOR_BYTES: u64 = 512;

/// Who uses a station.
#[derive(Clone, Debug)]
pub struct Client {
    /// Position of its station.
    pub station: u32,
    /// Whose requests it makes.
    pub class: Class,
    /// When it makes them.
    pub workload: Workload,
    /// How much each moves.
    pub bytes: u64,
    /// CPU work of each, if that is what the station serves.
    pub work: Option<crate::span::Span>,
    /// Whether each lies behind the one before, instead of anywhere.
    pub sequential: bool,
}

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
    Station(u32, Later),
    Control(u32),
}

/// Everything that takes part in a run.
#[derive(Clone, Debug)]
pub struct World {
    now: Nanos,
    agenda: Agenda<Event>,
    stations: Vec<Station>,
    clients: Vec<Active>,
    /// By station: the clients that lie in wait for background there.
    spiteful: Vec<Vec<u32>>,
    seed: u64,
    handled: u64,
}

impl World {
    /// An empty world.
    pub fn new(seed: u64) -> Self {
        Self {
            now: BEGIN,
            agenda: Agenda::default(),
            stations: Vec::new(),
            clients: Vec::new(),
            spiteful: Vec::new(),
            seed,
            handled: 0,
        }
    }

    /// Adds a resource; returns its position.
    pub fn add_station(&mut self, device: Device, policy: &Policy) -> u32 {
        let number = index(self.stations.len());
        let station = Station::new(device, policy, self.seed, u64::from(number));
        if station.chooses() {
            self.agenda.add(self.now, Event::Control(number));
        }
        self.stations.push(station);
        self.spiteful.push(Vec::new());
        number
    }

    /// Adds a client, which begins now.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn add_client(&mut self, client: Client) {
        assert!((client.station as usize) < self.stations.len(), "no station {}", client.station);
        let number = index(self.clients.len());
        let mut random = Random::new(self.seed, u64::from(number) << 8 | 0xC0);
        let mut progress = Progress::default();
        let first = client.workload.first(self.now, &mut progress, &mut random);
        if matches!(client.workload, Workload::Spiteful { .. }) {
            self.spiteful[client.station as usize].push(number);
        }
        let lurks = matches!(client.workload, Workload::Spiteful { .. }).then_some(first);
        self.agenda.add(first, Event::Issue(number));
        self.clients.push(Active { client, random, progress, position: 0, lurks });
    }

    /// Lets all happen that happens before `length` has passed since the beginning.
    pub fn run_until(&mut self, length: Nanos) {
        let end = BEGIN.plus(length);
        while let Some((at, event)) = self.agenda.next_before(end) {
            self.now = at;
            self.handled += 1;
            self.handle(event);
        }
        self.now = self.now.max(end);
    }

    /// Time since the beginning.
    pub fn elapsed(&self) -> Nanos {
        self.now.since(BEGIN)
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.handled
    }

    /// Events that are yet to come: the world's memory grows with this and with nothing else.
    pub fn pending(&self) -> usize {
        self.agenda.len()
    }

    /// What a class of a station got done so far.
    pub fn tally(&self, station: u32, class: Class) -> &Tally {
        self.stations[station as usize].tally(class)
    }

    /// The counters of a station's policy.
    pub fn counters(&self, station: u32) -> &Counters {
        self.stations[station as usize].counters()
    }

    /// The setting in force at a station.
    pub fn setting(&self, station: u32) -> &Setting {
        self.stations[station as usize].setting()
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Issue(client) => self.issue(client),
            Event::Learn(client) => self.learn(client),
            Event::Recorded(client, number) => self.replay_one(client, number),
            Event::Control(number) => {
                let (station, agenda) = (&mut self.stations[number as usize], &mut self.agenda);
                station.control(self.now, &mut |at, later| agenda.add(at, Event::Station(number, later)));
                agenda.add(self.now.plus(CONTROL_EVERY), Event::Control(number));
                self.provoke(number);
            }
            Event::Station(number, later) => {
                let (station, agenda) = (&mut self.stations[number as usize], &mut self.agenda);
                let mut add = |at, later| agenda.add(at, Event::Station(number, later));
                match later {
                    Later::Timer => station.timer(self.now, &mut add),
                    Later::Leave(place) => {
                        if let Some(done) = station.leave(self.now, place, &mut add) {
                            if done.after == Nanos::ZERO {
                                self.learn(done.request.client);
                            } else {
                                let at = self.now.plus(done.after);
                                self.agenda.add(at, Event::Learn(done.request.client));
                            }
                        }
                    }
                }
                self.provoke(number);
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
        let station = &mut self.stations[active.client.station as usize];
        let capacity = station.device().capacity();
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
        let (at, agenda) = (active.client.station, &mut self.agenda);
        let taken =
            station.arrive(self.now, request, &mut |when, later| agenda.add(when, Event::Station(at, later)));
        if !taken {
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

    /// If background has just started at a station, whoever lies in wait for that comes now.
    fn provoke(&mut self, number: u32) {
        if !self.stations[number as usize].took_background() {
            return;
        }
        for place in 0..self.spiteful[number as usize].len() {
            let client = self.spiteful[number as usize][place];
            if self.clients[client as usize].lurks.take().is_some() {
                self.send(client, None);
            }
        }
    }

    /// Checks all invariants of all stations.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        for station in &self.stations {
            station.check(self.now);
        }
    }

    /// As [`Self::run_until`], with all invariants checked after each event.
    #[cfg(test)]
    pub(crate) fn run_checked(&mut self, length: Nanos) {
        let end = BEGIN.plus(length);
        while let Some((at, event)) = self.agenda.next_before(end) {
            self.now = at;
            self.handled += 1;
            self.handle(event);
            self.check();
        }
    }
}

/// A position as it is kept in events.
fn index(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
