//! One disk of the live engine: its sensor, its policy, its automatic control, its hold machine.

pub mod account;
pub mod calls;
mod resource;
pub mod start;
mod summary;

use lull_bpf::record::{
    PAUSE_AFTER_BACKGROUND, PAUSE_AFTER_BACKGROUND_IDLE, START_ON_REQUEST, WAKE_BACKGROUND_END,
    WAKE_FOREGROUND_END, WAKE_LEAK,
};
use lull_bpf::{Device, DeviceReport};
use lull_core::{
    AfterBackground, AfterEmpty, Control, ControlSetting, Hold, HoldAction, IntervalChoice, Loss, Nanos,
    Observation, Resource, Setting, StartRule, State, Telemetry, Use, Variant, Wake,
};
use lull_linux::clock;
use lull_linux::sense::fallback::{FallbackSensor, JobIo};
use lull_linux::topology::DevT;

/// With room for so much more under the window, single calls need not be counted.
const AMPLE_BYTES: u64 = 16 << 20;
/// A foreground that was seen within this time is at work; so is background.
const LATELY: Nanos = Nanos::from_millis(500);
/// How often automatic control looks at what was measured.
const CONTROL_EVERY: Nanos = Nanos::from_millis(10);
/// How often control looks when nothing has moved for as long.
const CONTROL_AT_REST: Nanos = Nanos::from_millis(250);
/// While the job is held its hold decides, and what control comes to can wait.
const CONTROL_WHILE_HELD: Nanos = Nanos::from_millis(100);
/// How often the fallback sensor reads its counters.
const SAMPLE_EVERY: Nanos = Nanos::from_millis(4);
/// … but so seldom that reading them, which costs more the more processes the job has, takes at most one part in this many
/// of the time.
const COST_SHARE: u64 = 20;
/// A request that is in service for this many times the 99th percentile is taken for one whose end was missed.
const SLOWEST_FACTOR: u64 = 8;
/// … and that percentile is taken for at least this.
const SLOWEST_AT_LEAST: Nanos = Nanos::from_millis(5);

/// Where observations come from.
pub(crate) enum Sensor {
    /// Block events, in mapped memory.
    Bpf(Device),
    /// /proc/diskstats and the job's own counters, at the millisecond scale.
    Fallback {
        sensor: Box<FallbackSensor>,
        latest: Observation,
        /// When they are read again.
        due: Nanos,
        job_io: Box<dyn FnMut() -> JobIo + Send>,
    },
}

/// What a disk is.
#[derive(Clone, Debug)]
pub(crate) struct DiskTraits {
    pub(crate) name: String,
    pub(crate) dev: DevT,
    pub(crate) rotational: bool,
    pub(crate) read_ahead_bytes: u64,
}

pub(crate) struct Disk {
    pub(crate) traits: DiskTraits,
    /// What was asked for.
    interval: IntervalChoice,
    pub(crate) resource: Resource,
    pub(crate) control: Control,
    sensor: Sensor,
    hold: Option<Hold>,
    held: bool,
    controlled: Nanos,
    moved: (u64, Nanos),
    /// Background requests, and when there was a new one.
    served: (u64, Option<Nanos>),
    slowest: Nanos,
    covered_leaks: u64,
    seen_leaks: u64,
}

impl Disk {
    pub(crate) fn new(
        traits: DiskTraits,
        sensor: Sensor,
        aim: ControlSetting,
        hold: Option<Hold>,
        now: Nanos,
    ) -> Self {
        let mut control = Control::new(aim);
        let setting =
            control.update(now, &Telemetry { rotational: traits.rotational, ..Telemetry::default() });
        let disk = Self {
            traits,
            interval: aim.interval,
            resource: Resource::new(setting),
            control,
            sensor,
            hold,
            held: false,
            controlled: now,
            moved: (0, now),
            served: (0, None),
            slowest: Nanos::from_secs(1),
            covered_leaks: 0,
            seen_leaks: 0,
        };
        disk.publish(&setting);
        disk
    }

    /// What the sensor shows now. Costs no system call with BPF.
    pub(crate) fn observe(&mut self, now: Nanos) -> Observation {
        match &mut self.sensor {
            Sensor::Bpf(device) => device.observation(),
            Sensor::Fallback { sensor, latest, due, job_io } => {
                if now >= *due {
                    // A disk that has vanished keeps its last observation; its files fail by themselves.
                    if let Ok(observation) = sensor.sample(now, &mut *job_io) {
                        *latest = observation;
                    }
                    let cost = clock::now().since(now);
                    *due = now.plus(SAMPLE_EVERY.max(cost.times(COST_SHARE)));
                }
                *latest
            }
        }
    }

