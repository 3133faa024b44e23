//! `Resource` against a slow, obvious model: a log of all that happened, replayed from the start for each question,
//! event by event, with sets instead of counts. Both must agree on what starts when, on the state at each moment
//! and on what to wait for. The invariants are checked at each step (debug builds do so by themselves).

use crate::history::{DeviceEvent, apply, moments, possible};
use lull_core::{
    AfterBackground, AfterEmpty, Foreground, Input, Interval, LEAST_BYTES, Nanos, Observation, Opening,
    Resource, Setting, Share, StartRule, State, Ticket, Variant, Wake,
};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Happening {
    Device(DeviceEvent),
    Arrive(Ticket),
    /// The call returned, or the request was withdrawn.
    Gone(Ticket),
    Configure(Setting),
    Nothing,
}

/// The log; everything else is recomputed.
struct Model {
    first: Setting,
    log: Vec<(Nanos, Happening)>,
}

/// What a replay knows at its end.
#[derive(Clone, Debug)]
struct Replay {
    setting: Setting,
    began: Option<Nanos>,
    now: Nanos,
    foreground: u32,
    background: u32,
    waiting: Vec<Ticket>,
    granted: Vec<(Nanos, Ticket)>,
    foreground_start: Option<Nanos>,
    foreground_end: Option<Nanos>,
    background_end: Option<Nanos>,
    queued_end: Option<Nanos>,
    emptied: Option<Nanos>,
    started: Vec<Ticket>,
}

impl Replay {
    /// Lets the time pass up to `now`, one grant that settles after the other.
    fn pass(&mut self, now: Nanos) {
        while let Some(settled) = self
            .granted
            .first()
            .map(|(at, _)| at.plus(self.setting.settle.max(Nanos(1))))
            .filter(|at| *at <= now)
        {
            self.now = settled;
            self.granted.remove(0);
            self.note_empty();
        }
        self.now = now;
        self.note_empty();
    }

    fn note_empty(&mut self) {
        let empty = self.waiting.is_empty() && self.granted.is_empty() && self.background == 0;
        if empty && self.setting.variant.on_empty == AfterEmpty::Interval {
            self.emptied = self.background_end;
        }
    }

    fn take(&mut self, happening: Happening) {
        match happening {
            Happening::Device(DeviceEvent { at, background: false, start }) => {
                if start {
                    self.foreground += 1;
                    self.foreground_start = Some(at);
                } else {
                    self.foreground -= 1;
                    self.foreground_end = Some(at);
                }
            }
            Happening::Device(DeviceEvent { at, background: true, start }) => {
                if start {
                    self.background += 1;
                    self.emptied = None;
                } else {
                    self.background -= 1;
                    self.background_end = Some(at);
                    if !self.waiting.is_empty()
                        && self.setting.variant.on_background == AfterBackground::Interval
                    {
                        self.queued_end = Some(at);
                    }
                }
            }
            Happening::Arrive(ticket) => self.waiting.push(ticket),
            Happening::Gone(ticket) => {
                self.waiting.retain(|waiting| *waiting != ticket);
                self.granted.retain(|(_, granted)| *granted != ticket);
            }
            Happening::Configure(setting) => {
                if setting.variant != self.setting.variant {
                    self.queued_end = None;
                    self.emptied = None;
                }
                self.setting = setting;
            }
            Happening::Nothing => {}
        }
        self.note_empty();
    }

    /// When the running intervals end: `None` if none runs, `Some(None)` if never.
    fn interval_end(&self) -> Option<Option<Nanos>> {
        let foreground = match self.setting.start_rule {
            StartRule::Completion => self.foreground_end,
            StartRule::Request => self.foreground_start,
        };
        let froms = [foreground, self.queued_end, self.emptied].into_iter().flatten();
        match self.setting.interval {
            Interval::Infinite => (froms.count() > 0).then_some(None),
            Interval::Finite(length) => {
                froms.map(|from| from.plus(length)).filter(|end| *end > self.now).max().map(Some)
            }
        }
    }

