//! The report of `lull bench apps`: one page that needs nothing else.
//!
//! Tables, pictures as SVG within the page, and the raw records as JSON at its end, so that a page that is sent to somebody can be checked
//! and computed with. Everything is made from `raw.jsonl` alone.
//!
//! | per case | shows |
//! |---|---|
//! | table | ratios within rounds: median and its bootstrap interval |
//! | distribution | response times of all rounds together, per contender |
//! | frontier | foreground p99 against background work |
//! | over time | CPUs of the background and of everything else, and when the background stood still, in the first round |

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use lull_core::Nanos;
use plotters::prelude::*;

use super::picture::{color, font};
use crate::Error;
use crate::error::Context;
use crate::record::{self, Record, Run};
use crate::stats::{Interval, bootstrap, ratio};
use crate::study::targets::apps::is_apps;
use crate::study::{CaseStudy, Study};

mod observations;

/// The page.
pub const FILE_NAME: &str = "report.html";

const STYLE: &str = "body{font:15px/1.45 sans-serif;max-width:72em;margin:2em auto;padding:0 1em;color:#222}\
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}\
td:first-child,th:first-child{text-align:left}code{background:#f4f4f4}svg{max-width:100%;height:auto}\
.met{color:#187a4d}.missed{color:#b3261e}";

/// Writes the page of the records in `directory`, if they are of applications.
pub fn write(directory: &Path, out: &mut dyn Write) -> Result<(), Error> {
    let records = record::read(directory)?;
    let study = Study::of(&records);
    if !study.cases.iter().any(|case| is_apps(&case.case)) {
        return Ok(());
    }
    let path = directory.join(FILE_NAME);
    let pictures: BTreeMap<String, String> = study
        .cases
        .iter()
        .filter_map(|case| {
            let svg = std::fs::read_to_string(directory.join(format!("{}.svg", case.case))).ok()?;
            Some((case.case.clone(), inline(&svg)))
        })
        .collect();
    let text = page(&study, &records, &pictures)
        .map_err(|problem| Error::Picture { path: path.clone(), problem })?;
    std::fs::write(&path, text).at("write", &path)?;
    writeln!(out, "page: {}", path.display()).to("write to standard output")
}

/// An SVG file as a part of a page: without the line that makes it a file.
fn inline(svg: &str) -> String {
    svg.find("<svg").and_then(|start| svg.get(start..)).unwrap_or_default().to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn page(study: &Study, records: &[Record], pictures: &BTreeMap<String, String>) -> Result<String, String> {
    let mut text = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>lull bench apps</title><style>{STYLE}</style>\
         <h1>Real applications beside background jobs</h1>"
    );
    for host in &study.hosts {
        let _ = write!(
            text,
            "<p>{}: Linux {}, {} × {}, {:.1} GiB, disk {} with scheduler {}, {}{}, {}, seed {}.</p>",
            escaped(&host.date),
            escaped(&host.kernel),
            host.cpus,
            escaped(&host.cpu),
            host.ram_bytes as f64 / (1_u64 << 30) as f64,
            escaped(host.disk.as_deref().unwrap_or("unknown")),
            escaped(host.scheduler.as_deref().unwrap_or("unknown")),
            escaped(&host.version),
            escaped(&host.commit.as_deref().map(|commit| format!(" ({commit})")).unwrap_or_default()),
            if host.root { "as root" } else { "as an ordinary user" },
            host.seed
        );
    }
    text.push_str(
        "<p>Ratios are taken within rounds: foreground to <i>alone</i>, background to <i>solo</i>, each with the 95% interval of \
         its median by bootstrap; with fewer than five rounds an interval says too little. Requests are due at times fixed in \
         advance and measured from then on (no coordinated omission); only the compile-edit cycle is a closed loop. \
         <i>Dominated by</i>: better in one of foreground, p99, background and no worse in the others.</p>",
    );
    if !study.unmet.is_empty() {
        text.push_str("<h2>Not measured</h2><ul>");
        for unmet in &study.unmet {
            let who = unmet.contender.as_deref().unwrap_or("all contenders");
            let _ = write!(
                text,
                "<li>{}, {}: {}</li>",
                escaped(&unmet.case),
                escaped(who),
                escaped(&unmet.detail)
            );
        }
        text.push_str("</ul>");
    }
    text.push_str(&observations::text(study));
    for case in &study.cases {
        let runs: Vec<(usize, &Run)> = runs_of(records, &case.case);
        let _ = write!(text, "<h2>{}</h2>{}", escaped(&case.case), table(case, &runs));
        text.push_str(&targets(case));
        text.push_str("<h3>Response times</h3>");
        text.push_str(&distribution(case, &runs)?);
        text.push_str(pictures.get(&case.case).map_or("", String::as_str));
        text.push_str("<h3>Over time, first round</h3>");
        for row in &case.rows {
            let first = runs.iter().map(|(_, run)| *run).find(|run| run.contender == row.contender);
            if let Some(run) = first.filter(|run| !run.over_time.is_empty()) {
                text.push_str(&over_time(run)?);
            }
        }
        text.push_str("<h3>Commands</h3><ul>");
        for row in &case.rows {
            let command = row.command.as_deref().unwrap_or("no background");
            let _ = write!(text, "<li>{}: <code>{}</code></li>", escaped(&row.contender), escaped(command));
        }
        text.push_str("</ul>");
        if let Some(command) = runs.iter().find_map(|(_, run)| run.foreground_command.as_deref()) {
            let _ = write!(text, "<p>Foreground: <code>{}</code></p>", escaped(command));
        }
    }
    let json = serde_json::to_string(records).map_err(|error| error.to_string())?.replace("</", "<\\/");
    let _ = write!(
        text,
        "<p>Records: <a href=\"raw.jsonl\">raw.jsonl</a>, and in this page as JSON.</p>\
         <script type=\"application/json\" id=\"records\">{json}</script></html>"
    );
    Ok(text)
}

