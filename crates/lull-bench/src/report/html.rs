//! The report of `lull bench apps`: one page that needs nothing else.
//!
//! Tables, pictures as SVG within the page, and at its end the raw records and the findings as JSON, so that
//! a page that is sent to somebody can be checked and computed with. Everything is made from `raw.jsonl`
//! alone. It follows the reader's choice of light or dark; what is wider than a narrow screen scrolls by
//! itself.
//!
//! | per pair | shows |
//! |---|---|
//! | sentence | whether lull is dominated, by whom, how sure that is |
//! | table | ratios within rounds: median and its bootstrap interval |
//! | frontier | foreground p99 against background work |
//! | distribution | response times of all rounds together, per contender |
//! | over time | CPUs of the background and of everything else, and when the background stood still, in the first round |
//! | commands | what was started and what was set around it |

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use lull_core::Nanos;

use super::findings::{Findings, HELD, counted_by, few_requests, held, tail, who_dominates};
use super::markup::{escaped, html_table};
use super::table::figures;
use crate::Error;
use crate::contender::known;
use crate::error::Context;
use crate::record::{Host, Record, Run, terms_line};
use crate::stats::Median;
use crate::study::Study;
use crate::study::aims::{Aim, Tally};
use crate::study::pairs::{Pair, Standing, runs_of};
use crate::units::whole;

mod charts;
mod observations;

/// The page.
pub const FILE_NAME: &str = "report.html";

const STYLE: &str = include_str!("html/style.css");

/// Writes the page into `directory`.
///
/// # Errors
/// When a picture cannot be drawn or the page not be written.
pub fn write(
    directory: &Path,
    study: &Study,
    findings: &Findings,
    records: &[Record],
    out: &mut dyn Write,
) -> Result<(), Error> {
    let path = directory.join(FILE_NAME);
    let text =
        page(study, findings, records).map_err(|problem| Error::Picture { path: path.clone(), problem })?;
    std::fs::write(&path, text).at("write", &path)?;
    writeln!(out, "page: {}", path.display()).to("write to standard output")
}

/// JSON that may stand within a page.
fn embedded(id: &str, value: &impl serde::Serialize) -> Result<String, String> {
    let json = serde_json::to_string(value).map_err(|error| error.to_string())?.replace("</", "<\\/");
    Ok(format!("<script type=\"application/json\" id=\"{id}\">{json}</script>"))
}

fn page(study: &Study, findings: &Findings, records: &[Record]) -> Result<String, String> {
    let mut text = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>lull bench apps</title><style>{STYLE}</style><h1>Real applications beside background jobs</h1>"
    );
    text.push_str(&overview(&findings.pairs));
    text.push_str("<h2>How to read this</h2>");
    text.push_str(
        "<p>Ratios are taken within rounds: foreground to <i>alone</i>, background to <i>solo</i>, each with the 95% interval of \
         its median by bootstrap; with fewer than five rounds an interval says too little, and one round has none. Requests are due at times fixed in \
         advance and measured from then on (no coordinated omission); only the compile-edit cycle is a closed loop. \
         <i>Dominated</i>: another contender's p99 is no higher and its background work no less, one of them clearly better.</p>",
    );
    let _ = write!(text, "<p><i>held</i>: {HELD}.</p>");
    text.push_str("<h2>Machine</h2>");
    study.hosts.iter().for_each(|host| text.push_str(&machine(host)));
    text.push_str(&unmet(study));
    text.push_str(&observations::section(&findings.observations, findings.fewest()));
    text.push_str(&foregrounds(records));
    text.push_str(&contenders(records));
    for pair in &findings.pairs {
        let runs = runs_of(records, &pair.case);
        let _ = write!(text, "<h2 id=\"{0}\">{0}</h2><p>{1}</p>", escaped(&pair.case), escaped(&pair.lull));
        text.push_str(&on_frontier(pair));
        text.push_str(&table(pair));
        text.push_str(&aims(&pair.aims));
        text.push_str(&charts::legend(pair));
        for (title, svg) in [
            (
                "Frontier: background work against foreground p99, with 95% intervals; the dashed line joins those that nobody dominates",
                charts::frontier(pair)?,
            ),
            ("Response times of all rounds", charts::distribution(pair, &runs)?),
        ] {
            if !svg.is_empty() {
                let _ = write!(
                    text,
                    "<figure class=wide><figcaption>{title}</figcaption><div class=scroll>{svg}</div></figure>"
                );
            }
        }
        text.push_str(&over_time(pair, &runs)?);
        text.push_str(&commands(pair, &runs));
    }
    text.push_str(
        "<p>Records: <a href=\"raw.jsonl\">raw.jsonl</a>, and in this page as JSON, with the verdicts.</p>",
    );
    text.push_str(&embedded("records", &records)?);
    text.push_str(&embedded("verdicts", findings)?);
    text.push_str("</html>");
    Ok(text)
}

