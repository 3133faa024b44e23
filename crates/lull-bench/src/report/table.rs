//! Tables of a study, as text or markdown.
//!
//! Cases with a foreground. Each cell is the median over the rounds; the range stands behind it, where there
//! are several.
//!
//! | column | meaning | can be read as |
//! |---|---|---|
//! | foreground | requests per second over those of `alone` in the same round | 0.98: the foreground lost 2% of its speed |
//! | p50, p99 | that percentile of the latency over that of `alone` | p99 1.10: one request in a hundred waits at least 10% longer than before |
//! | p99 abs. | the percentile itself | what the user feels |
//! | rtt p50, rtt p99 | round trips of small datagrams beside a transfer | |
//! | added p99 | that 99th percentile (of questions and answers, theirs) less that of `alone` in the same round, in ms | 1.0: one round trip in a hundred takes 1 ms longer, or more |
//! | hits | reads that found their data in the page cache, as a share of all | 0.99: one read in a hundred went to the disk |
//! | background | bytes per second over those of `solo` | 0.50: the job takes twice as long as on an idle machine |
//! | MB/s | the background's speed itself | |
//! | idle used | on the slow disk and on a link: background work over what `solo` would do in the time, or with the capacity, that the foreground of `alone` leaves idle | 1.00: every gap was used; above: overlap with the foreground, or noise |
//! | CPU s | processor time of job and control per run | control's own cost, by comparison with `none` |
//! | dominated by | contenders that are better in one of foreground, p99, background and no worse in the others | empty is what counts |
//!
//! Cases whose resource is the CPU. Requests arrive whether or not earlier ones are done, so latency alone
//! tells.
//!
//! | column | meaning |
//! |---|---|
//! | OVERRUN | rounds in which the foreground was driven beyond its limit, of all: its queue did not empty, so quiet beats were as late as loaded ones, and the ratios of that round show nothing |
//! | mean, p99, p99.9 | the mean and percentiles of the latency, over those in the quiet beats of the same run (in the row of `alone` no beat has background: its ratios are the machine's noise) |
//! | service | the same of the time from the start to the end of a request's work: without the wait before it |
//! | bg/idle | background work over that of `sched-idle` in the same round: what was held back |
//! | M/s | the background's speed: megabytes, or millions of iterations, per second |
//! | own CPU | processor time of the control itself, in percent of one CPU, for contenders whose processes the harness can tell from the job's |
//! | others | what neither side had, in percent of one CPU: other processes, the harness, the hypervisor |
//! | told | the slowdown of bursts that the contender itself reported, and in how many rounds the measured one was inside its 95% interval |
//! | overlap | in how many rounds that interval and the 95% interval of the measured one have a value in common |
//!
//! Cases without a foreground: *speed* is the wall-clock time of `none` over that of the contender in the
//! same round (0.95: 5% slower), *wall* the time itself.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};
use lull_core::Nanos;

use crate::record::Host;
use crate::stats::Summary;
use crate::study::aims::Aim;
use crate::study::cpu::Coverage;
use crate::study::{CaseStudy, Row, Study};
use crate::units::{Bytes, mb_per_s, whole};

/// How a table is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For terminals.
    Text,
    /// For documents.
    Markdown,
}

/// The machines, a line each.
pub(super) fn hosts(study: &Study) -> String {
    study.hosts.iter().map(host).collect()
}

/// A machine in a line.
pub(crate) fn host(host: &Host) -> String {
    let disk = host.disk.as_deref().unwrap_or("no single disk");
    let scheduler = host.scheduler.as_deref().unwrap_or("unknown");
    let commit = host.commit.as_deref().map(|commit| format!(", commit {commit}")).unwrap_or_default();
    let user = if host.root { "root" } else { "an ordinary user" };
    format!(
        "{}: Linux {}, {} × {}, {}, disk {disk} with scheduler {scheduler}, {}{commit}, as {user}, {}\n",
        host.date,
        host.kernel,
        host.cpus,
        host.cpu,
        Bytes(host.ram_bytes),
        host.version,
        host.idle_cpus(),
    )
}

