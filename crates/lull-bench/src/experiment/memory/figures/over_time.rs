//! Figure 4: what host and guest have in memory over time, between two thresholds.
//!
//! ```text
//!   guest  ├─ fills 128 MiB ─────── goes on ──────────────────────────────────────────────────────────┤
//!   host                   ├─ fills 150 MiB ── works ─────────────────┬─ rests after every request ───┤
//!   span   0               0.18                                       0.70                            1
//! ```
//! The paper's thresholds are 50 MB and 70 MB, its times are 20, 38, 90 and about 120 s. A host that rests
//! stands for one that has become bound by I/O: it uses little of the CPU and of its memory. Once under lull
//! with those thresholds, once at the lowest priority.

use lull_core::Nanos;

use super::page::{COMES, Page, RESTS, Series};
use super::race::{Race, Side};
use super::{Bench, begin, race};
use crate::Error;
use crate::contender::Contender;
use crate::experiment::memory::case::SET;
use crate::units::{Bytes, nanos};

/// The thresholds.
const LOW: u64 = 50 * Bytes::MIB;
const HIGH: u64 = 70 * Bytes::MIB;
/// What the host wants.
const HOST_SET: u64 = 150 * Bytes::MIB;
/// How long it rests after a request of 64 pages.
const REST: Nanos = Nanos::from_millis(200);
/// Samples of a run.
const SAMPLES: u64 = 240;
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
            let part = |part: f64| nanos(span_s * part);
            let rest_after = part(RESTS - COMES).as_secs_f64();
            let host = race::working_set(&format!(
                "--memory {} --seed 1 --rest {REST} --rest-after {rest_after}",
                self.scaled(HOST_SET)
            ));
            let guest = race::working_set(&format!("--memory {} --seed 2", self.scaled(SET)));
            let parties = [Some((&host[..], Contender::Unmanaged)), Some((&guest[..], contender))];
            let race = Race {
                first: Some(Side::Guest),
                lag: part(COMES),
                limit: part(1.0 - COMES),
                until: &[],
                every: Nanos(part(1.0).0 / SAMPLES),
            };
            if let Some(raced) = self.race(&format!("figure 4, {name}"), &parties, race, page)? {
                let thresholds = is_lull.then_some(thresholds);
                page.over_time.push(Series {
                    control: name.to_owned(),
                    span_s,
                    host_came_s: raced.host.map_or(span_s, |host| host.started_s),
                    thresholds,
                    samples: raced.samples,
                });
            }
        }
        Ok(())
    }
}
