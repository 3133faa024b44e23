//! The aims of the cases with real applications: for both halves of the promise.
//!
//! | foreground | mean | p90 | p99 | background |
//! |---|---|---|---|---|
//! | a server | ≤ 1.10 × alone | ≤ 1.10 × | no more than under `confined`, if that was measured | ≥ 35% of solo beside `bzip2` and `memory`, else ≥ 45% |
//! | `edit` | ≤ 1.03 × (of a compile) | – | – | ≥ 75% of solo |
//!
//! On two CPUs half of solo is one of them. And nobody may dominate lull beyond chance.

use super::{Aim, Row};
use crate::stats::Summary;
use crate::study::dominance::{certain_dominators, few_requests};
use crate::study::rounds::Round;

/// What a server's requests may take, over `alone`.
const LATENCY: f64 = 1.10;
/// What a compile may take.
const COMPILE: f64 = 1.03;
/// The job's work, of what it does alone: beside a server; where it only computes; beside a person who edits
/// and compiles.
const WORK: f64 = 0.45;
const COMPUTING: f64 = 0.35;
const EDITING: f64 = 0.75;

/// The aims, judged by the rows. Only who dominates lull [beyond chance](crate::study::dominance) counts;
/// with fewer than [`FEW`](crate::study::dominance::FEW) rounds that is open.
pub(super) fn judge(case: &str, lull: &Row, rows: &[Row], rounds: &[Round<'_>]) -> Vec<Aim> {
    let median = |summary: Option<Summary>| summary.map(|summary| summary.median);
    let work = |wanted| Aim::new("background / solo", wanted, false, median(lull.background));
    let mut aims = if case.starts_with("edit-") {
        vec![Aim::new("mean / alone", COMPILE, true, median(lull.mean)), work(EDITING)]
    } else {
        let computes = ["-bzip2-", "-memory-"].iter().any(|job| case.contains(job));
        vec![
            Aim::new("mean / alone", LATENCY, true, median(lull.mean)),
            Aim::new("p90 / alone", LATENCY, true, median(lull.p90)),
            work(if computes { COMPUTING } else { WORK }),
        ]
    };
    let confined = rows.iter().find(|row| row.contender == "confined").and_then(|row| median(row.p99));
    if let Some(bound) = confined.filter(|_| few_requests(rounds).is_none()) {
        let aim = Aim::new("p99 / alone (wanted: that of confined)", bound, true, median(lull.p99));
        aims.push(Aim { set_by: Some("confined".to_owned()), ..aim });
    }
    const DOMINATORS: &str = "contenders that dominate it beyond chance";
    let is_judged = lull.p99.is_some() && lull.background.is_some();
    aims.push(match certain_dominators(rounds, &lull.contender, &lull.dominated_by) {
        None if is_judged => Aim::undecided(DOMINATORS, 0.0, true),
        certain => {
            let count = certain.filter(|_| is_judged).map(|count| count as f64);
            Aim::new(DOMINATORS, 0.0, true, count)
        }
    });
    aims
}
