//! One resource: its state, the background requests that wait for it and the bound on those in service.
//!
//! Problem: a supervisor holds background requests before the device and must let each go at the first moment the
//! machine allows, without being told of every foreground request: that would cost more than the background does.
//!
//! Approach: it reads cumulative views ([`Observation`]) whenever it has a decision to make. The state is a
//! function of the latest view, of what was granted since, and of the time (see [`derive`](mod@crate::idletime::derive)), so that
//! it does not matter how many events passed between two readings. Timers are not kept: [`Resource::wake`] says
//! what to wait for.
//!
//! ```text
//!  Arrive ──▶ waiting ──(state I or B, and room under the window)─▶ granted ──(seen in the device)──▶ in the view
//!                │                                                    │
//!            Withdraw                           Returned, or older than `settle`: a page-cache hit
//! ```
//!
//! In service = in the view + granted. A granted request is not in the view yet; each start that the view counts
//! after the grant is taken for a part of the oldest one. So a burst of grants cannot exceed the window while the sensor lags,
//! and page-cache hits hold a place for `settle` at most. The window is in bytes, and each request counts for
//! [`LEAST_BYTES`] at the least; one that is larger than the window is let in alone.
//!
//! Interval after background (variants `bp-*`, `*-bp`): a request that ends while another waits is event b in B;
//! one that leaves the resource without any in service or waiting is event i. Both start the interval at the end
//! seen by the device. On a device that serves several at once, B on b holds what is not yet in service. Background
//! that starts in the device without a grant ends the interval that an empty queue had started: a later reading could
//! not tell that the queue had been empty in between.
//!
//! Edge cases. A view whose counts went back is from a restarted sensor: it replaces the old one, but the times of
//! the last foreground request are kept, or the restart would end an interval. A clock that steps back takes all
//! remembered times with it, and a time in a view that lies in the future counts as the time of its first reading,
//! so that no interval is longer than set. What the view says of requests in service is always believed: sensors
//! miss events and heal; a foreground whose end was missed ended when it was first seen gone.
//!
//! Counters (I-7) are exact when each event is observed. Foreground requests that came and went between two
//! readings count as one burst: the first in the state it found, the others as F\[f\].
//!
//! Source: Eggert & Touch, sections 2, 3 and appendix A; requirements I-1 to I-7.

mod check;
mod grants;
mod track;

use std::collections::VecDeque;

use crate::base::time::{Interval, Nanos};
use crate::base::view::Observation;
use crate::idletime::derive::{foreground_from, runs};
use crate::idletime::machine::{AfterBackground, AfterEmpty, Counters, Event, State, transition};
use crate::idletime::setting::{Foreground, LEAST_BYTES, Setting};
use grants::Grants;
use track::Track;

/// The name of one background request, chosen by the caller; no two that wait or are granted share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

/// What the resource is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// What the sensor shows now.
    Observe(Observation),
    /// A background request of so many bytes wants to start.
    Arrive(Ticket, u64),
    /// The call of a started request is known to be over.
    Returned(Ticket),
    /// A request was killed while it waited.
    Withdraw(Ticket),
    /// Nothing but the time.
    Tick,
}

/// What to wait for before the next step; nothing at all when no request waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wake {
    /// At this instant at the latest.
    pub at: Option<Nanos>,
    /// When the foreground leaves the device; it may be away now, and then has to return first.
    pub foreground_end: bool,
    /// When a background request leaves the device.
    pub background_end: bool,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    ticket: Ticket,
    arrived: Nanos,
    bytes: u64,
}

/// The policy of one resource.
#[derive(Clone, Debug)]
pub struct Resource {
    setting: Setting,
    track: Track,
    waiting: VecDeque<Waiting>,
    /// Bytes of those that wait.
    waiting_bytes: u64,
    grants: Grants,
    /// Whether a request had to wait for room since this was last asked.
    was_full: bool,
    /// When a background request last ended while another one waited, in `bp-*`; zero for never.
    queued_from: Nanos,
    /// When the background's queue fell empty, in `*-bp`, with no start in the device since; zero for never.
    emptied_from: Nanos,
    counters: Counters,
    /// The state in which the next event is counted.
    state: State,
    /// The time of the first step.
    began: Option<Nanos>,
    /// The time of the latest step.
    now: Nanos,
}

