//! Automatic interval and bound for one resource.
//!
//! Problem: on a one-at-a-time disk the interval decides what background costs, on a parallel device the bound on
//! requests in service does; the user knows neither. A target in terms of the interval or of counters would mean
//! something else on each device; a share of the foreground's throughput does not.
//!
//! Approach: measure what background costs, and spend a budget of it.
//!
//! 1. The delay of a burst that meets background is the mean latency of first requests that did less that of first
//!    requests that did not. Later requests of a burst wait for the earlier ones, and would hide the difference. Until
//!    there are samples it is half the background's service time.
//! 2. From the lengths of past gaps follow the loss and the work of each interval (`frontier.rs`). Take what costs
//!    at most `free`; if that leaves background less than `work_floor` of the idle time, spend up to `budget`.
//! 3. Where gaps have a usual length, close their late part instead of delaying their start (`closing.rs`), if that
//!    lets background do more.
//! 4. Raise the bound while the foreground does not notice (`depth.rs`).
//! 5. Keep measuring: when hardly any request arrives without background, withhold background now and then for a
//!    baseline. The other way round, alternating between two intervals brings samples of both kinds, and where gaps
//!    close they stay open now and then.
//! 6. Withhold background for short, random moments, and charge it with what the latency of met requests does not
//!    explain (`correction.rs`).
//! 7. Open the bound as the foreground stays away ([`Opening`]).
//! 8. Book what was really lost, and wait when the budget is spent, whatever the estimate says (`purse.rs`).
//!
//! Units: nanoseconds; loss and work are shares. Windows: one to two seconds, or 200 to 400 foreground requests.
//!
//! Edge cases: a sensor without histograms leaves the starting values in force. Counts that went back (a restarted
//! sensor) are counted from zero. Virtual disks claim to rotate: the claim counts until latencies say more. Background that
//! is seldom active is taken for half as dangerous as greedy background at the least, since it may become greedy at any
//! moment.
//!
//! The budget is this resource's part of what is promised over all, and may change at any time ([`Control::set_promise`]).
//!
//! Source: the paper's section 5.2 asks for an interval that follows the counters; 2.1 and 4.2 give its useful
//! range. The bound is needed because devices today serve many requests at once.

mod ceiling;
mod choice;
mod closing;
mod correction;
mod depth;
mod frontier;
mod purse;
mod tail;
mod telemetry;
mod window;

pub use choice::{ControlSetting, DepthChoice, IntervalChoice, ParseDepthError, ParseIntervalError};
pub use telemetry::{Estimate, Heads, Latency, Telemetry, Total};

use crate::budget::Budget;
use crate::histogram::Histogram;
use crate::random::Random;
use crate::setting::{Closing, Opening, Setting};
use crate::share::{Loss, Share};
use crate::time::{Interval, Nanos};
use crate::trial::Slowdown;
use closing::{Forecast, Measured, Rival, Rounds};
use correction::{Correction, Model};
use depth::{Evidence, Search};
use frontier::{Cost, Mix, Target};
use purse::Purse;
use telemetry::new_of;
use window::{Counts, Window, above, mean, variance_of_mean};

/// Interval and bound of one resource.
#[derive(Clone, Debug)]
pub struct Control {
    aim: ControlSetting,
    window: Window,
    search: Search,
    rounds: Rounds,
    last: Option<(Nanos, Telemetry)>,
    setting: Setting,
    /// The foreground is at work until it has been away for this long.
    gone_after: Nanos,
    /// How long background has to wait for want of budget.
    wait: Nanos,
    /// Whether background was withheld at some moment since the last call.
    withheld: bool,
    purse: Purse,
    epoch: Epoch,
    /// Delay of a loaded request when it was last known, in nanoseconds.
    known_delay: Option<f64>,
    /// The background's service before the costs were last forgotten.
    outdated: Histogram,
    estimate: Option<Estimate>,
    /// Loss if background ran in every gap.
    unrestrained: f64,
    correction: Correction,
    /// What is known without a test, when it is worth testing.
    model: Option<Model>,
}

/// What happened since the last call, to be booked.
#[derive(Clone, Copy, Debug)]
struct Booked {
    /// Time during which the foreground was at work.
    span: Nanos,
    /// First requests of bursts that met background.
    loaded: Total,
    /// Background requests.
    background: u64,
}

