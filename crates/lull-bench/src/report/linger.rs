//! The page of `lull bench memory --figures`: the Linger paper's values beside this machine's.
//!
//! Written into the output directory: `linger.md`; `tables.csv`, `fig4.csv` and `fig5.csv` with every run; a picture of each
//! ([`charts`]). A run that was given up is known to take longer than the limit: its CSV fields are empty, it counts as the longest, and a
//! median among such runs is written as a lower bound (`> 6.0`). Ratios are taken to the host alone in the same round. Units: seconds,
//! bytes in CSV files, MiB in tables.

use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Error;
use crate::error::Context;
use crate::experiment::memory::figures::batch::{Filled, Point};
use crate::experiment::memory::figures::over_time::{Phase, Series};
use crate::experiment::memory::figures::tables::{Row, Timed};
use crate::record::Host;
use crate::stats::Summary;
use crate::units::Bytes;

pub mod charts;

/// What the paper's runs were given up after, over their 82 s alone.
const PAPER_LIMIT: f64 = 5.0 * 3600.0 / PAPER_ALONE_S;
const PAPER_ALONE_S: f64 = 82.0;

/// What was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Page {
    /// Where and when.
    pub host: Host,
    /// By what the paper's sizes were divided.
    pub scale: u64,
    /// Rounds of tables and figure 5.
    pub rounds: u32,
    /// The work of each party in the tables.
    pub requests: u64,
    /// Runs of tables 2 and 3.
    pub tables: Vec<Timed>,
    /// Runs of figure 4.
    pub over_time: Vec<Series>,
    /// Runs of figure 5.
    pub batches: Vec<Filled>,
    /// What could not be measured, and why.
    pub missing: Vec<String>,
}

/// A median of which perhaps only a lower bound is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Middle {
    /// It, or the bound.
    pub value: f64,
    /// The least and the greatest, the limit for those given up.
    pub range: [f64; 2],
    /// Whether it is known to be more.
    pub is_bound: bool,
}

impl Middle {
    /// Of values of which some are only known to be more; none if there are none.
    pub fn of(values: impl IntoIterator<Item = (f64, bool)>) -> Option<Self> {
        let mut sorted: Vec<(f64, bool)> = values.into_iter().collect();
        // One that is known to be more goes behind all that are known.
        sorted.sort_by(|a, b| a.1.cmp(&b.1).then(a.0.total_cmp(&b.0)));
        let half = sorted.len() / 2;
        let upper = sorted.get(half)?;
        let lower = if sorted.len() % 2 == 1 { upper } else { sorted.get(half - 1)? };
        let all = Summary::of(sorted.iter().map(|(value, _)| *value))?;
        let value = f64::midpoint(lower.0, upper.0);
        Some(Self { value, range: [all.min, all.max], is_bound: upper.1 })
    }

    /// As a multiple: `1.08 [1.05-1.11]`, or `> 6.0`.
    fn times(&self) -> String {
        let [min, max] = self.range;
        if self.is_bound {
            format!("> {:.1}", self.value)
        } else {
            format!("{:.2} [{min:.2}-{max:.2}]", self.value)
        }
    }

    /// As a loss over 1: `8%`, or `> 500%`.
    fn delay(&self) -> String {
        let more = if self.is_bound { "> " } else { "" };
        format!("{more}{:.1}%", (self.value - 1.0) * 100.0)
    }
}