/// Counted runs of a case, with the number of their measurement.
fn runs_of<'a>(records: &'a [Record], case: &str) -> Vec<(usize, &'a Run)> {
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

/// A figure over that of the reference in the same round, over all rounds.
fn within(
    runs: &[(usize, &Run)],
    name: &str,
    reference: &str,
    figure: &dyn Fn(&Run) -> Option<f64>,
) -> Option<Interval> {
    let of = |wanted: &str, measurement: usize, round: u32| {
        let same =
            |(m, run): &&(usize, &Run)| *m == measurement && run.round == round && run.contender == wanted;
        runs.iter().find(same).and_then(|(_, run)| figure(run))
    };
    let own = runs.iter().filter(|(_, run)| run.contender == name);
    let ratios: Vec<f64> = own
        .filter_map(|(measurement, run)| ratio(figure(run)?, of(reference, *measurement, run.round)?))
        .collect();
    bootstrap(&ratios)
}

fn cell(interval: Option<Interval>) -> String {
    interval.map_or_else(
        || "<td>–</td>".to_owned(),
        |i| format!("<td>{:.3} <small>[{:.3}–{:.3}]</small></td>", i.value, i.low, i.high),
    )
}

fn table(case: &CaseStudy, runs: &[(usize, &Run)]) -> String {
    let mut text = String::from(
        "<table><tr><th>contender<th>runs<th>throughput / alone<th>mean / alone<th>p99 / alone<th>p99<th>background / solo\
         <th>held<th>dominated by</tr>",
    );
    for row in &case.rows {
        let name = row.contender.as_str();
        let speed = |run: &Run| {
            let report = run.foreground.as_ref()?;
            ratio(report.requests as f64, report.seconds)
        };
        let mean = |run: &Run| Some(run.foreground.as_ref()?.latency?.mean_ns as f64);
        let p99 = |run: &Run| Some(run.foreground.as_ref()?.latency?.p99_ns as f64);
        let work = |run: &Run| Some(run.background.as_ref()?.rate());
        let held: Vec<f64> = runs
            .iter()
            .filter(|(_, run)| run.contender == name && !run.over_time.is_empty())
            .map(|(_, run)| {
                run.over_time.iter().filter(|moment| moment.held).count() as f64 / run.over_time.len() as f64
            })
            .collect();
        let held = bootstrap(&held).map_or_else(|| "–".to_owned(), |i| format!("{:.0}%", i.value * 100.0));
        let absolute = row
            .p99_ns
            .map_or_else(|| "–".to_owned(), |p99| Nanos(crate::units::whole(p99.median)).to_string());
        let _ = write!(
            text,
            "<tr><td>{}<td>{}{}{}{}<td>{absolute}{}<td>{held}<td>{}</tr>",
            escaped(name),
            row.runs,
            cell(within(runs, name, "alone", &speed)),
            cell(within(runs, name, "alone", &mean)),
            cell(within(runs, name, "alone", &p99)),
            cell(within(runs, name, "solo", &work)),
            escaped(&row.dominated_by.join(", "))
        );
    }
    text.push_str("</table>");
    text
}

fn targets(case: &CaseStudy) -> String {
    let mut text = String::from("<ul>");
    for target in &case.targets {
        let (class, word) = if target.met { ("met", "met") } else { ("missed", "missed") };
        let bound = if target.at_most { "at most" } else { "at least" };
        let got = target.got.map_or_else(|| "not measured".to_owned(), |got| format!("{got:.3}"));
        let _ = write!(
            text,
            "<li>aim for lull: {} {bound} {:.3}: {got}, <span class={class}>{word}</span></li>",
            escaped(&target.what),
            target.wanted
        );
    }
    text.push_str("</ul>");
    text
}

fn drawn(
    size: (u32, u32),
    paint: impl FnOnce(&DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Painted,
) -> Result<String, String> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&WHITE).map_err(|error| error.to_string())?;
        paint(&area).map_err(|error| error.to_string())?;
        area.present().map_err(|error| error.to_string())?;
    }
    Ok(inline(&svg))
}

