//! How much memory is free for the foreground, and whether it has to wait for pages.
//!
//! Job and foreground may be limited together, by a control group above both; else the machine is what limits them. The
//! scope with the least free memory counts:
//!
//! | scope | all | free | waits |
//! |---|---|---|---|
//! | the machine | `MemTotal` | `MemFree`, and half of the page cache and of the kernel's caches that are out of use | refaults and major faults of `/proc/vmstat` |
//! | a group with a limit | the limit | limit less usage, and half of the page cache that is out of use | its own of `memory.stat` |
//!
//! `MemAvailable` is no answer: it counts all page cache, and so the files that the foreground uses. It would seem to have enough until they
//! are gone. Of the page cache that is out of use half is counted, since some of it has just been read.
//!
//! Waits are those of all tasks in the scope; the job's own are subtracted by whoever knows them. Free memory of a group
//! can't be more than the machine's. Units: bytes; waits are pages, cumulative.

use crate::cgroup::memory::{MemoryGroup, Returns};
use crate::proc::bytes;
use crate::root::Root;

/// One scope at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// All the memory in it.
    pub total_bytes: u64,
    /// Of that, what can be had without taking pages that are in use.
    pub free_bytes: u64,
    /// Pages that its tasks waited for.
    pub stalls: u64,
    /// Pages that were taken from its tasks and wanted again.
    pub returns: Returns,
    /// What nobody uses, not even as page cache; of all scopes the least.
    pub unused_bytes: u64,
}

/// Looks at the scopes that a job is in.
#[derive(Debug)]
pub struct MemorySensor {
    root: Root,
    limits: Vec<MemoryGroup>,
}

impl MemorySensor {
    /// For jobs below these limited groups, beside the machine.
    pub fn new(root: Root, limits: Vec<MemoryGroup>) -> Self {
        Self { root, limits }
    }

    /// The scope with the least free memory; `None` if nothing can be read.
    pub fn look(&self) -> Option<Scope> {
        let groups = self.limits.iter().filter_map(of_group);
        let scopes: Vec<Scope> = self.machine().into_iter().chain(groups).collect();
        let unused_bytes = scopes.iter().map(|scope| scope.unused_bytes).min()?;
        let scarcest = scopes.into_iter().min_by_key(|scope| scope.free_bytes)?;
        Some(Scope { unused_bytes, ..scarcest })
    }

    /// What is free, in a hurry: page cache of a group counts as used. To be compared with an earlier glance only.
    pub fn glance(&self) -> Option<u64> {
        let machine = self.root.read("/proc/meminfo").and_then(|info| bytes(&info, "MemAvailable"));
        machine.into_iter().chain(self.limits.iter().filter_map(below_limit)).min()
    }

    fn machine(&self) -> Option<Scope> {
        let info = self.root.read("/proc/meminfo")?;
        let vmstat = self.root.read("/proc/vmstat").unwrap_or_default();
        let refaults = sum(&vmstat, ["workingset_refault_anon ", "workingset_refault_file "]).unwrap_or(0);
        let activates = sum(&vmstat, ["workingset_activate_anon ", "workingset_activate_file "]);
        let major_faults = sum(&vmstat, ["pgmajfault "]).unwrap_or(0);
        Some(Scope {
            total_bytes: bytes(&info, "MemTotal")?,
            free_bytes: free(&info)?,
            stalls: refaults + major_faults,
            returns: Returns { refaults, activates },
            unused_bytes: bytes(&info, "MemFree")?,
        })
    }
}

/// What can be had of the machine without taking what is in use, from `/proc/meminfo`.
fn free(info: &str) -> Option<u64> {
    let old =
        ["Inactive(file)", "SReclaimable"].into_iter().filter_map(|name| bytes(info, name)).sum::<u64>();
    // The kernel's own estimate leaves out what it never gives away.
    let most = bytes(info, "MemAvailable")?;
    Some((bytes(info, "MemFree")? + old / 2).min(most))
}

/// The sum of these counters of `/proc/vmstat`; `None` if one of them is not there.
fn sum<const N: usize>(vmstat: &str, names: [&str; N]) -> Option<u64> {
    let value =
        |name: &str| vmstat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
    names.into_iter().map(value).sum()
}

/// What a group may still get, its page cache being used.
fn below_limit(group: &MemoryGroup) -> Option<u64> {
    Some(group.limit()?.saturating_sub(group.usage()?))
}

fn of_group(group: &MemoryGroup) -> Option<Scope> {
    let (limit, usage, stat) = (group.limit()?, group.usage()?, group.stat()?);
    Some(Scope {
        total_bytes: limit,
        free_bytes: limit.saturating_sub(usage) + stat.inactive_file / 2,
        stalls: stat.refaults + stat.major_faults,
        returns: stat.returns(),
        unused_bytes: limit.saturating_sub(usage),
    })
}

#[cfg(test)]
mod tests;