impl Page {
    /// Whether nothing at all was measured.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.over_time.is_empty() && self.batches.is_empty()
    }

    /// The host alone in a round of the tables.
    fn alone_s(&self, round: u32) -> Option<f64> {
        self.tables.iter().find(|timed| timed.row == Row::Serial && timed.round == round)?.host_s
    }

    /// A time of a row's runs, over the host's alone in the same round.
    pub fn of_row(&self, row: Row, time: fn(&Timed) -> Option<f64>) -> Option<Middle> {
        let runs = self.tables.iter().filter(|timed| timed.row == row);
        Middle::of(runs.filter_map(|timed| {
            let alone = self.alone_s(timed.round)?;
            Some((time(timed).unwrap_or(timed.limit_s) / alone, time(timed).is_none()))
        }))
    }

    /// The host's time at a point of figure 5, over its time alone in the same round.
    pub fn of_point(&self, point: Point) -> Option<Middle> {
        let of = |point: Point| self.batches.iter().filter(move |filled| filled.point == point);
        Middle::of(of(point).filter_map(|filled| {
            let alone = of(Point::Alone).find(|alone| alone.round == filled.round)?.host_s?;
            Some((filled.host_s.unwrap_or(filled.limit_s) / alone, filled.host_s.is_none()))
        }))
    }

    /// The factors of figure 5, rising.
    pub fn factors(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self
            .batches
            .iter()
            .filter_map(|filled| if let Point::Factor(factor) = filled.point { Some(factor) } else { None })
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Writes all files and prints the page, or what was measured as JSON.
///
/// # Errors
/// When a file cannot be written or a picture cannot be drawn.
pub fn write(directory: &Path, page: &Page, as_json: bool, out: &mut dyn Write) -> Result<(), Error> {
    let mut texts = Vec::new();
    let at = |name: &str| -> PathBuf { directory.join(name) };
    if !page.tables.is_empty() {
        texts.push(("tables.csv", tables_csv(page)));
        charts::tables(&at("tables.svg"), page)?;
    }
    if !page.over_time.is_empty() {
        texts.push(("fig4.csv", over_time_csv(page)));
        charts::over_time(&at("fig4.svg"), page)?;
    }
    if !page.batches.is_empty() {
        texts.push(("fig5.csv", batches_csv(page)));
        charts::batches(&at("fig5.svg"), page)?;
    }
    let text = markdown(page);
    let told = if as_json {
        serde_json::to_string_pretty(page).map_err(std::io::Error::from).to("encode the figures")? + "\n"
    } else {
        text.clone()
    };
    out.write_all(told.as_bytes()).to("write to standard output")?;
    texts.push(("linger.md", text));
    for (name, text) in texts {
        std::fs::write(at(name), text).at("write", &at(name))?;
    }
    Ok(())
}

fn field(value: Option<f64>) -> String {
    value.map(|value| format!("{value:.4}")).unwrap_or_default()
}

fn tables_csv(page: &Page) -> String {
    let mut text = "row,round,host_s,guest_s,host_took_s,limit_s,pages_out,pages_in\n".to_owned();
    for timed in &page.tables {
        let Timed { row, round, host_s, guest_s, host_took_s, limit_s, swapped_pages: [out, back] } = timed;
        let [host, guest, took] = [host_s, guest_s, host_took_s].map(|time| field(*time));
        let name = row.name();
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name},{round},{host},{guest},{took},{limit_s:.4},{out},{back}");
    }
    text
}

fn over_time_csv(page: &Page) -> String {
    let mut text = "control,at_s,host_bytes,guest_bytes,host_swapped_bytes,guest_swapped_bytes\n".to_owned();
    for series in &page.over_time {
        for moment in &series.moments {
            let (host, guest) = (moment.host, moment.guest);
            let _ = writeln!(
                text,
                "{},{:.4},{},{},{},{}",
                series.control,
                moment.at_s,
                host.resident_bytes,
                guest.resident_bytes,
                host.swapped_bytes,
                guest.swapped_bytes
            );
        }
    }
    text
}

fn batches_csv(page: &Page) -> String {
    let mut text = "point,round,host_s,limit_s,pages_out,pages_in\n".to_owned();
    for Filled { point, round, host_s, limit_s, swapped_pages: [out, back] } in &page.batches {
        let (name, host) = (point.name(), field(*host_s));
        let _ = writeln!(text, "{name},{round},{host},{limit_s:.4},{out},{back}");
    }
    text
}

