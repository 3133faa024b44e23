//! Nodes, guests, a queue and one clock.
//!
//! Between two changes of its owner's load a guest gets a constant share, so only changes are events: the owner's next one (always one per node), the end
//! of a guest if it comes before that, the arrival of one that moves, and the moment at which the policy wants to be asked again. Time and
//! memory grow with nodes × time and with nodes.
//!
//! Guests: those that want to move away from an owner go first to a node that has become free, then those of the queue, in order. Where no owner is away, the policies
//! that linger start guests on nodes in use. A first start takes no time; a move, and a start after an eviction, take `pause`. A guest that
//! cannot save itself starts again.
//!
//! The guest's node is reserved while it moves. If the owner of the new node returns meanwhile, the policy is asked on arrival.

use std::collections::VecDeque;

use lull_core::Nanos;
use lull_core::linger::{Elsewhere, Guest as Cost, GuestPolicy, Here, Leave, Owner as AtWork};
use serde::Serialize;

use super::bursts::Gaps;
use super::owner::{Owner, Owners};
use super::places::Places;
use crate::agenda::Agenda;
use crate::span::Random;

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How many nodes.
    pub nodes: u32,
    /// Their owners.
    pub owners: Owners,
    /// How many guests there are at the beginning.
    pub guests: u32,
    /// The work of each; begun again when there are more guests.
    pub work: Vec<Nanos>,
    /// When each arrives; at the beginning, if there are no more.
    pub arrivals: Vec<Nanos>,
    /// Whether each that is done is followed by another.
    pub renew: bool,
    /// The share of guests that can save themselves before they move.
    pub saves: f64,
    /// The memory of a guest, as a share of a node's.
    pub memory: f64,
    /// What a move takes: checkpoint, transfer, restart.
    pub pause: Nanos,
    /// How long pause-and-migrate waits.
    pub patience: Nanos,
    /// What becomes of guests beside owners.
    pub policy: GuestPolicy,
    /// Where all randomness comes from.
    pub seed: u64,
}

/// What happened in a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Tally {
    /// Nodes × seconds.
    pub node_s: f64,
    /// Work of guests, in seconds of a CPU.
    pub work_s: f64,
    /// Work that was lost and has to be done again.
    pub lost_s: f64,
    /// Work of owners.
    pub owner_s: f64,
    /// How much longer owners' work took because of guests.
    pub delay_s: f64,
    /// Guests that moved to another node.
    pub moves: u64,
    /// Guests that were sent back to the queue.
    pub evictions: u64,
    /// Guests that were done.
    pub finished: u64,
    /// How long those had been in the pool, added up.
    pub stay_s: f64,
}

impl Tally {
    /// Work that counts, per node and second.
    pub fn throughput(&self) -> f64 {
        (self.work_s - self.lost_s) / self.node_s
    }

