//! The aims of each case, and whether the contender named `lull` meets them.
//!
//! | case | foreground | p99 | background |
//! |---|---|---|---|
//! | `parallel`, `sequential` | ≥ 98% of alone | ≤ 1.10 × alone | ≥ 50% of solo |
//! | `libaio` | ≥ 98% | ≤ 1.10 × | ≥ 1.25 × that of bfq |
//! | `slow-N` | ≥ 95% | – | at N = 10: ≥ 70% of the idle time |
//! | `quiet-start` | – | – | at most 50 ms more than without; at most 20 MiB |
//! | `quiet-cached` | – | – | at most 5 µs more per call than without |
//! | other `quiet-…` | – | – | ≥ 95% of the speed without |
//! | `udp-udp-N`, `tcp-udp-N` | ≥ 95% | – | ≥ 80% of the idle link |
//! | `tcp-udp-far-N` | ≥ 95% | – | ≥ 60% of the idle link |
//! | `tcp-tcp-N` | ≥ 98% | – | ≥ 90% of the idle link |
//! | `host-first`, `guest-first` | delay ≤ 0.8%, ≤ 5% | – | – |
//! | `page-out` | time ≤ 1.2 × alone | – | – |
//! | `cache` | hits ≥ 99% | ≤ 1.05 × | – |
//! | `wal` | ≥ 95% | ≤ 1.20 × | – |
//! | `ask`, `net-redis`, `net-nginx` | – | ≤ 1.10 × | ≥ 70% of the idle link |
//! | `tcp-down-N` | ≥ 98% | – | ≥ 90% of solo: the other direction is free, so the whole link is idle |
//! | `ask-down` | – | ≤ 1.10 × | ≥ 90% of solo |
//!
//! The *idle link* is what the foreground of `alone` leaves of the link's capacity, and its capacity what
//! `solo` carries in the same round: the share of solo that counts as 1 is smaller the more the foreground
//! sends.
//!
//! `tcp-tcp-N`, `tcp-down-N`, `ask` and `ask-down` also: at most 1 ms added to the 99th percentile of the
//! round trip.
//!
//! Cases of the CPU: the module `cpu`; with real applications: the module `apps`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Row;
use super::rounds::Round;
use crate::units::Bytes;

mod apps;
mod cpu;

/// Calls of `quiet-cached`.
pub const CALLS: u64 = 200_000;
/// The background's part of a link, as the aims call it.
const IDLE_LINK: &str = "background / idle link";

/// One aim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Aim {
    /// What is measured.
    pub what: String,
    /// The bound.
    pub wanted: f64,
    /// Whether the bound is the largest that is allowed, rather than the smallest.
    pub at_most: bool,
    /// The median; none if it was not measured, or is open.
    pub got: Option<f64>,
    /// Whether the median is within the bound; one that was not measured is not.
    pub met: bool,
    /// Whether it was measured, but in too few rounds to tell chance from what is so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// The contender whose figure the bound is, if it is one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_by: Option<String>,
}

impl Aim {
    fn new(what: &str, wanted: f64, at_most: bool, got: Option<f64>) -> Self {
        let met = got.is_some_and(|got| if at_most { got <= wanted } else { got >= wanted });
        Self { what: what.to_owned(), wanted, at_most, got, met, open: false, set_by: None }
    }

    /// One for which there are too few rounds.
    fn undecided(what: &str, wanted: f64, at_most: bool) -> Self {
        Self { open: true, ..Self::new(what, wanted, at_most, None) }
    }

    /// What became of it.
    pub fn outcome(&self) -> &'static str {
        match self.got {
            Some(_) if self.met => "met",
            Some(_) => "NOT met",
            None if self.open => "open, for too few rounds",
            None => "not measured",
        }
    }
}

/// How many of some aims are met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Those that are met.
    pub met: usize,
    /// Those that were measured.
    pub measured: usize,
    /// Those that too few rounds leave open.
    pub open: usize,
    /// All.
    pub all: usize,
}

