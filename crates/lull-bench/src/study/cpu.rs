//! Figures of cases whose resource is the CPU, beside those of every case.
//!
//! With [beats](crate::beats) each run is compared with its own quiet moments, and `alone`, whose moments are
//! all quiet, shows what the machine does by itself; without, it is compared with the run of `alone` in the
//! same round.
//!
//! An open loop serves what arrives, so its throughput says nothing; its mean latency does, and the tail
//! further out. The reference for background work is `sched-idle`, the best that priorities alone can give:
//! what is lost against it is what was held back. A contender that reports the slowdown it caused is judged
//! by how often the ratio measured in that round lies inside the interval that it gave. The measured ratio
//! has an error, too: so it is also counted how often that interval and one of the measured ratio overlap.
//! The latter is a bootstrap over the run's pairs of beats, whose neighbours the machine's changes hit alike.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Row;
use super::rounds::{MEAN, Round, WORK, mean_ns, over, p999_ns, plain, slowdown, slowdowns};
use crate::load::LoadReport;
use crate::record::Run;
use crate::stats::{Interval, Summary, bootstrap_figure, ratio};

/// The contender that uses priorities alone.
const PRIORITY: &str = "sched-idle";
/// Resamples of fewer pairs of beats are too much alike to show an error.
const FEWEST_PAIRS: usize = 5;

/// One contender's further figures. Ratios have no unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuFigures {
    /// Mean latency over that of the undisturbed foreground.
    pub mean: Option<Summary>,
    /// The same of the 99.9th percentile.
    pub p999: Option<Summary>,
    /// The same of the time from the start to the end of a request's work: what caches, memory bus and
    /// preemption cost, without the time before the request was begun.
    pub service: Option<Summary>,
    /// Mean latency, in nanoseconds.
    pub mean_ns: Option<Summary>,
    /// 99.9th percentile of the latency, in nanoseconds.
    pub p999_ns: Option<Summary>,
    /// Background work over that under `sched-idle`.
    pub over_sched_idle: Option<Summary>,
    /// Bytes or iterations per second.
    pub work_per_s: Option<Summary>,
    /// CPUs that the control itself used, on average over its life.
    pub control_cpus: Option<Summary>,
    /// CPUs that neither side had: used by others or stolen by the hypervisor.
    #[serde(default)]
    pub disturbed_cpus: Option<Summary>,
    /// The mean slowdown that the contender reported, as a ratio to the foreground alone.
    pub reported: Option<Summary>,
    /// The rounds in which the foreground was driven beyond its limit; ratios of such a round are near 1 and
    /// show nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrun: Vec<u32>,
    /// How often the measured one lay inside the reported interval.
    pub coverage: Option<Coverage>,
    /// How often the reported interval and that of the measured one overlapped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Coverage>,
}

/// Rounds in which the measured slowdown, or its 95% interval, agreed with the reported 95% interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Those rounds.
    pub inside: usize,
    /// Rounds in which both are known.
    pub rounds: usize,
}

impl Coverage {
    /// `inside / rounds`.
    pub fn share(self) -> Option<f64> {
        ratio(self.inside as f64, self.rounds as f64)
    }
}