fn machine(host: &Host) -> String {
    format!(
        "<p>{}: Linux {}, {} × {}, {:.1} GiB, disk {} with scheduler {}, {}{}, {}, {}, {}seed {}.{}</p>",
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
        host.idle_cpus(),
        match host.autogroup {
            Some(true) => "CPU priorities within a session only (autogroup), ",
            Some(false) => "CPU priorities on the whole machine, ",
            None => "",
        },
        host.seed,
        if host.terms.is_empty() {
            String::new()
        } else {
            format!(" Terms: {}.", escaped(&terms_line(&host.terms)))
        }
    )
}

fn unmet(study: &Study) -> String {
    if study.unmet.is_empty() {
        return String::new();
    }
    let mut text = String::from("<h2>Not measured</h2><ul>");
    for unmet in &study.unmet {
        let who = unmet.contender.as_deref().unwrap_or("all contenders");
        let _ =
            write!(text, "<li>{}, {}: {}</li>", escaped(&unmet.case), escaped(who), escaped(&unmet.detail));
    }
    text.push_str("</ul>");
    text
}

fn median(median: Option<Median>) -> String {
    median.map_or_else(|| "–".to_owned(), |median| format!("{:.3}", median.value))
}

/// Every pair in a line.
fn overview(pairs: &[Pair]) -> String {
    let header = [
        "pair",
        "rounds",
        "lull: throughput / alone",
        "p99 / alone",
        "background / solo",
        "aims met",
        "dominated by",
    ];
    let rows = pairs.iter().map(|pair| {
        let lull = pair.standing("lull");
        let aims = Tally::of(&pair.aims);
        let class = match (aims.met, aims.met + aims.open) {
            _ if aims.measured == 0 => "quiet",
            (met, _) if met == aims.all => "met",
            (_, perhaps) if perhaps == aims.all => "quiet",
            _ => "missed",
        };
        let figures: [fn(&Standing) -> Option<Median>; 3] =
            [|lull| lull.throughput, |lull| lull.p99, |lull| lull.background];
        let mut row = vec![format!("<a href=\"#{0}\">{0}</a>", escaped(&pair.case)), pair.rounds.to_string()];
        row.extend(figures.map(|figure| median(lull.and_then(figure))));
        row.push(format!("<span class={class}>{aims}</span>"));
        row.push(escaped(&lull.map(who_dominates).unwrap_or_default()));
        row
    });
    html_table("", &header, rows)
}

/// The first run of each, by what it is the first of.
fn firsts<'a>(records: &'a [Record], of: impl Fn(&'a Run) -> Option<&'a str>) -> Vec<(&'a str, &'a Run)> {
    let mut firsts: Vec<(&str, &Run)> = Vec::new();
    for record in records {
        if let Record::Run(run) = record
            && let Some(name) = of(run)
            && !firsts.iter().any(|(known, _)| *known == name)
        {
            firsts.push((name, run));
        }
    }
    firsts
}

/// Each contender once: what it is, and the exact command of one of its runs.
fn contenders(records: &[Record]) -> String {
    let mut firsts = firsts(records, |run| Some(&run.contender));
    firsts.sort_by_key(|(name, _)| known::rank(name));
    let what = |name: &str| known::named(name).map_or("", |known| known.what);
    let rows = firsts.into_iter().map(|(name, run)| vec![escaped(name), escaped(what(name)), exactly(run)]);
    let table = html_table(" class=text", &["contender", "what it is", "exactly"], rows);
    format!(
        "<h2>Contenders</h2><p>With the command of the first run of each; those of every pair are with the pair.</p>{table}"
    )
}

/// Each application once: how its server was made and started, and what loads it.
fn foregrounds(records: &[Record]) -> String {
    let firsts =
        firsts(records, |run| run.foreground_command.as_ref().and_then(|_| run.case.split('-').next()));
    let rows = firsts.into_iter().map(|(app, run)| {
        let load = run.foreground_command.as_deref().unwrap_or_default();
        let server = served(run).unwrap_or_else(|| "–".to_owned());
        vec![escaped(app), server, format!("<code>{}</code>", escaped(load))]
    });
    let table = html_table(" class=text", &["application", "server", "load"], rows);
    format!(
        "<h2>Applications</h2><p>With the commands of the first run of each; ports, directories and seeds differ in others.</p>{table}"
    )
}

/// How the server was made and started; none if there is none.
fn served(run: &Run) -> Option<String> {
    let lines = run.server.iter().map(|line| format!("<code>{}</code>", escaped(line).replace('\n', "<br>")));
    (!run.server.is_empty()).then(|| lines.collect::<Vec<_>>().join("<br>"))
}