    /// Whether a call may pass without being accounted for: admitted, and the bound is far away.
    pub(crate) fn admits_freely(&self, now: Nanos) -> bool {
        self.resource.has_room(now, AMPLE_BYTES) && self.resource.waiting() == 0
    }

    /// Whether any number of calls may pass without being accounted for, until the foreground asks for something.
    pub(crate) fn is_open(&self, now: Nanos) -> bool {
        self.device().is_some() && self.resource.admits(now) && self.resource.is_unbounded(now)
    }

    /// Its records, if the kernel keeps some.
    pub(crate) fn device(&self) -> Option<&Device> {
        match &self.sensor {
            Sensor::Bpf(device) => Some(device),
            Sensor::Fallback { .. } => None,
        }
    }

    /// Whether the foreground has used this disk lately.
    pub(crate) fn is_contended(&self, now: Nanos) -> bool {
        let foreground = self.latest().foreground;
        let latest = foreground.last_end.max(foreground.last_start);
        foreground.in_service > 0 || (latest > Nanos::ZERO && now.since(latest) < LATELY)
    }

    /// Whether the kernel's read-ahead would bring more at once than the window allows.
    pub(crate) fn bounds_read_ahead(&self, now: Nanos) -> bool {
        self.is_contended(now) && self.resource.window_bytes(now) < self.traits.read_ahead_bytes
    }

    /// What the foreground does and loses here; nothing where the sensor cannot say what it loses, and where a fixed interval
    /// is kept whatever it costs.
    pub(crate) fn usage(&mut self, now: Nanos) -> Use {
        if matches!(self.sensor, Sensor::Fallback { .. }) || self.interval != IntervalChoice::Auto {
            return Use::default();
        }
        let background = self.latest().background;
        let has_work = background.in_service > 0 || self.resource.waiting() > 0;
        if has_work || background.started != self.served.0 {
            self.served = (background.started, Some(now));
        }
        let is_served = self.served.1.is_some_and(|at| now.since(at) < LATELY);
        let budget = self.control.budget();
        Use { contended: is_served && self.is_contended(now), worked: budget.worked(), lost: budget.lost() }
    }

    /// From now on `promise` is what the foreground may lose here.
    pub(crate) fn set_promise(&mut self, promise: Loss) {
        self.control.set_promise(promise);
    }

    /// The latest observation that the policy was given.
    pub(crate) fn latest(&self) -> Observation {
        match &self.sensor {
            Sensor::Bpf(device) => device.observation(),
            Sensor::Fallback { latest, .. } => *latest,
        }
    }

    /// Asks the sensor for a wake-up.
    pub(crate) fn ask_wake(&self, wake: Wake) {
        let mut reasons = 0;
        if wake.foreground_end {
            reasons |= WAKE_FOREGROUND_END;
        }
        if wake.background_end {
            reasons |= WAKE_BACKGROUND_END;
        }
        if let Sensor::Bpf(device) = &self.sensor {
            device.ask_wake(reasons);
        }
    }

    /// When a sensor without events must be read again.
    pub(crate) fn next_sample(&self, now: Nanos, wake: &Wake) -> Option<Nanos> {
        let waits = wake.foreground_end || wake.background_end;
        match &self.sensor {
            Sensor::Fallback { due, .. } if waits => Some((*due).max(now)),
            _ => None,
        }
    }

    /// Lets control act when its time has come; says when the next time is. `is_held`: the job is held now.
    pub(crate) fn control(&mut self, now: Nanos, is_held: bool) -> Option<Nanos> {
        let view = self.observe(now);
        // Of a foreground alone nothing has to be learnt in a hurry.
        if view.background.started != self.moved.0 || self.resource.waiting() > 0 {
            self.moved = (view.background.started, now);
        }
        let is_busy = now.since(self.moved.1) < CONTROL_AT_REST;
        let pause = match (is_busy, is_held) {
            (false, _) => CONTROL_AT_REST,
            (true, true) => CONTROL_WHILE_HELD,
            (true, false) => CONTROL_EVERY,
        };
        if now >= self.controlled.next_multiple_of(pause) {
            self.controlled = now;
            let telemetry = self.telemetry(&view);
            let setting = self.control.update(now, &telemetry);
            self.configure(now, setting);
            self.test(now);
            let slow = [&telemetry.quiet, &telemetry.loaded, &telemetry.service].map(|h| h.quantile(0.99));
            self.slowest = slow.into_iter().flatten().max().unwrap_or_default().max(SLOWEST_AT_LEAST);
        }
        if self.control.next_test().is_some_and(|at| now >= at) {
            self.test(now);
        }
        // Of all disks at the same time, so that they share the wake-ups.
        let next = self.controlled.next_multiple_of(pause);
        Some(self.control.next_test().map_or(next, |at| at.min(next)))
    }

