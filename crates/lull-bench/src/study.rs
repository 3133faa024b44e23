//! From raw runs to figures.
//!
//! Everything is a ratio *within a round*: a contender's foreground to the `alone` run of the same round (or
//! to quiet [beats](crate::beats) of its own run, where there are any), its background to the `solo` run of
//! the same round. The figure is the median of those ratios over the rounds, so a slow minute of the machine
//! that hits a whole round cancels out. A round without its reference, and runs whose conditions were not met
//! (`counted: false`), give no ratio. Runs of several measurements in one file are told apart by the host
//! line before them.
//!
//! A contender is *dominated* in a case when another one gives the foreground at least as much, at no higher
//! p99, and gets more background work done, each by more than [`NOISE`], or is better for the foreground by
//! as much for the same work. Where the resource is the CPU ([`cpu`]), the foreground is judged by its mean
//! latency, not by its throughput; beside real applications ([`pairs`]), whose requests arrive at a constant
//! rate, by its p99 alone.

use serde::{Deserialize, Serialize};

use crate::contender::rank;
use crate::record::{Host, Record, Run, Unmet};
use crate::stats::{Summary, ratio};

pub mod aims;
pub mod cpu;
pub mod dominance;
pub mod figures;
pub mod observations;
pub mod pairs;
pub mod round_trip;
pub mod rounds;

use rounds::{
    BYTES, P99, REQUESTS, Round, WALL, mean_ns, over, p50_ns, p90_ns, p99_ns, plain, slowdowns, within,
};

/// Differences of medians below this share are not told apart.
pub const NOISE: f64 = 0.02;

/// All figures of one record file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Study {
    /// The machines, in the order of the measurements.
    pub hosts: Vec<Host>,
    /// What was not measured.
    pub unmet: Vec<Unmet>,
    /// Figures per case, in the order of measurement.
    pub cases: Vec<CaseStudy>,
}

/// The figures of one case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseStudy {
    /// Its name.
    pub case: String,
    /// One row per contender, references first.
    pub rows: Vec<Row>,
    /// The aims of the case and whether `lull` met them.
    #[serde(rename = "targets")]
    pub aims: Vec<aims::Aim>,
}

/// One contender in one case. Ratios have no unit; none where the reference is missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Its name.
    pub contender: String,
    /// The background's command line in one of the runs.
    pub command: Option<String>,
    /// Counted runs.
    pub runs: usize,
    /// Runs left out because a condition was not met.
    pub left_out: usize,
    /// Foreground requests per second, over those of `alone`.
    pub foreground: Option<Summary>,
    /// Mean latency over that of the undisturbed foreground.
    #[serde(default)]
    pub mean: Option<Summary>,
    /// Median latency over that of the undisturbed foreground.
    pub p50: Option<Summary>,
    /// 90th percentile of the latency over that of the undisturbed foreground.
    #[serde(default)]
    pub p90: Option<Summary>,
    /// 99th percentile of the latency over that of the undisturbed foreground.
    pub p99: Option<Summary>,
    /// Foreground requests per second.
    pub requests_per_s: Option<Summary>,
    /// 99th percentile of the latency, in nanoseconds.
    pub p99_ns: Option<Summary>,
    /// Background bytes per second, over those of `solo`.
    pub background: Option<Summary>,
    /// Background bytes per second.
    pub bytes_per_s: Option<Summary>,
    /// On the slow disk and on a link: background work over what `solo` does in the time that the foreground
    /// of `alone` leaves idle.
    pub idle_used: Option<Summary>,
    /// Background bytes per second over those of `bfq`.
    pub over_bfq: Option<Summary>,
    /// Wall-clock time of `none` over this one's: relative speed of a job that has the machine to itself.
    pub speed: Option<Summary>,
    /// Wall-clock time, in seconds.
    pub wall_s: Option<Summary>,
    /// Processor time of the background and its control, in seconds per run.
    pub cpu_s: Option<Summary>,
    /// Largest resident set of one of the background's processes, or of its control, in bytes.
    pub peak_bytes: Option<Summary>,
    /// Share of the foreground's reads that found their data in the page cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hits: Option<Summary>,
    /// Round trips on a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<round_trip::RoundTrips>,
    /// Further figures, where the resource is the CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<cpu::CpuFigures>,
    /// Contenders that dominate this one.
    pub dominated_by: Vec<String>,
}

impl Study {
    /// Of these records.
    pub fn of(records: &[Record]) -> Self {
        let mut study = Self::default();
        let mut cases: Vec<(&str, Vec<(usize, &Run)>)> = Vec::new();
        for record in records {
            match record {
                Record::Host(host) => study.hosts.push(host.clone()),
                Record::Unmet(unmet) => study.unmet.push(unmet.clone()),
                Record::Run(run) => {
                    let entry = (study.hosts.len(), run);
                    match cases.iter_mut().find(|(name, _)| *name == run.case) {
                        Some((_, runs)) => runs.push(entry),
                        None => cases.push((&run.case, vec![entry])),
                    }
                }
            }
        }
        study.cases = cases.into_iter().map(|(case, runs)| CaseStudy::of(case, &runs)).collect();
        study
    }
}

