//! One resource: a queue per class, the policy before them, a device behind.
//!
//! ```text
//!  foreground ──▶ queue ────────────────────────┐
//!                                               ├──▶ places of the device ──▶ done, or what is left of it
//!  background ──▶ queue ──▶ Resource: may start ┘
//! ```
//! Both queues are in the device's order (C-LOOK for a disk). The [`Resource`] says *how many* background requests may
//! start, the queue says *which*; so the elevator's order costs nothing of the policy. Foreground goes first whenever a
//! place is free.
//!
//! A policy that holds whole clients leaves both alone: while it holds, what background asks for waits outside
//! (`parked`).
//!
//! In debug builds the resource checks all its invariants (I-1 to I-6) at each step by itself.

use std::collections::VecDeque;

use lull_core::base::histogram::Histogram;
use lull_core::{Counters, HoldAction, Input, Nanos, Progress, Resource, Ticket};

use crate::class::Class;
use crate::device::{Device, Request};
use crate::policy::{CONTROL_EVERY, Governor, Policy, Usage};
use crate::sensor::Sensor;
use crate::span::Random;

/// What a station wants to be told later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Later {
    /// The request in this place of the device is over.
    Leave(u32),
    /// The interval, or the time until there is budget again, may be over.
    Timer,
}

/// What happened at one station, per class, since the beginning or between two moments.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Requests that were over.
    pub completed: u64,
    /// What they moved.
    pub bytes: u64,
    /// Requests that found the queue full.
    pub dropped: u64,
    /// Time that the device worked for them; of a device with several places the sum over these.
    pub busy: Nanos,
    /// From arrival to the end. Apart, so that stations lie close together.
    pub latency: Box<Histogram>,
    /// Foreground only: time for which the device served background while foreground waited.
    pub blocked: Nanos,
    /// Longest of these.
    pub longest_blocked: Nanos,
}

impl Tally {
    /// What was counted since `earlier`, an older copy.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            completed: self.completed - earlier.completed,
            bytes: self.bytes - earlier.bytes,
            dropped: self.dropped - earlier.dropped,
            busy: self.busy.since(earlier.busy),
            latency: Box::new(self.latency.since(&earlier.latency)),
            blocked: self.blocked.since(earlier.blocked),
            longest_blocked: self.longest_blocked,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct InService {
    request: Request,
    began: Nanos,
    after: Nanos,
    left: Nanos,
}

/// A request that is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    pub(crate) client: u32,
    /// How much later the client learns of it.
    pub(crate) after: Nanos,
}

/// The resource and its device.
#[derive(Clone, Debug)]
pub(crate) struct Station {
    device: Device,
    resource: Resource,
    governor: Governor,
    alone: bool,
    sensor: Sensor,
    foreground: VecDeque<Request>,
    background: VecDeque<Request>,
    /// Allowed to start, without a place yet.
    granted: VecDeque<Request>,
    places: Vec<Option<InService>>,
    /// Places that are taken, by class.
    taken: [u32; 2],
    started: Vec<Ticket>,
    tickets: u64,
    /// Whether the background's clients are held, and how many of its requests have not asked yet for that reason.
    held: bool,
    parked: u32,
    /// When the timer goes off that was asked for last.
    timer: Option<Nanos>,
    /// Since when foreground waits while background holds a place.
    blocked_since: Option<Nanos>,
    /// Whether background has started in the last step.
    background_began: bool,
    /// Draws of each class are its own, so that the foreground has the same luck whatever the background does.
    random: [Random; 2],
    tally: [Tally; 2],
}

impl Station {
    pub(crate) fn new(device: Device, policy: &Policy, seed: u64, number: u64) -> Self {
        let governor = Governor::new(policy);
        let places = device.slots() as usize;
        let sensor = Sensor { is_read: governor.chooses(), ..Sensor::default() };
        Self {
            device,
            resource: Resource::new(governor.setting()),
            governor,
            alone: matches!(policy, Policy::Alone),
            sensor,
            foreground: VecDeque::new(),
            background: VecDeque::new(),
            granted: VecDeque::new(),
            places: vec![None; places],
            taken: [0; 2],
            started: Vec::new(),
            tickets: 0,
            held: false,
            parked: 0,
            timer: None,
            blocked_since: None,
            background_began: false,
            random: [Random::new(seed, number << 8 | 0x51), Random::new(seed, number << 8 | 0x52)],
            tally: [Tally::default(), Tally::default()],
        }
    }

    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn tally(&self, class: Class) -> &Tally {
        &self.tally[class.index()]
    }

