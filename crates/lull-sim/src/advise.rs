//! Advice for a recorded foreground: what each interval would cost it, and what background would get.
//!
//! Approach:
//!
//! 1. Take one device's foreground. Requests that overlap are a group; the gaps between groups are what background can
//!    use. A replay keeps gaps and service times: a group that waits moves all that follow, as a process does that
//!    waits for its requests.
//! 2. Find out from the trace how the device serves several requests at once (`model.rs`).
//! 3. Replay the groups beside a greedy background, for each interval, bound and variant, through the same
//!    [`Resource`](lull_core::Resource) that the live engine uses.
//! 4. Of all that lose no more than the budget, recommend the one with most background work.
//!
//! *Loss* is the foreground's throughput lost against a replay alone. *Background* is relative to background alone at
//! the largest bound that was tried. Both are what `lull bench` calls `foreground / alone` and `background / solo`.
//!
//! Edge cases: a trace without ends needs a service time from the user. A trace of a second or of a few requests is
//! replayed several times, and the advice says that it rests on little. Background in the trace tells its service time;
//! otherwise the foreground's median is taken, which is too short if background requests are larger.

mod model;
mod plot;

use std::sync::Arc;

use lull_core::base::histogram::Histogram;
use lull_core::{ControlSetting, Interval, Loss, Nanos, Setting, Variant};
use serde::Serialize;

use crate::class::Class;
use crate::device::{Device, Server};
use crate::policy::Policy;
use crate::span::Span;
use crate::trace::{Format, Trace};
use crate::workload::{Group, Replay, Workload};
use crate::world::{Client, World};
use model::{Model, groups};

pub use plot::plot;

/// What the user wants, and knows beyond the trace.
#[derive(Clone, Debug)]
pub struct Question {
    /// Foreground throughput that may be lost.
    pub budget: Loss,
    /// The device; the one with most foreground requests if missing.
    pub device: Option<String>,
    /// Time per foreground request, for traces that do not know.
    pub service: Option<Nanos>,
    /// Time per background request.
    pub background_service: Option<Nanos>,
}

/// Why there is no advice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdviceError {
    /// No such device in the trace.
    #[error("the trace has no device '{name}'; it has: {known}")]
    Device {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Nothing to protect.
    #[error(
        "the trace has no foreground request on '{0}'; without one every setting is as good as any: record while the foreground works"
    )]
    NoForeground(String),
    /// Service times are unknown.
    #[error(
        "a {0} does not say how long requests took; give a typical time with --service, like --service 200us"
    )]
    NoService(Format),
}

/// One setting, replayed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The preemption interval.
    pub interval: Nanos,
    /// Background requests in service at once.
    pub depth: u32,
    /// Which machine.
    pub variant: Variant,
    /// Foreground throughput lost, from 0 to 1.
    pub loss: f64,
    /// Foreground's 99th percentile of latency relative to alone.
    pub p99: f64,
    /// Background relative to alone.
    pub background: f64,
    /// Whether no other setting gives more background for the same loss or less.
    pub on_frontier: bool,
}

/// What one way to let background in does.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// Foreground throughput lost, from 0 to 1.
    pub loss: f64,
    /// Foreground's 99th percentile of latency relative to alone.
    pub p99: f64,
    /// Background relative to alone.
    pub background: f64,
}

/// What was found out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// How the trace was written.
    pub format: Format,
    /// The device.
    pub device: String,
    /// Foreground requests in the trace.
    pub foreground_requests: usize,
    /// Background requests in the trace.
    pub background_requests: usize,
    /// Length of the trace.
    pub span: Nanos,
    /// Share of that during which foreground was in service.
    pub busy: f64,
    /// Median gap between groups of foreground requests.
    pub median_gap: Nanos,
    /// Requests that the device serves at once.
    pub slots: u32,
    /// By how much each other request in service slows one down.
    pub drag: f64,
    /// Time per background request that was assumed.
    pub background_service: Nanos,
    /// What may be lost.
    pub budget: Loss,
    /// All settings that were tried.
    pub candidates: Vec<Candidate>,
    /// The one with most background within the budget; `None`: no background at all.
    pub recommended: Option<Candidate>,
    /// What automatic control does with this foreground.
    pub automatic: Predicted,
    /// What the reader should know.
    pub notes: Vec<String>,
}

/// A replay is at least this many foreground requests long.
const LEAST_REQUESTS: usize = 4_000;
/// Traces with fewer requests are little to go by.
const FEW_REQUESTS: usize = 200;
/// Bounds that are tried on devices that serve several requests at once.
const DEPTHS: [u32; 4] = [1, 2, 4, 8];

