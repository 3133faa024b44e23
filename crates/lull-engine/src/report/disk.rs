//! What a run tells of a disk, and of the calls that were trapped for the disks' sake.

use lull_core::WindowChoice;
use serde::{Deserialize, Serialize};

use super::figures::{Delays, LossSummary, SlowdownSummary, verdict};

/// What became of the trapped calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct GateCounts {
    /// Calls trapped.
    pub trapped: u64,
    /// … of which passed at once.
    pub passed: u64,
    /// … of which would have waited but for the page cache.
    pub cached: u64,
    /// … of which waited.
    pub waited: u64,
    /// … of which were let go early because their thread had a signal to handle.
    pub signalled: u64,
    /// Time that calls waited, summed.
    pub waited_ns: u64,
}

/// One disk's part. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskSummary {
    /// Its name.
    pub disk: String,
    /// The preemption interval and the bound in force at the end, as text with units.
    pub interval: String,
    /// See `interval`.
    pub bound: String,
    /// Requests that the foreground has started.
    pub foreground_requests: u64,
    /// Bytes that these asked for.
    pub foreground_bytes: u64,
    /// Requests that the job has started.
    pub background_requests: u64,
    /// Bytes that these asked for.
    pub background_bytes: u64,
    /// Latency of foreground requests.
    #[serde(flatten)]
    pub latency: Delays,
    /// Foreground requests that met background in service (B\[f\]), and that the interval kept free (P\[f\]).
    pub preemptions: u64,
    /// See `preemptions`.
    pub kept_free: u64,
    /// Background requests that no gate held although the foreground was active.
    pub leaks: u64,
    /// Requests whose end the sensor missed.
    pub healed: u64,
    /// State × event counts, rows I F B P, columns f b t i.
    pub counters: [[u64; 4]; 4],
    /// The share of its time that the foreground lost here, as its requests show: over the whole run and in the worst minute.
    pub lost: f64,
    /// See `lost`.
    pub lost_worst: f64,
    /// What it loses with what is in force at the end, as the audit found it.
    pub loss: Option<LossSummary>,
    /// The share of its requests that were late because of the job; none when too few are known.
    pub late: Option<f64>,
    /// Latency of foreground requests, with background against without.
    #[serde(default)]
    pub slowdown: Option<SlowdownSummary>,
}

impl DiskSummary {
    /// Whether no more was lost than promised; `None` when neither is known. What is booked before the audit knows anything is booked
    /// with caution, and refutes nothing.
    pub fn keeps(&self, promised: f64) -> Option<bool> {
        let most = self.loss.and_then(|loss| loss.most);
        let is_refuted = self.loss.is_some_and(|loss| loss.least > promised)
            || (most.is_some() && self.lost_worst > promised);
        let is_proved = most.is_some_and(|most| most <= promised);
        (is_refuted || is_proved).then_some(!is_refuted)
    }

    /// What the foreground lost here against what was promised, for a person.
    pub fn lost_text(&self, promised: f64) -> String {
        let percent = |share: f64| format!("{:.1}%", share * 100.0);
        let late = self
            .late
            .map(|late| format!(", {:.2}% of its requests were late", late * 100.0))
            .unwrap_or_default();
        let finding = match self.loss {
            Some(LossSummary { least, most: Some(most), .. }) => {
                let [lost, least, most] = [self.lost, least, most].map(percent);
                format!("the foreground lost {lost} of its time{late} (audit: {least} to {most})")
            }
            _ => format!("too little was compared to say what the foreground lost{late}"),
        };
        format!("{finding}; at most {} is promised: {}", percent(promised), verdict(self.keeps(promised)))
    }
}

/// The bound on background in service as text: the window, or the depth that was fixed in its place.
pub fn bound_text(depth: u32, window_bytes: u64) -> String {
    match (depth, window_bytes) {
        (u32::MAX, u64::MAX) => "no window".to_owned(),
        (u32::MAX, bytes) => format!("window {}", WindowChoice::Fixed(bytes)),
        (depth, _) => format!("depth {depth}"),
    }
}
