//! Window and interval of one disk, found automatically (X-1, X-2).
//!
//! Problem: on a disk that serves one request at a time the interval decides what the job costs, on a parallel device it is how much of the
//! job is in service at once; the user knows neither. What he can say is what the foreground may lose.
//!
//! Approach: one metric, two numbers, one bucket.
//!
//! ```text
//!  sensor ──▶ lost: Σ excess of requests / time at work ──┬─▶ two numbers: window W, interval P   ──┐
//!             late: share of requests far beyond own p99 ─┘   every hundred requests, or sooner      ├─▶ Setting
//!  audit ───▶ what no request shows                       ──▶ bucket of credits: out of them, wait ─┘
//! ```
//!
//! 1. *Loss* (`evidence.rs`): what requests that met the job took longer than the others, over the time in which the foreground is at
//!    work, its pauses included. *Late share* ([`late`](crate::promise::late)): how many take far longer than its own 99th percentile.
//! 2. *Two numbers* (`steering.rs`), as TCP does it with its window. Beyond the promise the window shrinks, and at its smallest the
//!    interval grows. Well within it the interval shrinks, and without one the window grows if it was used up.
//! 3. *Credits* (`credits.rs`): the foreground earns them with the time it is at work, and what it loses is taken from them. While there are
//!    none, background waits until the foreground has been away for as long as it takes to earn one request. So no minute costs more
//!    than was promised, whatever the numbers are; and a loss that no interval can spare is spent evenly.
//! 4. *Audit* (`audit.rs`): background is withheld at first, for eight requests or a tenth of a second, and then for one part in fifty of the time, to know what requests take without it and to find
//!    harm that no single request shows. Nothing waits for it.
//! 5. *Away* ([`Opening`]): the longer the foreground stays away, the wider the window, so that its return costs at most
//!    half of the promise; after seconds there is none.
//! 6. *Floor*: background that has had less than a fiftieth of what the disk can do, or than half of the promise is, has the smallest
//!    window and no interval for a while.
//!
//! Units: bytes; nanoseconds; losses are shares. What is decided rests on the time in which background was not waiting for credits: else
//! any two numbers would seem to keep the promise.
//!
//! Edge cases: a sensor without histograms leaves the starting values in force. Counts that went back (a restarted sensor) are counted
//! from zero. Virtual disks claim to rotate: the claim counts until latencies say more. Before the foreground's own latency is known, a
//! request that met the job is taken to have waited for a whole one of the job's, or for all that it took. A fixed interval is kept whatever it costs,
//! without credits and floor; so is a fixed window or depth.
//!
//! The promise is what is left for this disk, and may change at any time ([`Control::set_promise`]).
//!
//! Source: sections 5.1 and 5.2 of the paper. The window is needed because devices today serve many requests at once.

mod audit;
mod choice;
mod credits;
mod evidence;
mod floor;
mod rate;
pub mod read_ahead;
mod steering;
mod telemetry;

pub use choice::{
    ControlSetting, DepthChoice, IntervalChoice, ParseDepthError, ParseIntervalError, ParseWindowError,
    WindowChoice,
};
pub use telemetry::{Estimate, Heads, Latency, RECENTLY, Telemetry, Total};

use crate::base::histogram::Histogram;
use crate::base::share::{Loss, Share};
use crate::base::time::{Interval, Nanos};
use crate::idletime::setting::{Foreground, LEAST_BYTES, Opening, Setting};
use crate::promise::budget::Budget;
use crate::promise::late::{Late, PROMISED_PPM};
use crate::promise::trial::Slowdown;
use audit::Audit;
use credits::Credits;
use evidence::{Evidence, Look};
use floor::Floor;
use rate::Rate;
use steering::{Finding, Steering};