/// Replays `trace` and recommends a setting.
pub fn advise(trace: &Trace, question: &Question) -> Result<Advice, AdviceError> {
    let number = choose_device(trace, question)?;
    let device = trace.devices.get(number).cloned().unwrap_or_default();
    let mut notes = Vec::new();
    let mut requests: Vec<_> = trace.requests.iter().copied().filter(|r| r.device == number).collect();
    if !trace.timed {
        let service = question.service.ok_or(AdviceError::NoService(trace.format))?;
        for request in &mut requests {
            request.end = request.arrival.plus(service);
        }
        notes.push(format!("ends are unknown in this format; every request is taken to need {service}"));
    }
    let count = |class| requests.iter().filter(|request| request.class == class).count();
    let (foreground_requests, background_requests) = (count(Class::Foreground), count(Class::Background));
    if foreground_requests == 0 {
        return Err(AdviceError::NoForeground(device));
    }
    let model = Model::estimate(&requests, &mut notes);
    let groups = groups(&requests, &model);
    let background_service = match (question.background_service, model.background) {
        (Some(given), _) => given,
        (None, Some(seen)) => seen,
        (None, None) => {
            notes.push(format!(
                "no background in the trace: its requests are taken to need {}, the foreground's median; --background-service \
                 says otherwise",
                model.foreground
            ));
            model.foreground
        }
    };
    if trace.resolution >= Nanos::from_millis(1) {
        notes.push(format!("times are rounded to {}: shorter gaps are blurred", trace.resolution));
    }
    if trace.unmatched > 0 {
        notes.push(format!("{} requests were cut off and left out", trace.unmatched));
    }
    if foreground_requests < FEW_REQUESTS {
        notes.push(format!(
            "only {foreground_requests} foreground requests: record for longer before relying on this"
        ));
    }
    let stage = Stage::new(&model, groups, background_service, foreground_requests);
    let (candidates, recommended) = stage.explore(question.budget);
    let last = requests.iter().map(|request| request.end).max().unwrap_or_default();
    let span = last.since(requests.first().map(|request| request.arrival).unwrap_or_default());
    Ok(Advice {
        format: trace.format,
        device,
        foreground_requests,
        background_requests,
        span,
        busy: stage.busy,
        median_gap: stage.gaps.quantile(0.5).unwrap_or_default(),
        slots: model.slots,
        drag: model.drag,
        background_service,
        budget: question.budget,
        candidates,
        recommended,
        automatic: stage.automatic(question.budget),
        notes,
    })
}

fn choose_device(trace: &Trace, question: &Question) -> Result<usize, AdviceError> {
    if let Some(name) = &question.device {
        let known = || trace.devices.join(", ");
        return trace
            .devices
            .iter()
            .position(|device| device == name)
            .ok_or_else(|| AdviceError::Device { name: name.clone(), known: known() });
    }
    let count = |number: usize| {
        trace.requests.iter().filter(|r| r.device == number && r.class == Class::Foreground).count()
    };
    Ok((0..trace.devices.len()).rev().max_by_key(|number| count(*number)).unwrap_or(0))
}

/// What one replay gives, per second.
#[derive(Clone, Copy, Debug)]
struct Played {
    foreground: f64,
    background: f64,
    p99_ns: f64,
}

/// The replay with all that does not change.
struct Stage {
    device: Server,
    replay: Replay,
    gaps: Histogram,
    /// Length of one replay.
    length: Nanos,
    /// Share of the trace during which foreground was in service.
    busy: f64,
    depths: Vec<u32>,
    alone: Played,
    solo: f64,
}

impl Stage {
    fn new(model: &Model, groups: Vec<Group>, background: Nanos, requests: usize) -> Self {
        let mut gaps = Histogram::default();
        let (mut idle, mut work) = (Nanos::ZERO, Nanos::ZERO);
        for group in &groups {
            gaps.record(group.gap);
            idle = idle.plus(group.gap);
            let ends = group.requests.iter().map(|request| request.offset.plus(request.work));
            work = work.plus(ends.max().unwrap_or_default());
        }
        let rounds = LEAST_REQUESTS.div_ceil(requests.max(1)) as u64;
        let depths = if model.slots > 1 { DEPTHS.to_vec() } else { vec![1] };
        let device = Server {
            slots: model.slots,
            foreground: Span::Fixed(model.foreground),
            // Exactly equal requests would fit some gaps by chance, and the advice would rest on it.
            background: Span::Between(Nanos(background.0 * 7 / 10), Nanos(background.0 * 13 / 10)),
            drag: model.drag,
        };
        let mut stage = Self {
            device,
            replay: Replay { groups: Arc::from(groups) },
            gaps,
            length: idle.plus(work).times(rounds).max(Nanos(1)),
            busy: work.0 as f64 / idle.plus(work).0.max(1) as f64,
            depths,
            alone: Played { foreground: 0.0, background: 0.0, p99_ns: 0.0 },
            solo: 0.0,
        };
        stage.alone = stage.play(&Policy::Alone, true);
        let deepest = stage.depths.iter().copied().max().unwrap_or(1);
        let setting = Setting { depth: deepest, ..Setting::default() };
        stage.solo = stage.play(&Policy::Fixed(setting), false).background;
        stage
    }

