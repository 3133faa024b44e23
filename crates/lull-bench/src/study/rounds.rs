//! The rounds of a case, and the figures of its runs.
//!
//! Where no request ended there is no latency, and above all no low one.

use std::collections::BTreeMap;

use crate::load::{Latency, LoadReport};
use crate::record::Run;
use crate::stats::{Summary, ratio};

/// One round of one case: the counted runs by contender.
pub type Round<'a> = BTreeMap<&'a str, &'a Run>;
/// A figure of a run; none where it has none.
pub type Figure = fn(&Run) -> Option<f64>;

/// Foreground requests per second.
pub const REQUESTS: Figure = |run| run.foreground.as_ref()?.requests_per_s();
/// Mean latency of the foreground, in nanoseconds.
pub const MEAN: Figure = |run| mean_ns(run.foreground.as_ref()?);
/// Its median.
pub const P50: Figure = |run| p50_ns(run.foreground.as_ref()?);
/// Its 90th percentile.
pub const P90: Figure = |run| p90_ns(run.foreground.as_ref()?);
/// Its 99th percentile.
pub const P99: Figure = |run| p99_ns(run.foreground.as_ref()?);
/// Bytes, or iterations, of the background per second.
pub const WORK: Figure = |run| Some(run.background.as_ref()?.rate());
/// The same, but none of a job that is only timed, as a compile.
pub const BYTES: Figure = |run| WORK(run).filter(|rate| *rate > 0.0 || WALL(run).is_none());
/// Wall-clock time of a job that runs to its end, in seconds.
pub const WALL: Figure = |run| run.background.as_ref()?.wall_s;

fn latency(report: &LoadReport) -> Option<Latency> {
    report.latency.filter(|_| report.requests > 0)
}

/// Mean latency.
pub fn mean_ns(report: &LoadReport) -> Option<f64> {
    latency(report).map(|latency| latency.mean_ns as f64)
}

/// Median latency.
pub fn p50_ns(report: &LoadReport) -> Option<f64> {
    latency(report).map(|latency| latency.p50_ns as f64)
}

/// 90th percentile of the latency.
pub fn p90_ns(report: &LoadReport) -> Option<f64> {
    latency(report).map(|latency| latency.p90_ns as f64)
}

/// 99th percentile of the latency.
pub fn p99_ns(report: &LoadReport) -> Option<f64> {
    latency(report).map(|latency| latency.p99_ns as f64)
}

/// 99.9th percentile of the latency.
pub fn p999_ns(report: &LoadReport) -> Option<f64> {
    latency(report).map(|latency| latency.p999_ns as f64)
}

/// The rounds of the counted runs of a case, which come with the number of their measurement.
pub fn rounds<'a>(runs: &[(usize, &'a Run)]) -> Vec<Round<'a>> {
    let mut rounds: BTreeMap<(usize, u32), Round<'_>> = BTreeMap::new();
    for (measurement, run) in runs.iter().filter(|(_, run)| run.counted) {
        rounds.entry((*measurement, run.round)).or_default().insert(&run.contender, run);
    }
    rounds.into_values().collect()
}

/// A figure of a contender over that of another one in the same round.
pub fn within(round: &Round<'_>, name: &str, reference: &str, figure: Figure) -> Option<f64> {
    ratio(figure(round.get(name)?)?, figure(round.get(reference)?)?)
}

/// The same in all rounds that have both.
pub fn over(rounds: &[Round<'_>], name: &str, reference: &str, figure: Figure) -> Vec<f64> {
    rounds.iter().filter_map(|round| within(round, name, reference, figure)).collect()
}

/// A figure of a contender in all its rounds.
pub fn plain(rounds: &[Round<'_>], name: &str, figure: Figure) -> Option<Summary> {
    Summary::of(rounds.iter().filter_map(|round| figure(round.get(name)?)))
}

/// A figure of the foreground over that of the undisturbed one: in the quiet beats of the same run where it
/// has any, else in the run of `alone` in the same round.
pub fn slowdown(round: &Round<'_>, name: &str, figure: fn(&LoadReport) -> Option<f64>) -> Option<f64> {
    let report = round.get(name)?.foreground.as_ref()?;
    let undisturbed = match &report.quiet {
        Some(quiet) => quiet,
        None => round.get("alone")?.foreground.as_ref()?,
    };
    ratio(figure(report)?, figure(undisturbed)?)
}

/// The same over all rounds.
pub fn slowdowns(
    rounds: &[Round<'_>],
    name: &str,
    figure: fn(&LoadReport) -> Option<f64>,
) -> Option<Summary> {
    Summary::of(rounds.iter().filter_map(|round| slowdown(round, name, figure)))
}
