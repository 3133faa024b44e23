//! The aims of the cases whose resource is the CPU.
//!
//! | case | mean / alone | tail / alone | background / `sched-idle` |
//! |---|---|---|---|
//! | `serve-50` | ≤ 1.04 | p99 ≤ 1.10 | ≥ 0.60 |
//! | `serve-50-at-20` | ≤ 1.20 | – | ≥ 0.85 |
//! | `serve-10` | ≤ 1.05 | p99 ≤ 1.15 | ≥ 0.80 |
//! | `serve-80` | ≤ 1.05 | p99 ≤ 1.15 | ≥ 0.15 |
//! | `wakeup` | – | p99.9 ≤ 1.20 | – |
//! | `integer` | ≤ 1.04 | p99 ≤ 1.10 | ≥ 0.95 |
//!
//! In all of the request server: the true mean lies inside the reported 95% interval in at least 90% of the
//! rounds. And in no round may it have been driven beyond its limit: the ratios of such a round show nothing.
//! `spin` has no aim of its own: it shows whether a foreground that never sleeps starves the background or
//! suffers.

use super::Aim;
use crate::study::Row;

/// The aims of `case` for the row of lull; none if it is no such case.
pub(super) fn judge(case: &str, row: &Row) -> Vec<Aim> {
    let Some(cpu) = &row.cpu else { return Vec::new() };
    let median = |summary: Option<crate::stats::Summary>| summary.map(|summary| summary.median);
    let mean = |most| Aim::new("mean / alone", most, true, median(cpu.mean));
    let p99 = |most| Aim::new("p99 / alone", most, true, median(row.p99));
    let work = |least| Aim::new("background / sched-idle", least, false, median(cpu.over_sched_idle));
    let share = cpu.coverage.and_then(crate::study::cpu::Coverage::share);
    let told = || Aim::new("rounds with the true slowdown inside the reported interval", 0.9, false, share);
    let overrun = || Aim::new("rounds that were overrun", 0.0, true, Some(cpu.overrun.len() as f64));
    match case {
        "serve-50" => vec![mean(1.04), p99(1.10), work(0.60), told(), overrun()],
        "serve-50-at-20" => vec![mean(1.20), work(0.85), told(), overrun()],
        "serve-10" => vec![mean(1.05), p99(1.15), work(0.80), told(), overrun()],
        "serve-80" => vec![mean(1.05), p99(1.15), work(0.15), told(), overrun()],
        "integer" => vec![mean(1.04), p99(1.10), work(0.95), told(), overrun()],
        "wakeup" => vec![Aim::new("p99.9 / alone", 1.2, true, median(cpu.p999))],
        _ => Vec::new(),
    }
}
