//! Reports of a study: text on the terminal, markdown, JSON, and pictures.
//!
//! All are made from `raw.jsonl` alone, into the same directory: `report.txt`, `report.md`, `study.json`, one
//! `CASE.svg` per case with latencies, and one per family of cases over the foreground's intensities
//! (`slow.svg`, `udp-udp.svg`). Records of the idletime paper's figures give those too ([`figures`]). `lull
//! bench report DIR` makes them again. What the columns mean: [`table`]. The Linger paper's figures are
//! written as they are measured ([`figures`](crate::experiment::memory::figures)). Records of applications
//! give findings and a page too, and a `report.md` of their own: [`apps`].

use std::io::Write;
use std::path::{Path, PathBuf};

use lull_core::Nanos;
use serde::Serialize;

use crate::Error;
use crate::error::Context;
use crate::record::{self, Record, Run};
use crate::study::Study;
use crate::units::{Bytes, mb_per_s};

pub mod apps;
pub mod figures;
pub mod findings;
pub mod html;
pub mod markup;
pub mod picture;
pub mod table;

/// Arguments of `lull bench report`.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportArgs {
    /// Directory with the raw.jsonl of a measurement.
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Print the figures as JSON instead of tables.
    #[arg(long)]
    pub json: bool,
}

/// `lull bench report`: writes the files again and prints the tables.
pub fn run_report(args: &ReportArgs) -> Result<(), Error> {
    if args.json {
        let study = Study::of(&record::read(&args.dir)?);
        let text =
            serde_json::to_string_pretty(&study).map_err(std::io::Error::from).to("encode the study")?;
        return writeln!(std::io::stdout().lock(), "{text}").to("write to standard output");
    }
    write(&args.dir, &mut std::io::stdout().lock())
}

/// Makes every report file of the records in `directory`; the text goes to `out` as well.
pub fn write(directory: &Path, out: &mut dyn Write) -> Result<(), Error> {
    let records = record::read(directory)?;
    let study = Study::of(&records);
    let json = with_records(&study, &records).to("encode the study")?;
    let mut pictures = Vec::new();
    for case in study.cases.iter().filter(|case| case.rows.iter().any(|row| row.p99.is_some())) {
        let path = directory.join(format!("{}.svg", case.case));
        picture::case(&path, case)?;
        pictures.push(path);
    }
    for family in picture::FAMILIES {
        let path = directory.join(format!("{}.svg", family.0));
        if picture::family(&path, &study, family)? {
            pictures.push(path);
        }
    }
    let mut text = table::render(&study, table::Form::Text);
    for (name, content) in [
        ("study.json", &json),
        ("report.txt", &text),
        ("report.md", &table::render(&study, table::Form::Markdown)),
    ] {
        let path = directory.join(name);
        std::fs::write(&path, content).at("write", &path)?;
    }
    if let Some((page, drawn)) = figures::write(directory, &study)? {
        text.push('\n');
        text.push_str(&page);
        pictures.extend(drawn);
    }
    let pictures: String = pictures.iter().map(|path| format!("picture: {}\n", path.display())).collect();
    out.write_all(text.as_bytes())
        .and_then(|()| out.write_all(pictures.as_bytes()))
        .and_then(|()| writeln!(out, "records: {}", directory.join(record::FILE_NAME).display()))
        .to("write to standard output")?;
    apps::write(directory, &study, &records, &table::hosts(&study), out)
}

/// JSON of what was found and, as `records`, of the runs that it was found in, so that it can be compared
/// without anything beside it.
fn with_records(found: &impl Serialize, records: &[Record]) -> std::io::Result<String> {
    #[derive(Serialize)]
    struct Whole<'a, T> {
        #[serde(flatten)]
        found: &'a T,
        records: Vec<Record>,
    }
    let records = records.iter().map(Record::figures).collect();
    serde_json::to_string_pretty(&Whole { found, records }).map_err(std::io::Error::from)
}

/// One finished run in one line, for the log of a measurement.
pub fn one_line(run: &Run) -> String {
    let mut parts = vec![format!("{} round {} {:12}", run.case, run.round, run.contender)];
    if let Some(foreground) = &run.foreground {
        let rate = foreground.requests_per_s().unwrap_or(0.0);
        let mut part = match foreground.requests {
            0 => "foreground: no request ended".to_owned(),
            _ if rate < 10.0 => format!("foreground {rate:.2}/s"),
            _ => format!("foreground {rate:.0}/s"),
        };
        let served = foreground.latency.filter(|_| foreground.requests > 0).map(|latency| ("", latency));
        let round_trip = foreground.probe.as_ref().map(|probe| ("round trip ", probe.latency));
        for (what, latency) in served.into_iter().chain(round_trip) {
            let [mean, p50, p99] = [latency.mean_ns, latency.p50_ns, latency.p99_ns].map(Nanos);
            part += &format!(", {what}mean {mean}, median {p50}, p99 {p99}");
        }
        parts.push(part);
    }
    if let Some(background) = &run.background {
        parts.push(match background.wall_s {
            Some(wall) => format!("{wall:.3} s"),
            // Integer work has no bytes: a million iterations count as a megabyte does.
            None if run.case == "integer" => format!("background {:.1} M/s", mb_per_s(background.rate())),
            // Some jobs count lines, not data.
            None if background.rate() < 1e5 => format!("background {:.2} kB/s", background.rate() / 1e3),
            None => format!("background {:.1} MB/s", mb_per_s(background.rate())),
        });
    }
    parts.extend(run.disk_written_bytes.map(|bytes| format!("the disk wrote {}", Bytes(bytes))));
    parts.extend(run.notes.iter().map(|note| format!("({note})")));
    parts.join("  ")
}

#[cfg(test)]
mod tests;
