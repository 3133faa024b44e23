//! What a run tells of the network.

use serde::{Deserialize, Serialize};

use crate::report::figures::{Delays, bytes};

/// One interface's part of a summary. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InterfaceSummary {
    /// Its name.
    pub interface: String,
    /// The preemption interval at the end, as text with a unit.
    pub interval: String,
    /// Packets that the foreground has sent.
    pub foreground_packets: u64,
    /// Bytes that these carried.
    pub foreground_bytes: u64,
    /// Packets that the background has sent.
    pub background_packets: u64,
    /// Bytes that these carried.
    pub background_bytes: u64,
    /// Time of foreground packets in the queue.
    #[serde(flatten)]
    pub queueing: Delays,
    /// Foreground packets that met background in the queue (B\[f\]), and that the interval kept free (P\[f\]).
    pub preemptions: u64,
    /// See `preemptions`.
    pub kept_free: u64,
    /// Datagrams of the job that were sent although the foreground was active.
    pub leaks: u64,
    /// Datagrams of the job that waited for the foreground.
    pub parked: u64,
    /// Packets of background that no socket of the job sent: named, or marked elsewhere.
    #[serde(default)]
    pub others: u64,
    /// Why datagrams had no room to wait in, so that the job was held instead.
    pub no_room: Option<String>,
    /// State × event counts, rows I F B P, columns f b t i.
    pub counters: [[u64; 4]; 4],
}

/// The network's part of a summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetSummary {
    /// What controlled the job's TCP.
    pub congestion: String,
    /// Those that were watched.
    pub interfaces: Vec<InterfaceSummary>,
}

impl NetSummary {
    /// A line for a person for each interface that the job used.
    pub fn text(&self) -> String {
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
