//! What is told of a run, resource by resource: while it runs, and at its end.

pub mod cpu;
pub mod disk;
pub mod figures;
pub mod memory;
pub mod net;
pub mod status;
pub mod whole;

use cpu::CpuSummary;
use disk::{DiskSummary, GateCounts};
use memory::MemorySummary;
use net::NetSummary;
use whole::WholeSummary;

/// What became of a run. What was not watched is left out.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Time in which some call waited or the whole job was held.
    pub held_ns: u64,
    /// What became of the trapped calls.
    pub gate: GateCounts,
    /// Bytes that lull read ahead for the job, in the gaps.
    pub read_ahead_bytes: u64,
    /// What a policy that holds the whole job has learnt.
    pub regulation: Option<String>,
    /// The disks that were watched.
    pub disks: Vec<DiskSummary>,
    /// The CPUs.
    pub cpu: Option<CpuSummary>,
    /// What the foreground lost on all of these, where it was measured on more than one.
    pub whole: Option<WholeSummary>,
    /// The job's memory and page cache.
    pub memory: Option<MemorySummary>,
    /// The network.
    pub net: Option<NetSummary>,
    /// Sentences of resources that have no part of their own above.
    pub more: Vec<String>,
}
