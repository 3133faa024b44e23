//! Verdicts on applications, for machines (`apps.json`) and for documents (`report.md`).
//!
//! `report.md` is short enough for a page of results: a line per pair against the aims, a table per pair, the observations of the `smart`
//! paper, the machine, and what is missing. Everything else is in the [page](super::html).

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::html::{self, who_dominates};
use super::table::target_line;
use crate::Error;
use crate::error::Context;
use crate::record::Record;
use crate::stats::Median;
use crate::study::Study;
use crate::study::observations::{self, Observation};
use crate::study::pairs::{FEW, Pair, Standing};
use crate::study::targets::Tally;
use crate::units::count;

/// For machines.
pub const FILE_NAME: &str = "apps.json";

/// What the records say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdicts {
    /// Every pair of application and job.
    pub pairs: Vec<Pair>,
    /// The observations of the `smart` paper.
    pub observations: Vec<Observation>,
}

impl Verdicts {
    /// None if the records are of other experiments.
    pub fn of(study: &Study, records: &[Record]) -> Option<Self> {
        let pairs = Pair::all(study, records);
        let observations = observations::of(&pairs, records).to_vec();
        (!pairs.is_empty()).then_some(Self { pairs, observations })
    }

    /// Rounds of the pair that has the fewest.
    pub(super) fn fewest(&self) -> usize {
        self.pairs.iter().map(|pair| pair.rounds).min().unwrap_or(0)
    }
}

/// What the tail of a pair's latencies is called.
pub(super) const fn tail(pair: &Pair) -> &'static str {
    if pair.few_requests.is_some() { "longest" } else { "p99" }
}

/// What a reader of a pair with few requests should know.
pub(super) fn few_requests(pair: &Pair) -> Option<String> {
    let requests = pair.few_requests?;
    Some(format!(
        "A run has about {requests} requests, too few for a 99th percentile: what stands for it is the longest of them, and the aim is on the median."
    ))
}

/// What the column `held` says, after its name.
pub(super) const HELD: &str = "share of the time from the job's start to its end, warm-up included, in which it was frozen or one of its calls waited, \
     by the control's own account (lull's summary; suspend's freezes); – where the control holds nothing";

/// The share in a cell.
pub(super) fn held(one: &Standing) -> String {
    one.held.map_or_else(|| "–".to_owned(), |held| format!("{:.0}%", held * 100.0))
}

/// What a unit of background work is, for who reads its ratios.
pub(super) fn counted_by(pair: &Pair) -> Option<String> {
    Some(format!("Background work is counted by {}.", pair.counted_by.as_ref()?))
}

/// Writes `apps.json`, `report.md` and the page into `directory`.
///
/// # Errors
/// When one of them cannot be written.
pub fn write(
    directory: &Path,
    study: &Study,
    records: &[Record],
    hosts: &str,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let Some(verdicts) = Verdicts::of(study, records) else { return Ok(()) };
    let json = super::with_records(&verdicts, records).to("encode the verdicts")?;
    for (name, content) in [(FILE_NAME, json), ("report.md", markdown(study, &verdicts, hosts))] {
        let path = directory.join(name);
        std::fs::write(&path, content).at("write", &path)?;
    }
    for pair in &verdicts.pairs {
        writeln!(out, "{}: {}", pair.case, pair.lull).to("write to standard output")?;
    }
    html::write(directory, study, &verdicts, records, out)
}

fn ranged(median: Option<Median>) -> String {
    let Some(Median { value, ends }) = median else { return "–".to_owned() };
    let ends = ends.map(|ends| format!(" [{:.2}–{:.2}]", ends.low, ends.high));
    format!("{value:.2}{}", ends.unwrap_or_default())
}

