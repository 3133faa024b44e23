//! Automatic interval and bound for one resource.
//!
//! Problem: on a one-at-a-time disk the interval decides what background costs, on a parallel device the bound on
//! requests in service does; the user knows neither. A target in terms of the interval or of counters would mean
//! something else on each device; a share of the foreground's throughput does not.
//!
//! Approach: measure what background costs, and spend a budget of it.
//!
//! 1. The delay of a foreground request that meets background is the mean latency of those that did less that of
//!    those that did not. Until there are samples it is half the background's service time.
//! 2. From the lengths of past gaps follow the loss and the work of each interval (`frontier.rs`). Take what costs
//!    at most `free`; if that leaves background less than `work_floor` of the idle time, spend up to `budget`.
//! 3. Raise the bound while the foreground does not notice (`depth.rs`).
//! 4. Keep measuring: when hardly any request arrives without background, withhold background now and then for a
//!    baseline. The other way round, alternating between two intervals brings samples of both kinds.
//! 5. Open the bound as the foreground stays away ([`Opening`]).
//!
//! Units: nanoseconds; loss and work are shares. Windows: one to two seconds, or 200 to 400 foreground requests.
//!
//! Edge cases: a sensor without histograms leaves the starting values in force. Counts that went back (a restarted
//! sensor) are counted from zero. Background that is seldom active is taken for half as dangerous as greedy
//! background at the least, since it may become greedy at any moment.
//!
//! Source: the paper's section 5.2 asks for an interval that follows the counters; 2.1 and 4.2 give its useful
//! range. The bound is needed because devices today serve many requests at once.

mod choice;
mod depth;
mod frontier;
mod tail;
mod window;

pub use choice::{ControlSetting, DepthChoice, IntervalChoice, ParseDepthError, ParseIntervalError};

use crate::histogram::Histogram;
use crate::setting::{Foreground, Opening, Setting};
use crate::share::{Loss, Share};
use crate::time::{Interval, Nanos};
use depth::{Evidence, Search};
use frontier::{Cost, Mix, Target};
use window::{Counts, Window, above, mean, variance_of_mean};

/// What a sensor has counted of one resource since it began; all cumulative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Latency of foreground requests that found no background in service on arrival.
    pub quiet: Histogram,
    /// Latency of foreground requests that found some.
    pub loaded: Histogram,
    /// Spans from the moment no foreground is in service to the next foreground arrival.
    pub gaps: Histogram,
    /// Time of background requests in the device.
    pub service: Histogram,
    /// When the latest foreground request finished.
    pub foreground_last_end: Nanos,
    /// Foreground requests that ever arrived.
    pub foreground_started: u64,
    /// Background requests that ever arrived.
    pub background_started: u64,
    /// Whether the device says that it rotates.
    pub rotational: bool,
}

/// What background costs the foreground now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// Loss of foreground throughput.
    pub loss: Loss,
    /// Delay of a request that meets background.
    pub delay: Nanos,
    /// Share of foreground requests that met background.
    pub met: Share,
    /// Time per foreground request while the foreground is at work.
    pub cycle: Nanos,
}

/// Interval and bound of one resource.
#[derive(Clone, Debug)]
pub struct Control {
    aim: ControlSetting,
    window: Window,
    search: Search,
    last: Option<(Nanos, Telemetry)>,
    setting: Setting,
    epoch: Epoch,
    /// Delay of a loaded request when it was last known, in nanoseconds.
    known_delay: Option<f64>,
    estimate: Option<Estimate>,
    /// Loss if background ran in every gap.
    unrestrained: f64,
}

/// A stretch of at least a few foreground requests with one interval.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    began: Nanos,
    started: u64,
    /// What is owed to the lower interval of a mix, from 0 to 1.
    owed: f64,
    random: u64,
}

