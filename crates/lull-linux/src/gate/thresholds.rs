//! Taking memory from the job, by whatever the host offers.
//!
//! | | v2 group ([`group`]) | v1 group ([`group`]) | no memory controller ([`processes`]) |
//! |---|---|---|---|
//! | what the job has | `memory.current`, `memory.stat` | `memory.stat` | `/proc/PID/statm` |
//! | page out at once | `memory.reclaim` | process_madvise and the limit below what is in use, then back | process_madvise(MADV_PAGEOUT) |
//! | ceiling | `memory.high` | the limit, while there is swap | none |
//! | protection below low | `memory.low` | none | none |
//!
//! A v1 limit kills when nothing more can be reclaimed: so it is a ceiling only while there is swap to go to. Without swap
//! only page cache can go, and without a ceiling the job has to be held instead ([`Thresholds::has_ceiling`]). Memory
//! that is compressed (zram, zswap) frees less than it held: whoever asks looks again.
//!
//! Units: bytes. Whatever is set goes with the group; [`Thresholds::release`] takes it back earlier.

use std::io;

use lull_core::MemoryThresholds;

use crate::cgroup::memory::{MemoryGroup, Returns};
use crate::proc::bytes;
use crate::root::Root;

pub mod group;
pub mod processes;

use group::GroupMemory;
use processes::ProcessMemory;

/// What the job has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobMemory {
    /// In memory: allocated, and, where a group tells, page cache.
    pub resident: u64,
    /// Of that, page cache; 0 where it is not told.
    pub cache: u64,
    /// Paged out.
    pub paged_out: u64,
    /// Pages, cumulative, that the job waited for.
    pub stalls: u64,
    /// Its pages that were taken and wanted again; `None` where they are not told apart from others'.
    pub returns: Option<Returns>,
}

/// Takes memory from the job.
pub trait Thresholds: Send {
    /// By what, in a few words for a person.
    fn means(&self) -> &'static str;
    /// What the job has now; `None` when that can't be told.
    fn job(&mut self) -> Option<JobMemory>;
    /// What the job has in memory, in a hurry; 0 where it takes long to tell.
    fn glance(&self) -> u64;
    /// Takes about this much, before it returns; how much it was, as far as the job did not take it back meanwhile.
    ///
    /// # Errors
    /// When nothing could be taken: no swap, or pages in use.
    fn page_out(&mut self, bytes: u64) -> io::Result<u64>;
    /// Whether [`Self::set_ceiling`] keeps the job from growing now.
    fn has_ceiling(&self) -> bool;
    /// What the job may have from now on; `None`: anything. What could not be reached the last time is only tried again by who `insists`.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn set_ceiling(&mut self, bytes: Option<u64>, insists: bool) -> io::Result<()>;
    /// Tells the kernel of thresholds that it can keep by itself.
    ///
    /// # Errors
    /// When the kernel refuses.
    fn set_thresholds(&mut self, setting: MemoryThresholds) -> io::Result<()>;
    /// Takes back whatever was set.
    fn release(&mut self) {
        // The group may be gone, and its settings with it.
        let _ = self.set_ceiling(None, true);
        let _ = self.set_thresholds(MemoryThresholds::default());
    }
}

/// Processes of the job, whenever asked.
pub type Pids = Box<dyn Fn() -> Vec<i32> + Send>;

/// The best that this host offers for a job in this group, if it has one.
pub fn choose(root: &Root, group: Option<MemoryGroup>, pids: Pids) -> Box<dyn Thresholds> {
    match group {
        Some(group) => Box::new(GroupMemory::new(root.clone(), group, pids)),
        None => Box::new(ProcessMemory::new(pids)),
    }
}

/// Free swap in bytes, from `/proc/meminfo`.
pub fn free_swap(root: &Root) -> u64 {
    let [_, free] = swap(root);
    free
}

/// All swap and free swap, in bytes.
pub fn swap(root: &Root) -> [u64; 2] {
    let info = root.read("/proc/meminfo").unwrap_or_default();
    ["SwapTotal", "SwapFree"].map(|name| bytes(&info, name).unwrap_or(0))
}

#[cfg(test)]
mod tests;