/// Two numbers for one disk.
#[derive(Clone, Debug)]
pub struct Control {
    aim: ControlSetting,
    last: Option<(Nanos, Telemetry)>,
    setting: Setting,
    evidence: Evidence,
    steering: Steering,
    period: Period,
    credits: Credits,
    /// How long background has to wait for want of credits.
    wait: Nanos,
    audit: Audit,
    floor: Floor,
    /// The foreground is at work until it has been away for this long.
    gone_after: Nanos,
    /// Mean time of a background request in the device, as last seen.
    service: Option<f64>,
    rate: Rate,
    estimate: Option<Estimate>,
    /// Whether it is known what kind of device this is.
    has_begun: bool,
    /// For how long background has waited for the foreground to show what its requests take without it, and whether it does now.
    learnt: Nanos,
    learns: bool,
}

/// What was found since the last decision.
#[derive(Clone, Debug, Default)]
struct Period {
    at_work: Nanos,
    ended: u64,
    loaded: Total,
    /// What they have lost, in nanoseconds.
    lost: f64,
    service: Histogram,
    is_full: bool,
    /// Whether the window had opened meanwhile.
    is_open: bool,
}

/// A decision takes so many foreground requests and so much of its time, …
const REQUESTS: u64 = 100;
const SPAN: Nanos = Nanos::from_millis(100);
/// … or so many, when it is clear by so many standard errors.
const FEW_REQUESTS: u64 = 16;
const CLEAR: f64 = 3.0;
/// What the window's opening may cost, of the promise.
const OPENING_PART: u32 = 2;
/// At the beginning the foreground has so much of its time to show what its requests take by themselves.
const LEARNING: Nanos = Nanos::from_millis(100);
/// A device was seen at work by so many requests.
const SEEN: u64 = 4;

/// The least that background gets of what the disk can do, if half of the promise allows it.
const FLOOR: f64 = 1.0 / 50.0;

const START_SLOW: Nanos = Nanos::from_millis(10);
const START_FAST: Nanos = Nanos::from_micros(100);
/// A foreground latency that only slow devices have.
const SLOW_NS: f64 = 1e6;
/// No disk with moving parts does more, in bytes per second.
const FAST_RATE: f64 = 400e6;
/// The foreground counts as gone at the earliest after this time; one that was not seen for so long from the beginning is not there.
const GONE: Nanos = Nanos::from_millis(20);

impl Control {
    /// Nothing is known yet.
    pub fn new(aim: ControlSetting) -> Self {
        let setting = Setting { variant: aim.variant, start_rule: aim.start_rule, ..Setting::default() };
        Self {
            aim,
            last: None,
            setting,
            evidence: Evidence::default(),
            steering: steering(&aim),
            period: Period::default(),
            credits: Credits::new(aim.budget),
            wait: Nanos::ZERO,
            audit: Audit::new(),
            floor: Floor::default(),
            gone_after: GONE,
            service: None,
            rate: Rate::default(),
            estimate: None,
            has_begun: false,
            learnt: Nanos::ZERO,
            learns: false,
        }
    }

    /// From now on `promise` is what the foreground may lose here.
    pub fn set_promise(&mut self, promise: Loss) {
        self.aim.budget = promise;
        self.credits.set_promise(promise);
    }

    /// What the foreground may lose, and what it has lost as far as is known.
    pub fn budget(&self) -> &Budget {
        self.credits.budget()
    }