/// The paper's times over 82 s; none for those that were stopped after five hours.
fn paper(seconds: Option<f64>) -> String {
    seconds.map_or_else(
        || format!("> {:.0}", PAPER_LIMIT.floor()),
        |seconds| format!("{:.2}", seconds / PAPER_ALONE_S),
    )
}

fn here(value: Option<Middle>, as_text: fn(&Middle) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), |value| as_text(&value))
}

/// Median of the pages that a row's runs wrote to swap, in MiB.
fn paged_out(pages: impl Iterator<Item = u64>) -> String {
    let median = Summary::of(pages.map(|pages| pages as f64 * 4096.0 / Bytes::MIB as f64));
    median.map_or_else(|| "–".to_owned(), |summary| format!("{:.0}", summary.median))
}

fn host_time(timed: &Timed) -> Option<f64> {
    timed.host_s
}

fn guest_time(timed: &Timed) -> Option<f64> {
    timed.guest_s
}

fn own_time(timed: &Timed) -> Option<f64> {
    timed.host_took_s
}

fn markdown(page: &Page) -> String {
    let mut text = "# The Linger paper's memory figures, from this machine\n\n".to_owned();
    text += &super::table::host(&page.host);
    let _ = writeln!(
        text,
        "{} rounds, sizes of the paper divided by {}. Paper: Ryu, Hollingsworth, Keleher, 1999, sections 4.1 and 4.2 (Linux 2.0.32, one\n\
         Pentium II; here the job has processors of its own). Medians with their range; `>` is a lower bound: runs were given up.",
        page.rounds, page.scale
    );
    if !page.tables.is_empty() {
        text += &tables_markdown(page);
    }
    if !page.over_time.is_empty() {
        text += &over_time_markdown(page);
    }
    if !page.batches.is_empty() {
        text += &batches_markdown(page);
    }
    if !page.missing.is_empty() {
        text += "\n## Not measured\n\n";
        text.extend(page.missing.iter().map(|one| format!("- {one}\n")));
    }
    text
}

fn tables_markdown(page: &Page) -> String {
    let alone =
        Summary::of(page.tables.iter().filter(|timed| timed.row == Row::Serial).filter_map(host_time));
    let alone = alone.map_or_else(|| "–".to_owned(), |alone| format!("{:.2} s", alone.median));
    let mut text = format!(
        "\n## Table 2: completion times of two working sets of 128 MB in 192 MB\n\n\
         Since the first was started, over the host's time alone (paper: 82 s; here {alone}, {} requests each).\n\n\
         | setup | host, paper | host | guest, paper | guest | MiB swapped out |\n|---|---|---|---|---|---|\n",
        page.requests
    );
    let rows = [
        (Row::Serial, "one after the other", Some(82.0), Some(164.0)),
        (Row::Together, "at the same time, equal priority", None, None),
        (Row::HostFirstNice, "host first, guest at nice 19", Some(89.0), Some(176.0)),
        (Row::GuestFirstNice, "guest first, at nice 19", None, None),
    ];
    for (row, setup, host, guest) in rows {
        let pages = page.tables.iter().filter(|timed| timed.row == row).map(|timed| timed.swapped_pages[0]);
        let _ = writeln!(
            text,
            "| {setup} | {} | {} | {} | {} | {} |",
            paper(host),
            here(page.of_row(row, host_time), Middle::times),
            paper(guest),
            here(page.of_row(row, guest_time), Middle::times),
            paged_out(pages)
        );
    }
    text += "\n## Table 3: the same with priority in memory\n\n\
             Delay is what the host needs longer than alone, from its own start.\n\n\
             | setup | guest, paper | guest | host, paper | host | delay, paper | delay | MiB swapped out |\n\
             |---|---|---|---|---|---|---|---|\n";
    let rows = [
        (Row::HostFirstNice, "host first, guest at nice 19", Some(176.0), Some(89.0), "8.0%"),
        (Row::HostFirstLull, "host first, Linger priority / lull", Some(165.0), Some(83.0), "0.8%"),
        (Row::GuestFirstNice, "guest first, at nice 19", None, None, "> 200×"),
        (Row::GuestFirstLull, "guest first, Linger priority / lull", Some(255.0), Some(99.0), "8.1%"),
    ];
    for (row, setup, guest, host, delay) in rows {
        let pages = page.tables.iter().filter(|timed| timed.row == row).map(|timed| timed.swapped_pages[0]);
        let _ = writeln!(
            text,
            "| {setup} | {} | {} | {} | {} | {delay} | {} | {} |",
            paper(guest),
            here(page.of_row(row, guest_time), Middle::times),
            paper(host),
            here(page.of_row(row, host_time), Middle::times),
            here(page.of_row(row, own_time), Middle::delay),
            paged_out(pages)
        );
    }
    text + "\n![The host's time](tables.svg)\n\nRuns: [tables.csv](tables.csv)\n"
}

