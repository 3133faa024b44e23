//! The CPUs' part of what is told at the end.

use lull_core::{Mode, Nanos, Share};

use super::Cpu;
use crate::report::cpu::CpuSummary;
use crate::report::figures::LossSummary;

impl Cpu {
    pub(crate) fn summary(&self, now: Nanos) -> CpuSummary {
        let audited = self.buffer.audited();
        let kept = self.budget.kept();
        let totals = self.cpus.totals(now);
        let promised = self.aim.promise.fraction();
        let loss = audited.loss.map(LossSummary::from);
        let is_kept = loss.and_then(|loss| loss.most).is_some_and(|most| most <= promised);
        let mean = |bursts: &lull_bpf::cpu::Bursts| bursts.delay_ns.checked_div(bursts.delays);
        CpuSummary {
            slowdown: audited.slowdown.map(Into::into),
            measure: self.measure.as_ref().map_or_else(|| "bursts".to_owned(), |one| one.name().to_owned()),
            lent: lent_text(audited.mode, self.buffer.spare()),
            moves: audited.moves,
            foreground_busy_ns: totals.foreground_busy.0,
            background_busy_ns: totals.background_busy.0,
            tested_ns: audited.withheld.0,
            delay_quiet_ns: mean(&totals.quiet),
            delay_loaded_ns: mean(&totals.loaded),
            loss,
            lost: kept.overall,
            lost_worst: kept.worst,
            promised,
            late: self.late.map(|late| f64::from(late.ppm) / 1e6),
            kept: (is_kept || kept.worst > promised).then_some(is_kept && kept.worst <= promised),
        }
    }
}

/// What is lent beside the foreground, for a person.
fn lent_text(mode: Mode, spare: u32) -> String {
    match mode {
        Mode::Open => "every CPU, in the idle class".to_owned(),
        Mode::Buffered if spare == 1 => "what the foreground leaves of the CPUs, but one".to_owned(),
        Mode::Buffered => format!("what the foreground leaves of the CPUs, but {spare}"),
        Mode::Shared(halvings) => {
            format!("one CPU for {} of the time", Share::ppm(Share::ALL.as_ppm() >> halvings))
        }
    }
}