impl Resource {
    /// A resource of which nothing was seen yet.
    pub fn new(setting: Setting) -> Self {
        Self {
            setting,
            track: Track::default(),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            grants: Grants::default(),
            was_full: false,
            queued_from: Nanos::ZERO,
            emptied_from: Nanos::ZERO,
            counters: Counters::default(),
            state: State::Idle,
            began: None,
            now: Nanos::ZERO,
        }
    }

    /// Changes the parameters. Takes effect at once; a [`Input::Tick`] afterwards starts what may start now.
    pub fn configure(&mut self, now: Nanos, setting: Setting) {
        self.rewind(now);
        self.advance(now, false);
        if setting.variant != self.setting.variant {
            self.queued_from = Nanos::ZERO;
            self.emptied_from = Nanos::ZERO;
        }
        self.setting = setting;
        self.state = self.state(now);
    }

    /// The parameters in force.
    pub fn setting(&self) -> &Setting {
        &self.setting
    }

    /// Takes `input` in and appends to `started` the requests that may start now, in the order of their arrival.
    pub fn step(&mut self, now: Nanos, input: Input, started: &mut Vec<Ticket>) {
        self.take(now, &input);
        self.state = self.admit(now, started);
        #[cfg(debug_assertions)]
        self.check_invariants(now);
    }

    /// Takes a view in and starts nothing: who waits starts at the next step.
    pub fn note(&mut self, now: Nanos, observation: Observation) {
        self.take(now, &Input::Observe(observation));
        self.state = self.state(now);
    }

    /// Whether a request that arrived now would start at once.
    pub fn admits(&self, now: Nanos) -> bool {
        let waiting = u32::try_from(self.waiting.len()).unwrap_or(u32::MAX);
        let in_service = self.in_service(now).saturating_add(waiting);
        self.state(now).admits_background() && self.fits(now, in_service, self.taken_bytes(now), LEAST_BYTES)
    }

    /// Whether everything that waits and `bytes` more, in however many requests, would start now.
    pub fn has_room(&self, now: Nanos, bytes: u64) -> bool {
        self.state(now).admits_background()
            && self.setting.depth == u32::MAX
            && self.taken_bytes(now).saturating_add(bytes) <= self.window_bytes(now)
    }

    /// In service and waiting.
    fn taken_bytes(&self, now: Nanos) -> u64 {
        self.in_service_bytes(now).saturating_add(self.waiting_bytes)
    }

    /// Whether a request had to wait since this was last asked although the foreground would have let it start.
    pub fn take_full(&mut self) -> bool {
        std::mem::take(&mut self.was_full)
    }

    /// The state at `now`. An interval that has run out is over, with or without a step since.
    pub fn state(&self, now: Nanos) -> State {
        if self.track.view().foreground.in_service > 0 {
            State::Foreground
        } else if runs(self.setting.interval, self.interval_from(now), now) {
            State::Interval
        } else if self.serves_background(now) {
            State::Background
        } else {
            State::Idle
        }
    }

    /// What the next step has to wait for.
    pub fn wake(&self, now: Nanos) -> Wake {
        if self.waiting.is_empty() {
            return Wake::default();
        }
        let state = if now == self.now { self.state } else { self.state(now) };
        match state {
            State::Foreground => Wake { foreground_end: true, ..Wake::default() },
            State::Interval => Wake { at: self.interval_end(now), ..Wake::default() },
            State::Idle | State::Background if self.may_start(now, state) => {
                Wake { at: Some(now), ..Wake::default() }
            }
            State::Idle | State::Background => Wake {
                at: [self.grants.next_settled(now, self.setting.settle), self.opens_at(now)]
                    .into_iter()
                    .flatten()
                    .min(),
                background_end: true,
                ..Wake::default()
            },
        }
    }

    /// How many requests wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// What happened in which state.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Background requests in service: seen in the device, or granted and expected there.
    pub fn in_service(&self, now: Nanos) -> u32 {
        self.track.view().background.in_service.saturating_add(self.grants.live(now, self.setting.settle))
    }

    /// Bytes of them.
    pub fn in_service_bytes(&self, now: Nanos) -> u64 {
        let granted = self.grants.live_bytes(now, self.setting.settle);
        self.track.view().background.in_service_bytes.saturating_add(granted)
    }

    fn serves_background(&self, now: Nanos) -> bool {
        self.track.view().background.in_service > 0 || self.grants.live(now, self.setting.settle) > 0
    }

    /// The window in force at `now`: it opens when the foreground has gone. `u64::MAX` for none.
    pub fn window_bytes(&self, now: Nanos) -> u64 {
        self.setting.opening.window(self.setting.window_bytes, self.foreground(now))
    }

