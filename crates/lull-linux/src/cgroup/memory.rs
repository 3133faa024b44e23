//! What a group may have of the memory, and what it has.
//!
//! | | v1 | v2 |
//! |---|---|---|
//! | hard limit | `memory.limit_in_bytes` | `memory.max` |
//! | what is charged | `memory.usage_in_bytes` | `memory.current` |
//! | parts of it | `memory.stat`, the `total_` values | `memory.stat` |
//! | what its ancestors allow | `hierarchical_memory_limit` | the smallest `memory.max` on the way to the root |
//!
//! A page is charged to the group of whoever touched it first, page cache included. What a group that is removed leaves in
//! the page cache is charged to its parent from then on. v1 takes a limit below what is in use: the writer then reclaims,
//! and fails with `EBUSY` when it cannot; v2 reclaims likewise and, if that fails, kills.
//!
//! Units: bytes. Source: `Documentation/admin-guide/cgroup-v1/memory.rst`, `cgroup-v2.rst`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{CgroupFacts, Hierarchy};
use super::{GroupError, GroupName, dissolve, group::Group, put};
use crate::root::read_small;

/// How large v1 writes "no limit", at least.
const UNLIMITED: u64 = 1 << 62;

/// What a group has, in bytes, with all groups below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryStat {
    /// Memory that processes have allocated.
    pub anon: u64,
    /// Page cache.
    pub file: u64,
    /// Page cache of files that was not used of late.
    pub inactive_file: u64,
    /// … that was.
    pub active_file: u64,
    /// … that processes have mapped.
    pub mapped_file: u64,
    /// Page cache that is being written.
    pub writeback: u64,
    /// Swapped out.
    pub swapped: u64,
    /// In memory and in swap, and the same in both.
    pub swap_cached: Option<u64>,
    /// Page cache that waits to be written; `None` where the kernel does not tell.
    pub dirty: Option<u64>,
    /// Pages, cumulative: taken out and wanted again soon after.
    pub refaults: u64,
    /// … so soon that they had been in use; `None` where the kernel does not tell (v1).
    pub activates: Option<u64>,
    /// Faults, cumulative, that had to read from a disk.
    pub major_faults: u64,
}

/// Pages, cumulative, that were taken from somebody who wanted them again soon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Returns {
    /// All of them.
    pub refaults: u64,
    /// Those that somebody reads more of than ever fits do not count here; `None` where that is not told.
    pub activates: Option<u64>,
}

impl Returns {
    /// Those of everybody but the job, whose are given.
    pub fn without(&self, job: &Self) -> u64 {
        match (self.activates, job.activates) {
            (Some(all), Some(job)) => all.saturating_sub(job),
            _ => self.refaults.saturating_sub(job.refaults),
        }
    }
}

impl MemoryStat {
    /// From `memory.stat` of either version.
    fn parse(text: &str, is_v1: bool) -> Self {
        let value = |name: &str| -> Option<u64> {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
        };
        let any = |names: &[&str]| names.iter().filter_map(|name| value(name)).sum();
        if is_v1 {
            return Self {
                anon: any(&["total_rss"]),
                file: any(&["total_cache"]),
                inactive_file: any(&["total_inactive_file"]),
                active_file: any(&["total_active_file"]),
                mapped_file: any(&["total_mapped_file"]),
                writeback: any(&["total_writeback"]),
                swapped: any(&["total_swap"]),
                swap_cached: value("total_swapcached"),
                dirty: value("total_dirty"),
                refaults: any(&["total_workingset_refault_anon", "total_workingset_refault_file"]),
                activates: None,
                major_faults: any(&["total_pgmajfault"]),
            };
        }
        Self {
            anon: any(&["anon"]),
            file: any(&["file"]),
            inactive_file: any(&["inactive_file"]),
            active_file: any(&["active_file"]),
            mapped_file: any(&["file_mapped"]),
            writeback: any(&["file_writeback"]),
            swapped: any(&["swapped", "swap"]),
            swap_cached: value("swapcached"),
            dirty: value("file_dirty"),
            refaults: any(&["workingset_refault_anon", "workingset_refault_file"]),
            activates: value("workingset_activate_anon")
                .zip(value("workingset_activate_file"))
                .map(|(a, b)| a + b),
            major_faults: any(&["pgmajfault"]),
        }
    }
}

impl MemoryStat {
    /// Page cache of files that could go without being written, old pages only.
    pub fn clean_inactive(&self) -> u64 {
        self.inactive_file.saturating_sub(self.dirty.unwrap_or(0) + self.writeback)
    }

    /// Its pages that were taken and wanted again.
    pub fn returns(&self) -> Returns {
        Returns { refaults: self.refaults, activates: self.activates }
    }

    /// … all of it, but for what processes have mapped.
    pub fn clean_cache(&self) -> u64 {
        let is_kept = self.dirty.unwrap_or(0) + self.writeback + self.mapped_file;
        (self.inactive_file + self.active_file).saturating_sub(is_kept)
    }
}

/// A group of the memory controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryGroup {
    path: PathBuf,
    is_v1: bool,
}

