//! The report of `lull bench apps`: one page that needs nothing else.
//!
//! Tables, pictures as SVG within the page, and at its end the raw records and the verdicts as JSON, so that a page that is sent to somebody
//! can be checked and computed with. Everything is made from `raw.jsonl` alone. It follows the reader's choice of light or dark; what is
//! wider than a narrow screen scrolls by itself.
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

use super::apps::{HELD, Verdicts};
use super::table::figures;
use crate::Error;
use crate::contender::known;
use crate::error::Context;
use crate::experiment::apps::args::terms_line;
use crate::record::{Host, Record, Run};
use crate::stats::Median;
use crate::study::Study;
use crate::study::pairs::{Pair, Standing, runs_of};
use crate::study::targets::{Tally, Target};

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
    verdicts: &Verdicts,
    records: &[Record],
    out: &mut dyn Write,
) -> Result<(), Error> {
    let path = directory.join(FILE_NAME);
    let text =
        page(study, verdicts, records).map_err(|problem| Error::Picture { path: path.clone(), problem })?;
    std::fs::write(&path, text).at("write", &path)?;
    writeln!(out, "page: {}", path.display()).to("write to standard output")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// JSON that may stand within a page.
fn embedded(id: &str, value: &impl serde::Serialize) -> Result<String, String> {
    let json = serde_json::to_string(value).map_err(|error| error.to_string())?.replace("</", "<\\/");
    Ok(format!("<script type=\"application/json\" id=\"{id}\">{json}</script>"))
}

fn page(study: &Study, verdicts: &Verdicts, records: &[Record]) -> Result<String, String> {
    let mut text = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>lull bench apps</title><style>{STYLE}</style><h1>Real applications beside background jobs</h1>"
    );
    text.push_str(&overview(&verdicts.pairs));
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
    text.push_str(&observations::section(&verdicts.observations, verdicts.fewest()));
    text.push_str(&foregrounds(records));
    text.push_str(&contenders(records));
    for pair in &verdicts.pairs {
        let runs = runs_of(records, &pair.case);
        let _ = write!(text, "<h2 id=\"{0}\">{0}</h2><p>{1}</p>", escaped(&pair.case), escaped(&pair.lull));
        text.push_str(&on_frontier(pair));
        text.push_str(&table(pair));
        text.push_str(&targets(&pair.targets));
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
    text.push_str(&embedded("verdicts", verdicts)?);
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
    let mut text = String::from(
        "<div class=scroll><table><tr><th>pair<th>rounds<th>lull: throughput / alone<th>p99 / alone<th>background / solo\
         <th>aims met<th>dominated by</tr>",
    );
    for pair in pairs {
        let lull = pair.standing("lull");
        let aims = Tally::of(&pair.targets);
        let class = match (aims.met, aims.met + aims.open) {
            _ if aims.measured == 0 => "quiet",
            (met, _) if met == aims.all => "met",
            (_, perhaps) if perhaps == aims.all => "quiet",
            _ => "missed",
        };
        let by = lull.map(who_dominates).unwrap_or_default();
        let _ = write!(
            text,
            "<tr><td><a href=\"#{0}\">{0}</a><td>{1}<td>{2}<td>{3}<td>{4}<td><span class={class}>{aims}</span><td>{5}</tr>",
            escaped(&pair.case),
            pair.rounds,
            median(lull.and_then(|lull| lull.throughput)),
            median(lull.and_then(|lull| lull.p99)),
            median(lull.and_then(|lull| lull.background)),
            escaped(&by)
        );
    }
    text.push_str("</table></div>");
    text
}

/// Names, with a question mark where it may be chance.
pub(super) fn who_dominates(one: &Standing) -> String {
    let names = one.dominated_by.iter().map(|by| format!("{}{}", by.by, if by.certain { "" } else { "?" }));
    names.collect::<Vec<_>>().join(", ")
}

/// Each contender once: what it is, and the exact command of one of its runs.
fn contenders(records: &[Record]) -> String {
    let mut text = String::from(
        "<h2>Contenders</h2><p>With the command of the first run of each; those of every pair are with the pair.</p>\
         <div class=scroll><table class=text><tr><th>contender<th>what it is<th>exactly</tr>",
    );
    let mut runs: Vec<&Run> = Vec::new();
    for record in records {
        if let Record::Run(run) = record
            && !runs.iter().any(|known| known.contender == run.contender)
        {
            runs.push(run);
        }
    }
    runs.sort_by_key(|run| known::rank(&run.contender));
    for run in runs {
        let _ = write!(
            text,
            "<tr><td>{}<td>{}<td>{}</tr>",
            escaped(&run.contender),
            escaped(known::named(&run.contender).map_or("", |known| known.what)),
            exactly(run)
        );
    }
    text.push_str("</table></div>");
    text
}

/// Each application once: how its server was made and started, and what loads it.
fn foregrounds(records: &[Record]) -> String {
    let mut text = String::from(
        "<h2>Applications</h2><p>With the commands of the first run of each; ports, directories and seeds differ in others.</p>\
         <div class=scroll><table class=text><tr><th>application<th>server<th>load</tr>",
    );
    let mut seen: Vec<&str> = Vec::new();
    for record in records {
        let Record::Run(run) = record else { continue };
        let app = run.case.split('-').next().unwrap_or_default();
        let Some(load) = run.foreground_command.as_deref().filter(|_| !seen.contains(&app)) else { continue };
        seen.push(app);
        let _ = write!(
            text,
            "<tr><td>{}<td>{}<td><code>{}</code></tr>",
            escaped(app),
            served(run).unwrap_or_else(|| "–".to_owned()),
            escaped(load)
        );
    }
    text.push_str("</table></div>");
    text
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
    let Some(Median { value, ends }) = median else { return "<td>–".to_owned() };
    let ends = ends.map(|ends| format!(" <small>[{:.3}–{:.3}]</small>", ends.low, ends.high));
    format!("<td>{value:.3}{}", ends.unwrap_or_default())
}

fn table(pair: &Pair) -> String {
    let tail = super::apps::tail(pair);
    let said = [super::apps::few_requests(pair), super::apps::counted_by(pair)].into_iter().flatten();
    let mut text: String = said.map(|said| format!("<p>{}</p>", escaped(&said))).collect();
    let _ = write!(
        text,
        "<div class=scroll><table><tr><th>contender<th>runs<th>throughput / alone<th>mean / alone<th>median / alone<th>{tail} / alone<th>{tail}\
         <th>background / solo<th>CPUs<th>held<th>dominated by</tr>"
    );
    for one in &pair.contenders {
        let dash = || "–".to_owned();
        let p99 = one.p99_ns.map_or_else(dash, |ns| Nanos(crate::units::whole(ns)).to_string());
        let cpus = one.background_cpus.map_or_else(dash, |cpus| format!("{cpus:.2}"));
        let held = super::apps::held(one);
        let _ = write!(
            text,
            "<tr><td>{}<td>{}{}{}{}{}<td>{p99}{}<td>{cpus}<td>{held}<td>{}</tr>",
            escaped(&one.contender),
            one.runs,
            cell(one.throughput),
            cell(one.mean),
            cell(one.p50),
            cell(one.p99),
            cell(one.background),
            escaped(&who_dominates(one))
        );
    }
    text.push_str("</table></div>");
    text
}

fn targets(targets: &[Target]) -> String {
    let mut text = String::from("<ul>");
    for target in targets {
        let class = match target.got {
            None => "quiet",
            Some(_) if target.met => "met",
            Some(_) => "missed",
        };
        let _ = write!(
            text,
            "<li>aim for lull, <span class={class}>{}</span>: {}</li>",
            target.verdict(),
            escaped(&figures(target))
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