/// The whole report.
pub fn render(study: &Study, form: Form) -> String {
    let mut text = hosts(study);
    for case in &study.cases {
        let heading = if form == Form::Markdown { "## " } else { "" };
        text.push_str(&format!("\n{heading}{}\n\n", case.case));
        text.push_str(&case_table(case, form));
        text.push('\n');
        for row in &case.rows {
            text.extend(overrun(row).map(|overrun| overrun.warning(&row.contender, form)));
        }
        for aim in &case.aims {
            text.push_str(&format!(
                "{}{}\n",
                if form == Form::Markdown { "- " } else { "  " },
                aim_line(aim)
            ));
        }
        if form == Form::Markdown {
            text.push('\n');
            for row in &case.rows {
                if let Some(command) = &row.command {
                    text.push_str(&format!("- {}: `{command}`\n", row.contender));
                }
            }
        }
    }
    if !study.unmet.is_empty() {
        text.push_str(if form == Form::Markdown { "\n## Not measured\n\n" } else { "\nnot measured\n" });
        text.extend(study.unmet.iter().map(|unmet| format!("- {unmet}\n")));
    }
    text
}

pub(super) fn aim_line(aim: &Aim) -> String {
    format!("aim for lull, {}: {}", aim.outcome(), figures(aim))
}

/// What an aim is about, what it came to, and the bound.
pub(super) fn figures(aim: &Aim) -> String {
    // Aims as written in the source where that is short; what is computed to three digits.
    let digits = |value: f64| format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned();
    let got = aim.got.map(|got| format!(" {}", digits(got))).unwrap_or_default();
    let wanted = match (aim.at_most, aim.wanted) {
        (true, 0.0) => "none".to_owned(),
        (true, most) => format!("at most {}", digits(most)),
        (false, least) => format!("at least {}", digits(least)),
    };
    format!("{}{got} (wanted: {wanted})", aim.what)
}

/// A column: its heading and what stands in a row.
type Column = (&'static str, fn(&Row) -> Option<String>);

const COLUMNS: [Column; 28] = [
    ("contender", |row| Some(row.contender.clone())),
    ("runs", |row| Some(runs(row))),
    ("OVERRUN", |row| Some(overrun(row)?.to_string())),
    ("foreground", |row| ranged(row.foreground.filter(|_| row.cpu.is_none()))),
    ("mean", |row| ranged(row.cpu.as_ref().map_or(row.mean, |cpu| cpu.mean))),
    ("p50", |row| ranged(row.p50.filter(|_| row.cpu.is_none()))),
    ("p90", |row| ranged(row.p90.filter(|_| row.cpu.is_none()))),
    ("p99", |row| ranged(row.p99)),
    ("p99.9", |row| ranged(row.cpu.as_ref()?.p999)),
    ("service", |row| ranged(row.cpu.as_ref()?.service)),
    ("hits", |row| row.hits.map(|hits| format!("{:.4}{}", hits.median, range(hits, 1.0, 3)))),
    ("mean abs.", |row| duration(row.cpu.as_ref()?.mean_ns)),
    ("p99 abs.", |row| duration(row.p99_ns)),
    ("rtt p50", |row| duration(row.round_trips?.p50_ns)),
    ("rtt p99", |row| duration(row.round_trips?.p99_ns)),
    ("added p99", |row| added(row.round_trips?.added_p99_ns)),
    ("background", |row| ranged(row.background)),
    ("bg/idle", |row| ranged(row.cpu.as_ref()?.over_sched_idle)),
    ("MB/s", |row| speed(row.bytes_per_s.filter(|_| row.cpu.is_none()))),
    ("M/s", |row| speed(row.cpu.as_ref()?.work_per_s)),
    ("idle used", |row| ranged(row.idle_used)),
    ("speed", |row| ranged(row.speed)),
    ("wall", |row| row.wall_s.map(|summary| Nanos(whole(summary.median * 1e9)).to_string())),
    ("CPU s", |row| row.cpu_s.filter(|_| row.cpu.is_none()).map(|summary| format!("{:.2}", summary.median))),
    ("own CPU", |row| cpus(row.cpu.as_ref()?.control_cpus)),
    ("others", |row| cpus(row.cpu.as_ref()?.disturbed_cpus)),
    ("told", told),
    ("overlap", |row| Some(rounds(row.cpu.as_ref()?.overlap?))),
];

fn runs(row: &Row) -> String {
    if row.left_out == 0 { row.runs.to_string() } else { format!("{} (-{})", row.runs, row.left_out) }
}

/// Rounds of a row in which the foreground was driven beyond its limit.
struct Overrun<'a> {
    rounds: &'a [u32],
    runs: usize,
}