type Painted = Result<(), Box<dyn std::error::Error>>;

/// Latencies in milliseconds and the part of requests that took at most as long, over all rounds.
fn pooled(runs: &[(usize, &Run)], contender: &str) -> Vec<(f64, f64)> {
    let mut steps: Vec<(u64, u64)> = Vec::new();
    let own = runs.iter().filter(|(_, run)| run.contender == contender);
    for report in own.filter_map(|(_, run)| run.foreground.as_ref()) {
        let mut before = 0;
        for (at, count) in &report.distribution {
            steps.push((*at, count - before));
            before = *count;
        }
    }
    steps.sort_unstable();
    let all: u64 = steps.iter().map(|(_, count)| count).sum();
    let mut seen = 0;
    steps
        .into_iter()
        .map(|(at, count)| {
            seen += count;
            (at as f64 / 1e6, seen as f64 / all.max(1) as f64)
        })
        .collect()
}

/// Response times as curves: the share of requests that took at most so long.
fn distribution(case: &CaseStudy, runs: &[(usize, &Run)]) -> Result<String, String> {
    let curves: Vec<(&str, Vec<(f64, f64)>)> = case
        .rows
        .iter()
        .map(|row| (row.contender.as_str(), pooled(runs, &row.contender)))
        .filter(|(_, curve)| !curve.is_empty())
        .collect();
    let points = || curves.iter().flat_map(|(_, curve)| curve.iter().map(|(at, _)| *at));
    let (low, high) = (points().fold(f64::INFINITY, f64::min), points().fold(0.0, f64::max));
    if curves.is_empty() || high <= 0.0 {
        return Ok(String::new());
    }
    drawn((900, 380), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(50)
            .build_cartesian_2d((low.max(1e-4)..high * 1.1).log_scale(), 0.0..1.0)?;
        chart
            .configure_mesh()
            .x_desc("response time in ms")
            .y_desc("share of requests")
            .label_style(font(13))
            .draw()?;
        for (name, curve) in &curves {
            let style = color(name).stroke_width(2);
            chart
                .draw_series(LineSeries::new(curve.iter().copied(), style))?
                .label(*name)
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 16, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::LowerRight)
            .label_font(font(13))
            .draw()?;
        Ok(())
    })
}

/// CPUs over the time of one run; grey where the background stood still.
fn over_time(run: &Run) -> Result<String, String> {
    let moments = &run.over_time;
    let end = moments.last().map_or(1.0, |moment| moment.at_s);
    let most = moments.iter().map(|m| m.background_cpus + m.other_cpus).fold(1.0, f64::max);
    drawn((900, 150), |area| {
        let mut chart = ChartBuilder::on(area)
            .margin(6)
            .caption(&run.contender, font(14))
            .x_label_area_size(22)
            .y_label_area_size(40)
            .build_cartesian_2d(0.0..end, 0.0..most * 1.05)?;
        chart.configure_mesh().disable_mesh().y_desc("CPUs").label_style(font(11)).y_labels(4).draw()?;
        let starts = std::iter::once(0.0).chain(moments.iter().map(|moment| moment.at_s));
        let held = starts.zip(moments).filter(|(_, moment)| moment.held);
        chart.draw_series(held.map(|(from, moment)| {
            Rectangle::new([(from, 0.0), (moment.at_s, most * 1.05)], RGBColor(225, 225, 225).filled())
        }))?;
        let line = |of: fn(&record::Moment) -> f64| moments.iter().map(move |m| (m.at_s, of(m)));
        chart.draw_series(LineSeries::new(line(|m| m.other_cpus), RGBColor(60, 60, 60).stroke_width(2)))?;
        chart.draw_series(LineSeries::new(
            line(|m| m.background_cpus),
            color(&run.contender).stroke_width(2),
        ))?;
        Ok(())
    })
}

#[cfg(test)]
mod tests;
