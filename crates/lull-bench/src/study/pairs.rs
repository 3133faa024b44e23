//! Pairs of a foreground application and a background job: what each contender costs, gets done, and who is
//! beaten.
//!
//! Every figure is the median of ratios within rounds, with the 95% interval of that median by bootstrap. The
//! *frontier* of a pair are the contenders that nobody dominates: nobody has a p99 as low and does as much
//! background work, one of them clearly better (the rule of [`study`](super)); how sure that is,
//! [`dominance`](super::dominance) says. Rounds without a reference give no ratio.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::aims::{Aim, is_apps};
use super::dominance::{Dominance, FEW, dominance, few_requests};
use super::rounds::{MEAN, P50, P90, P99, REQUESTS, Round, WORK, over, rounds};
use super::{CaseStudy, Study};
use crate::record::{Moment, Record, Run};
use crate::stats::{Median, bootstrap, middle, ratio};

/// One pair with one number of instances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The case's name: `FOREGROUND-BACKGROUND-INSTANCES`.
    pub case: String,
    /// The application.
    pub foreground: String,
    /// The job.
    pub background: String,
    /// How many of the job ran at once.
    pub instances: u32,
    /// Rounds that have an undisturbed foreground.
    pub rounds: usize,
    /// Requests in a run of `alone`, if they are too few for a percentile: then p99 is the longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub few_requests: Option<u64>,
    /// What background work is counted by, in words; older records do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_by: Option<String>,
    /// The contenders, references first.
    pub contenders: Vec<Standing>,
    /// Those that nobody dominates.
    pub frontier: Vec<String>,
    /// What became of `lull`, in words.
    pub lull: String,
    /// The aims.
    #[serde(rename = "targets")]
    pub aims: Vec<Aim>,
}

/// One contender in one pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Its name.
    pub contender: String,
    /// Counted runs.
    pub runs: usize,
    /// Foreground requests answered per second over those of `alone`.
    pub throughput: Option<Median>,
    /// Mean response time over that of `alone`.
    pub mean: Option<Median>,
    /// Median response time over that of `alone`.
    #[serde(default)]
    pub p50: Option<Median>,
    /// 90th percentile over that of `alone`.
    #[serde(default)]
    pub p90: Option<Median>,
    /// 99th percentile over that of `alone`.
    pub p99: Option<Median>,
    /// The percentile itself, in nanoseconds.
    pub p99_ns: Option<f64>,
    /// Background work over that of `solo`.
    pub background: Option<Median>,
    /// CPUs that the background and its control used.
    pub background_cpus: Option<f64>,
    /// Share of the time from its start to its end in which the background was held, by the control's own
    /// account; none of those that hold nothing. See [`Run::held_share`].
    pub held: Option<f64>,
    /// Who dominates it.
    pub dominated_by: Vec<Dominance>,
}

/// Counted runs of a case, with the number of their measurement.
pub fn runs_of<'a>(records: &'a [Record], case: &str) -> Vec<(usize, &'a Run)> {
    let mut measurement = 0;
    let mut runs = Vec::new();
    for record in records {
        match record {
            Record::Host(_) => measurement += 1,
            Record::Run(run) if run.case == case && run.counted => runs.push((measurement, run)),
            _ => {}
        }
    }
    runs
}

/// The moments of a run that lie in its counted time: the end of it.
pub fn counted(run: &Run) -> &[Moment] {
    let seconds = run
        .foreground
        .as_ref()
        .map(|report| report.seconds)
        .or_else(|| run.background.as_ref().map(|background| background.window_s));
    let end = run.over_time.last().map_or(0.0, |moment| moment.at_s);
    let from = run.over_time.partition_point(|moment| moment.at_s <= end - seconds.unwrap_or(end));
    run.over_time.get(from..).unwrap_or_default()
}

/// Mean of a figure over moments.
fn mean(moments: &[Moment], of: impl Fn(&Moment) -> f64) -> Option<f64> {
    ratio(moments.iter().map(of).sum(), moments.len() as f64)
}

impl Pair {
    /// The pairs of a study of applications, in its order; `records` are those that it was made of.
    pub fn all(study: &Study, records: &[Record]) -> Vec<Self> {
        let cases = study.cases.iter().filter(|case| is_apps(&case.case));
        cases.map(|case| Self::of(case, &runs_of(records, &case.case))).collect()
    }