impl Tally {
    /// Counts.
    pub fn of(aims: &[Aim]) -> Self {
        Self {
            met: aims.iter().filter(|aim| aim.met).count(),
            measured: aims.iter().filter(|aim| aim.got.is_some()).count(),
            open: aims.iter().filter(|aim| aim.open).count(),
            all: aims.len(),
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.measured == 0 && self.open == 0 {
            return f.write_str("not measured");
        }
        write!(f, "{} of {}", self.met, self.measured)?;
        for (count, what) in [(self.all - self.measured - self.open, "not measured"), (self.open, "open")] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}

/// Whether a case is one of an application.
pub fn is_apps(case: &str) -> bool {
    ["postgres-", "redis-", "nginx-", "edit-"].iter().any(|app| case.starts_with(app))
}

/// How much longer the one took, in seconds.
fn more_s(row: &Row, reference: Option<&Row>) -> Option<f64> {
    Some(row.wall_s?.median - reference?.wall_s?.median)
}

/// The aims of `case`, judged by its rows and the rounds that they are of; none without a row of `lull`.
pub(super) fn judge(case: &str, rows: &[Row], rounds: &[Round<'_>]) -> Vec<Aim> {
    let row_of = |name: &str| rows.iter().find(|row| row.contender == name);
    let Some(lull) = row_of("lull") else { return Vec::new() };
    let at_least = |what: &str, wanted, got: Option<crate::stats::Summary>| {
        Aim::new(what, wanted, false, got.map(|summary| summary.median))
    };
    let delay = || Some(100.0 * (1.0 / lull.foreground?.median - 1.0));
    let added = || {
        let added = lull.round_trips.and_then(|trips| trips.added_p99_ns);
        Aim::new("added round trip at p99 in ms", 1.0, true, added.map(|summary| summary.median / 1e6))
    };
    let link = |wanted| at_least(IDLE_LINK, wanted, lull.idle_used);
    let p99 = || Aim::new("p99 / alone", 1.10, true, lull.p99.map(|summary| summary.median));
    match case {
        "parallel" | "sequential" => vec![
            at_least("foreground / alone", 0.98, lull.foreground),
            p99(),
            at_least("background / solo", 0.50, lull.background),
        ],
        "libaio" => vec![
            at_least("foreground / alone", 0.98, lull.foreground),
            p99(),
            at_least("background / bfq", 1.25, lull.over_bfq),
        ],
        "slow-10" => vec![
            at_least("foreground / alone", 0.95, lull.foreground),
            at_least("idle time used", 0.70, lull.idle_used),
        ],
        _ if case.starts_with("slow-") => vec![at_least("foreground / alone", 0.95, lull.foreground)],
        "quiet-start" => {
            let memory = lull.peak_bytes.map(|bytes| bytes.median / Bytes::MIB as f64);
            vec![
                Aim::new("start-up in ms", 50.0, true, more_s(lull, row_of("none")).map(|s| s * 1e3)),
                Aim::new("memory in MiB", 20.0, true, memory),
            ]
        }
        "quiet-cached" => {
            let per_call = more_s(lull, row_of("none")).map(|s| s * 1e6 / CALLS as f64);
            vec![Aim::new("cost per gated call in us", 5.0, true, per_call)]
        }
        _ if case.starts_with("quiet-") => vec![at_least("speed / without", 0.95, lull.speed)],
        _ if ["udp-udp-", "tcp-udp-"].iter().any(|link| case.starts_with(link)) => vec![
            at_least("foreground / alone", 0.95, lull.foreground),
            link(if case.starts_with("tcp-udp-far-") { 0.60 } else { 0.80 }),
        ],
        _ if case.starts_with("tcp-tcp-") => {
            vec![at_least("foreground / alone", 0.98, lull.foreground), link(0.90), added()]
        }
        "host-first" => vec![Aim::new("delay in %", 0.8, true, delay())],
        "guest-first" => vec![Aim::new("delay in %", 5.0, true, delay())],
        "page-out" => {
            vec![Aim::new("time / alone", 1.2, true, lull.foreground.map(|summary| 1.0 / summary.median))]
        }
        "cache" => vec![
            at_least("hits", 0.99, lull.hits),
            Aim::new("p99 / alone", 1.05, true, lull.p99.map(|summary| summary.median)),
        ],
        "wal" => vec![
            at_least("foreground / alone", 0.95, lull.foreground),
            Aim::new("p99 / alone", 1.20, true, lull.p99.map(|summary| summary.median)),
        ],
        "ask" => vec![p99(), link(0.70), added()],
        "net-redis" | "net-nginx" => vec![p99(), link(0.70)],
        _ if case.starts_with("tcp-down-") => vec![
            at_least("foreground / alone", 0.98, lull.foreground),
            at_least("background / solo", 0.90, lull.background),
            added(),
        ],
        "ask-down" => vec![p99(), at_least("background / solo", 0.90, lull.background), added()],
        _ if is_apps(case) => apps::judge(case, lull, rows, rounds),
        _ => cpu::judge(case, lull),
    }
}

#[cfg(test)]
mod tests;
