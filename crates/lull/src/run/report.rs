//! What is told of a run, resource by resource: while it runs, and at its end.

pub(crate) mod cpu;
pub(crate) mod disk;
pub(crate) mod figures;
pub(crate) mod memory;
pub(crate) mod net;
pub(crate) mod status;
pub(crate) mod whole;

use cpu::CpuSummary;
use disk::{DiskSummary, GateCounts};
use memory::MemorySummary;
use net::NetSummary;
use whole::WholeSummary;

/// What became of a run. What was not watched is left out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Report {
    /// Time in which some call waited or the whole job was held.
    pub(crate) held_ns: u64,
    /// What became of the trapped calls.
    pub(crate) gate: GateCounts,
    /// Bytes that lull read ahead for the job, in the gaps.
    pub(crate) read_ahead_bytes: u64,
    /// What a policy that holds the whole job has learnt.
    pub(crate) regulation: Option<String>,
    pub(crate) disks: Vec<DiskSummary>,
    pub(crate) cpu: Option<CpuSummary>,
    /// What the foreground lost on all of these, where it was measured on more than one.
    pub(crate) whole: Option<WholeSummary>,
    pub(crate) memory: Option<MemorySummary>,
    pub(crate) net: Option<NetSummary>,
    /// Sentences of resources that have no part of their own above.
    pub(crate) more: Vec<String>,
}