    /// What the sensor has counted by `now`; returns what to do until the next call, 10 to 100 ms later.
    pub fn update(&mut self, now: Nanos, telemetry: &Telemetry) -> Setting {
        if self.is_at_rest(now, telemetry) {
            return self.in_force();
        }
        if !self.has_begun {
            self.begin(telemetry);
        }
        let was_held = self.wait > self.steering.interval();
        if let Some((then, before)) = self.last.replace((now, telemetry.clone())) {
            let at_work = self.at_work(then, now, &before, telemetry);
            let look = self.evidence.look(&before, telemetry, at_work);
            self.rate.look(now, asked(telemetry));
            let part = FLOOR.min(self.promised() / 2.0);
            self.floor.look(now, asked(telemetry), at_work, self.rate() * part);
            self.service = look.service.mean().map_or(self.service, |mean| Some(mean.0 as f64));
            self.book(&look);
            if !was_held && self.evidence.own().is_some() {
                self.period.lost += self.lost_in(&look);
                self.period.add(&look, telemetry.is_full);
                self.period.is_open |= self.is_open(now, telemetry);
            }
            self.decide(now);
            self.learnt = self.learnt.plus(at_work);
            self.learns = at_work > Nanos::ZERO && self.evidence.own().is_none() && self.learnt < LEARNING;
        }
        self.wait = match self.aim.interval {
            IntervalChoice::Auto => self.credits.wait(nanos(self.turn_ns())),
            IntervalChoice::Fixed(_) => Nanos::ZERO,
        };
        self.gone_after = self.evidence.gone_after().map_or(GONE, |after| after.max(GONE));
        self.setting = Setting {
            interval: match self.aim.interval {
                IntervalChoice::Auto => Interval::Finite(self.steering.interval()),
                IntervalChoice::Fixed(interval) => interval,
            },
            window_bytes: match (self.aim.window, self.aim.depth) {
                (WindowChoice::Fixed(bytes), _) => bytes,
                (WindowChoice::Auto, DepthChoice::Auto) => self.steering.window(),
                (WindowChoice::Auto, DepthChoice::Fixed(_)) => u64::MAX,
            },
            depth: match self.aim.depth {
                DepthChoice::Auto => u32::MAX,
                DepthChoice::Fixed(depth) => depth.max(1),
            },
            opening: self.opening(),
            ..self.setting
        };
        self.in_force()
    }

    /// Whether the foreground had gone before the last call and has not come back: what background does meanwhile tells
    /// nothing, and what was decided stays right.
    fn is_at_rest(&mut self, now: Nanos, telemetry: &Telemetry) -> bool {
        let rests = self.last.as_ref().is_some_and(|(then, last)| {
            telemetry.foreground_started == last.foreground_started
                && then.since(telemetry.foreground_last_end) >= self.gone_after
        });
        if rests {
            self.learns = false;
            self.last = Some((now, telemetry.clone()));
            self.rate.look(now, asked(telemetry));
            self.setting.opening = self.opening();
        }
        rests
    }

    /// What to do now: while the audit withholds background, the interval does not end; for want of credits it is longer.
    fn in_force(&self) -> Setting {
        let is_auto = self.aim.interval == IntervalChoice::Auto;
        if self.withholds() || (is_auto && self.learns) {
            Setting { interval: Interval::Infinite, ..self.setting }
        } else if is_auto && self.floor.is_due() {
            Setting {
                interval: Interval::NONE,
                window_bytes: self.setting.window_bytes.min(LEAST_BYTES),
                ..self.setting
            }
        } else {
            Setting { interval: self.setting.interval.max(Interval::Finite(self.wait)), ..self.setting }
        }
    }

    /// The audit: takes in what the sensor has counted by `now`, and returns what to do until [`next_test`](Self::next_test) or
    /// the next call.
    pub fn test(&mut self, now: Nanos, latency: &Latency) -> Setting {
        let at_work = self.aim.interval == IntervalChoice::Auto
            && self.last.as_ref().is_some_and(|(_, last)| {
                last.foreground_started > 0 && now.since(last.foreground_last_end) < self.gone_after
            });
        self.audit.step(now, latency, self.promised(), at_work);
        self.in_force()
    }

    /// When the next test is due; `None` while nothing is tested.
    pub fn next_test(&self) -> Option<Nanos> {
        self.audit.next()
    }

    /// Whether background is withheld just now, to see the foreground without it.
    pub fn withholds(&self) -> bool {
        self.audit.withholds()
    }

    /// How much slower foreground requests are with background than without, as the audit knows it.
    pub fn slowdown(&self) -> Option<Slowdown> {
        self.audit.slowdown()
    }

    /// The share of its time that the foreground loses by that: likely, at least, at most.
    pub fn audited(&self) -> Option<[f64; 3]> {
        self.audit.loss()
    }