    fn state(&self) -> State {
        if self.foreground > 0 {
            State::Foreground
        } else if self.interval_end().is_some() {
            State::Interval
        } else if self.background as usize + self.granted.len() > 0 {
            State::Background
        } else {
            State::Idle
        }
    }

    fn bound(&self, now: Nanos) -> u32 {
        let foreground = match self.foreground_start.max(self.foreground_end) {
            _ if self.foreground > 0 => Foreground::Present,
            Some(latest) => Foreground::Away(now.since(latest)),
            None => Foreground::Unseen(now.since(self.began.unwrap_or(now))),
        };
        // Whole requests, and one at the least.
        let window = self.setting.opening.window(self.setting.window_bytes, foreground) / LEAST_BYTES;
        self.setting.depth.min(u32::try_from(window).unwrap_or(u32::MAX)).max(1)
    }

    fn in_service(&self) -> usize {
        self.background as usize + self.granted.len()
    }

    /// When the bound opens for one more, as far as it does within the time that these tests cover.
    fn opens_at(&self) -> Option<Nanos> {
        let (mut closed, mut open) = (self.now.0, self.now.0 + (1 << 24));
        if self.in_service() >= self.setting.depth as usize
            || self.bound(Nanos(open)) as usize <= self.in_service()
        {
            return None;
        }
        while open - closed > 1 {
            let middle = closed.midpoint(open);
            if self.bound(Nanos(middle)) as usize > self.in_service() {
                open = middle
            } else {
                closed = middle
            }
        }
        Some(Nanos(open))
    }

    fn may_start(&self) -> bool {
        matches!(self.state(), State::Idle | State::Background)
            && self.in_service() < self.bound(self.now) as usize
    }

    fn start(&mut self) {
        self.started.clear();
        while self.may_start() && !self.waiting.is_empty() {
            let ticket = self.waiting.remove(0);
            self.granted.push((self.now, ticket));
            self.started.push(ticket);
        }
    }

    /// Whether one more than all that wait could start.
    fn admits(&self) -> bool {
        let mut probe = self.clone();
        probe.waiting.push(Ticket(u64::MAX));
        probe.start();
        probe.waiting.is_empty()
    }

    fn wake(&self) -> Wake {
        if self.waiting.is_empty() {
            return Wake::default();
        }
        match self.state() {
            State::Foreground => Wake { foreground_end: true, ..Wake::default() },
            State::Interval => Wake { at: self.interval_end().flatten(), ..Wake::default() },
            _ if self.may_start() => Wake { at: Some(self.now), ..Wake::default() },
            _ => Wake {
                at: self
                    .granted
                    .first()
                    .map(|(at, _)| at.plus(self.setting.settle.max(Nanos(1))))
                    .into_iter()
                    .chain(self.opens_at())
                    .min(),
                background_end: true,
                ..Wake::default()
            },
        }
    }
}

impl Model {
    /// All that is known at `now`, from the first entry on.
    fn replay(&self, now: Nanos) -> Replay {
        let mut replay = Replay {
            setting: self.first,
            began: self.log.first().map(|(at, _)| *at),
            now: Nanos::ZERO,
            foreground: 0,
            background: 0,
            waiting: Vec::new(),
            granted: Vec::new(),
            foreground_start: None,
            foreground_end: None,
            background_end: None,
            queued_end: None,
            emptied: None,
            started: Vec::new(),
        };
        for (at, happening) in &self.log {
            if matches!(happening, Happening::Device(DeviceEvent { background: true, start: true, .. })) {
                replay.granted.splice(..replay.granted.len().min(1), []);
            }
            replay.pass(*at);
            replay.take(*happening);
            if !matches!(happening, Happening::Configure(_)) {
                replay.start();
            }
        }
        replay.pass(now);
        replay
    }
}