impl CaseStudy {
    fn of(case: &str, runs: &[(usize, &Run)]) -> Self {
        let rounds = rounds::rounds(runs);
        let mut names: Vec<&str> = Vec::new();
        for (_, run) in runs {
            if !names.contains(&run.contender.as_str()) {
                names.push(&run.contender);
            }
        }
        names.sort_by_key(|name| (rank(name), *name));
        let mut rows: Vec<Row> = names.iter().map(|name| row(name, runs, &rounds)).collect();
        let names_of = |row: &Row| {
            let better = rows.iter().filter(|other| dominates(case, other, row));
            better.map(|other| other.contender.clone()).collect::<Vec<String>>()
        };
        let dominated: Vec<Vec<String>> = rows.iter().map(names_of).collect();
        rows.iter_mut().zip(dominated).for_each(|(row, by)| row.dominated_by = by);
        let aims = aims::judge(case, &rows, &rounds);
        Self { case: case.to_owned(), rows, aims }
    }
}

fn row(name: &str, runs: &[(usize, &Run)], rounds: &[Round<'_>]) -> Row {
    let own: Vec<&Run> = runs.iter().map(|(_, run)| *run).filter(|run| run.contender == name).collect();
    let over = |reference: &str, figure| Summary::of(over(rounds, name, reference, figure));
    let slowdowns = |figure| slowdowns(rounds, name, figure);
    let plain = |figure| plain(rounds, name, figure);
    // A parallel device serves both at once: what is "idle" there is not a matter of time.
    let is_one = |run: &&Run| run.case.starts_with("slow-") || is_net(run);
    let one_server = name != "solo" && own.iter().any(is_one);
    let served = if one_server { rounds } else { &[] };
    Row {
        contender: name.to_owned(),
        command: own.iter().find_map(|run| run.command.clone()),
        runs: own.iter().filter(|run| run.counted).count(),
        left_out: own.iter().filter(|run| !run.counted).count(),
        foreground: over("alone", REQUESTS),
        mean: slowdowns(mean_ns),
        p50: slowdowns(p50_ns),
        p90: slowdowns(p90_ns),
        p99: slowdowns(p99_ns),
        requests_per_s: plain(REQUESTS),
        p99_ns: plain(P99),
        background: over("solo", BYTES),
        bytes_per_s: plain(BYTES),
        idle_used: Summary::of(served.iter().filter_map(|round| idle_used(round, name))),
        over_bfq: over("bfq", BYTES),
        speed: Summary::of(rounds.iter().filter_map(|round| within(round, "none", name, WALL))),
        wall_s: plain(WALL),
        cpu_s: plain(|run| run.background.as_ref()?.cpu_s),
        peak_bytes: plain(|run| Some(run.background.as_ref()?.peak_bytes as f64)),
        hits: plain(hits),
        round_trips: round_trip::round_trips(name, rounds),
        cpu: cpu::is_cpu(rounds).then(|| cpu::figures(name, rounds)),
        dominated_by: Vec::new(),
    }
}

fn hits(run: &Run) -> Option<f64> {
    let report = run.foreground.as_ref()?;
    Some(1.0 - ratio(report.misses? as f64, report.requests as f64)?)
}

/// Whether the resource is a link: known by the load, or by the case of a server.
fn is_net(run: &Run) -> bool {
    run.case.starts_with("net-")
        || run.foreground.as_ref().is_some_and(|report| report.load.starts_with("net-"))
}

/// None where the foreground leaves less than 2% idle: the quotient would be noise.
fn idle_used(round: &Round<'_>, name: &str) -> Option<f64> {
    let run = round.get("alone")?;
    let alone = run.foreground.as_ref()?;
    let solo = BYTES(round.get("solo")?)?;
    let busy = if is_net(run) {
        // What the foreground leaves of a link is what its bytes leave of the most that was seen to pass.
        ratio(ratio(alone.bytes as f64, alone.seconds)?, solo)?
    } else {
        ratio(alone.busy_ns as f64 / 1e9, alone.seconds)?
    };
    let idle = 1.0 - busy;
    if idle < 0.02 {
        return None;
    }
    ratio(BYTES(round.get(name)?)?, solo * idle)
}

/// Whether `other` is at least as good as `row` in all three figures and clearly better in one.
fn dominates(case: &str, other: &Row, row: &Row) -> bool {
    let speed = |row: &Row| match &row.cpu {
        Some(cpu) => ratio(1.0, cpu.mean?.median),
        None if aims::is_apps(case) => Some(1.0),
        None => Some(row.foreground?.median),
    };
    let (_, tail) = cpu::tail(case);
    let figures = |row: &Row| Some((speed(row)?, tail(row)?.median, row.background?.median));
    let (Some(theirs), Some(ours)) = (figures(other), figures(row)) else { return false };
    let no_worse = theirs.0 >= ours.0 - NOISE / 4.0
        && theirs.1 <= ours.1 * (1.0 + NOISE / 2.0)
        && theirs.2 >= ours.2 * (1.0 - NOISE / 4.0);
    let better = theirs.0 > ours.0 + NOISE
        || theirs.1 < ours.1 * (1.0 - 2.0 * NOISE)
        || theirs.2 > ours.2 * (1.0 + 2.0 * NOISE);
    no_worse && better && other.contender != row.contender
}

#[cfg(test)]
mod tests;