    fn of(case: &CaseStudy, runs: &[(usize, &Run)]) -> Self {
        let rounds = rounds(runs);
        let contenders: Vec<Standing> = case
            .rows
            .iter()
            .map(|row| {
                let dominated_by = row.dominated_by.iter();
                Standing {
                    dominated_by: dominated_by.map(|by| dominance(&rounds, by, &row.contender)).collect(),
                    ..standing(&row.contender, runs, &rounds)
                }
            })
            .collect();
        let is_on_it =
            |one: &&Standing| one.p99.is_some() && one.background.is_some() && one.dominated_by.is_empty();
        let mut names = case.case.rsplitn(2, '-');
        let instances = names.next().and_then(|text| text.parse().ok()).unwrap_or(0);
        let (foreground, background) =
            names.next().and_then(|pair| pair.split_once('-')).unwrap_or((case.case.as_str(), ""));
        Self {
            case: case.case.clone(),
            foreground: foreground.to_owned(),
            background: background.to_owned(),
            instances,
            rounds: rounds.iter().filter(|round| round.contains_key("alone")).count(),
            few_requests: few_requests(&rounds),
            counted_by: counted_by(runs),
            frontier: contenders.iter().filter(is_on_it).map(|one| one.contender.clone()).collect(),
            lull: verdict(&contenders),
            aims: case.aims.clone(),
            contenders,
        }
    }

    /// A contender of the pair.
    pub fn standing(&self, name: &str) -> Option<&Standing> {
        self.contenders.iter().find(|one| one.contender == name)
    }
}

/// What the work of these runs is counted by; of measurements that count in different ways, all of them.
fn counted_by(runs: &[(usize, &Run)]) -> Option<String> {
    let ways: BTreeSet<&str> = runs.iter().filter_map(|(_, run)| run.counted_by.as_deref()).collect();
    (!ways.is_empty()).then(|| ways.into_iter().collect::<Vec<_>>().join("; in other runs by "))
}

fn standing(name: &str, runs: &[(usize, &Run)], rounds: &[Round<'_>]) -> Standing {
    let own: Vec<&Run> = runs.iter().map(|(_, run)| *run).filter(|run| run.contender == name).collect();
    let over = |reference: &str, figure| bootstrap(&over(rounds, name, reference, figure));
    let looked = |of: fn(&Moment) -> f64| middle(own.iter().filter_map(|run| mean(counted(run), of)));
    Standing {
        contender: name.to_owned(),
        runs: own.len(),
        throughput: over("alone", REQUESTS),
        mean: over("alone", MEAN),
        p50: over("alone", P50),
        p90: over("alone", P90),
        p99: over("alone", P99),
        p99_ns: middle(own.iter().filter_map(|run| P99(run))),
        background: over("solo", WORK),
        background_cpus: looked(|moment| moment.background_cpus),
        held: middle(own.iter().filter_map(|run| run.held_share())),
        dominated_by: Vec::new(),
    }
}

/// What became of `lull`, in words.
fn verdict(contenders: &[Standing]) -> String {
    let figures = |one: &Standing| Some((one.p99?.value, one.background?.value));
    let find = |name: &str| contenders.iter().find(|one| one.contender == name);
    let Some(lull) = find("lull") else { return "lull was not measured.".to_owned() };
    let Some((p99, work)) = figures(lull) else {
        return "Whether lull is dominated cannot be said: a reference is missing.".to_owned();
    };
    if lull.dominated_by.is_empty() {
        return format!("lull is not dominated (p99 {p99:.2} × alone, background {work:.3} × solo).");
    }
    let who: Vec<String> = lull
        .dominated_by
        .iter()
        .filter_map(|one| {
            let (theirs, done) = figures(find(&one.by)?)?;
            let sure = if one.certain {
                "beyond chance".to_owned()
            } else if one.rounds < FEW {
                format!("rounds: {}, so it may be chance", one.rounds)
            } else {
                format!("in {:.0}% of the resamples, so it may be chance", one.chance * 100.0)
            };
            Some(format!("{} (p99 {theirs:.2}, background {done:.3}; {sure})", one.by))
        })
        .collect();
    format!("lull (p99 {p99:.2} × alone, background {work:.3} × solo) is dominated by {}.", who.join(", "))
}

#[cfg(test)]
mod tests;
