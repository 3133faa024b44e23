//! What a run tells of the network.

use serde::{Deserialize, Serialize};

use crate::run::report::figures::{Delays, bytes};

/// One interface's part of a summary. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct InterfaceSummary {
    pub(crate) interface: String,
    /// The preemption interval at the end, as text with a unit.
    pub(crate) interval: String,
    pub(crate) foreground_packets: u64,
    pub(crate) foreground_bytes: u64,
    pub(crate) background_packets: u64,
    pub(crate) background_bytes: u64,
    /// Time of foreground packets in the queue.
    #[serde(flatten)]
    pub(crate) queueing: Delays,
    /// Foreground packets that met background in the queue (B\[f\]), and that the interval kept free (P\[f\]).
    pub(crate) preemptions: u64,
    pub(crate) kept_free: u64,
    /// Datagrams of the job that were sent although the foreground was active.
    pub(crate) leaks: u64,
    /// Datagrams of the job that waited for the foreground.
    pub(crate) parked: u64,
    /// Packets of background that no socket of the job sent: named, or marked elsewhere.
    #[serde(default)]
    pub(crate) others: u64,
    /// Why datagrams had no room to wait in, so that the job was held instead.
    pub(crate) no_room: Option<String>,
    /// State × event counts, rows I F B P, columns f b t i.
    pub(crate) counters: [[u64; 4]; 4],
}

/// The network's part of a summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NetSummary {
    /// What controlled the job's TCP.
    pub(crate) congestion: String,
    pub(crate) interfaces: Vec<InterfaceSummary>,
}

impl NetSummary {
    /// A line for a person for each interface that the job used.
    pub(crate) fn text(&self) -> String {
        let used = self.interfaces.iter().filter(|one| one.background_packets > 0);
        used.map(|one| {
            let mut line = format!(
                "lull: {}: background {} in {} packets, foreground {}; interval {}",
                one.interface,
                bytes(one.background_bytes),
                one.background_packets,
                bytes(one.foreground_bytes),
                one.interval
            );
            if let Some(quiet) = one.queueing.quiet() {
                line += &format!("; foreground packets waited {quiet} without");
            }
            if let Some(loaded) = one.queueing.loaded() {
                line += &format!(", {loaded} with background in the queue");
            }
            line + "\n"
        })
        .collect()
    }
}
