//! A disk's part of what is told at the end.

use super::Disk;
use crate::report::disk::{DiskSummary, bound_text};
use crate::report::figures::{Delays, LossSummary};

impl Disk {
    pub(crate) fn summary(&self) -> DiskSummary {
        let report = self.report();
        let view = self.latest();
        let kept = self.control.budget().kept();
        DiskSummary {
            disk: self.traits.name.clone(),
            interval: self.resource.setting().interval.to_string(),
            bound: bound_text(self.resource.setting().depth, self.control.window_bytes()),
            foreground_requests: view.foreground.started,
            foreground_bytes: report.foreground_bytes,
            background_requests: view.background.started,
            background_bytes: report.background_bytes,
            latency: Delays::of(&report.quiet, &report.loaded),
            preemptions: report.counters[2][0],
            kept_free: report.counters[3][0],
            leaks: report.leaks,
            healed: report.healed,
            counters: report.counters,
            lost: kept.overall,
            lost_worst: kept.worst,
            loss: self.control.audited().map(LossSummary::from),
            late: self.control.late().map(|late| f64::from(late.ppm) / 1e6),
            slowdown: self.control.slowdown().map(Into::into),
        }
    }
}
