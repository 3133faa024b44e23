//! Findings on applications, for machines (`apps.json`) and for documents (`report.md`).
//!
//! `report.md` is short enough for a page of results: a line per pair against the aims, a table per pair, the
//! observations of the `smart` paper, the machine, and what is missing. Everything else is in the
//! [page](super::html).

use std::io::Write;
use std::path::Path;

use super::findings::{Findings, HELD, counted_by, few_requests, held, tail, who_dominates};
use super::html;
use super::markup::{markdown_table, markdown_words};
use super::table::aim_line;
use crate::Error;
use crate::error::Context;
use crate::record::Record;
use crate::stats::Median;
use crate::study::Study;
use crate::study::aims::Tally;
use crate::study::dominance::FEW;
use crate::study::pairs::{Pair, Standing};
use crate::units::count;

/// For machines.
pub const FILE_NAME: &str = "apps.json";

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
    let Some(findings) = Findings::of(study, records) else { return Ok(()) };
    let json = super::with_records(&findings, records).to("encode the verdicts")?;
    for (name, content) in [(FILE_NAME, json), ("report.md", markdown(study, &findings, hosts))] {
        let path = directory.join(name);
        std::fs::write(&path, content).at("write", &path)?;
    }
    for pair in &findings.pairs {
        writeln!(out, "{}: {}", pair.case, pair.lull).to("write to standard output")?;
    }
    html::write(directory, study, &findings, records, out)
}

fn ranged(median: Option<Median>) -> String {
    let Some(Median { value, ends }) = median else { return "–".to_owned() };
    let ends = ends.map(|ends| format!(" [{:.2}–{:.2}]", ends.low, ends.high));
    format!("{value:.2}{}", ends.unwrap_or_default())
}

fn markdown(study: &Study, findings: &Findings, hosts: &str) -> String {
    let mut text = format!("# Real applications beside background jobs\n\n{hosts}\n");
    let fewest = findings.fewest();
    if fewest < FEW {
        let say = if fewest == 1 { "figures may be chance" } else { "intervals say too little" };
        text += &format!("Some pairs have only {}: their {say}.\n\n", count(fewest, "round"));
    }
    text += "Aims for lull at its defaults: beside a server mean and p90 at most 1.10 × alone, p99 no more than under `confined`, background work at \
         least 45% of solo (35% of a job that only computes); beside the edit cycle a compile at most 1.03 × alone, background work at least 75%; \
         dominated by none beyond chance (open below five rounds). Medians of ratios within rounds.\n\n";
    let header = ["pair", "mean", "p90", "p99", "that of confined", "background", "dominated by", "aims met"];
    text += &markdown_table(&header, findings.pairs.iter().map(against_aims));
    text +=
        &format!("\nA question mark after a name: by medians, but it may be chance.\n\n*held*: {HELD}.\n");
    let noise: Vec<Vec<String>> = findings.pairs.iter().filter_map(noise).collect();
    if !noise.is_empty() {
        text += "\nThe noise: `alone` a second time in each round, over `alone`. Nobody's ratio means more than these differ from 1.\n\n";
        text += &markdown_table(&["pair", "throughput", "mean", "p99"], noise);
    }
    text += "\n## Observations 1-5 of the smart paper\n\n";
    let observed = findings.observations.iter().map(|one| {
        let paper = format!("{}. {}", one.number, markdown_words(&one.paper));
        vec![paper, markdown_words(&one.numbers), one.outcome.words().to_owned()]
    });
    text += &markdown_table(&["the paper", "here", "today"], observed);
    for one in &findings.observations {
        text += &format!("\n{}. holds if {}. Decided by {} or more.", one.number, one.criterion, one.takes);
    }
    text.push('\n');
    text.extend(findings.pairs.iter().map(section));
    if !study.unmet.is_empty() {
        text += "\n## Not measured\n\n";
        text.extend(study.unmet.iter().map(|unmet| format!("- {}\n", markdown_words(&unmet.to_string()))));
    }
    text
}

/// A pair against its aims.
fn against_aims(pair: &Pair) -> Vec<String> {
    let lull = pair.standing("lull");
    let of_lull = |figure: fn(&Standing) -> Option<Median>| ranged(lull.and_then(figure));
    let by = lull.map(who_dominates).filter(|by| !by.is_empty()).unwrap_or_else(|| "–".to_owned());
    let confined = pair.standing("confined").and_then(|confined| confined.p99);
    vec![
        pair.case.clone(),
        of_lull(|lull| lull.mean),
        of_lull(|lull| lull.p90),
        of_lull(|lull| lull.p99),
        ranged(confined),
        of_lull(|lull| lull.background),
        by,
        Tally::of(&pair.aims).to_string(),
    ]
}

fn noise(pair: &Pair) -> Option<Vec<String>> {
    let again = pair.standing("again")?;
    let figures = [again.throughput, again.mean, again.p99].map(ranged);
    Some([vec![pair.case.clone()], figures.to_vec()].concat())
}

/// All contenders of a pair.
fn section(pair: &Pair) -> String {
    let said = [few_requests(pair), counted_by(pair)].into_iter().flatten();
    let said: String = said.map(|said| format!("\n{said}\n")).collect();
    let header =
        ["contender", "throughput", "mean", "median", tail(pair), "background", "held", "dominated by"];
    let rows = pair.contenders.iter().map(|one| {
        let figures = [one.throughput, one.mean, one.p50, one.p99, one.background].map(ranged);
        [&[one.contender.clone()][..], &figures, &[held(one), who_dominates(one)]].concat()
    });
    let aims: String = pair.aims.iter().map(|aim| format!("- {}\n", aim_line(aim))).collect();
    let table = markdown_table(&header, rows);
    format!("\n## {}\n\n{}\n{said}\n{table}\n{aims}", pair.case, pair.lull)
}

#[cfg(test)]
pub(super) mod tests;
