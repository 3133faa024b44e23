//! `lull bench compare A B`: two measurements of any kind, figure by figure.
//!
//! Both may be made by different programs (two revisions of lull: `--lull` of the experiments), on different
//! days, or on different machines. For each case and contender that both have, and each figure that both
//! know, the ratio of B over A with the 95% interval of ranks ([`ranks`]), which holds for the few rounds
//! that measurements have, and a verdict:
//!
//! | verdict | if |
//! |---|---|
//! | `better`, `worse` | the interval does not hold 1, and that stands among all figures that were looked at: of those so called, 1 in 20 is expected to be wrong |
//! | `perhaps` | the interval does not hold 1, but among so many figures some do by chance |
//! | `same` | the interval lies within a twentieth of 1 |
//! | `unknown` | everything else: it cannot be told, for want of rounds or of quiet |
//!
//! A figure is *relative* where the records allow it: to the same round's reference, so that a slower machine
//! or minute cancels out. Absolute figures are beside them.
//!
//! | figure | relative to |
//! |---|---|
//! | requests per second, mean, p50, p99 of the foreground | `alone` of the round |
//! | background work per second | `solo` of the round |
//! | wall-clock time of a job | – |
//!
//! Each side is a directory with `raw.jsonl`, that file, or a `study.json` or `apps.json`, which hold the
//! runs too. Those of older versions do not, and stand for the `raw.jsonl` beside them: tables of medians
//! alone would not do.
//!
//! Measurements on other terms (rates, seconds, sizes) are refused; only lull's flags may differ, which is
//! said.

mod text;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Error;
use crate::contender::rank;
use crate::error::Context;
use crate::record::{self, FILE_NAME, Host, LULL_FLAGS, Record, differing, hosts};
use crate::stats::Interval;
use crate::stats::ranks::{self, compared};
use crate::study::rounds::{Figure, MEAN, P50, P99, REQUESTS, Round, WALL, WORK, within};

/// Arguments of `lull bench compare`.
#[derive(Clone, Debug, clap::Args)]
pub struct CompareArgs {
    /// The measurement that is the measure: a directory, its raw.jsonl, or a JSON beside it.
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The measurement that is compared with it.
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Print the ratios as JSON instead of a table.
    #[arg(long)]
    pub json: bool,
}

/// Ratios this near to 1 are the same.
const SAME: f64 = 0.05;
/// Share of the differences that may be wrong.
const WRONG: f64 = 0.05;

/// What can be said of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// B is better.
    Better,
    /// B is worse.
    Worse,
    /// They differ by themselves, but not among so many.
    Perhaps,
    /// They do not differ by anything that matters.
    Same,
    /// It cannot be told.
    Unknown,
}

impl Verdict {
    /// In tables.
    pub fn word(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// One figure of one contender in one case, on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The case.
    pub case: String,
    /// The contender.
    pub contender: String,
    /// What is compared.
    pub figure: &'static str,
    /// Runs, or rounds, on each side.
    pub runs: [usize; 2],
    /// B over A.
    pub ratio: f64,
    /// Its 95% interval; none with fewer than four values a side.
    pub interval: Option<Interval>,
    /// The chance of such a difference if there is none.
    pub chance: f64,
    /// What can be said.
    pub verdict: Verdict,
}

/// Two measurements.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The machines and programs of each side.
    pub hosts: [Vec<Host>; 2],
    /// Every figure that both have.
    pub differences: Vec<Difference>,
}

/// `lull bench compare`: prints every figure that both have.
///
/// # Errors
/// When a side has no records, or the two have nothing in common.
pub fn run_compare(args: &CompareArgs) -> Result<(), Error> {
    let (a, b) = (read(&args.a)?, read(&args.b)?);
    if let Some(problem) = other_terms(&a, &b) {
        let argument = format!("{} {}", args.a.display(), args.b.display());
        return Err(Error::Argument { argument, problem });
    }
    let comparison = Comparison::of(&a, &b);
    if comparison.differences.is_empty() {
        return Err(Error::Unmet {
            what: "anything to compare".to_owned(),
            detail: format!(
                "{} and {} have no counted run of the same case and contender in common",
                args.a.display(),
                args.b.display()
            ),
        });
    }
    let text = if args.json {
        serde_json::to_string_pretty(&comparison).map_err(std::io::Error::from).to("encode the ratios")?
            + "\n"
    } else {
        text::render(&comparison)
    };
    std::io::stdout().lock().write_all(text.as_bytes()).to("write to standard output")
}

