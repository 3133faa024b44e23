//! What the status line shows.

use serde::{Deserialize, Serialize};

use super::figures::SlowdownSummary;

/// One interface in the status line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LinkStatus {
    pub(crate) interface: String,
    /// I, F, B or P.
    pub(crate) state: char,
    /// The preemption interval in force, as text.
    pub(crate) interval: String,
    /// Bytes that background packets carried.
    pub(crate) background_bytes: u64,
}

/// What the status line shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Status {
    /// I, F, B or P of the busiest disk, and its name.
    pub(crate) state: char,
    pub(crate) disk: String,
    /// Share of the time since the start in which nothing was held.
    pub(crate) active: f64,
    /// Bytes that background requests asked for.
    pub(crate) background_bytes: u64,
    /// Calls that wait now.
    pub(crate) waiting: usize,
    /// Whether the whole job is held.
    pub(crate) held: bool,
    /// Whether it wanted a CPU and had none for most of the time since the last report.
    #[serde(default)]
    pub(crate) starved: bool,
    /// Mean foreground latency without and with background in service, once known.
    pub(crate) quiet_ns: Option<u64>,
    pub(crate) loaded_ns: Option<u64>,
    /// What is in force, as text: interval and bound.
    pub(crate) interval: String,
    pub(crate) bound: String,
    /// What the foreground loses on that disk and on the CPUs, once known.
    pub(crate) disk_slowdown: Option<SlowdownSummary>,
    pub(crate) cpu_slowdown: Option<SlowdownSummary>,
    /// What the foreground lost on all resources, where there is more than one, as a share.
    #[serde(default)]
    pub(crate) lost: Option<f64>,
    /// The job's memory, as text, where it is watched.
    pub(crate) memory: Option<String>,
    /// The CPUs want the job held.
    pub(crate) held_for_cpu: bool,
    /// … in order to test what the job costs.
    #[serde(default)]
    pub(crate) held_for_test: bool,
    /// An interface wants the job held.
    pub(crate) held_for_net: bool,
    /// What the policy is doing, where it holds the whole job.
    #[serde(default)]
    pub(crate) regulation: Option<String>,
    /// Interfaces that the job sends through.
    pub(crate) links: Vec<LinkStatus>,
}