fn over_time_markdown(page: &Page) -> String {
    let mut text = "\n## Figure 4: memory of host and guest over time, thresholds 50 MB and 70 MB\n\n\
                    The guest wants 128 MB from the start, the host 150 MB from 18% of the time on; from 70% on the host rests after every\n\
                    request. MiB in memory at the end of each phase (mean of its last samples).\n\n| phase | paper |"
        .to_owned();
    let controls = page.over_time.iter();
    text += &controls.clone().map(|series| format!(" {} |", series.control)).collect::<String>();
    text += "\n|---|---|";
    text += &controls.clone().map(|_| "---|").collect::<String>();
    text.push('\n');
    let rows: [(&str, Phase, usize, &str); 5] = [
        ("guest alone: guest", Phase::Alone, 1, "128"),
        ("host works: guest", Phase::Works, 1, "50 (the low threshold)"),
        ("host works: host", Phase::Works, 0, "128"),
        ("host rests: guest", Phase::Rests, 1, "70 (the high threshold)"),
        ("host rests: host", Phase::Rests, 0, "–"),
    ];
    for (name, phase, place, paper) in rows {
        let _ = write!(text, "| {name} | {paper} |");
        for series in controls.clone() {
            let value = series.at_end_of(phase).and_then(|both| both.get(place).copied());
            let shown = value.map(|bytes| format!("{:.0}", bytes / Bytes::MIB as f64));
            let _ = write!(text, " {} |", shown.as_deref().unwrap_or("–"));
        }
        text.push('\n');
    }
    text + "\n![Memory over time](fig4.svg)\n\nSamples: [fig4.csv](fig4.csv)\n"
}

fn batches_markdown(page: &Page) -> String {
    let mut text = "\n## Figure 5: the host's time over the pages taken at a time\n\n\
                    The guest has 128 MB of 192 when the host comes, fills 128 MB and touches them once more. Time over its time alone; a\n\
                    factor is of the kernel's own batch (paper: of the free pages it aims at; here: of 32 pages).\n\n\
                    | factor | paper | host | MiB swapped out |\n|---|---|---|---|\n"
        .to_owned();
    let mut points: Vec<(Point, String, &str)> =
        vec![(Point::Nice, "without: guest at nice 19".to_owned(), "–")];
    for factor in page.factors() {
        let paper = match factor {
            1 => "3.5",
            50 => "1.2",
            _ => "–",
        };
        points.push((Point::Factor(factor), factor.to_string(), paper));
    }
    points.push((Point::Default, "lull, when nothing is named".to_owned(), "–"));
    for (point, name, paper) in points {
        let pages = page.batches.iter().filter(|filled| filled.point == point);
        let _ = writeln!(
            text,
            "| {name} | {paper} | {} | {} |",
            here(page.of_point(point), Middle::times),
            paged_out(pages.map(|filled| filled.swapped_pages[0]))
        );
    }
    text + "\n![The host's time](fig5.svg)\n\nRuns: [fig5.csv](fig5.csv)\n"
}

#[cfg(test)]
mod tests;