    /// Withholds background, or lends again, to see what it costs.
    fn test(&mut self, now: Nanos) {
        let Sensor::Bpf(device) = &self.sensor else { return };
        let setting = self.control.test(now, &device.latency());
        self.configure(now, setting);
    }

    fn configure(&mut self, now: Nanos, setting: Setting) {
        if setting != *self.resource.setting() {
            self.resource.configure(now, setting);
            self.publish(&setting);
        }
    }

    /// Runs the hold machine. `covered`: the background now in the device was let in by the request gate.
    pub(crate) fn hold(&mut self, now: Nanos, covered: bool) -> Option<Nanos> {
        let harmful = self.control.withholds() || self.control.is_harmful();
        let Sensor::Bpf(device) = &self.sensor else { return None };
        let hold = self.hold.as_mut()?;
        let leaks = device.leaks();
        if covered {
            self.covered_leaks += leaks - self.seen_leaks;
        }
        self.seen_leaks = leaks;
        let state = self.resource.state(now);
        match hold.step(now, leaks - self.covered_leaks, state, harmful) {
            Some(HoldAction::Hold) => self.held = true,
            Some(HoldAction::Release) => self.held = false,
            None => {}
        }
        if harmful {
            let awaited = if self.held && state == State::Foreground { WAKE_FOREGROUND_END } else { 0 };
            device.ask_wake(WAKE_LEAK | awaited);
        }
        let in_interval = self.held && state == State::Interval;
        let expiry = if in_interval { self.resource.interval_end(now) } else { None };
        hold.next_wake(now).into_iter().chain(expiry).min()
    }

    /// Whether this disk wants the job held.
    pub(crate) fn wants_hold(&self) -> bool {
        self.held
    }

    /// The sensor's device and the oldest moment at which a request in service can have arrived: far more than any
    /// request takes. What is older comes from missed events, and must not hold the job.
    pub(crate) fn oldest(&self, now: Nanos) -> Option<(&Device, Nanos)> {
        let Sensor::Bpf(device) = &self.sensor else { return None };
        Some((device, Nanos(now.0.saturating_sub(self.slowest.times(SLOWEST_FACTOR).0))))
    }

    fn telemetry(&mut self, view: &Observation) -> Telemetry {
        let is_full = self.resource.take_full();
        let report = self.report();
        Telemetry {
            quiet: report.quiet,
            loaded: report.loaded,
            heads: report.heads,
            gaps: report.gaps,
            service: report.service,
            foreground_last_end: view.foreground.last_end,
            foreground_started: view.foreground.started,
            background_started: view.background.started,
            background_bytes: view.background.started_bytes,
            is_full,
            rotational: self.traits.rotational,
        }
    }

    /// Everything the sensor keeps; nothing without BPF.
    pub(crate) fn report(&self) -> DeviceReport {
        match &self.sensor {
            Sensor::Bpf(device) => device.report(),
            Sensor::Fallback { .. } => DeviceReport::default(),
        }
    }

    /// Tells the kernel side what it counts against.
    fn publish(&self, setting: &Setting) {
        let Sensor::Bpf(device) = &self.sensor else { return };
        device.set_policy(setting.interval, policy_flags(setting.variant, setting.start_rule));
    }
}

/// The `flags` of a record.
pub(super) fn policy_flags(variant: Variant, start_rule: StartRule) -> u32 {
    let mut flags = 0;
    if start_rule == StartRule::Request {
        flags |= START_ON_REQUEST;
    }
    if variant.on_background == AfterBackground::Interval {
        flags |= PAUSE_AFTER_BACKGROUND;
    }
    if variant.on_empty == AfterEmpty::Interval {
        flags |= PAUSE_AFTER_BACKGROUND_IDLE;
    }
    flags
}