    pub(crate) fn counters(&self) -> &Counters {
        self.resource.counters()
    }

    pub(crate) fn setting(&self) -> &lull_core::Setting {
        self.resource.setting()
    }

    pub(crate) fn chooses(&self) -> bool {
        self.governor.chooses()
    }

    /// Whether background has started since this was last asked.
    pub(crate) fn took_background(&mut self) -> bool {
        std::mem::take(&mut self.background_began)
    }

    /// A request arrives. False if its queue was full.
    pub(crate) fn arrive(
        &mut self,
        now: Nanos,
        mut request: Request,
        later: &mut impl FnMut(Nanos, Later),
    ) -> bool {
        request.arrived = now;
        match request.class {
            Class::Foreground => {
                if self.foreground.len() >= self.device.queue_limit() {
                    self.tally[0].dropped += 1;
                    return false;
                }
                request.loaded = self.sensor.meets_background(now);
                request.head = self.sensor.view.foreground.in_service == 0;
                self.sensor.arrives(now, Class::Foreground, request.bytes);
                self.foreground.push_back(request);
                if self.taken[1] > 0 && self.device.slots() == 1 && self.blocked_since.is_none() {
                    self.blocked_since = Some(now);
                }
                self.fill_places(now, later);
                self.resource.note(now, self.sensor.view);
            }
            Class::Background => {
                if self.alone {
                    return true;
                }
                self.background.push_back(request);
                self.ask(now, later);
            }
        }
        true
    }

    /// Puts the newest background request into the line before the resource.
    fn ask(&mut self, now: Nanos, later: &mut impl FnMut(Nanos, Later)) {
        if self.held {
            self.parked += 1;
            return;
        }
        self.tickets += 1;
        let bytes = self.background.back().map_or(0, |request| request.bytes);
        self.resource.step(now, Input::Arrive(Ticket(self.tickets), bytes), &mut self.started);
        self.let_in(now, later);
    }

    /// The request in `place` is over, or its slice is.
    pub(crate) fn leave(
        &mut self,
        now: Nanos,
        place: u32,
        later: &mut impl FnMut(Nanos, Later),
    ) -> Option<Done> {
        let InService { mut request, began, after, left } =
            self.places.get_mut(place as usize).and_then(Option::take)?;
        let class = request.class;
        self.taken[class.index()] -= 1;
        let over = left == Nanos::ZERO;
        let tally = &mut self.tally[class.index()];
        tally.busy = tally.busy.plus(now.since(began));
        if over {
            tally.completed += 1;
            tally.bytes += request.bytes;
            tally.latency.record(now.plus(after).since(request.arrived));
        }
        if class == Class::Background {
            self.governor.served(now.since(began));
            if let Some(since) = self.blocked_since.take() {
                let blocked = now.since(since);
                self.tally[0].blocked = self.tally[0].blocked.plus(blocked);
                self.tally[0].longest_blocked = self.tally[0].longest_blocked.max(blocked);
                self.governor.pay(now, blocked);
            }
        }
        // A slice of background that ends is an end for the policy: what is left asks again.
        if over || class == Class::Background {
            self.sensor.ends(now, &request);
        }
        if !over {
            request.work = Some(left);
            match class {
                Class::Foreground => self.foreground.push_back(request),
                Class::Background => self.background.push_back(request),
            }
        }
        self.fill_places(now, later);
        self.governor.check(now, &mut self.resource);
        self.resource.step(now, Input::Observe(self.sensor.view), &mut self.started);
        self.let_in(now, later);
        if !over && class == Class::Background {
            self.ask(now, later);
        }
        over.then_some(Done { client: request.client, after })
    }

    /// The timer goes off; only the one that was asked for last counts.
    pub(crate) fn timer(&mut self, now: Nanos, later: &mut impl FnMut(Nanos, Later)) {
        if self.timer.is_some_and(|at| at <= now) {
            self.timer = None;
            self.tick(now, later);
        }
    }

    /// Control looks at what was measured.
    pub(crate) fn control(&mut self, now: Nanos, later: &mut impl FnMut(Nanos, Later)) {
        let rotates = self.device.rotates();
        self.governor.update(now, &mut self.sensor, rotates, &mut self.resource);
        let usage = self.usage();
        match self.governor.hold(now, &usage) {
            Some(HoldAction::Hold) => self.held = true,
            Some(HoldAction::Release) => {
                self.held = false;
                for _ in 0..std::mem::take(&mut self.parked) {
                    self.ask(now, later);
                }
            }
            None => {}
        }
        self.tick(now, later);
    }