/// Whether a case is one of the CPU: known by the loads in its rounds.
pub(super) fn is_cpu(rounds: &[Round<'_>]) -> bool {
    rounds
        .iter()
        .flat_map(|round| round.values())
        .any(|run| run.foreground.as_ref().is_some_and(|report| report.load.starts_with("cpu-")))
}

pub(super) fn figures(name: &str, rounds: &[Round<'_>]) -> CpuFigures {
    let plain = |figure| plain(rounds, name, figure);
    let slowdowns = |figure| slowdowns(rounds, name, figure);
    CpuFigures {
        mean: slowdowns(mean_ns),
        p999: slowdowns(p999_ns),
        service: slowdowns(service_ns),
        mean_ns: plain(MEAN),
        p999_ns: plain(|run| p999_ns(run.foreground.as_ref()?)),
        over_sched_idle: Summary::of(over(rounds, name, PRIORITY, WORK)),
        work_per_s: plain(WORK),
        control_cpus: plain(control_cpus),
        disturbed_cpus: plain(disturbed_cpus),
        reported: plain(|run| Some(run.reported?.estimate)),
        overrun: rounds
            .iter()
            .filter_map(|round| round.get(name))
            .filter(|run| run.overrun)
            .map(|run| run.round)
            .collect(),
        coverage: agreement(
            rounds
                .iter()
                .map(|round| Some(round.get(name)?.reported?.contains(slowdown(round, name, burst_ns)?))),
        ),
        overlap: agreement(rounds.iter().map(|round| {
            let run = round.get(name)?;
            Some(run.reported?.overlaps(&measured(run.foreground.as_ref()?)?))
        })),
    }
}

/// What a control that sees tasks run and sleep, but no requests, can measure.
fn burst_ns(report: &LoadReport) -> Option<f64> {
    ratio(report.burst_ns as f64, report.bursts as f64)
}

fn service_ns(report: &LoadReport) -> Option<f64> {
    if report.busy_ns == 0 {
        return None;
    }
    ratio(report.busy_ns as f64, (report.requests - report.unfinished) as f64)
}

fn control_cpus(run: &Run) -> Option<f64> {
    let background = run.background.as_ref()?;
    ratio(background.control_cpu_s?, background.life_s?)
}

fn disturbed_cpus(run: &Run) -> Option<f64> {
    let disturbance = run.disturbance?;
    Some(disturbance.others_cpus? + disturbance.stolen_cpus)
}

/// The slowdown of bursts in loaded beats over those in quiet ones, with its 95% interval; none with too few
/// beats.
fn measured(report: &LoadReport) -> Option<Interval> {
    // Bursts and their time: of the loaded beat, then of the quiet one.
    let mut pairs: BTreeMap<u64, [[u64; 2]; 2]> = BTreeMap::new();
    for beat in &report.beats {
        pairs.entry(beat.pair).or_default()[0] = [beat.bursts, beat.burst_ns];
    }
    for beat in &report.quiet.as_ref()?.beats {
        pairs.entry(beat.pair).or_default()[1] = [beat.bursts, beat.burst_ns];
    }
    let pairs: Vec<[[u64; 2]; 2]> = pairs.into_values().collect();
    if pairs.len() < FEWEST_PAIRS {
        return None;
    }
    bootstrap_figure(pairs.len(), |drawn| {
        let drawn: Vec<&[[u64; 2]; 2]> = drawn.iter().filter_map(|index| pairs.get(*index)).collect();
        let mean_of = |kind: fn(&[[u64; 2]; 2]) -> [u64; 2]| {
            let (bursts, time) = drawn.iter().fold((0, 0), |sum, pair| {
                let [bursts, time] = kind(pair);
                (sum.0 + bursts, sum.1 + time)
            });
            ratio(time as f64, bursts as f64)
        };
        ratio(mean_of(|[loaded, _]| *loaded)?, mean_of(|[_, quiet]| *quiet)?)
    })
}

fn agreement(rounds: impl Iterator<Item = Option<bool>>) -> Option<Coverage> {
    let coverage = rounds.flatten().fold(Coverage::default(), |sum, inside| Coverage {
        inside: sum.inside + usize::from(inside),
        rounds: sum.rounds + 1,
    });
    (coverage.rounds > 0).then_some(coverage)
}

/// The tail by which a case is judged, over that of the undisturbed foreground, and its name.
pub fn tail(case: &str) -> (&'static str, fn(&Row) -> Option<Summary>) {
    match case {
        "wakeup" => ("p99.9", |row| row.cpu.as_ref()?.p999),
        _ => ("p99", |row| row.p99),
    }
}

#[cfg(test)]
mod tests;