    fn play(&self, policy: &Policy, with_foreground: bool) -> Played {
        let mut world = World::new(1);
        let station = world.add_station(Device::Server(self.device.clone()), policy);
        let client = |class, workload| Client {
            station,
            class,
            workload,
            bytes: 4_096,
            work: None,
            sequential: false,
        };
        if with_foreground {
            world.add_client(client(Class::Foreground, Workload::Replay(self.replay.clone())));
        }
        let deepest = self.depths.iter().copied().max().unwrap_or(1);
        for _ in 0..=deepest {
            world.add_client(client(Class::Background, Workload::Closed { think: Span::ZERO }));
        }
        // Before the first foreground request nothing holds background back: that is not counted.
        let warm = Nanos(self.length.0 / 20);
        world.run_until(warm);
        let before = [Class::Foreground, Class::Background].map(|class| world.tally(station, class).clone());
        world.run_until(warm.plus(self.length));
        let [foreground, background] = [Class::Foreground, Class::Background]
            .map(|class| world.tally(station, class).since(&before[class.index()]));
        let seconds = self.length.as_secs_f64();
        Played {
            foreground: foreground.completed as f64 / seconds,
            background: background.completed as f64 / seconds,
            p99_ns: foreground.latency.quantile(0.99).unwrap_or_default().0 as f64,
        }
    }

    fn candidate(&self, interval: Nanos, depth: u32, variant: Variant) -> Candidate {
        let setting = Setting { interval: Interval::Finite(interval), depth, variant, ..Setting::default() };
        let Predicted { loss, p99, background } = self.predict(&Policy::Fixed(setting));
        Candidate { interval, depth, variant, loss, p99, background, on_frontier: false }
    }

    /// As `lull run` does it by itself.
    fn automatic(&self, budget: Loss) -> Predicted {
        self.predict(&Policy::Auto(ControlSetting { budget, ..ControlSetting::default() }))
    }

    fn predict(&self, policy: &Policy) -> Predicted {
        let played = self.play(policy, true);
        Predicted {
            loss: (1.0 - played.foreground / self.alone.foreground.max(f64::MIN_POSITIVE)).max(0.0),
            p99: played.p99_ns / self.alone.p99_ns.max(1.0),
            background: played.background / self.solo.max(f64::MIN_POSITIVE),
        }
    }

    /// None, the quantiles of the gaps, and beyond the longest usual one; to three digits.
    fn intervals(&self) -> Vec<Nanos> {
        let ranks = [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.995];
        let mut intervals = vec![Nanos::ZERO];
        intervals.extend(ranks.iter().filter_map(|rank| self.gaps.quantile(*rank)).map(rounded));
        let longest = intervals.iter().copied().max().unwrap_or_default();
        intervals.push(rounded(longest.times(2)));
        intervals.sort_unstable();
        intervals.dedup();
        intervals
    }

    /// All intervals and bounds with the default variant, then the other variants with the bound that was best.
    fn explore(&self, budget: Loss) -> (Vec<Candidate>, Option<Candidate>) {
        let intervals = self.intervals();
        let mut all = Vec::new();
        for depth in &self.depths {
            all.extend(
                intervals.iter().map(|interval| self.candidate(*interval, *depth, Variant::default())),
            );
        }
        let depth = best(&all, budget).map_or(1, |candidate| candidate.depth);
        for variant in Variant::ALL.into_iter().skip(1) {
            all.extend(intervals.iter().map(|interval| self.candidate(*interval, depth, variant)));
        }
        for index in 0..all.len() {
            let one = all[index];
            let beaten = all.iter().any(|other| {
                (other.loss <= one.loss && other.background > one.background)
                    || (other.loss < one.loss && other.background >= one.background)
            });
            all[index].on_frontier = !beaten;
        }
        let recommended = best(&all, budget);
        (all, recommended)
    }
}

/// Most background within the budget; of equals the one tried first: the default variant, the smallest bound.
fn best(all: &[Candidate], budget: Loss) -> Option<Candidate> {
    let mut best: Option<Candidate> = None;
    for candidate in all.iter().filter(|c| c.loss <= budget.fraction() && c.background > 0.0) {
        if best.is_none_or(|best| candidate.background > best.background) {
            best = Some(*candidate);
        }
    }
    best
}

/// To three digits, so that a setting can be read and typed.
fn rounded(span: Nanos) -> Nanos {
    let mut step = 1;
    while span.0 / step >= 1_000 {
        step *= 10;
    }
    Nanos(span.0.div_ceil(step).saturating_mul(step))
}

#[cfg(test)]
mod tests;