    /// The owners' delay, of their work.
    pub fn delay(&self) -> f64 {
        if self.owner_s > 0.0 { self.delay_s / self.owner_s } else { 0.0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Seat {
    Empty,
    /// A guest is on its way.
    Coming(u32),
    Taken(u32),
}

#[derive(Clone, Debug)]
struct Node {
    owner: Owner,
    in_use: bool,
    /// What a guest gets here now.
    share: f64,
    /// The owner's load.
    load: f64,
    /// The owner's delay per second beside a guest that runs.
    delay: f64,
    /// When this time at work, or away, began.
    since: Nanos,
    /// What a guest would have got since then.
    offered_s: f64,
    changes: Nanos,
    settled: Nanos,
    seat: Seat,
    runs: bool,
    /// The guest wants to move.
    wants: bool,
    /// The node stands in the line of those whose guest wants to move.
    in_line: bool,
    /// Events of an earlier one are void.
    generation: u32,
}

#[derive(Clone, Debug)]
struct Guest {
    work_s: f64,
    remaining_s: f64,
    submitted: Nanos,
    saves: bool,
    /// It has run before: the next start takes a pause.
    moved: bool,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Owner(u32),
    Done(u32, u32),
    Arrive(u32, u32),
    Ask(u32, u32),
    Submit(u32),
}

/// A pool at a moment.
#[derive(Clone, Debug)]
pub struct Pool {
    setup: Setup,
    gaps: Gaps,
    now: Nanos,
    agenda: Agenda<Event>,
    nodes: Vec<Node>,
    guests: Vec<Guest>,
    queue: VecDeque<u32>,
    /// Nodes whose guest wants to move; some have changed their mind.
    movers: VecDeque<u32>,
    places: Places,
    random: Random,
    started: usize,
    tally: Tally,
    /// How many guests are still to be done.
    left: u32,
}

impl Pool {
    /// At the beginning, with the table of what guests get.
    pub fn new(setup: Setup, gaps: Gaps) -> Self {
        let mut agenda = Agenda::default();
        let nodes = (0..setup.nodes).map(|index| {
            agenda.add(Nanos::ZERO, Event::Owner(index));
            Node {
                owner: Owner::new(&setup.owners, index, setup.seed),
                in_use: false,
                share: 1.0,
                load: 0.0,
                delay: 0.0,
                since: Nanos::ZERO,
                offered_s: 0.0,
                changes: Nanos::ZERO,
                settled: Nanos::ZERO,
                seat: Seat::Empty,
                runs: false,
                wants: false,
                in_line: false,
                generation: 0,
            }
        });
        let nodes: Vec<Node> = nodes.collect();
        for guest in 0..setup.guests {
            let at = setup.arrivals.get(guest as usize).copied().unwrap_or(Nanos::ZERO);
            agenda.add(at, Event::Submit(guest));
        }
        let mut pool = Self {
            now: Nanos::ZERO,
            agenda,
            places: Places::new(nodes.len()),
            nodes,
            guests: Vec::with_capacity(setup.guests as usize),
            queue: VecDeque::new(),
            movers: VecDeque::new(),
            random: Random::new(setup.seed, u64::MAX - 1),
            started: 0,
            tally: Tally::default(),
            left: setup.guests,
            gaps,
            setup,
        };
        for _ in 0..pool.setup.guests {
            let guest = pool.fresh(Nanos::ZERO);
            pool.guests.push(guest);
        }
        pool
    }

    fn fresh(&mut self, now: Nanos) -> Guest {
        let work =
            self.setup.work.get(self.started % self.setup.work.len().max(1)).copied().unwrap_or(Nanos::ZERO);
        self.started += 1;
        let work_s = work.as_secs_f64();
        let saves = self.random.uniform() < self.setup.saves;
        Guest { work_s, remaining_s: work_s, submitted: now, saves, moved: false }
    }

    /// How many guests are not done.
    pub fn left(&self) -> u32 {
        self.left
    }

    /// Goes on to `end`.
    pub fn run_until(&mut self, end: Nanos) {
        while let Some((now, event)) = self.agenda.next_before(end) {
            self.now = now;
            self.happen(event);
        }
        self.now = end;
    }

    /// What happened since the last call, up to now.
    pub fn take(&mut self) -> Tally {
        for node in 0..self.setup.nodes {
            self.settle(node);
        }
        std::mem::take(&mut self.tally)
    }

    fn happen(&mut self, event: Event) {
        let current = |node: u32, generation: u32| self.nodes[node as usize].generation == generation;
        match event {
            Event::Owner(node) => self.owner_changes(node),
            Event::Done(node, generation) if current(node, generation) => self.finish(node),
            Event::Ask(node, generation) if current(node, generation) => {
                self.settle(node);
                self.consider(node);
            }
            Event::Arrive(node, generation) if current(node, generation) => {
                self.settle(node);
                let slot = &mut self.nodes[node as usize];
                if let Seat::Coming(guest) = slot.seat {
                    slot.seat = Seat::Taken(guest);
                }
                self.consider(node);
            }
            Event::Submit(guest) => {
                self.guests[guest as usize].submitted = self.now;
                self.queue.push_back(guest);
                self.dispatch();
            }
            Event::Done(..) | Event::Ask(..) | Event::Arrive(..) => {}
        }
    }

    /// Books what happened on a node since it was last looked at.
    fn settle(&mut self, node: u32) {
        let node = &mut self.nodes[node as usize];
        let span_s = self.now.since(node.settled).as_secs_f64();
        node.settled = self.now;
        self.tally.node_s += span_s;
        self.tally.owner_s += node.load * span_s;
        node.offered_s += node.share * span_s;
        if let (Seat::Taken(guest), true) = (node.seat, node.runs) {
            let guest = &mut self.guests[guest as usize];
            let work_s = (node.share * span_s).min(guest.remaining_s);
            guest.remaining_s -= work_s;
            self.tally.work_s += work_s;
            self.tally.delay_s += node.delay * span_s;
        }
    }

    fn owner_changes(&mut self, index: u32) {
        self.settle(index);
        let node = &mut self.nodes[index as usize];
        let next = node.owner.next(self.now);
        let turned = next.in_use != node.in_use || self.now == Nanos::ZERO;
        if turned {
            node.since = self.now;
            node.offered_s = 0.0;
        }
        node.in_use = next.in_use;
        node.load = next.load;
        let (share, delay) = self.gaps.at(node.load);
        // A guest that does not fit beside the owner's memory is paged out.
        node.share = if next.memory + self.setup.memory > 1.0 { 0.0 } else { share };
        node.delay = if node.share > 0.0 { delay * node.load } else { 0.0 };
        node.changes = next.until;
        self.agenda.add(next.until, Event::Owner(index));
        match node.seat {
            Seat::Taken(_) => self.consider(index),
            Seat::Empty if turned => self.offer(index),
            Seat::Empty | Seat::Coming(_) => {}
        }
    }

    /// Asks the policy about the guest of a node, and does what it says.
    fn consider(&mut self, index: u32) {
        let Some(guest) = self.guest_of(index) else { return };
        let node = &mut self.nodes[index as usize];
        if !node.in_use {
            node.runs = true;
            node.wants = false;
            self.plan(index, None);
            return;
        }
        let age = self.now.since(node.since);
        let share = if age > Nanos::ZERO { node.offered_s / age.as_secs_f64() } else { node.share };
        let guest = &self.guests[guest as usize];
        let unsaved_s = if guest.saves { 0.0 } else { guest.work_s - guest.remaining_s };
        let act = self.setup.policy.act(&AtWork {
            here: Here { age, share: share.min(1.0) },
            elsewhere: Elsewhere { share: 1.0, pause: self.setup.pause },
            guest: Cost {
                unsaved: crate::span::nanos(unsaved_s * 1e9),
                remaining: Some(crate::span::nanos(guest.remaining_s * 1e9)),
            },
            patience: self.setup.patience,
        });
        node.runs = act.runs;
        node.wants = false;
        match act.leave {
            Leave::Stay(age) => {
                let ask = age.map(|age| node.since.plus(age));
                self.plan(index, ask);
            }
            Leave::WhenThereIsAPlace | Leave::Now => {
                if let Some(place) = self.places.take(false, &mut self.random) {
                    self.relocate(index, place);
                } else if act.leave == Leave::Now {
                    self.evict(index);
                } else {
                    let node = &mut self.nodes[index as usize];
                    node.wants = true;
                    if !std::mem::replace(&mut node.in_line, true) {
                        self.movers.push_back(index);
                    }
                    self.plan(index, None);
                }
            }
        }
    }

    /// Schedules what will happen to a node's guest before its owner's next change.
    fn plan(&mut self, index: u32, ask: Option<Nanos>) {
        let node = &mut self.nodes[index as usize];
        node.generation = node.generation.wrapping_add(1);
        let Seat::Taken(guest) = node.seat else { return };
        if node.runs && node.share > 0.0 {
            let left_s = self.guests[guest as usize].remaining_s / node.share;
            let done = self.now.plus(crate::span::nanos(left_s * 1e9));
            if done < node.changes {
                self.agenda.add(done, Event::Done(index, node.generation));
            }
        }
        if let Some(ask) = ask.filter(|ask| *ask < node.changes) {
            self.agenda.add(ask.max(self.now.plus(Nanos(1))), Event::Ask(index, node.generation));
        }
    }

    fn guest_of(&self, index: u32) -> Option<u32> {
        match self.nodes[index as usize].seat {
            Seat::Taken(guest) => Some(guest),
            Seat::Empty | Seat::Coming(_) => None,
        }
    }

    /// Takes the guest off a node that stays empty for now.
    fn leave(&mut self, index: u32) -> Option<u32> {
        self.settle(index);
        let guest = self.guest_of(index)?;
        let node = &mut self.nodes[index as usize];
        node.seat = Seat::Empty;
        node.wants = false;
        node.runs = false;
        node.generation = node.generation.wrapping_add(1);
        Some(guest)
    }

    /// The guest stops here; what it has not saved is gone.
    fn stop(&mut self, index: u32) -> Option<u32> {
        let guest = self.leave(index)?;
        let state = &mut self.guests[guest as usize];
        state.moved = true;
        if !state.saves {
            self.tally.lost_s += state.work_s - state.remaining_s;
            state.remaining_s = state.work_s;
        }
        Some(guest)
    }

    fn relocate(&mut self, from: u32, to: u32) {
        let Some(guest) = self.stop(from) else { return };
        self.tally.moves += 1;
        self.start(to, guest);
        self.offer(from);
    }

    fn evict(&mut self, index: u32) {
        let Some(guest) = self.stop(index) else { return };
        self.tally.evictions += 1;
        self.queue.push_back(guest);
        self.offer(index);
    }

    fn finish(&mut self, index: u32) {
        let Some(guest) = self.leave(index) else { return };
        self.tally.finished += 1;
        self.tally.stay_s += self.now.since(self.guests[guest as usize].submitted).as_secs_f64();
        self.offer(index);
        if self.setup.renew {
            self.guests[guest as usize] = self.fresh(self.now);
            self.queue.push_back(guest);
            self.dispatch();
        } else {
            self.left -= 1;
        }
    }

    /// A guest gets a node that is not among the places any more.
    fn start(&mut self, index: u32, guest: u32) {
        self.settle(index);
        let node = &mut self.nodes[index as usize];
        node.generation = node.generation.wrapping_add(1);
        if self.guests[guest as usize].moved {
            node.seat = Seat::Coming(guest);
            self.agenda.add(self.now.plus(self.setup.pause), Event::Arrive(index, node.generation));
        } else {
            node.seat = Seat::Taken(guest);
            self.consider(index);
        }
    }

    /// A node without a guest, for whoever waits.
    fn offer(&mut self, index: u32) {
        let in_use = self.nodes[index as usize].in_use;
        self.places.remove(index);
        if !in_use {
            while let Some(mover) = self.movers.pop_front() {
                self.nodes[mover as usize].in_line = false;
                if self.nodes[mover as usize].wants && self.guest_of(mover).is_some() {
                    self.relocate(mover, index);
                    return;
                }
            }
        }
        if (!in_use || self.setup.policy.lingers())
            && let Some(guest) = self.queue.pop_front()
        {
            self.start(index, guest);
            return;
        }
        self.places.put(index, in_use);
    }

    /// Places for whoever waits.
    fn dispatch(&mut self) {
        while !self.queue.is_empty() {
            let mut place = self.places.take(false, &mut self.random);
            if place.is_none() && self.setup.policy.lingers() {
                place = self.places.take(true, &mut self.random);
            }
            let (Some(place), Some(guest)) = (place, self.queue.front().copied()) else { return };
            self.queue.pop_front();
            self.start(place, guest);
        }
    }
}

#[cfg(test)]
mod tests;