/// A stretch of at least a few foreground requests with one interval.
#[derive(Clone, Debug)]
struct Epoch {
    began: Nanos,
    started: u64,
    /// What is owed to the lower interval of a mix, from 0 to 1.
    owed: f64,
    random: Random,
}

impl Epoch {
    /// Whether this epoch is one of the few, one in `many`, in which something else is done, to learn from it.
    fn is_one_in(&mut self, many: u32) -> bool {
        self.random.below(many) == 0
    }

    /// The interval of `mix` whose turn it is.
    fn alternate(&mut self, mix: &Mix) -> Nanos {
        self.owed += mix.share;
        if self.owed >= 1.0 {
            self.owed = (self.owed - 1.0).min(1.0);
            mix.low
        } else {
            mix.high
        }
    }
}

/// The alternation of intervals lets at least this many foreground requests pass.
const EPOCH_REQUESTS: u64 = 4;
/// One epoch in this many withholds background, when there is no baseline.
const EXPLORE: u32 = 32;
/// One epoch in this many leaves gaps open that would close: few enough not to show in the 99th percentile.
const LEAVE_OPEN: u32 = 128;
/// Weight of an assumed delay, in requests.
const ASSUMED: f64 = 4.0;
/// A bound beyond this is none.
const DEEP: u32 = 64;
/// A foreground with fewer requests in the window, or with more time between two, is too sparse to test.
const TESTED_REQUESTS: u64 = 64;
const TESTED_CYCLE_NS: f64 = 10e6;
/// Gaps needed before they are believed.
const FEW: u64 = 4;
/// Where the order of epochs begins; any number will do.
const SEED: u64 = 0x636F_6E74;

const START_SLOW: Nanos = Nanos::from_millis(10);
const START_FAST: Nanos = Nanos::from_micros(200);
/// A foreground latency that only slow devices have.
const SLOW_NS: f64 = 1e6;
/// The foreground counts as gone at the earliest after this time.
const GONE: Nanos = Nanos::from_millis(20);
/// A foreground not seen for this long from the beginning is not there.
const UNSEEN: Nanos = Nanos::from_secs(1);

impl Control {
    /// Nothing is known yet.
    pub fn new(aim: ControlSetting) -> Self {
        let setting = Setting { variant: aim.variant, start_rule: aim.start_rule, ..Setting::default() };
        Self {
            aim,
            window: Window::default(),
            search: Search::default(),
            rounds: Rounds::default(),
            last: None,
            setting,
            gone_after: GONE,
            wait: Nanos::ZERO,
            withheld: false,
            purse: Purse::new(aim.budget),
            epoch: Epoch { began: Nanos::ZERO, started: 0, owed: 0.0, random: Random::new(SEED) },
            known_delay: None,
            outdated: Histogram::default(),
            estimate: None,
            unrestrained: 0.0,
            correction: Correction::new(aim.budget),
            model: None,
        }
    }

    /// From now on `promise` is what the foreground may lose here.
    pub fn set_promise(&mut self, promise: Loss) {
        self.aim.budget = promise;
        self.purse.set_promise(promise);
        self.correction.set_budget(promise);
    }

    /// Gives up what is saved of the promise.
    pub fn forfeit(&mut self) {
        self.purse.forfeit();
    }

    /// What the foreground may lose, and what it has lost as far as is known.
    pub fn budget(&self) -> &Budget {
        self.purse.budget()
    }

    /// What the sensor has counted by `now`; returns what to do until the next call, 20 to 100 ms later.
    pub fn update(&mut self, now: Nanos, telemetry: &Telemetry) -> Setting {
        if self.is_at_rest(now, telemetry) {
            return self.in_force();
        }
        let booked = self.account(now, telemetry);
        let mut counts = self.window.view();
        let cost = self.cost(&counts, telemetry);
        if let Some(booked) = booked {
            self.book(&booked, &counts, &cost);
        }
        self.assess(&counts, &cost);
        if self.aim.depth == DepthChoice::Auto && self.search.judge(now, &self.evidence(&counts, &cost)) {
            self.window.forget_depth();
            self.window.forget_rounds();
            self.rounds.restart();
            counts = self.window.view();
        }
        let (interval, closing) = self.course(now, telemetry, &counts, &cost);
        let after = away_after(&counts, closing);
        self.gone_after = after.max(GONE);
        self.setting = Setting {
            interval,
            closing,
            depth: match self.aim.depth {
                DepthChoice::Auto => self.search.depth(),
                DepthChoice::Fixed(depth) => depth.max(1),
            },
            opening: self.opening(&counts, telemetry, after),
            ..self.setting
        };
        self.wait = match self.aim.interval {
            IntervalChoice::Auto => self.purse.wait(nanos(cost.period)),
            IntervalChoice::Fixed(_) => Nanos::ZERO,
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
            self.last = Some((now, telemetry.clone()));
        }
        rests
    }