    /// Whether background may start without any bound at `now`.
    pub fn is_unbounded(&self, now: Nanos) -> bool {
        self.setting.depth == u32::MAX && self.window_bytes(now) == u64::MAX
    }

    fn foreground(&self, now: Nanos) -> Foreground {
        match self.track.foreground_latest() {
            _ if self.track.view().foreground.in_service > 0 => Foreground::Present,
            Some(latest) => Foreground::Away(now.since(latest)),
            None => Foreground::Unseen(self.began.map_or(Nanos::ZERO, |began| now.since(began))),
        }
    }

    /// When the window will have room for the head by time alone; `None` if it never does.
    fn opens_at(&self, now: Nanos) -> Option<Nanos> {
        let head = self.waiting.front()?;
        let foreground = self.foreground(now);
        let (Foreground::Away(passed) | Foreground::Unseen(passed)) = foreground else { return None };
        let in_service = self.in_service(now);
        if in_service >= self.setting.depth.max(1) {
            return None;
        }
        let wanted = taken(in_service, self.in_service_bytes(now), head.bytes);
        let span = self.setting.opening.opens_after(wanted, foreground)?;
        Some(now.plus(span.since(passed)))
    }

    /// Whether the head of the line may start at `now`, when `state` is the one at that moment.
    fn may_start(&self, now: Nanos, state: State) -> bool {
        let fits =
            |head: &Waiting| self.fits(now, self.in_service(now), self.in_service_bytes(now), head.bytes);
        state.admits_background() && self.waiting.front().is_some_and(fits)
    }

    /// Whether there is room for one of `bytes` beside so many requests and bytes in service.
    fn fits(&self, now: Nanos, in_service: u32, in_service_bytes: u64, bytes: u64) -> bool {
        in_service == 0
            || (in_service < self.setting.depth.max(1)
                && taken(in_service, in_service_bytes, bytes) <= self.window_bytes(now))
    }

    /// The latest start of an interval, the foreground's or the background's; zero for none. All intervals are of one
    /// length, so that the latest to start is the last to end.
    fn interval_from(&self, now: Nanos) -> Nanos {
        let Observation { foreground, background } = self.track.view();
        let emptied = self.setting.variant.on_empty == AfterEmpty::Interval && self.is_empty(now);
        let emptied_from = if emptied { background.last_end } else { Nanos::ZERO };
        foreground_from(foreground, self.setting.start_rule)
            .max(self.queued_from)
            .max(self.emptied_from)
            .max(emptied_from)
    }

    /// When the interval that runs at `now` ends; `None` for never. Without one running, a time that has passed.
    pub fn interval_end(&self, now: Nanos) -> Option<Nanos> {
        let Interval::Finite(length) = self.setting.interval else { return None };
        Some(self.interval_from(now).plus(length))
    }

    /// Neither in service nor waiting: the background's queue is empty.
    fn is_empty(&self, now: Nanos) -> bool {
        self.waiting.is_empty() && !self.serves_background(now)
    }

    fn take(&mut self, now: Nanos, input: &Input) {
        self.rewind(now);
        let (starts, bytes) = match input {
            Input::Observe(observation) => self.track.background_starts(observation),
            _ => (0, 0),
        };
        self.grants.materialise(starts, bytes);
        self.advance(now, starts > 0);
        match *input {
            Input::Observe(ref observation) => self.observe(now, observation),
            Input::Arrive(ticket, bytes) => {
                if self.waiting.is_empty() && self.state == State::Interval {
                    self.count(Event::Background, 1);
                }
                self.waiting.push_back(Waiting { ticket, arrived: now, bytes });
                self.waiting_bytes = self.waiting_bytes.saturating_add(bytes);
            }
            Input::Returned(ticket) | Input::Withdraw(ticket) => {
                self.grants.retire(ticket);
                self.waiting.retain(|waiting| waiting.ticket != ticket);
                self.waiting_bytes = self.waiting.iter().fold(0, |sum, one| sum.saturating_add(one.bytes));
            }
            Input::Tick => {}
        }
        self.settle_empty(now);
    }

    /// A clock that stepped back takes everything remembered with it.
    fn rewind(&mut self, now: Nanos) {
        let began = self.began.get_or_insert(now);
        if now < self.now {
            *began = now.min(*began);
            self.track.rewind(now);
            self.grants.rewind(now);
            self.queued_from = self.queued_from.min(now);
            self.emptied_from = self.emptied_from.min(now);
            for waiting in &mut self.waiting {
                waiting.arrived = waiting.arrived.min(now);
            }
        }
        self.now = now;
    }

