//! What a run tells of the CPUs.

use lull_core::Nanos;
use serde::{Deserialize, Serialize};

use super::figures::{LossSummary, SlowdownSummary, verdict};

/// For the status line and the summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuSummary {
    /// How much longer the foreground's bursts, or the user's measure, took beside the job.
    pub slowdown: Option<SlowdownSummary>,
    /// What was compared.
    pub measure: String,
    /// What is lent beside the foreground at the end, as text.
    pub lent: String,
    /// How often that changed.
    pub moves: u32,
    /// CPU time of foreground and background, in nanoseconds.
    pub foreground_busy_ns: u64,
    /// See `foreground_busy_ns`.
    pub background_busy_ns: u64,
    /// Time withheld for tests.
    pub tested_ns: u64,
    /// The mean time for which the foreground waited for a CPU after it was woken: while no background ran, and while some did.
    pub delay_quiet_ns: Option<u64>,
    /// See `delay_quiet_ns`.
    pub delay_loaded_ns: Option<u64>,
    /// Share of its time that the foreground loses here beside what is lent at the end: likely, at least, and at most if that is known.
    #[serde(default)]
    pub loss: Option<LossSummary>,
    /// Share of its time that it surely lost: over the whole run and in the worst minute.
    pub lost: f64,
    /// See `lost`.
    pub lost_worst: f64,
    /// What was promised over all resources.
    pub promised: f64,
    /// The share of its bursts that were late because of the job; none when too few are known.
    #[serde(default)]
    pub late: Option<f64>,
    /// Whether no more was lost than promised; `None` when nothing was compared, or neither is proved.
    pub kept: Option<bool>,
}

impl CpuSummary {
    /// A few lines for a person.
    pub fn text(&self) -> String {
        let mut text = format!(
            "lull: cpu: background {} of CPU time, foreground {}; beside it the job had {}",
            Nanos(self.background_busy_ns),
            Nanos(self.foreground_busy_ns),
            self.lent
        );
        if self.tested_ns > 0 {
            text += &format!("; {} withheld for tests", Nanos(self.tested_ns));
        }
        text.push('\n');
        text += &format!("lull: cpu: {}\n", self.loss_text());
        if let (Some(quiet), Some(loaded)) = (self.delay_quiet_ns, self.delay_loaded_ns) {
            text += &format!(
                "lull: cpu: once woken, the foreground waited {} for a CPU beside the job, {} without it\n",
                Nanos(loaded),
                Nanos(quiet)
            );
        }
        text
    }

    fn loss_text(&self) -> String {
        let (Some(slowdown), Some(LossSummary { likely, least, most: Some(most) })) =
            (&self.slowdown, self.loss)
        else {
            return "too little was compared to say what the foreground lost".to_owned();
        };
        let late = self.late.map(|late| format!(", {:.2}% of them late", late * 100.0)).unwrap_or_default();
        format!(
            "the foreground loses {:.1}% of its time (95% interval {:.1} to {:.1}%: {} took {} longer{late}); at most {:.1}% is promised: {}",
            likely * 100.0,
            least * 100.0,
            most * 100.0,
            self.measure,
            slowdown.text(),
            self.promised * 100.0,
            verdict(self.kept)
        )
    }
}
