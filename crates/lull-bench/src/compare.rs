//! `lull bench compare A B`: two measurements of any kind, figure by figure.
//!
//! Both may be made by different programs, on different days, or on different machines. For each case and contender that both
//! have, and each figure that both know, the ratio of the medians, B over A, with the interval that a bootstrap gives: the
//! runs of each side are drawn anew, with replacement, independently. An interval without 1 in it is a difference that
//! chance alone would rarely make.
//!
//! A figure is *relative* where the records allow it: to the same round's reference, so that a slower machine or minute
//! cancels out. Absolute figures are beside them.
//!
//! | figure | relative to |
//! |---|---|
//! | requests per second, mean, p50, p99 of the foreground | `alone` of the round |
//! | background work per second | `solo` of the round |
//! | wall-clock time of a job | – |
//!
//! Each side is a directory with `raw.jsonl`, that file, or a `study.json` or `apps.json` beside it: tables of medians alone would not do.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Error;
use crate::contender::rank;
use crate::error::Context;
use crate::record::{self, FILE_NAME, Record, Run};
use crate::stats::{Interval, bootstrap_ratio, ratio};

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
    /// The median of B over that of A.
    pub ratio: Interval,
}

impl Difference {
    /// Whether chance alone would rarely make it.
    pub fn is_clear(&self) -> bool {
        self.ratio.low > 1.0 || self.ratio.high < 1.0
    }
}

/// `lull bench compare`: prints every figure that both have.
///
/// # Errors
/// When a side has no records, or the two have nothing in common.
pub fn run_compare(args: &CompareArgs) -> Result<(), Error> {
    let differences = differences(&read(&args.a)?, &read(&args.b)?);
    if differences.is_empty() {
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
        serde_json::to_string_pretty(&differences).map_err(std::io::Error::from).to("encode the ratios")?
            + "\n"
    } else {
        table(&differences)
    };
    std::io::stdout().lock().write_all(text.as_bytes()).to("write to standard output")
}

/// The records behind a name.
fn read(place: &Path) -> Result<Vec<Record>, Error> {
    let is_report = place.extension().is_some_and(|extension| extension == "json");
    if !is_report {
        return record::read(place);
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

type Key = (String, String, &'static str);

/// The values of every figure, by case, contender and figure.
fn figures(records: &[Record]) -> BTreeMap<Key, Vec<f64>> {
    let mut rounds: BTreeMap<(usize, &str, u32), Vec<&Run>> = BTreeMap::new();
    let mut measurement = 0;
    for record in records {
        match record {
            Record::Host(_) => measurement += 1,
            Record::Run(run) if run.counted => {
                rounds.entry((measurement, &run.case, run.round)).or_default().push(run);
            }
            _ => {}
        }
    }
    let mut figures: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for runs in rounds.values() {
        for run in runs {
            let mut add = |figure, value: Option<f64>| {
                if let Some(value) = value.filter(|value| value.is_finite() && *value > 0.0) {
                    let key = (run.case.clone(), run.contender.clone(), figure);
                    figures.entry(key).or_default().push(value);
                }
            };
            let reference = |name: &str| {
                runs.iter().copied().find(|other| other.contender == name && run.contender != name)
            };
            for (figure, relative, of) in FOREGROUND {
                add(figure, of(run));
                add(relative, reference("alone").and_then(|alone| ratio(of(run)?, of(alone)?)));
            }
            add("background/s", work(run));
            add("background / solo", reference("solo").and_then(|solo| ratio(work(run)?, work(solo)?)));
            add("wall", run.background.as_ref().and_then(|background| background.wall_s));
        }
    }
    figures
}

type Figure = fn(&Run) -> Option<f64>;

const FOREGROUND: [(&str, &str, Figure); 4] = [
    ("requests/s", "requests / alone", |run| {
        let report = run.foreground.as_ref()?;
        ratio(report.requests as f64, report.seconds)
    }),
    ("mean", "mean / alone", |run| Some(run.foreground.as_ref()?.latency?.mean_ns as f64)),
    ("p50", "p50 / alone", |run| Some(run.foreground.as_ref()?.latency?.p50_ns as f64)),
    ("p99", "p99 / alone", |run| Some(run.foreground.as_ref()?.latency?.p99_ns as f64)),
];

fn work(run: &Run) -> Option<f64> {
    run.background.as_ref().filter(|background| background.wall_s.is_none()).map(record::Background::rate)
}

/// Every figure that both sides have.
pub fn differences(a: &[Record], b: &[Record]) -> Vec<Difference> {
    let (a, b) = (figures(a), figures(b));
    let mut found: Vec<Difference> = a
        .iter()
        .filter_map(|(key, of_a)| {
            let of_b = b.get(key)?;
            let (case, contender, figure) = key.clone();
            let ratio = bootstrap_ratio(of_b, of_a)?;
            Some(Difference { case, contender, figure, runs: [of_a.len(), of_b.len()], ratio })
        })
        .collect();
    found.sort_by_cached_key(|d| (d.case.clone(), rank(&d.contender), d.contender.clone()));
    found
}

fn table(differences: &[Difference]) -> String {
    let mut text = String::from("B over A: ratio of medians, with its 95% interval by bootstrap\n");
    let mut latest = (String::new(), String::new());
    for difference in differences {
        let Difference { case, contender, figure, runs: [a, b], ratio } = difference;
        if latest.0 != *case {
            text.push_str(&format!("\n{case}\n"));
        }
        let name = if latest == (case.clone(), contender.clone()) { "" } else { contender };
        let mark = if difference.is_clear() { "*" } else { " " };
        text.push_str(&format!(
            "  {name:12} {figure:18} {:>8.3} [{:.3} to {:.3}] {mark} {a} and {b} runs\n",
            ratio.value, ratio.low, ratio.high
        ));
        latest = (case.clone(), contender.clone());
    }
    text.push_str(
        "\n* the interval does not hold 1. With fewer than five runs a side an interval says too little.\n",
    );
    text
}

#[cfg(test)]
mod tests;