    /// Forgets what background costs, because something outside has changed it; what the foreground does by itself
    /// (its gaps, its latency without background) is remembered.
    pub fn restart_costs(&mut self) {
        self.period = Period::default();
        self.evidence.forget_loaded();
        self.steering.restart();
    }

    /// What background costs now; `None` before any foreground request met some.
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    /// The share of requests that met background and were late because of it; `None` while too few are known.
    pub fn late(&self) -> Option<Late> {
        self.evidence.late(self.aim.max_delay)
    }

    /// Bytes of background that may be in service at once while the foreground is at work.
    pub fn window_bytes(&self) -> u64 {
        self.setting.window_bytes
    }

    /// Whether background outside of what is admitted would cost the foreground more than it may lose: there is an interval, or no
    /// window is small enough, or there are no credits left.
    pub fn is_harmful(&self) -> bool {
        match self.aim.interval {
            IntervalChoice::Fixed(interval) => interval != Interval::NONE,
            IntervalChoice::Auto => self.steering.interval() > Nanos::ZERO || self.wait > Nanos::ZERO,
        }
    }

    /// Whether the foreground has been away for long enough to open the window.
    fn is_open(&self, now: Nanos, telemetry: &Telemetry) -> bool {
        let away = Foreground::Away(now.since(telemetry.foreground_last_end));
        self.setting.opening.window(self.steering.window(), away) > self.steering.window()
    }

    fn promised(&self) -> f64 {
        self.aim.budget.fraction()
    }

    fn begin(&mut self, telemetry: &Telemetry) {
        let slow = is_slow(telemetry, self.rate.best());
        if slow {
            self.steering.begin_slowly(START_SLOW);
        }
        self.has_begun = telemetry.quiet.count() + telemetry.loaded.count() >= SEEN;
        if !slow && self.has_begun {
            self.steering = steering(&self.aim);
        }
    }

    /// The part of the time between two looks in which the foreground was at work.
    fn at_work(&self, then: Nanos, now: Nanos, before: &Telemetry, telemetry: &Telemetry) -> Nanos {
        let came = telemetry.foreground_started != before.foreground_started;
        let is_there = came || now.since(telemetry.foreground_last_end) < self.gone_after;
        if is_there { now.since(then) } else { Nanos::ZERO }
    }

    /// The time of a background request in the device.
    fn request_ns(&self) -> f64 {
        let is_slow = self.last.as_ref().is_some_and(|(_, last)| is_slow(last, self.rate.best()));
        self.service.unwrap_or(if is_slow { START_SLOW.0 as f64 } else { START_FAST.0 as f64 })
    }

    /// What it may cost to let background in again: a request takes no longer than the disk needs for the window, however long those
    /// took that waited behind each other before.
    fn turn_ns(&self) -> f64 {
        self.request_ns().min(self.steering.window() as f64 / self.rate() * 1e9)
    }

    /// What the disk can do for background, in bytes per second: one request after the other, if no more was seen.
    fn rate(&self) -> f64 {
        self.rate.best().max(LEAST_BYTES as f64 / self.request_ns() * 1e9)
    }

    /// What so many requests that met the job have lost; one of the job's each, as long as nothing is known, but no more than
    /// they took.
    fn lost(&self, loaded: &Total) -> f64 {
        let guess = || (loaded.count as f64 * self.request_ns()).min(loaded.sum_ns as f64);
        self.evidence.lost(loaded).unwrap_or_else(guess)
    }

    /// Books what the foreground has lost.
    fn book(&mut self, look: &Look) {
        let unseen = self.audit.unseen(self.steering.window()) * look.at_work.0 as f64;
        self.credits.book(look.at_work, self.lost_in(look) + unseen);
    }

    /// What was lost between two looks: no more than the time that passed, but for what a few of the job's requests take. One request of
    /// somebody's that was starved for a second was not all that the foreground did meanwhile.
    fn lost_in(&self, look: &Look) -> f64 {
        let most = look.at_work.0 as f64 + 2.0 * look.loaded.count as f64 * self.request_ns();
        self.lost(&look.loaded).min(most)
    }