/// What was set and started for a run.
fn exactly(run: &Run) -> String {
    let command = run.command.as_deref().unwrap_or("no background");
    let lines = run.control.iter().map(String::as_str).chain([command]);
    lines.map(|line| format!("<code>{}</code>", escaped(line))).collect::<Vec<_>>().join("<br>")
}

fn on_frontier(pair: &Pair) -> String {
    let beaten: Vec<&Standing> = pair.contenders.iter().filter(|one| !one.dominated_by.is_empty()).collect();
    let mut text = format!("<p>On the frontier: {}.", escaped(&pair.frontier.join(", ")));
    if !beaten.is_empty() {
        let each = beaten.iter().map(|one| format!("{} (by {})", one.contender, who_dominates(one)));
        let _ = write!(text, " Dominated: {}.", escaped(&each.collect::<Vec<_>>().join(", ")));
    }
    text.push_str(" <small>A question mark: it may be chance.</small></p>");
    text
}

fn cell(median: Option<Median>) -> String {
    let Some(Median { value, ends }) = median else { return "–".to_owned() };
    let ends = ends.map(|ends| format!(" <small>[{:.3}–{:.3}]</small>", ends.low, ends.high));
    format!("{value:.3}{}", ends.unwrap_or_default())
}

fn table(pair: &Pair) -> String {
    let tail = tail(pair);
    let over_alone = format!("{tail} / alone");
    let said = [few_requests(pair), counted_by(pair)].into_iter().flatten();
    let said: String = said.map(|said| format!("<p>{}</p>", escaped(&said))).collect();
    let mut header = vec!["contender", "runs", "throughput / alone", "mean / alone", "median / alone"];
    header.extend([&over_alone, tail, "background / solo", "CPUs", "held", "dominated by"]);
    let rows = pair.contenders.iter().map(|one| {
        let dash = || "–".to_owned();
        let mut row = vec![escaped(&one.contender), one.runs.to_string()];
        row.extend([one.throughput, one.mean, one.p50, one.p99].map(cell));
        row.push(one.p99_ns.map_or_else(dash, |ns| Nanos(whole(ns)).to_string()));
        row.push(cell(one.background));
        row.push(one.background_cpus.map_or_else(dash, |cpus| format!("{cpus:.2}")));
        row.extend([held(one), escaped(&who_dominates(one))]);
        row
    });
    said + &html_table("", &header, rows)
}

fn aims(aims: &[Aim]) -> String {
    let mut text = String::from("<ul>");
    for aim in aims {
        let class = match aim.got {
            None => "quiet",
            Some(_) if aim.met => "met",
            Some(_) => "missed",
        };
        let _ = write!(
            text,
            "<li>aim for lull, <span class={class}>{}</span>: {}</li>",
            aim.outcome(),
            escaped(&figures(aim))
        );
    }
    text.push_str("</ul>");
    text
}

fn over_time(pair: &Pair, runs: &[(usize, &Run)]) -> Result<String, String> {
    let mut text = String::from(
        "<h3>Over time, first round</h3><p class=quiet>Coloured: the background; dark: all others; shaded: the background stood still when it was looked at, twice a second; shorter holds are not seen here.</p><div class=grid>",
    );
    for one in &pair.contenders {
        let first = runs.iter().map(|(_, run)| *run).find(|run| run.contender == one.contender);
        if let Some(run) = first.filter(|run| !run.over_time.is_empty()) {
            let _ = write!(
                text,
                "<figure><figcaption>{}</figcaption>{}</figure>",
                escaped(&run.contender),
                charts::over_time(run)?
            );
        }
    }
    text.push_str("</div>");
    Ok(text)
}

fn commands(pair: &Pair, runs: &[(usize, &Run)]) -> String {
    let mut text = String::from("<details><summary>Commands and remarks</summary><ul>");
    for one in &pair.contenders {
        let own = || runs.iter().map(|(_, run)| *run).filter(|run| run.contender == one.contender);
        if let Some(run) = own().next() {
            let _ = write!(text, "<li>{}: {}</li>", escaped(&run.contender), exactly(run));
        }
        for run in own().filter(|run| !run.notes.is_empty()) {
            let remarks = escaped(&run.notes.join("; "));
            let _ = write!(text, "<li>{}, round {}: {remarks}</li>", escaped(&run.contender), run.round);
        }
    }
    if let Some(server) = runs.iter().find_map(|(_, run)| served(run)) {
        let _ = write!(text, "<li>server: {server}</li>");
    }
    if let Some(command) = runs.iter().find_map(|(_, run)| run.foreground_command.as_deref()) {
        let _ = write!(text, "<li>foreground: <code>{}</code></li>", escaped(command));
    }
    text.push_str("</ul></details>");
    text
}

#[cfg(test)]
mod tests;
