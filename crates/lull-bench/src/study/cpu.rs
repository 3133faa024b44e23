//! Figures of cases whose resource is the CPU, beside those of every case.
//!
//! An open loop serves what arrives, so its throughput says nothing; its mean latency does, and the tail further out.
//! The reference for background work is `sched-idle`, the best that priorities alone can give: what is lost against it
//! is what was held back. A contender that reports the slowdown it caused is judged by how often the true ratio of that
//! round lies inside the interval that it gave.

use serde::{Deserialize, Serialize};

use super::{Round, Row};
use crate::load::LoadReport;
use crate::record::Run;
use crate::stats::{Summary, ratio};

/// The contender that uses priorities alone.
const PRIORITY: &str = "sched-idle";

/// One contender's further figures. Ratios have no unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuFigures {
    /// Mean latency over that of `alone`.
    pub mean: Option<Summary>,
    /// 99.9th percentile of the latency over that of `alone`.
    pub p999: Option<Summary>,
    /// Time from the start to the end of a request's work, over that of `alone`: what caches, memory bus and
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
    /// How often the true one lay inside the reported interval.
    pub coverage: Option<Coverage>,
}

/// Rounds in which the true slowdown lay inside the reported 95% interval.
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
    let within = |reference: &str, figure: &dyn Fn(&Run) -> Option<f64>| {
        Summary::of(
            rounds
                .iter()
                .filter_map(|round| ratio(figure(round.get(name)?)?, figure(round.get(reference)?)?)),
        )
    };
    let plain = |figure: &dyn Fn(&Run) -> Option<f64>| {
        Summary::of(rounds.iter().filter_map(|round| figure(round.get(name)?)))
    };
    CpuFigures {
        mean: within("alone", &mean_ns),
        p999: within("alone", &p999_ns),
        service: within("alone", &service_ns),
        mean_ns: plain(&mean_ns),
        p999_ns: plain(&p999_ns),
        over_sched_idle: within(PRIORITY, &work_per_s),
        work_per_s: plain(&work_per_s),
        control_cpus: plain(&control_cpus),
        disturbed_cpus: plain(&disturbed_cpus),
        reported: plain(&|run| Some(run.reported?.estimate)),
        coverage: coverage(name, rounds),
    }
}

fn served(run: &Run) -> Option<&LoadReport> {
    run.foreground.as_ref().filter(|report| report.requests > 0)
}

fn mean_ns(run: &Run) -> Option<f64> {
    Some(served(run)?.latency?.mean_ns as f64)
}

fn p999_ns(run: &Run) -> Option<f64> {
    Some(served(run)?.latency?.p999_ns as f64)
}

fn service_ns(run: &Run) -> Option<f64> {
    let report = served(run).filter(|report| report.busy_ns > 0)?;
    ratio(report.busy_ns as f64, (report.requests - report.unfinished) as f64)
}

fn work_per_s(run: &Run) -> Option<f64> {
    Some(run.background.as_ref()?.rate())
}

fn control_cpus(run: &Run) -> Option<f64> {
    let background = run.background.as_ref()?;
    ratio(background.control_cpu_s?, background.life_s?)
}

fn disturbed_cpus(run: &Run) -> Option<f64> {
    let disturbance = run.disturbance?;
    Some(disturbance.others_cpus? + disturbance.stolen_cpus)
}

fn coverage(name: &str, rounds: &[Round<'_>]) -> Option<Coverage> {
    let known = rounds.iter().filter_map(|round| {
        let run = round.get(name)?;
        Some(run.reported?.contains(ratio(mean_ns(run)?, mean_ns(round.get("alone")?)?)?))
    });
    let coverage = known.fold(Coverage::default(), |sum, inside| Coverage {
        inside: sum.inside + usize::from(inside),
        rounds: sum.rounds + 1,
    });
    (coverage.rounds > 0).then_some(coverage)
}

/// The tail by which a case is judged, over that of `alone`, and its name.
pub fn tail(case: &str) -> (&'static str, fn(&Row) -> Option<Summary>) {
    match case {
        "wakeup" => ("p99.9", |row| row.cpu.as_ref()?.p999),
        _ => ("p99", |row| row.p99),
    }
}

#[cfg(test)]
mod tests;
