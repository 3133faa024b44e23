//! The page of `lull bench memory --figures`: the Linger paper's values beside this machine's.
//!
//! Written into the output directory: `linger.md`; `tables.csv`, `fig4.csv` and `fig5.csv` with every run; a
//! picture of each (`charts`). A run that was given up is known to take longer than the limit: its CSV fields
//! are empty, it counts as the longest, and a median among such runs is written as a lower bound (`> 6.0`).
//! Ratios are taken to the host alone in the same round. Units: seconds, bytes in CSV files, MiB in tables.

use std::io::Write;
use std::path::Path;

use super::charts;
use super::page::{Filled, Middle, Page, Phase, Point, Row, Timed};
use crate::Error;
use crate::error::Context;
use crate::report::markup::markdown_table;
use crate::report::table;
use crate::stats::Summary;
use crate::units::Bytes;

/// What the paper's runs were given up after, over their 82 s alone.
const PAPER_LIMIT: f64 = 5.0 * 3600.0 / PAPER_ALONE_S;
const PAPER_ALONE_S: f64 = 82.0;

/// Writes all files and prints the page, or what was measured as JSON.
///
/// # Errors
/// When a file cannot be written or a picture cannot be drawn.
pub(super) fn write(directory: &Path, page: &Page, as_json: bool, out: &mut dyn Write) -> Result<(), Error> {
    let mut texts = Vec::new();
    let at = |name: &str| directory.join(name);
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

/// A file of comma-separated values, by its heading.
fn csv(heading: &str, lines: impl Iterator<Item = String>) -> String {
    lines.fold(format!("{heading}\n"), |text, line| text + &line + "\n")
}

fn tables_csv(page: &Page) -> String {
    let lines = page.tables.iter().map(|timed| {
        let Timed { row, round, host_s, guest_s, host_took_s, limit_s, swapped_pages: [out, back] } = timed;
        let times = [host_s, guest_s, host_took_s].map(|time| field(*time)).join(",");
        format!("{},{round},{times},{limit_s:.4},{out},{back}", row.name())
    });
    csv("row,round,host_s,guest_s,host_took_s,limit_s,pages_out,pages_in", lines)
}

fn over_time_csv(page: &Page) -> String {
    let lines = page.over_time.iter().flat_map(|series| {
        series.samples.iter().map(|sample| {
            let both = [sample.host, sample.guest];
            let [host, guest] = both.map(|held| held.resident_bytes);
            let [host_swapped, guest_swapped] = both.map(|held| held.swapped_bytes);
            format!("{},{:.4},{host},{guest},{host_swapped},{guest_swapped}", series.control, sample.at_s)
        })
    });
    csv("control,at_s,host_bytes,guest_bytes,host_swapped_bytes,guest_swapped_bytes", lines)
}

fn batches_csv(page: &Page) -> String {
    let lines = page.batches.iter().map(|filled| {
        let Filled { point, round, host_s, limit_s, swapped_pages: [out, back] } = filled;
        format!("{},{round},{},{limit_s:.4},{out},{back}", point.name(), field(*host_s))
    });
    csv("point,round,host_s,limit_s,pages_out,pages_in", lines)
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

fn markdown(page: &Page) -> String {
    let mut text = format!(
        "# The Linger paper's memory figures, from this machine\n\n{}\
         {} rounds, sizes of the paper divided by {}. Paper: Ryu, Hollingsworth, Keleher, 1999, sections 4.1 and 4.2 (Linux 2.0.32, one\n\
         Pentium II; here the job has processors of its own). Medians with their range; `>` is a lower bound: runs were given up.\n",
        table::host(&page.host),
        page.rounds,
        page.scale
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
    let of = |row| page.tables.iter().filter(move |timed| timed.row == row);
    let alone = Summary::of(of(Row::Serial).filter_map(|timed| timed.host_s));
    let alone = alone.map_or_else(|| "–".to_owned(), |alone| format!("{:.2} s", alone.median));
    let pages = |row| paged_out(of(row).map(|timed| timed.swapped_pages[0]));
    let host = |row| here(page.of_row(row, |timed| timed.host_s), Middle::times);
    let guest = |row| here(page.of_row(row, |timed| timed.guest_s), Middle::times);
    let delay = |row| here(page.of_row(row, |timed| timed.host_took_s), Middle::delay);
    let completion = [
        (Row::Serial, "one after the other", Some(82.0), Some(164.0)),
        (Row::Together, "at the same time, equal priority", None, None),
        (Row::HostFirstNice, "host first, guest at nice 19", Some(89.0), Some(176.0)),
        (Row::GuestFirstNice, "guest first, at nice 19", None, None),
    ];
    let completion = completion.map(|(row, setup, host_s, guest_s)| {
        vec![setup.to_owned(), paper(host_s), host(row), paper(guest_s), guest(row), pages(row)]
    });
    let priority = [
        (Row::HostFirstNice, "host first, guest at nice 19", Some(176.0), Some(89.0), "8.0%"),
        (Row::HostFirstLull, "host first, Linger priority / lull", Some(165.0), Some(83.0), "0.8%"),
        (Row::GuestFirstNice, "guest first, at nice 19", None, None, "> 200×"),
        (Row::GuestFirstLull, "guest first, Linger priority / lull", Some(255.0), Some(99.0), "8.1%"),
    ];
    let priority = priority.map(|(row, setup, guest_s, host_s, delay_there)| {
        let mut cells = vec![setup.to_owned(), paper(guest_s), guest(row), paper(host_s), host(row)];
        cells.extend([delay_there.to_owned(), delay(row), pages(row)]);
        cells
    });
    let mut header = vec!["setup", "guest, paper", "guest", "host, paper", "host"];
    header.extend(["delay, paper", "delay", "MiB swapped out"]);
    format!(
        "\n## Table 2: completion times of two working sets of 128 MB in 192 MB\n\n\
         Since the first was started, over the host's time alone (paper: 82 s; here {alone}, {} requests each).\n\n{}\
         \n## Table 3: the same with priority in memory\n\n\
         Delay is what the host needs longer than alone, from its own start.\n\n{}\
         \n![The host's time](tables.svg)\n\nRuns: [tables.csv](tables.csv)\n",
        page.requests,
        markdown_table(
            &["setup", "host, paper", "host", "guest, paper", "guest", "MiB swapped out"],
            completion
        ),
        markdown_table(&header, priority)
    )
}

fn over_time_markdown(page: &Page) -> String {
    let rows: [(&str, Phase, usize, &str); 5] = [
        ("guest alone: guest", Phase::Alone, 1, "128"),
        ("host works: guest", Phase::Works, 1, "50 (the low threshold)"),
        ("host works: host", Phase::Works, 0, "128"),
        ("host rests: guest", Phase::Rests, 1, "70 (the high threshold)"),
        ("host rests: host", Phase::Rests, 0, "–"),
    ];
    let rows = rows.map(|(name, phase, place, paper)| {
        let here = page.over_time.iter().map(|series| {
            let bytes = series.at_end_of(phase).and_then(|both| both.get(place).copied());
            bytes.map_or_else(|| "–".to_owned(), |bytes| format!("{:.0}", bytes / Bytes::MIB as f64))
        });
        [name.to_owned(), paper.to_owned()].into_iter().chain(here).collect()
    });
    let mut header = vec!["phase", "paper"];
    header.extend(page.over_time.iter().map(|series| series.control.as_str()));
    format!(
        "\n## Figure 4: memory of host and guest over time, thresholds 50 MB and 70 MB\n\n\
         The guest wants 128 MB from the start, the host 150 MB from 18% of the time on; from 70% on the host rests after every\n\
         request. MiB in memory at the end of each phase (mean of its last samples).\n\n{}\
         \n![Memory over time](fig4.svg)\n\nSamples: [fig4.csv](fig4.csv)\n",
        markdown_table(&header, rows)
    )
}

fn batches_markdown(page: &Page) -> String {
    let mut points = vec![(Point::Nice, "without: guest at nice 19".to_owned(), "–")];
    points.extend(page.factors().into_iter().map(|factor| {
        let paper = match factor {
            1 => "3.5",
            50 => "1.2",
            _ => "–",
        };
        (Point::Factor(factor), factor.to_string(), paper)
    }));
    points.push((Point::Default, "lull, when nothing is named".to_owned(), "–"));
    let rows = points.into_iter().map(|(point, name, paper)| {
        let pages = page.batches.iter().filter(|filled| filled.point == point);
        let pages = paged_out(pages.map(|filled| filled.swapped_pages[0]));
        vec![name, paper.to_owned(), here(page.of_point(point), Middle::times), pages]
    });
    format!(
        "\n## Figure 5: the host's time over the pages taken at a time\n\n\
         The guest has 128 MB of 192 when the host comes, fills 128 MB and touches them once more. Time over its time alone; a\n\
         factor is of the kernel's own batch (paper: of the free pages it aims at; here: of 32 pages).\n\n{}\
         \n![The host's time](fig5.svg)\n\nRuns: [fig5.csv](fig5.csv)\n",
        markdown_table(&["factor", "paper", "host", "MiB swapped out"], rows)
    )
}

#[cfg(test)]
mod tests;