/// The alternation of intervals lets at least this many foreground requests pass.
const EPOCH_REQUESTS: u64 = 4;
/// One epoch in this many withholds background, when there is no baseline.
const EXPLORE: u64 = 32;
/// Weight of an assumed delay, in requests.
const ASSUMED: f64 = 4.0;
/// Gaps needed before they are believed.
const FEW: u64 = 4;
/// What is spent of the budget; the rest is for what the estimate does not see.
const SPENT: f64 = 0.9;

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
            last: None,
            setting,
            epoch: Epoch { began: Nanos::ZERO, started: 0, owed: 0.0, random: 0x9E37_79B9_7F4A_7C15 },
            known_delay: None,
            estimate: None,
            unrestrained: 0.0,
        }
    }

    /// What the sensor has counted by `now`; returns what to do until the next call, 20 to 100 ms later.
    pub fn update(&mut self, now: Nanos, telemetry: &Telemetry) -> Setting {
        self.account(now, telemetry);
        let counts = self.window.view();
        let cost = self.cost(&counts, telemetry);
        self.assess(&counts, &cost);
        if self.aim.depth == DepthChoice::Auto && self.search.judge(now, &self.evidence(&counts, &cost)) {
            self.window.forget_depth();
        }
        self.setting = Setting {
            interval: self.interval(now, telemetry, &counts, &cost),
            depth: match self.aim.depth {
                DepthChoice::Auto => self.search.depth(),
                DepthChoice::Fixed(depth) => depth.max(1),
            },
            opening: self.opening(&counts, telemetry),
            ..self.setting
        };
        self.setting
    }

    /// What background costs now; `None` before any foreground request met some.
    pub fn estimate(&self) -> Option<Estimate> {
        self.estimate
    }

    /// Whether background outside the gaps would cost the foreground more than is free.
    pub fn is_harmful(&self) -> bool {
        match self.aim.interval {
            IntervalChoice::Fixed(interval) => interval != Interval::NONE,
            IntervalChoice::Auto => self.unrestrained > self.aim.free.fraction(),
        }
    }

    /// The bound when the foreground's last request ended at `last_foreground_end` (zero: none was ever seen).
    pub fn depth_when_quiet(&self, now: Nanos, last_foreground_end: Nanos) -> u32 {
        let foreground = match last_foreground_end {
            Nanos::ZERO => Foreground::Unseen(Nanos::MAX),
            end => Foreground::Away(now.since(end)),
        };
        self.setting.opening.depth(self.setting.depth, foreground)
    }

    /// Adds what happened since the last call to the window.
    fn account(&mut self, now: Nanos, telemetry: &Telemetry) {
        let Some((then, before)) = self.last.replace((now, telemetry.clone())) else { return };
        let gaps = new_of(&telemetry.gaps, &before.gaps);
        let loaded = new_of(&telemetry.loaded, &before.loaded);
        let arrived = telemetry.foreground_started.saturating_sub(before.foreground_started);
        let background = telemetry.background_started.saturating_sub(before.background_started);
        let exposed = match self.setting.interval {
            Interval::Finite(length) => above(&gaps, length),
            Interval::Infinite => 0,
        };
        let at_work = arrived > 0 || now.since(telemetry.foreground_last_end) < self.gone_after();
        let active = if at_work { now.since(then) } else { Nanos::ZERO };
        let service =
            if arrived > 0 { new_of(&telemetry.service, &before.service) } else { Histogram::default() };
        let counts = Counts {
            quiet: new_of(&telemetry.quiet, &before.quiet),
            met: loaded.count(),
            served: if arrived > 0 { background } else { 0 },
            served_in: if arrived > 0 { active } else { Nanos::ZERO },
            loaded,
            gaps,
            service,
            active,
            arrived,
            exposed,
        };
        self.window.add(now, &counts);
    }

    fn gone_after(&self) -> Nanos {
        self.setting.opening.after.max(GONE)
    }

    fn cost(&mut self, counts: &Counts, telemetry: &Telemetry) -> Cost {
        let service = mean(&counts.service).or_else(|| mean(&telemetry.service));
        let slow = telemetry.rotational || mean(&telemetry.quiet).is_some_and(|latency| latency > SLOW_NS);
        let service = service.unwrap_or(if slow { START_SLOW.0 as f64 } else { START_FAST.0 as f64 / 2.0 });
        let assumed = self.known_delay.unwrap_or(service / 2.0);
        let loaded = counts.loaded.count() as f64;
        let delay = match (mean(&counts.loaded), mean(&counts.quiet)) {
            (Some(met), Some(free)) => (ASSUMED * assumed + loaded * (met - free)) / (ASSUMED + loaded),
            _ => assumed,
        };
        let delay = delay.max(0.0);
        if loaded >= 4.0 * ASSUMED && counts.quiet.count() >= FEW {
            self.known_delay = Some(delay);
        }
        let requests = counts.arrived as f64;
        let met = counts.met as f64;
        let cycle = counts.active.0 as f64 / requests.max(1.0) - met / requests.max(1.0) * delay;
        let exposure = (met + ASSUMED) / (counts.exposed as f64 + ASSUMED);
        Cost { requests, exposure: exposure.max(0.5), delay, cycle: cycle.max(1.0) }
    }

    fn assess(&mut self, counts: &Counts, cost: &Cost) {
        if counts.arrived == 0 {
            self.unrestrained = 0.0;
            return;
        }
        self.unrestrained = cost.loss(counts.gaps.count() as f64 * cost.exposure / cost.requests);
        let met = counts.met as f64 / cost.requests;
        self.estimate = (counts.met > 0).then(|| Estimate {
            loss: share(cost.loss(met)),
            delay: nanos(cost.delay),
            met: share(met),
            cycle: nanos(counts.active.0 as f64 / cost.requests),
        });
    }

    fn evidence(&self, counts: &Counts, cost: &Cost) -> Evidence {
        let met = counts.met as f64 / cost.requests.max(1.0);
        let error =
            (variance_of_mean(&counts.loaded) + variance_of_mean(&counts.quiet)).sqrt() * met / cost.cycle;
        let service = mean(&counts.service).unwrap_or(0.0);
        let idle = counts.gaps.sum_ns as f64 / (counts.active.0 as f64).max(1.0);
        let in_service = counts.served as f64 * service / (counts.served_in.0 as f64).max(1.0);
        Evidence {
            loaded: counts.loaded.count().min(counts.quiet.count().saturating_mul(16)),
            loss: cost.loss(met),
            error,
            free: self.aim.free.fraction(),
            tail: tail::judge(&counts.quiet, &counts.loaded),
            services: counts.service.count(),
            service,
            in_use: in_service > 0.5 * idle.min(1.0) * f64::from(self.search.depth()),
        }
    }

    fn interval(&mut self, now: Nanos, telemetry: &Telemetry, counts: &Counts, cost: &Cost) -> Interval {
        if let IntervalChoice::Fixed(interval) = self.aim.interval {
            return interval;
        }
        if counts.gaps.count() < FEW {
            let slow = telemetry.rotational || mean(&counts.quiet).is_some_and(|latency| latency > SLOW_NS);
            return Interval::Finite(if slow { START_SLOW } else { START_FAST });
        }
        let cycles = nanos(cost.cycle).times(EPOCH_REQUESTS);
        let requests = telemetry.foreground_started.saturating_sub(self.epoch.started);
        if requests < EPOCH_REQUESTS && now.since(self.epoch.began) < cycles {
            return self.setting.interval;
        }
        self.epoch.began = now;
        self.epoch.started = telemetry.foreground_started;
        if self.explores(counts) {
            return Interval::Finite(counts.gaps.mean().unwrap_or(START_FAST).times(4));
        }
        let target = Target {
            free: self.aim.free.fraction().min(self.aim.budget.fraction() * SPENT),
            budget: self.aim.budget.fraction() * SPENT,
            work_floor: self.aim.work_floor.fraction(),
        };
        let points = frontier::candidates(&counts.gaps, cost);
        let Some(Mix { low, high, share }) = frontier::choose(&points, &target) else {
            return self.setting.interval;
        };
        self.epoch.owed += share;
        if self.epoch.owed >= 1.0 {
            self.epoch.owed = (self.epoch.owed - 1.0).min(1.0);
            Interval::Finite(low)
        } else {
            Interval::Finite(high)
        }
    }

    /// Whether this epoch is one of those that withhold background for a baseline.
    fn explores(&mut self, counts: &Counts) -> bool {
        self.epoch.random ^= self.epoch.random << 13;
        self.epoch.random ^= self.epoch.random >> 7;
        self.epoch.random ^= self.epoch.random << 17;
        let quiet = counts.quiet.count();
        let scarce = quiet < 8 || quiet < counts.arrived / 20;
        scarce && counts.arrived >= EXPLORE && self.epoch.random.is_multiple_of(EXPLORE)
    }

    fn opening(&self, counts: &Counts, telemetry: &Telemetry) -> Opening {
        if self.aim.depth != DepthChoice::Auto {
            return Opening::NEVER;
        }
        let service = mean(&counts.service).or_else(|| mean(&telemetry.service));
        let service =
            service.unwrap_or(if telemetry.rotational { START_SLOW.0 as f64 } else { START_FAST.0 as f64 });
        let usual = counts.gaps.mean().unwrap_or(GONE).times(4);
        let longest = counts.gaps.quantile(0.995).unwrap_or(GONE);
        Opening {
            drain_share: Share::percent(5),
            service: nanos(service),
            after: usual.max(longest),
            unseen: UNSEEN,
        }
    }
}

/// What `now` counts beyond `before`; all of it if the sensor has restarted.
fn new_of(now: &Histogram, before: &Histogram) -> Histogram {
    if now.count() < before.count() { now.clone() } else { now.since(before) }
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
