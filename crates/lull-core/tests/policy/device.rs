//! A device, a foreground, a greedy background and an engine on a virtual clock: the live engine's loop with the
//! device replaced by a model, so that control can be judged in milliseconds and always gives the same answer.
//!
//! The device has `slots` servers and a first-in-first-out queue before them; a request in service slows the others
//! by a share (its class's drag) of their time. The foreground is one client that thinks between requests. The background is `threads`
//! clients that never think. The engine reads the sensor when a background request arrives and when
//! [`Resource::wake`] asked for it, and never otherwise.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use lull_core::{
    Control, ControlSetting, Input, LEAST_BYTES, Latency, Nanos, Observation, RECENTLY, Resource, Setting,
    Telemetry, Ticket, Wake,
};

use crate::history::{DeviceEvent, apply};

/// Foreground think time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Think {
    Fixed(Nanos),
    Exponential(Nanos),
    /// So many requests in a row, with the first pause between them, then the second.
    Bursts(u32, Nanos, Nanos),
    /// No foreground at all.
    Absent,
}

/// The device and its users.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene {
    pub(crate) slots: usize,
    pub(crate) foreground_service: Nanos,
    pub(crate) background_service: Nanos,
    /// Service times vary uniformly by this share.
    pub(crate) jitter: f64,
    /// Slow-down of each class per other request in service.
    pub(crate) foreground_drag: f64,
    pub(crate) background_drag: f64,
    /// What a foreground request takes longer within [`AFTERMATH`] of background in service: harm that no sensor sees.
    pub(crate) aftermath: f64,
    /// From what happens in the device until the engine has read it.
    pub(crate) lateness: Nanos,
    pub(crate) think: Think,
    pub(crate) threads: usize,
}

/// How background is let in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Policy {
    /// Never.
    Alone,
    Fixed(Setting),
    Auto(ControlSetting),
}

/// What came out, between `from` and the end of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) seconds: f64,
    pub(crate) foreground: u64,
    pub(crate) background: u64,
    pub(crate) latencies: Vec<u64>,
    pub(crate) setting: Option<Setting>,
    /// The window after each look, with how many foreground requests there were by then.
    pub(crate) windows: Vec<(u64, u64)>,
}

impl Outcome {
    pub(crate) fn foreground_rate(&self) -> f64 {
        self.foreground as f64 / self.seconds
    }

    pub(crate) fn background_rate(&self) -> f64 {
        self.background as f64 / self.seconds
    }

    /// Of the foreground's latencies, in nanoseconds.
    pub(crate) fn p99(&self) -> u64 {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() * 99 / 100).copied().unwrap_or(0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    ForegroundArrives,
    BackgroundAsks,
    Enters { background: bool },
    Leaves { background: bool, arrived: Nanos, loaded: bool },
    EngineWakes,
    TimerEnds,
    Controls,
    Tests,
}

struct Simulation {
    scene: Scene,
    now: Nanos,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    serial: u64,
    random: [u64; 2],
    busy: usize,
    queue: VecDeque<(bool, Nanos, bool)>,
    sensor: Observation,
    telemetry: Telemetry,
    resource: Resource,
    control: Option<Control>,
    alone: bool,
    wake: Wake,
    /// When the engine's timer goes off; it has only one.
    timer: Option<Nanos>,
    /// When control's next test is due.
    tests: Option<Nanos>,
    tickets: u64,
    /// Requests left in the present burst.
    left: u32,
    ended: u64,
    outcome: Outcome,
    from: Nanos,
}

/// How long background is felt after it has left.
const AFTERMATH: Nanos = Nanos::from_micros(500);
const CONTROL_EVERY: Nanos = Nanos::from_millis(10);
/// From the engine's decision to the device.
const LATENCY: Nanos = Nanos(5_000);

impl Simulation {
    fn at(&mut self, at: Nanos, event: Event) {
        self.serial += 1;
        self.events.push(Reverse((at, self.serial, event)));
    }