    /// What to do now: while a test withholds background, the interval does not end; for want of budget it is longer.
    fn in_force(&self) -> Setting {
        if self.withholds() {
            Setting { interval: Interval::Infinite, closing: None, ..self.setting }
        } else if self.wait > Nanos::ZERO {
            let interval = self.setting.interval.max(Interval::Finite(self.wait));
            Setting { interval, closing: None, ..self.setting }
        } else {
            self.setting
        }
    }

    /// Tests what background costs: takes in what the sensor has counted by `now`, and returns what to do until
    /// [`next_test`](Self::next_test) or the next call.
    pub fn test(&mut self, now: Nanos, latency: &Latency) -> Setting {
        self.correction.step(now, latency, self.model.as_ref());
        self.withheld |= self.withholds();
        self.in_force()
    }

    /// When the next test is due; `None` while nothing is tested.
    pub fn next_test(&self) -> Option<Nanos> {
        self.correction.next()
    }

    /// Whether background is withheld just now, to see the foreground without it.
    pub fn withholds(&self) -> bool {
        self.correction.withholds()
    }

    /// How much slower foreground requests are with background than without, as tested.
    pub fn slowdown(&self) -> Option<Slowdown> {
        self.correction.slowdown()
    }

    /// Forgets what background costs, because something outside has changed it; what the foreground does by itself
    /// (its gaps, its latency without background) is remembered.
    pub fn restart_costs(&mut self) {
        self.window.forget_costs();
        self.search.restart();
        self.rounds.restart();
        self.correction.restart();
        self.known_delay = None;
        self.estimate = None;
        self.outdated = self.last.as_ref().map_or_else(Histogram::default, |(_, last)| last.service.clone());
    }

    /// What background costs now; `None` before any foreground request met some.
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    /// Whether background outside the gaps would cost the foreground more than is free.
    pub fn is_harmful(&self) -> bool {
        match self.aim.interval {
            IntervalChoice::Fixed(interval) => interval != Interval::NONE,
            IntervalChoice::Auto => self.unrestrained > self.free(),
        }
    }

    /// The loss that is spent without asking what is gained.
    fn free(&self) -> f64 {
        self.aim.free.fraction().min(self.purse.rate())
    }

    /// Adds what happened since the last call to the window.
    fn account(&mut self, now: Nanos, telemetry: &Telemetry) -> Option<Booked> {
        let (then, before) = self.last.replace((now, telemetry.clone()))?;
        let gaps = new_of(&telemetry.gaps, &before.gaps);
        let loaded = new_of(&telemetry.loaded, &before.loaded);
        let all = telemetry.heads().since(&before.heads());
        let arrived = telemetry.foreground_started.saturating_sub(before.foreground_started);
        let background = telemetry.background_started.saturating_sub(before.background_started);
        let met = all.loaded.count;
        let in_force = self.in_force();
        let closes = in_force.closing.is_some();
        // What a test withheld was not exposed, and says nothing of what meets background.
        let withholds = self.withholds();
        let told = !std::mem::replace(&mut self.withheld, withholds);
        let exposed = match in_force.interval {
            Interval::Finite(length) if told && !closes => above(&gaps, length),
            _ => 0,
        };
        let closed = told && closes;
        let at_work = arrived > 0 || now.since(telemetry.foreground_last_end) < self.gone_after;
        let active = if at_work { now.since(then) } else { Nanos::ZERO };
        let service =
            if arrived > 0 { new_of(&telemetry.service, &before.service) } else { Histogram::default() };
        let counts = Counts {
            quiet: new_of(&telemetry.quiet, &before.quiet),
            met,
            served: if arrived > 0 { background } else { 0 },
            served_at_all: if at_work { background } else { 0 },
            served_in: if arrived > 0 { active } else { Nanos::ZERO },
            heads: if closes { Heads { loaded: Total::default(), ..all } } else { all },
            loaded,
            gaps,
            service,
            active,
            arrived,
            arrived_at_bound: arrived,
            exposed,
            exposed_met: if told && !closes { met } else { 0 },
            closed: if closed { arrived } else { 0 },
            closed_met: if closed { met } else { 0 },
        };
        self.window.add(now, &counts);
        Some(Booked { span: active, loaded: all.loaded, background })
    }

