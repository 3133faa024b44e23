//! The aims of the cases with real applications.

use super::{Row, Target};
use crate::stats::Summary;
use crate::study::{NOISE, Round, pairs};

/// What the foreground must keep of its throughput, and what its p99 may be, both over `alone`.
const THROUGHPUT: f64 = 0.98;
const P99: f64 = 1.10;

/// Whether a case is one of an application.
pub fn is_apps(case: &str) -> bool {
    ["postgres-", "redis-", "nginx-", "edit-"].iter().any(|app| case.starts_with(app))
}

/// Whether a contender protects the foreground as well as is aimed at, or as well as lull does where lull misses the aim.
fn protects(row: &Row, lull: &Row) -> bool {
    let no_less = |own: f64, wanted: f64, theirs: Option<Summary>| {
        own >= theirs.map_or(wanted, |s| s.median.min(wanted))
    };
    let no_more = |own: f64, wanted: f64, theirs: Option<Summary>| {
        own <= theirs.map_or(wanted, |s| s.median.max(wanted))
    };
    row.foreground.is_some_and(|own| no_less(own.median, THROUGHPUT, lull.foreground))
        && row.p99.is_some_and(|own| no_more(own.median, P99, lull.p99))
}

/// The aims, judged by the rows. Background work within [`NOISE`] of the best is as much. Only who dominates lull
/// [beyond chance](pairs::Dominance) counts; with fewer than [`pairs::FEW`] rounds that is open.
pub(super) fn judge(lull: &Row, rows: &[Row], rounds: &[Round<'_>]) -> Vec<Target> {
    let median = |summary: Option<Summary>| summary.map(|summary| summary.median);
    let rivals = rows.iter().filter(|row| !row.contender.starts_with("lull") && protects(row, lull));
    let done = rivals.filter_map(|row| Some((median(row.background)?, row.contender.as_str())));
    let best = done.max_by(|one, other| one.0.total_cmp(&other.0));
    let got = median(lull.background);
    let work = match best {
        Some((done, name)) => {
            let what = format!("background / solo (beside {name}, the best that protects as well)");
            let set_by = Some(name.to_owned());
            Target { set_by, ..Target::new(&what, done * (1.0 - NOISE), false, got) }
        }
        None => Target::new("background / solo (nobody else protects as well)", 0.0, false, got),
    };
    const DOMINATORS: &str = "contenders that dominate it beyond chance";
    let is_judged = lull.p99.is_some() && lull.background.is_some();
    let dominators = match pairs::certain_dominators(rounds, &lull.contender, &lull.dominated_by) {
        None if is_judged => Target::undecided(DOMINATORS, 0.0, true),
        certain => {
            let count = certain.filter(|_| is_judged).map(|count| count as f64);
            Target::new(DOMINATORS, 0.0, true, count)
        }
    };
    // Of a few requests only the middle can be told: the longest is a matter of chance.
    let latency = match pairs::few_requests(rounds) {
        None => Target::new("p99 / alone", P99, true, median(lull.p99)),
        Some(_) => {
            Target::new("median / alone, as requests are too few for a p99,", P99, true, median(lull.p50))
        }
    };
    vec![
        Target::new("foreground / alone", THROUGHPUT, false, median(lull.foreground)),
        latency,
        work,
        dominators,
    ]
}