    /// Uniform in 0 to 1, never 0. The foreground has a sequence of its own: it thinks the same thoughts whatever
    /// the background does, so that two runs differ by nothing else.
    fn uniform(&mut self, background: bool) -> f64 {
        let random = &mut self.random[usize::from(background)];
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        ((*random >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "spans of seconds")]
    fn span(base: Nanos, factor: f64) -> Nanos {
        Nanos((base.0 as f64 * factor) as u64)
    }

    fn think(&mut self) {
        let pause = match self.scene.think {
            Think::Fixed(span) => span,
            Think::Exponential(mean) => Self::span(mean, -self.uniform(false).ln()),
            Think::Bursts(requests, short, long) => {
                self.left = self.left.checked_sub(1).unwrap_or(requests - 1);
                if self.left == 0 { long } else { short }
            }
            Think::Absent => return,
        };
        self.at(self.now.plus(pause), Event::ForegroundArrives);
    }

    fn enter(&mut self, background: bool) {
        let view = self.sensor.background;
        let loaded = view.in_service > 0 || (view.ended > 0 && self.now.since(view.last_end) < RECENTLY);
        if !background && self.sensor.foreground.in_service == 0 && self.sensor.foreground.ended > 0 {
            self.telemetry.gaps.record(self.now.since(self.sensor.foreground.last_end));
        }
        apply(&mut self.sensor, DeviceEvent { at: self.now, background, start: true });
        self.queue.push_back((background, self.now, loaded));
        self.serve();
    }

    fn serve(&mut self) {
        while self.busy < self.scene.slots {
            let Some((background, arrived, loaded)) = self.queue.pop_front() else { return };
            let (base, drag) = if background {
                (self.scene.background_service, self.scene.background_drag)
            } else {
                (self.scene.foreground_service, self.scene.foreground_drag)
            };
            let vary = 1.0 + self.scene.jitter * (2.0 * self.uniform(background) - 1.0);
            let view = self.sensor.background;
            let felt = view.in_service > 0 || (view.ended > 0 && self.now.since(view.last_end) < AFTERMATH);
            let after = if !background && felt { self.scene.aftermath } else { 0.0 };
            let length = Self::span(base, vary * (1.0 + drag * self.busy as f64 + after));
            self.busy += 1;
            self.at(self.now.plus(length), Event::Leaves { background, arrived, loaded });
        }
    }

    fn leave(&mut self, background: bool, arrived: Nanos, loaded: bool) {
        apply(&mut self.sensor, DeviceEvent { at: self.now, background, start: false });
        self.busy -= 1;
        let latency = self.now.since(arrived);
        let counted = self.now >= self.from;
        if background {
            self.telemetry.service.record(latency);
            self.outcome.background += u64::from(counted);
            self.at(self.now.plus(LATENCY), Event::BackgroundAsks);
        } else {
            if loaded { &mut self.telemetry.loaded } else { &mut self.telemetry.quiet }.record(latency);
            if counted {
                self.outcome.foreground += 1;
                self.outcome.latencies.push(latency.0);
            }
            self.ended += 1;
            self.think();
        }
        self.serve();
        let foreground_gone = !background && self.sensor.foreground.in_service == 0;
        if (self.wake.foreground_end && foreground_gone) || (self.wake.background_end && background) {
            if self.scene.lateness == Nanos::ZERO {
                self.engine(Input::Tick);
            } else {
                self.at(self.now.plus(self.scene.lateness), Event::EngineWakes);
            }
        }
    }

    /// One turn of the engine: read the sensor, decide, find out what to wait for.
    fn engine(&mut self, input: Input) {
        let mut started = Vec::new();
        self.resource.step(self.now, Input::Observe(self.sensor), &mut started);
        self.resource.step(self.now, input, &mut started);
        for _ in started {
            self.at(self.now.plus(LATENCY), Event::Enters { background: true });
        }
        self.wake = self.resource.wake(self.now);
        let timer = self.wake.at.map(|at| at.plus(self.scene.lateness).max(self.now));
        if let (Some(at), true) = (timer, timer != self.timer) {
            self.at(at, Event::TimerEnds);
        }
        self.timer = timer;
    }

    fn control(&mut self) {
        let Some(control) = &mut self.control else { return };
        self.telemetry.foreground_last_end = self.sensor.foreground.last_end;
        self.telemetry.foreground_started = self.sensor.foreground.started;
        self.telemetry.background_started = self.sensor.background.started;
        self.telemetry.background_bytes = self.sensor.background.started_bytes;
        self.telemetry.is_full = self.resource.take_full();
        let setting = control.update(self.now, &self.telemetry);
        self.resource.configure(self.now, setting);
        self.outcome.setting = Some(setting);
        self.outcome.windows.push((self.ended, control.window_bytes()));
        self.at(self.now.plus(CONTROL_EVERY), Event::Controls);
        self.engine(Input::Tick);
        self.test();
    }

    fn test(&mut self) {
        let Some(control) = &mut self.control else { return };
        let latency = Latency {
            requests: self.telemetry.quiet.count() + self.telemetry.loaded.count(),
            met: self.telemetry.loaded.count(),
            sum_ns: self.telemetry.quiet.sum_ns + self.telemetry.loaded.sum_ns,
            background: self.sensor.background.started,
        };
        let setting = control.test(self.now, &latency);
        self.tests = control.next_test();
        if let Some(at) = self.tests {
            self.at(at.max(self.now), Event::Tests);
        }
        self.resource.configure(self.now, setting);
        self.engine(Input::Tick);
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::ForegroundArrives => self.enter(false),
            Event::BackgroundAsks if self.alone => {}
            Event::BackgroundAsks => {
                self.tickets += 1;
                self.engine(Input::Arrive(Ticket(self.tickets), LEAST_BYTES));
            }
            Event::Enters { background } => self.enter(background),
            Event::Leaves { background, arrived, loaded } => self.leave(background, arrived, loaded),
            Event::TimerEnds if self.timer == Some(self.now) => {
                self.timer = None;
                self.engine(Input::Tick);
            }
            Event::TimerEnds => {}
            Event::EngineWakes => self.engine(Input::Tick),
            Event::Controls => self.control(),
            Event::Tests if self.tests == Some(self.now) => self.test(),
            Event::Tests => {}
        }
    }
}

/// Runs `scene` under `policy` for `length`; counts from `from` on.
pub(crate) fn run(scene: Scene, policy: Policy, seed: u64, from: Nanos, length: Nanos) -> Outcome {
    let setting = if let Policy::Fixed(setting) = policy { setting } else { Setting::default() };
    let mut simulation = Simulation {
        scene,
        now: Nanos::from_secs(1),
        events: BinaryHeap::new(),
        serial: 0,
        random: [0x2545_F491_4F6C_DD1D ^ (seed << 7 | 1), 0x9E37_79B9_7F4A_7C15 ^ (seed << 9 | 1)],
        busy: 0,
        queue: VecDeque::new(),
        sensor: Observation::default(),
        telemetry: Telemetry::default(),
        resource: Resource::new(setting),
        control: if let Policy::Auto(aim) = policy { Some(Control::new(aim)) } else { None },
        alone: matches!(policy, Policy::Alone),
        wake: Wake::default(),
        timer: None,
        tests: None,
        tickets: 0,
        left: 0,
        ended: 0,
        outcome: Outcome { seconds: length.since(from).as_secs_f64(), ..Outcome::default() },
        from: Nanos::from_secs(1).plus(from),
    };
    let end = simulation.now.plus(length);
    simulation.control();
    simulation.think();
    for thread in 0..scene.threads {
        simulation.at(simulation.now.plus(Nanos(thread as u64)), Event::BackgroundAsks);
    }
    while let Some(Reverse((at, _, event))) = simulation.events.pop() {
        if at >= end {
            break;
        }
        simulation.now = at;
        simulation.handle(event);
    }
    simulation.outcome
}
