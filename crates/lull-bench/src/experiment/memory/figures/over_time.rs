//! Figure 4: what host and guest have in memory over time, between two thresholds.
//!
//! ```text
//!   guest  ├─ fills 128 MiB ─────── goes on ──────────────────────────────────────────────────────────┤
//!   host                   ├─ fills 150 MiB ── works ─────────────────┬─ rests after every request ───┤
//!   span   0               0.18                                       0.70                            1
//! ```
//! The paper's thresholds are 50 MB and 70 MB, its times are 20, 38, 90 and about 120 s. A host that rests stands for one
//! that has become bound by I/O: it uses little of the CPU and of its memory. Once under lull with those thresholds, once at the
//! lowest priority.

use lull_core::Nanos;
use serde::Serialize;

use super::race::{Moment, Order, Until};
use super::{Bench, Entry, Setting, begin, race};
use crate::Error;
use crate::contender::Contender;
use crate::experiment::memory::case::SET;
use crate::report::linger::Page;
use crate::units::{Bytes, whole};

/// The thresholds.
const LOW: u64 = 50 * Bytes::MIB;
const HIGH: u64 = 70 * Bytes::MIB;
/// What the host wants.
const HOST_SET: u64 = 150 * Bytes::MIB;
/// When the host comes, and when it begins to rest, as parts of the span.
const COMES: f64 = 0.18;
const RESTS: f64 = 0.70;
/// How long it rests after a request of 64 pages.
const REST: Nanos = Nanos::from_millis(200);
/// Samples of a run.
const SAMPLES: u64 = 240;
/// The end of a phase that counts as what it leads to, as a part of the span.
const SETTLED: f64 = 0.1;

/// Memory over time under one control.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The guest's control.
    pub control: String,
    /// The span that was asked for.
    pub span_s: f64,
    /// When the host came: later than planned if the guest was slow to fill its set.
    pub host_came_s: f64,
    /// The thresholds in force, if the control has any.
    pub thresholds: Option<[u64; 2]>,
    /// What both had.
    pub moments: Vec<Moment>,
}

/// Parts of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The guest alone.
    Alone,
    /// The host works.
    Works,
    /// The host rests.
    Rests,
}

impl Phase {
    /// How long after the host's coming it ends, as a part of the span.
    const fn end(self) -> f64 {
        match self {
            Self::Alone => 0.0,
            Self::Works => RESTS - COMES,
            Self::Rests => 1.0 - COMES,
        }
    }
}

impl Series {
    /// What host and guest had on average at the end of a phase, in bytes.
    pub fn at_end_of(&self, phase: Phase) -> Option<[f64; 2]> {
        let end_s = self.host_came_s + phase.end() * self.span_s;
        let settled = end_s - SETTLED * self.span_s..end_s;
        let within: Vec<&Moment> =
            self.moments.iter().filter(|moment| settled.contains(&moment.at_s)).collect();
        let mean = |of: fn(&Moment) -> u64| {
            within.iter().map(|moment| of(moment) as f64).sum::<f64>() / within.len() as f64
        };
        let has = !within.is_empty();
        has.then(|| [mean(|moment| moment.host.resident_bytes), mean(|moment| moment.guest.resident_bytes)])
    }
}

impl Bench<'_> {
    pub(super) fn over_time(&self, page: &mut Page) -> Result<(), Error> {
        begin("figure 4")?;
        let Some(_swap) = self.swap("figure 4", page) else { return Ok(()) };
        let thresholds = [LOW, HIGH].map(|bytes| self.scaled(bytes));
        let flags = [("--mem-low", thresholds[0]), ("--mem-high", thresholds[1])]
            .map(|(flag, bytes)| [flag.to_owned(), format!("{bytes}B")])
            .concat();
        let span_s = self.args.figures.span;
        for contender in [Contender::lull_now(flags), Contender::Nice] {
            let is_lull = contender.is_run();
            let name = if is_lull { "lull" } else { "nice" };
            begin(&format!("  figure 4 {name}"))?;
            if !self.has("figure 4", &contender, page) {
                continue;
            }
            let part = |part: f64| Nanos(whole(span_s * part * 1e9));
            let rest_after = part(RESTS - COMES).as_secs_f64();
            let host = race::working_set(&format!(
                "--memory {} --seed 1 --rest {REST} --rest-after {rest_after}",
                self.scaled(HOST_SET)
            ));
            let guest = race::working_set(&format!("--memory {} --seed 2", self.scaled(SET)));
            let parties = [
                Some(Entry { load: &host, contender: Contender::Unmanaged }),
                Some(Entry { load: &guest, contender }),
            ];
            let setting = Setting {
                order: Order::GuestFirst,
                lag: part(COMES),
                limit: part(1.0 - COMES),
                until: Until::Limit,
                every: Nanos(part(1.0).0 / SAMPLES),
            };
            if let Some(raced) = self.race(&format!("figure 4, {name}"), &parties, setting, page)? {
                let thresholds = is_lull.then_some(thresholds);
                page.over_time.push(Series {
                    control: name.to_owned(),
                    span_s,
                    host_came_s: raced.host.map_or(span_s, |host| host.started_s),
                    thresholds,
                    moments: raced.moments,
                });
            }
        }
        Ok(())
    }
}