fn setting() -> impl Strategy<Value = Setting> {
    let interval = prop_oneof![
        Just(Interval::NONE),
        (1..12_u64).prop_map(|length| Interval::Finite(Nanos(length))),
        Just(Interval::Infinite),
    ];
    let depth = prop_oneof![1..4_u32, Just(u32::MAX)];
    let window = prop_oneof![Just(u64::MAX), (0..4 * LEAST_BYTES)];
    let opening = prop_oneof![
        Just(Opening::NEVER),
        (1..20_u64, 0..60_u64).prop_map(|(each, unseen)| Opening {
            share: Share::ALL,
            // One request drains in so many nanoseconds.
            rate: LEAST_BYTES * 1_000_000_000 / each,
            unseen: Nanos(unseen),
        }),
    ];
    let variant = prop::sample::select(&Variant::ALL[..]);
    let rule = prop::sample::select(&StartRule::ALL[..]);
    (interval, (depth, window), variant, rule, 0..6_u64, opening).prop_map(
        |(interval, (depth, window_bytes), variant, start_rule, settle, opening)| Setting {
            interval,
            window_bytes,
            depth,
            variant,
            start_rule,
            settle: Nanos(settle),
            opening,
        },
    )
}

#[derive(Clone, Debug)]
enum Op {
    Device { background: bool, start: bool },
    Arrive,
    Gone(prop::sample::Index),
    Configure(Setting),
    Tick,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (any::<bool>(), any::<bool>()).prop_map(|(background, start)| Op::Device { background, start }),
        4 => Just(Op::Arrive),
        2 => any::<prop::sample::Index>().prop_map(Op::Gone),
        1 => setting().prop_map(Op::Configure),
        2 => Just(Op::Tick),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, ..ProptestConfig::default() })]

    #[test]
    fn the_resource_agrees_with_a_replay_of_everything_that_happened(
        first in setting(),
        ops in prop::collection::vec((0..6_u64, op()), 1..50),
    ) {
        let mut model = Model { first, log: Vec::new() };
        let mut resource = Resource::new(first);
        let mut sensor = Observation::default();
        let mut now = Nanos(1_000);
        let mut tickets = 0;
        for (pause, op) in ops {
            now = now.plus(Nanos(pause));
            let mut started = Vec::new();
            let (happening, input) = match op {
                Op::Device { background, start } => {
                    if !possible(&sensor, background, start) {
                        continue;
                    }
                    let event = DeviceEvent { at: now, background, start };
                    apply(&mut sensor, event);
                    (Happening::Device(event), Some(Input::Observe(sensor)))
                }
                Op::Arrive => {
                    tickets += 1;
                    (Happening::Arrive(Ticket(tickets)), Some(Input::Arrive(Ticket(tickets), LEAST_BYTES)))
                }
                Op::Gone(which) => {
                    let ticket = Ticket(which.index(51) as u64);
                    let waits = model.replay(now).waiting.contains(&ticket);
                    let input = if waits { Input::Withdraw(ticket) } else { Input::Returned(ticket) };
                    (Happening::Gone(ticket), Some(input))
                }
                Op::Configure(setting) => (Happening::Configure(setting), None),
                Op::Tick => (Happening::Nothing, Some(Input::Tick)),
            };
            prop_assert_eq!(resource.admits(now), model.replay(now).admits(), "before {:?}", happening);
            model.log.push((now, happening));
            match (input, happening) {
                (Some(input), _) => resource.step(now, input, &mut started),
                (None, Happening::Configure(setting)) => resource.configure(now, setting),
                (None, _) => {}
            }
            let replay = model.replay(now);
            if input.is_some() {
                prop_assert_eq!(&started, &replay.started, "after {:?}", happening);
                resource.check_invariants(now);
            }
            prop_assert_eq!(resource.waiting(), replay.waiting.len());
            for moment in moments(now, 15) {
                let later = model.replay(moment);
                prop_assert_eq!(resource.state(moment), later.state(), "{:?} at {:?}", happening, moment);
                prop_assert_eq!(resource.wake(moment), later.wake(), "{:?} at {:?}", happening, moment);
            }
        }
    }
}