fn words(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn markdown(study: &Study, verdicts: &Verdicts, hosts: &str) -> String {
    let mut text = format!("# Real applications beside background jobs\n\n{hosts}\n");
    let fewest = verdicts.fewest();
    if fewest < FEW {
        let say = if fewest == 1 { "figures may be chance" } else { "intervals say too little" };
        let _ = writeln!(text, "Some pairs have only {}: their {say}.\n", count(fewest, "round"));
    }
    text.push_str(
        "Aims for lull at its defaults: beside a server mean and p90 at most 1.10 × alone, p99 no more than under `confined`, background work at \
         least 45% of solo (35% of a job that only computes); beside the edit cycle a compile at most 1.03 × alone, background work at least 75%; \
         dominated by none beyond chance (open below five rounds). Medians of ratios within rounds.\n\n\
         | pair | mean | p90 | p99 | that of confined | background | dominated by | aims met |\n|---|---|---|---|---|---|---|---|\n",
    );
    let mut noise = String::new();
    for pair in &verdicts.pairs {
        let lull = pair.standing("lull");
        if let Some(again) = pair.standing("again") {
            let figures = [again.throughput, again.mean, again.p99].map(ranged);
            let _ = writeln!(noise, "| {} | {} |", pair.case, figures.join(" | "));
        }
        let by = lull.map(who_dominates).filter(|by| !by.is_empty()).unwrap_or_else(|| "–".to_owned());
        let met = Tally::of(&pair.targets);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {by} | {met} |",
            pair.case,
            ranged(lull.and_then(|lull| lull.mean)),
            ranged(lull.and_then(|lull| lull.p90)),
            ranged(lull.and_then(|lull| lull.p99)),
            ranged(pair.standing("confined").and_then(|confined| confined.p99)),
            ranged(lull.and_then(|lull| lull.background))
        );
    }
    let _ = writeln!(
        text,
        "\nA question mark after a name: by medians, but it may be chance.\n\n*held*: {HELD}."
    );
    if !noise.is_empty() {
        text.push_str("\nThe noise: `alone` a second time in each round, over `alone`. Nobody's ratio means more than these differ from 1.\n\n| pair | throughput | mean | p99 |\n|---|---|---|---|\n");
        text.push_str(&noise);
    }
    text.push_str(
        "\n## Observations 1-5 of the smart paper\n\n| the paper | here | today |\n|---|---|---|\n",
    );
    for one in &verdicts.observations {
        let _ = writeln!(
            text,
            "| {}. {} | {} | {} |",
            one.number,
            words(&one.paper),
            words(&one.numbers),
            one.outcome.words()
        );
    }
    for one in &verdicts.observations {
        let _ =
            write!(text, "\n{}. holds if {}. Decided by {} or more.", one.number, one.criterion, one.takes);
    }
    text.push('\n');
    for pair in &verdicts.pairs {
        let _ = write!(
            text,
            "\n## {}\n\n{}\n{}\n| contender | throughput | mean | median | {} | background | held | dominated by |\n|---|---|---|---|---|---|---|---|\n",
            pair.case,
            pair.lull,
            [few_requests(pair), counted_by(pair)]
                .into_iter()
                .flatten()
                .map(|said| format!("\n{said}\n"))
                .collect::<String>(),
            tail(pair)
        );
        for one in &pair.contenders {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {} |",
                one.contender,
                ranged(one.throughput),
                ranged(one.mean),
                ranged(one.p50),
                ranged(one.p99),
                ranged(one.background),
                held(one),
                who_dominates(one)
            );
        }
        text.push('\n');
        for target in &pair.targets {
            let _ = writeln!(text, "- {}", target_line(target));
        }
    }
    if !study.unmet.is_empty() {
        text.push_str("\n## Not measured\n\n");
        for unmet in &study.unmet {
            let who = unmet.contender.as_deref().map(|name| format!(", {name}")).unwrap_or_default();
            let _ = writeln!(text, "- {}{who}: {}", unmet.case, words(&unmet.detail));
        }
    }
    text
}

#[cfg(test)]
pub(super) mod tests;