    /// Books what the foreground has lost.
    fn book(&mut self, booked: &Booked, counts: &Counts, cost: &Cost) {
        let Booked { span, loaded, background } = booked;
        let met = loaded.count as f64;
        let seen = match counts.heads.quiet.mean() {
            Some(free) if counts.heads.quiet.count >= FEW => loaded.sum_ns as f64 - met * free,
            // Never measured: it may have come at the worst moment, when a background request had just begun.
            _ => met * self.known_delay.unwrap_or(cost.period),
        };
        let unseen = *background as f64 * cost.period * self.correction.part();
        self.purse.book(*span, seen + unseen);
    }

    fn cost(&mut self, counts: &Counts, telemetry: &Telemetry) -> Cost {
        let start = if is_slow(telemetry) { START_SLOW.0 } else { START_FAST.0 / 2 };
        let service = self.service(counts, telemetry).unwrap_or(start as f64);
        let assumed = self.known_delay.unwrap_or(service / 2.0);
        let Heads { quiet, loaded: met } = counts.heads;
        let loaded = met.count as f64;
        let delay = match (met.mean(), quiet.mean()) {
            (Some(met), Some(free)) => (ASSUMED * assumed + loaded * (met - free)) / (ASSUMED + loaded),
            _ => assumed,
        };
        let delay = delay.max(0.0);
        if loaded >= 4.0 * ASSUMED && quiet.count >= FEW {
            self.known_delay = Some(delay);
        }
        let requests = counts.arrived as f64;
        let unseen = service * self.correction.part();
        let lost = counts.met as f64 * delay + counts.served_at_all as f64 * unseen;
        let cycle = ((counts.active.0 as f64 - lost) / requests.max(1.0)).max(1.0);
        let exposure = (counts.exposed_met as f64 + ASSUMED) / (counts.exposed as f64 + ASSUMED);
        let is_tested = self.aim.interval == IntervalChoice::Auto
            && counts.arrived >= TESTED_REQUESTS
            && cycle < TESTED_CYCLE_NS
            && !is_slow(telemetry);
        self.model = is_tested.then_some(Model { delay, cycle, service });
        Cost {
            requests,
            exposure: exposure.max(0.5),
            delay,
            cycle,
            unseen: unseen * f64::from(self.setting.depth.min(DEEP)),
            period: service,
        }
    }

    fn assess(&mut self, counts: &Counts, cost: &Cost) {
        if counts.arrived == 0 {
            self.unrestrained = 0.0;
            return;
        }
        let gaps = counts.gaps.count() as f64;
        self.unrestrained =
            cost.loss(gaps * cost.exposure / cost.requests, cost.rounds(gaps, counts.gaps.sum_ns as f64));
        let met = counts.met as f64 / cost.requests;
        self.estimate = (counts.met > 0).then(|| Estimate {
            loss: share(cost.loss(met, self.rounds_served(counts))),
            delay: nanos(cost.delay),
            met: share(met),
            cycle: nanos(counts.active.0 as f64 / cost.requests),
        });
    }

    /// Background requests per foreground request and place under the bound.
    fn rounds_served(&self, counts: &Counts) -> f64 {
        let served = counts.served_at_all as f64 / (counts.arrived as f64).max(1.0);
        served / f64::from(self.setting.depth.clamp(1, DEEP))
    }

    fn evidence(&self, counts: &Counts, cost: &Cost) -> Evidence {
        let met = counts.loaded.count() as f64 / (counts.arrived_at_bound as f64).max(1.0);
        let error =
            (variance_of_mean(&counts.loaded) + variance_of_mean(&counts.quiet)).sqrt() * met / cost.cycle;
        let service = mean(&counts.service).unwrap_or(0.0);
        let idle = counts.gaps.sum_ns as f64 / (counts.active.0 as f64).max(1.0);
        let in_service = counts.served as f64 * service / (counts.served_in.0 as f64).max(1.0);
        Evidence {
            loaded: counts.loaded.count().max(counts.closed).min(counts.quiet.count().saturating_mul(16)),
            loss: cost.loss(met, self.rounds_served(counts)),
            error,
            free: self.free(),
            tail: tail::judge(&counts.quiet, &counts.loaded),
            services: counts.service.count(),
            service,
            in_use: in_service > 0.5 * idle.min(1.0) * f64::from(self.search.depth()),
        }
    }