/// The records behind a name.
fn read(place: &Path) -> Result<Vec<Record>, Error> {
    let is_report = place.extension().is_some_and(|extension| extension == "json");
    if !is_report {
        return record::read(place);
    }
    #[derive(serde::Deserialize)]
    struct Holds {
        records: Option<Vec<Record>>,
    }
    let text = std::fs::read_to_string(place).at("read", place)?;
    let holds: Holds = serde_json::from_str(&text).map_err(std::io::Error::from).at("understand", place)?;
    if let Some(records) = holds.records {
        return Ok(records);
    }
    let beside = place.with_file_name(FILE_NAME);
    if !beside.exists() {
        return Err(Error::Argument {
            argument: place.display().to_string(),
            problem: format!(
                "its runs are in {FILE_NAME}, which is not beside it; name the directory that has it"
            ),
        });
    }
    record::read(&beside)
}

/// Why two measurements cannot be compared: the terms that differ; none if none does.
fn other_terms(a: &[Record], b: &[Record]) -> Option<String> {
    let mut differing = differing(hosts(a).chain(hosts(b)));
    differing.remove(LULL_FLAGS);
    let said: Vec<String> =
        differing.into_iter().map(|(name, values)| format!("{name}: {}", values.join(" and "))).collect();
    (!said.is_empty()).then(|| format!("they were measured on other terms ({})", said.join("; ")))
}

type Key = (String, String, &'static str);

/// The values of every figure, by case, contender and figure.
fn figures(records: &[Record]) -> BTreeMap<Key, Vec<f64>> {
    let mut rounds: BTreeMap<(usize, &str, u32), Round<'_>> = BTreeMap::new();
    let mut measurement = 0;
    for record in records {
        match record {
            Record::Host(_) => measurement += 1,
            Record::Run(run) if run.counted => {
                let round = rounds.entry((measurement, &run.case, run.round)).or_default();
                round.insert(&run.contender, run);
            }
            _ => {}
        }
    }
    let mut figures: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for round in rounds.values() {
        for (name, run) in round {
            let mut add = |figure, value: Option<f64>| {
                if let Some(value) = value.filter(|value| value.is_finite() && *value > 0.0) {
                    figures.entry((run.case.clone(), run.contender.clone(), figure)).or_default().push(value);
                }
            };
            for (figure, relative, reference, of) in FIGURES {
                add(figure, of(run));
                add(relative, within(round, name, reference, of).filter(|_| *name != reference));
            }
            add("wall", WALL(run));
        }
    }
    figures
}

/// Figures, the same relative to a reference, and that.
const FIGURES: [(&str, &str, &str, Figure); 5] = [
    ("requests/s", "requests / alone", "alone", REQUESTS),
    ("mean", "mean / alone", "alone", MEAN),
    ("p50", "p50 / alone", "alone", P50),
    ("p99", "p99 / alone", "alone", P99),
    ("background/s", "background / solo", "solo", |run| WORK(run).filter(|_| WALL(run).is_none())),
];

impl Comparison {
    /// Of the records of two measurements.
    pub fn of(a: &[Record], b: &[Record]) -> Self {
        let hosts = [a, b].map(|records| hosts(records).cloned().collect());
        Self { hosts, differences: differences(a, b) }
    }
}

/// Every figure that both sides have.
fn differences(a: &[Record], b: &[Record]) -> Vec<Difference> {
    let (a, b) = (figures(a), figures(b));
    let mut found: Vec<Difference> = a
        .iter()
        .filter_map(|(key, of_a)| {
            let of_b = b.get(key)?;
            let (case, contender, figure) = key.clone();
            let ranks::Compared { value, interval, chance } = compared(of_b, of_a)?;
            let runs = [of_a.len(), of_b.len()];
            let verdict = Verdict::Unknown;
            Some(Difference { case, contender, figure, runs, ratio: value, interval, chance, verdict })
        })
        .collect();
    found.sort_by_cached_key(|d| (d.case.clone(), rank(&d.contender), d.contender.clone()));
    let chances: Vec<f64> = found.iter().map(|difference| difference.chance).collect();
    for (difference, stands) in found.iter_mut().zip(ranks::keep(&chances, WRONG)) {
        difference.verdict = verdict(difference, stands);
    }
    found
}

fn verdict(difference: &Difference, stands: bool) -> Verdict {
    let Some(interval) = difference.interval else { return Verdict::Unknown };
    // What takes long is bad, what is done per second is good.
    let more_is_better = ["requests", "background"].iter().any(|name| difference.figure.starts_with(name));
    match (interval.low > 1.0, interval.high < 1.0) {
        _ if interval.low >= 1.0 - SAME && interval.high <= 1.0 + SAME => Verdict::Same,
        (false, false) => Verdict::Unknown,
        _ if !stands => Verdict::Perhaps,
        (is_more, _) if is_more == more_is_better => Verdict::Better,
        _ => Verdict::Worse,
    }
}

#[cfg(test)]
mod tests;