    /// Lets the time pass: grants settle, the interval runs out. A start that the device has counted comes first, or
    /// a grant that settled meanwhile would leave its start to a younger one.
    fn advance(&mut self, now: Nanos, in_device: bool) {
        self.grants.expire(now, self.setting.settle);
        if !in_device {
            self.settle_empty(now);
        }
        if self.state == State::Interval && self.state(now) != State::Interval {
            self.count(Event::Timeout, 1);
        }
    }

    /// Event i in B: a background queue that fell empty starts the interval in `*-bp`, whoever arrives later.
    fn settle_empty(&mut self, now: Nanos) {
        if !self.is_empty(now) {
            return;
        }
        if self.setting.variant.on_empty == AfterEmpty::Interval {
            self.emptied_from = self.track.view().background.last_end;
        }
        if self.state == State::Background {
            self.count(Event::Empty, 1);
        }
    }

    fn observe(&mut self, now: Nanos, observation: &Observation) {
        let seen = self.track.observe(now, observation);
        if seen.background_starts > 0 {
            self.emptied_from = Nanos::ZERO;
        }
        if seen.background_ended && !seen.background_outlived_foreground {
            self.background_end(now);
        }
        if seen.foreground_starts > 0 {
            if self.state == State::Interval && self.interval_expired_by(seen.foreground_first) {
                self.count(Event::Timeout, 1);
            }
            self.count(Event::Foreground, seen.foreground_starts);
        }
        if seen.background_ended && seen.background_outlived_foreground {
            self.background_end(now);
        }
        let in_foreground = self.track.view().foreground.in_service > 0;
        if self.state == State::Foreground && !in_foreground {
            let next = if self.waiting.is_empty() { Event::Empty } else { Event::Background };
            self.count(next, 1);
            if self.state(now) != State::Interval {
                self.count(Event::Timeout, 1);
            }
        }
    }

    /// A background request ended. If another one waited by then, event b in B: `bp-*` starts the interval. If none
    /// did and none is in service, event i in B: `*-bp` starts it, even if one has arrived before this reading.
    fn background_end(&mut self, now: Nanos) {
        let end = self.track.view().background.last_end;
        let queued = self.waiting.front().is_some_and(|head| head.arrived <= end);
        if queued && self.setting.variant.on_background == AfterBackground::Interval {
            self.queued_from = end;
            if self.state == State::Background {
                self.count(Event::Background, 1);
            }
        }
        if !queued && self.setting.variant.on_empty == AfterEmpty::Interval && self.in_service(now) == 0 {
            self.emptied_from = end;
            if self.state == State::Background {
                self.count(Event::Empty, 1);
            }
        }
    }

    fn interval_expired_by(&self, at: Option<Nanos>) -> bool {
        let (Some(at), Interval::Finite(length)) = (at, self.setting.interval) else { return false };
        self.track.interval_before(&self.setting).max(self.queued_from).max(self.emptied_from).plus(length)
            <= at
    }

    /// Lets those go that may start, and returns the state in which that leaves the resource.
    fn admit(&mut self, now: Nanos, started: &mut Vec<Ticket>) -> State {
        let mut state = self.state(now);
        while self.may_start(now, state) {
            let Some(head) = self.waiting.pop_front() else { break };
            self.waiting_bytes = self.waiting_bytes.saturating_sub(head.bytes);
            if !self.state.admits_background() {
                self.state = state;
            }
            self.count(Event::Background, 1);
            self.grants.push(now, head.ticket, head.bytes);
            started.push(head.ticket);
            state = self.state(now);
        }
        self.was_full |= !self.waiting.is_empty() && state.admits_background();
        state
    }

    /// Counts an event in the present state and follows its edge.
    fn count(&mut self, event: Event, times: u64) {
        for repeat in [1, times.saturating_sub(1)] {
            if repeat == 0 {
                continue;
            }
            if let Some(edge) = transition(self.state, event, self.setting.variant) {
                self.counters.add(self.state, event, repeat);
                self.state = edge.next;
            }
        }
    }
}

/// What the window has to be for one of `bytes` beside so many requests and bytes in service.
fn taken(in_service: u32, in_service_bytes: u64, bytes: u64) -> u64 {
    let least = (u64::from(in_service) + 1).saturating_mul(LEAST_BYTES);
    in_service_bytes.saturating_add(bytes).max(least)
}

#[cfg(test)]
mod tests;
