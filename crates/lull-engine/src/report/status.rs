//! What the status line shows.

use serde::{Deserialize, Serialize};

use super::figures::SlowdownSummary;

/// One interface in the status line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkStatus {
    /// Its name.
    pub interface: String,
    /// I, F, B or P.
    pub state: char,
    /// The preemption interval in force, as text.
    pub interval: String,
    /// Bytes that background packets carried.
    pub background_bytes: u64,
}

/// What the status line shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// I, F, B or P of the busiest disk, and its name.
    pub state: char,
    /// See `state`.
    pub disk: String,
    /// Share of the time since the start in which nothing was held.
    pub active: f64,
    /// Bytes that background requests asked for.
    pub background_bytes: u64,
    /// Calls that wait now.
    pub waiting: usize,
    /// Whether the whole job is held.
    pub held: bool,
    /// Whether it wanted a CPU and had none for most of the time since the last report.
    #[serde(default)]
    pub starved: bool,
    /// Mean foreground latency without and with background in service, once known.
    pub quiet_ns: Option<u64>,
    /// See `quiet_ns`.
    pub loaded_ns: Option<u64>,
    /// What is in force, as text: interval and bound.
    pub interval: String,
    /// See `interval`.
    pub bound: String,
    /// What the foreground loses on that disk and on the CPUs, once known.
    pub disk_slowdown: Option<SlowdownSummary>,
    /// See `disk_slowdown`.
    pub cpu_slowdown: Option<SlowdownSummary>,
    /// What the foreground lost on all resources, where there is more than one, as a share.
    #[serde(default)]
    pub lost: Option<f64>,
    /// The job's memory, as text, where it is watched.
    pub memory: Option<String>,
    /// The CPUs want the job held.
    pub held_for_cpu: bool,
    /// … in order to test what the job costs.
    #[serde(default)]
    pub held_for_test: bool,
    /// An interface wants the job held.
    pub held_for_net: bool,
    /// What the policy is doing, where it holds the whole job.
    #[serde(default)]
    pub regulation: Option<String>,
    /// Interfaces that the job sends through.
    pub links: Vec<LinkStatus>,
}