    /// When control has to look again at the latest.
    pub(crate) fn next_control(&self, now: Nanos) -> Nanos {
        let look = now.plus(CONTROL_EVERY);
        self.governor.next_test().map_or(look, |at| at.clamp(now.plus(Nanos(1)), look))
    }

    /// On a core progress is time, elsewhere bytes.
    fn usage(&self) -> Usage {
        let [foreground, background] = &self.tally;
        let done = match self.device {
            Device::Cpu(_) => Progress { cpu: background.busy, io_bytes: 0 },
            _ => Progress { cpu: Nanos::ZERO, io_bytes: background.bytes },
        };
        let wants = !self.background.is_empty() || self.sensor.view.background.in_service > 0;
        Usage { foreground: foreground.busy, background: done, wants }
    }

    fn tick(&mut self, now: Nanos, later: &mut impl FnMut(Nanos, Later)) {
        self.governor.check(now, &mut self.resource);
        self.resource.step(now, Input::Tick, &mut self.started);
        self.let_in(now, later);
    }

    /// Takes what the resource has let go out of the queue, and asks for the next timer.
    fn let_in(&mut self, now: Nanos, later: &mut impl FnMut(Nanos, Later)) {
        if !self.started.is_empty() {
            for _ in 0..self.started.len() {
                let next = self.device.pick(&self.background);
                if let Some(request) = self.background.remove(next) {
                    self.sensor.arrives(now, Class::Background, request.bytes);
                    self.granted.push_back(Request { arrived: now, ..request });
                }
            }
            self.started.clear();
            self.background_began = true;
            self.fill_places(now, later);
            self.resource.note(now, self.sensor.view);
        }
        // While foreground is in service there is nothing to wait for but its end.
        if self.background.is_empty() || self.sensor.view.foreground.in_service > 0 {
            return;
        }
        let wake = self.resource.wake(now).at.filter(|at| *at < Nanos::MAX);
        let budget = self.governor.check(now, &mut self.resource);
        // Control looks before, and may have changed its mind.
        let horizon = if self.governor.chooses() { now.plus(CONTROL_EVERY) } else { Nanos::MAX };
        if let Some(at) = wake.into_iter().chain(budget).min().filter(|at| *at <= horizon)
            && self.timer.is_none_or(|timer| timer > at)
        {
            self.timer = Some(at);
            later(at, Later::Timer);
        }
    }

    /// Gives free places away: foreground first.
    fn fill_places(&mut self, now: Nanos, later: &mut impl FnMut(Nanos, Later)) {
        let taken = self.taken[0] + self.taken[1];
        let mut free = self.device.slots() - taken;
        while free > 0 {
            let next = if self.foreground.is_empty() {
                self.granted.pop_front()
            } else {
                let next = self.device.pick(&self.foreground);
                self.foreground.remove(next)
            };
            let Some(request) = next else { return };
            let Some(place) = self.places.iter().position(Option::is_none) else { return };
            let class = request.class;
            let others = self.taken[0] + self.taken[1];
            let random = &mut self.random[class.index()];
            let service = self.device.serve(now, &request, others, random);
            if class == Class::Foreground {
                self.sensor.is_handed_over(now, class);
            }
            self.taken[class.index()] += 1;
            self.places[place] =
                Some(InService { request, began: now, after: service.after, left: service.left });
            #[expect(clippy::cast_possible_truncation, reason = "fewer places than u32::MAX, by slots()")]
            later(now.plus(service.busy), Later::Leave(place as u32));
            free -= 1;
        }
    }

    /// Checks everything that must hold of the policy's side at `now`.
    #[cfg(test)]
    pub(crate) fn check(&self, now: Nanos) {
        // An interval that ends at this very moment is over for the resource before its timer has told it so.
        if self.timer != Some(now) {
            self.resource.check_invariants(now);
        }
        let in_device = self.taken[1] as usize + self.granted.len();
        assert_eq!(
            self.sensor.view.background.in_service as usize, in_device,
            "the sensor sees what is there"
        );
        let asked = self.resource.waiting() + self.parked as usize;
        assert_eq!(asked, self.background.len(), "one ticket for each that waits and is not parked");
    }
}