    fn decide(&mut self, now: Nanos) {
        let promise = self.promised();
        let span = self.period.at_work.0 as f64;
        if self.period.ended == 0 || span == 0.0 || self.evidence.own().is_none() {
            return;
        }
        let seen = self.period.lost / span;
        let error = self.evidence.error(&self.period.loaded) / span;
        let loss = seen + self.audit.unseen(self.steering.window());
        let met = self.period.loaded.count as f64 / self.period.ended.max(1) as f64;
        let is_due = self.period.ended >= REQUESTS && self.period.at_work >= SPAN;
        let is_clear = match self.period.ended >= FEW_REQUESTS {
            true if self.steering.leaps() => (loss - promise).abs() > CLEAR * error,
            true => loss - promise > CLEAR * error,
            false => false,
        };
        if !is_due && !is_clear {
            return;
        }
        self.audit.judge(seen, self.steering.window(), promise);
        let late = self.evidence.late(self.aim.max_delay).map_or(0.0, |late| f64::from(late.least_ppm) * met);
        let finding = Finding {
            loss,
            error,
            is_late: late > f64::from(PROMISED_PPM),
            service: self.period.service.mean().map(|mean| mean.0 as f64),
            rate: self.period.service.count() as f64 / span,
            is_open: self.period.is_open,
            is_full: self.period.is_full,
        };
        self.estimate = (self.period.loaded.count > 0).then(|| Estimate {
            loss: share(loss),
            delay: nanos(self.period.lost / self.period.loaded.count as f64),
            met: share(met),
        });
        if self.steering.adjust(now, &finding, promise) || finding.is_late {
            self.evidence.forget_loaded();
        }
        self.period = Period::default();
    }

    fn opening(&self) -> Opening {
        if self.aim.depth != DepthChoice::Auto || self.aim.window != WindowChoice::Auto {
            return Opening::NEVER;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating cast")]
        let rate = self.rate() as u64;
        Opening { share: Share::ppm(self.aim.budget.as_ppm() / OPENING_PART), rate, unseen: GONE }
    }
}

impl Period {
    fn add(&mut self, look: &Look, is_full: bool) {
        self.at_work = self.at_work.plus(look.at_work);
        self.ended += look.ended;
        self.loaded.merge(&look.loaded);
        self.service.merge(&look.service);
        self.is_full |= is_full;
    }
}

/// What background has asked for so far, as the window counts it.
fn asked(telemetry: &Telemetry) -> u64 {
    telemetry.background_bytes.max(telemetry.background_started.saturating_mul(LEAST_BYTES))
}

/// What a job starts with; a window that is fixed does not move.
fn steering(aim: &ControlSetting) -> Steering {
    let is_auto = aim.window == WindowChoice::Auto && aim.depth == DepthChoice::Auto;
    if is_auto { Steering::new() } else { Steering::with_fixed_window() }
}

/// Whether the device is one of those that take milliseconds: what it says of itself counts until it was seen at work, unless background
/// has had more of it per second (`rate`) than such a device can do. Requests that met background may have waited for that.
fn is_slow(telemetry: &Telemetry, rate: f64) -> bool {
    let mut seen = Total::from(&telemetry.quiet);
    if seen.count < SEEN {
        if rate > FAST_RATE {
            return false;
        }
        seen.merge(&Total::from(&telemetry.loaded));
    }
    if seen.count < SEEN {
        return telemetry.rotational;
    }
    seen.mean().is_some_and(|latency| latency > SLOW_NS)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to what fits; a saturating cast"
)]
fn nanos(span_ns: f64) -> Nanos {
    Nanos(span_ns.max(0.0) as u64)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a million")]
fn share(fraction: f64) -> Share {
    Share::ppm((fraction.clamp(0.0, 1.0) * 1e6) as u32)
}

#[cfg(test)]
mod tests;