impl MemoryGroup {
    /// The group in this directory, if the memory controller is there.
    pub fn open(path: &Path) -> Option<Self> {
        let is_v1 = path.join("memory.limit_in_bytes").exists();
        (is_v1 || path.join("memory.max").exists()).then(|| Self { path: path.to_owned(), is_v1 })
    }

    /// Makes a group where those of jobs are made.
    ///
    /// # Errors
    /// When there is no memory controller to be had, or the group cannot be made.
    pub fn create(name: &GroupName, facts: &CgroupFacts) -> Result<Self, GroupError> {
        let own = facts.accounting().and_then(Hierarchy::place).ok_or_else(|| {
            let cause =
                io::Error::new(io::ErrorKind::Unsupported, "no memory controller is handed down here");
            GroupError::new("create", Path::new("memory"), cause)
        })?;
        Self::create_in(own, name)
    }

    /// Makes a group below another one.
    ///
    /// # Errors
    /// When it cannot be made, or gets no memory controller.
    pub fn create_in(parent: &Path, name: &GroupName) -> Result<Self, GroupError> {
        let path = parent.join(name.to_string());
        fs::create_dir(&path).map_err(|cause| GroupError::new("create", &path, cause))?;
        Self::open(&path).ok_or_else(|| {
            let _swept_later = fs::remove_dir(&path);
            GroupError::new("use the memory controller of", &path, io::ErrorKind::Unsupported.into())
        })
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is of a v1 hierarchy.
    pub const fn is_v1(&self) -> bool {
        self.is_v1
    }

    /// Sets the hard limit; `None` takes it away.
    ///
    /// # Errors
    /// `EBUSY` on v1 when the group cannot be brought below it.
    pub fn set_limit(&self, bytes: Option<u64>) -> io::Result<()> {
        let file = if self.is_v1 { "memory.limit_in_bytes" } else { "memory.max" };
        let none = if self.is_v1 { "-1" } else { "max" };
        put(&self.path.join(file), &bytes.map_or_else(|| none.to_owned(), |bytes| bytes.to_string()))
    }

    /// Its own hard limit; `None` for no limit.
    pub fn limit(&self) -> Option<u64> {
        let file = if self.is_v1 { "memory.limit_in_bytes" } else { "memory.max" };
        self.number(file).filter(|bytes| *bytes < UNLIMITED)
    }

    /// What is charged to it.
    pub fn usage(&self) -> Option<u64> {
        self.number(if self.is_v1 { "memory.usage_in_bytes" } else { "memory.current" })
    }

    /// The most that was charged to it at a time; what is now where the kernel does not tell (v2 before Linux 5.19).
    pub fn peak(&self) -> Option<u64> {
        self.number(if self.is_v1 { "memory.max_usage_in_bytes" } else { "memory.peak" })
            .or_else(|| self.usage())
    }

    /// What it has.
    pub fn stat(&self) -> Option<MemoryStat> {
        let text = read_small(&self.path.join("memory.stat")).ok()?;
        Some(MemoryStat::parse(&text, self.is_v1))
    }

    /// Takes this much of what a group without processes still has, before it returns: page cache, the oldest first.
    ///
    /// # Errors
    /// When the kernel finds less, or has no means for it (v2 before Linux 5.19).
    pub fn reclaim(&self, bytes: u64) -> io::Result<()> {
        if !self.is_v1 {
            return put(&self.path.join("memory.reclaim"), &bytes.to_string());
        }
        let lowered = self.set_limit(Some(self.usage().unwrap_or(0).saturating_sub(bytes)));
        // In any case: a limit that stays would be the next writer's.
        let lifted = self.set_limit(None);
        lowered.and(lifted)
    }

    /// Whether there are groups below it; true if that is not to be known.
    pub fn has_groups_below(&self) -> bool {
        let is_group = |entry: io::Result<fs::DirEntry>| {
            entry.and_then(|entry| entry.file_type()).map_or(true, |kind| kind.is_dir())
        };
        fs::read_dir(&self.path).map_or(true, |mut entries| entries.any(is_group))
    }

    /// The groups above it that have a limit, the nearest first.
    pub fn limited_ancestors(&self) -> Vec<Self> {
        let above = self.path.ancestors().skip(1).map_while(Self::open);
        above.filter(|group| group.limit().is_some()).collect()
    }

    /// Takes away what its owner may have set: limit, ceiling and protection.
    pub fn relieve(&self) {
        // What was never set, or the kernel does not have, needs no putting back.
        let _ = self.set_limit(None);
        if !self.is_v1 {
            let _ = put(&self.path.join("memory.high"), "max");
            let _ = put(&self.path.join("memory.low"), "0");
        }
    }

    fn number(&self, file: &str) -> Option<u64> {
        read_small(&self.path.join(file)).ok()?.trim().parse().ok()
    }

    /// Moves what still runs in it to its parent, and removes it.
    ///
    /// # Errors
    /// When the kernel refuses for longer than processes take to end.
    pub fn remove(self) -> Result<(), GroupError> {
        // A process may not fit into what is left of a limit that is lowered at the same time.
        let _gone_with_it = self.set_limit(None);
        dissolve(&Group::open(&self.path)?)
    }
}

#[cfg(test)]
mod tests;