    /// Time in the device of a background request.
    fn service(&self, counts: &Counts, telemetry: &Telemetry) -> Option<f64> {
        mean(&counts.service).or_else(|| mean(&new_of(&telemetry.service, &self.outdated)))
    }

    /// The interval, and the closing part of gaps if that does better.
    fn course(
        &mut self,
        now: Nanos,
        telemetry: &Telemetry,
        counts: &Counts,
        cost: &Cost,
    ) -> (Interval, Option<Closing>) {
        if let IntervalChoice::Fixed(interval) = self.aim.interval {
            return (interval, None);
        }
        if counts.gaps.count() < FEW {
            return (Interval::Finite(if is_slow(telemetry) { START_SLOW } else { START_FAST }), None);
        }
        let in_force = (self.setting.interval, self.setting.closing);
        let cycles = nanos(cost.cycle).times(EPOCH_REQUESTS);
        let requests = telemetry.foreground_started.saturating_sub(self.epoch.started);
        if requests < EPOCH_REQUESTS && now.since(self.epoch.began) < cycles {
            return in_force;
        }
        self.epoch.began = now;
        self.epoch.started = telemetry.foreground_started;
        let explores = self.epoch.is_one_in(if in_force.1.is_some() { LEAVE_OPEN } else { EXPLORE });
        let quiet = counts.quiet.count();
        let scarce = quiet < 8 || quiet < counts.arrived / 20;
        if explores && scarce && counts.arrived >= u64::from(EXPLORE) {
            return (Interval::Finite(counts.gaps.mean().unwrap_or(START_FAST).times(4)), None);
        }
        let target = Target {
            free: self.free(),
            budget: self.purse.rate(),
            work_floor: self.aim.work_floor.fraction(),
        };
        let points = frontier::candidates(&counts.gaps, cost);
        let Some(mix) = frontier::choose(&points, &target) else { return in_force };
        if let Some(forecast) = Forecast::new(&counts.gaps, &counts.service, cost) {
            let closing =
                self.closing(now, counts, &forecast, frontier::loss(&points, &mix), &mix, target.free);
            if closing.is_some() && !explores {
                return (Interval::NONE, closing);
            }
        } else if in_force.1.is_some() {
            return in_force;
        }
        (Interval::Finite(self.epoch.alternate(&mix)), None)
    }

    fn closing(
        &mut self,
        now: Nanos,
        counts: &Counts,
        forecast: &Forecast<'_>,
        loss: f64,
        mix: &Mix,
        free: f64,
    ) -> Option<Closing> {
        let starts =
            mix.share * forecast.starts_after(mix.low) + (1.0 - mix.share) * forecast.starts_after(mix.high);
        let served = self.rounds_served(counts);
        let measured = Measured { arrived: counts.closed, met: counts.closed_met, served };
        let before = self.rounds.in_force();
        let closing = self.rounds.choose(now, forecast, &measured, &Rival { loss, starts }, free);
        if self.rounds.in_force() != before {
            self.window.forget_rounds();
        }
        closing
    }

    fn opening(&self, counts: &Counts, telemetry: &Telemetry, after: Nanos) -> Opening {
        if self.aim.depth != DepthChoice::Auto {
            return Opening::NEVER;
        }
        let start = if is_slow(telemetry) { START_SLOW } else { START_FAST };
        let service = self.service(counts, telemetry).unwrap_or(start.0 as f64);
        Opening { drain_share: Share::percent(5), service: nanos(service), after, unseen: UNSEEN }
    }
}

/// When a foreground that stays away is no longer between two requests.
fn away_after(counts: &Counts, closing: Option<Closing>) -> Nanos {
    let usual = counts.gaps.mean().unwrap_or(GONE).times(4);
    let longest = counts.gaps.quantile(0.995).unwrap_or(GONE);
    usual.max(longest).max(closing.map_or(Nanos::ZERO, |closing| closing.until))
}

/// Whether the device is one of those that take milliseconds: what it says of itself counts until it was seen at work.
fn is_slow(telemetry: &Telemetry) -> bool {
    let mut seen = Total::from(&telemetry.quiet);
    if seen.count < FEW {
        seen.merge(&Total::from(&telemetry.loaded));
    }
    if seen.count < FEW {
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
