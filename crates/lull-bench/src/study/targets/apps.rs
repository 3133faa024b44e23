//! The aims of the cases with real applications.

use super::{Row, Target};

/// What the foreground must keep of its throughput, and what its p99 may be, both over `alone`.
const THROUGHPUT: f64 = 0.98;
const P99: f64 = 1.10;

/// Whether a case is one of an application.
pub fn is_apps(case: &str) -> bool {
    ["postgres-", "redis-", "nginx-", "edit-"].iter().any(|app| case.starts_with(app))
}

/// Whether a contender protects the foreground as well as is aimed at.
fn protects(row: &Row) -> bool {
    row.foreground.is_some_and(|foreground| foreground.median >= THROUGHPUT)
        && row.p99.is_some_and(|p99| p99.median <= P99)
}

/// The aims, judged by the rows.
pub(super) fn judge(lull: &Row, rows: &[Row]) -> Vec<Target> {
    let median = |summary: Option<crate::stats::Summary>| summary.map(|summary| summary.median);
    let rivals = rows.iter().filter(|row| !row.contender.starts_with("lull") && protects(row));
    let best = rivals.filter_map(|row| median(row.background)).fold(0.0, f64::max);
    vec![
        Target::new("foreground / alone", THROUGHPUT, false, median(lull.foreground)),
        Target::new("p99 / alone", P99, true, median(lull.p99)),
        Target::new("background / solo, of those that protect as well", best, false, median(lull.background)),
        Target::new("contenders that dominate it", 0.0, true, Some(lull.dominated_by.len() as f64)),
    ]
}