/// None if there were none.
fn overrun(row: &Row) -> Option<Overrun<'_>> {
    let rounds = &row.cpu.as_ref()?.overrun;
    (!rounds.is_empty()).then_some(Overrun { rounds, runs: row.runs })
}

impl fmt::Display for Overrun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.rounds.len(), self.runs)
    }
}

impl Overrun<'_> {
    /// A line about it, which comes before aims that were judged by such rounds, too.
    fn warning(&self, contender: &str, form: Form) -> String {
        let [before, strong] = if form == Form::Markdown { ["- ", "**"] } else { ["  ", ""] };
        let rounds: Vec<String> = self.rounds.iter().map(u32::to_string).collect();
        format!(
            "{before}{strong}OVERRUN: {contender} in {self} rounds ({}){strong}: the foreground's queue did not empty, so quiet beats \
             were as late as loaded ones; ratios near 1 and aims met in these rounds show nothing\n",
            rounds.join(", ")
        )
    }
}

/// Three digits where they matter: a slow disk moves fractions of a megabyte.
fn rate(value: f64) -> String {
    if value < 10.0 { format!("{value:.3}") } else { format!("{value:.0}") }
}

fn speed(per_s: Option<Summary>) -> Option<String> {
    per_s.map(|summary| rate(mb_per_s(summary.median)))
}

fn cpus(used: Option<Summary>) -> Option<String> {
    used.map(|summary| format!("{:.2}%", summary.median * 100.0))
}

fn duration(ns: Option<Summary>) -> Option<String> {
    ns.map(|summary| Nanos(whole(summary.median)).to_string())
}

/// In milliseconds, since it may be negative.
fn added(ns: Option<Summary>) -> Option<String> {
    ns.map(|s| format!("{:.2} ms{}", s.median / 1e6, range(s, 1e6, 1)))
}

fn told(row: &Row) -> Option<String> {
    let cpu = row.cpu.as_ref()?;
    let (reported, coverage) = (cpu.reported?, cpu.coverage?);
    Some(format!("{:.3}, {}", reported.median, rounds(coverage)))
}

fn rounds(coverage: Coverage) -> String {
    format!("{}/{}", coverage.inside, coverage.rounds)
}

fn ranged(summary: Option<Summary>) -> Option<String> {
    summary.map(|s| format!("{:.3}{}", s.median, range(s, 1.0, 2)))
}

/// The range with so many digits, in another unit; of one value there is none.
fn range(summary: Summary, unit: f64, digits: usize) -> String {
    let [min, max] = [summary.min, summary.max].map(|value| format!("{:.digits$}", value / unit));
    if summary.count > 1 { format!(" [{min}-{max}]") } else { String::new() }
}

/// What tells both halves of the promise, whatever the resource.
const SHORT: [Column; 6] = [
    ("contender", |row| Some(row.contender.clone())),
    ("mean", |row| ranged(row.mean)),
    ("p90", |row| ranged(row.p90)),
    ("p99", |row| ranged(row.p99)),
    ("p99 abs.", |row| duration(row.p99_ns)),
    ("background", |row| ranged(row.background)),
];

/// A case in few columns.
pub fn short(case: &CaseStudy, form: Form) -> String {
    drawn(case, &SHORT, false, form)
}

fn case_table(case: &CaseStudy, form: Form) -> String {
    // Columns that no row of the case fills are left out.
    let columns: Vec<Column> =
        COLUMNS.into_iter().filter(|(_, cell)| case.rows.iter().any(|row| cell(row).is_some())).collect();
    let dominated = case.rows.iter().any(|row| !row.dominated_by.is_empty());
    drawn(case, &columns, dominated, form)
}

fn drawn(case: &CaseStudy, columns: &[Column], dominated: bool, form: Form) -> String {
    let mut table = Table::new();
    table.load_style(if form == Form::Markdown {
        presets::ASCII_MARKDOWN
    } else {
        presets::UTF8_FULL_CONDENSED
    });
    let mut header: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    if dominated {
        header.push("dominated by".to_owned());
    }
    table.set_header(header);
    for row in &case.rows {
        let mut cells: Vec<String> = columns.iter().map(|(_, cell)| cell(row).unwrap_or_default()).collect();
        if dominated {
            cells.push(row.dominated_by.join(", "));
        }
        table.add_row(cells);
    }
    for index in 1..columns.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{}\n", table.trim_fmt())
}
