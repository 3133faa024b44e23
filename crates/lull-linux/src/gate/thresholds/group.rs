//! Memory of a job that has a group of the memory controller.
//!
//! A v1 limit that is lowered takes 32 pages at a time, the oldest first, and looks at each that was used of late twice: 7 ms of a
//! CPU for a MiB were measured (Linux 6.18), whatever the disk. What has to be written is therefore named before, by address
//! ([`super::processes`]): that took a fourth of the time. The limit then finds clean pages. What is clean already goes first in any case.

use std::fs;
use std::io::{self, Write};

use lull_core::RoomSetting;

use super::processes::ProcessMemory;
use super::{JobMemory, Pids, Thresholds, free_swap};
use crate::cgroup::memory::{MemoryGroup, MemoryStat};
use crate::root::Root;

/// Swap that must be free for a v1 limit to be safe: what a busy job writes between two looks.
const SWAP_MARGIN: u64 = 256 << 20;

/// Less than this the limit takes by itself.
const WORTH_NAMING: u64 = 1 << 20;
/// What a group may grow between reading what it has and setting that as its limit.
const REACHED_MARGIN: u64 = 1 << 20;

/// See the module above.
#[derive(Debug)]
pub struct GroupMemory {
    root: Root,
    group: MemoryGroup,
    processes: ProcessMemory,
    ceiling: Option<u64>,
}

/// What has to be written before a group with this usage is as small as that.
fn to_write(usage: u64, stat: &MemoryStat, ceiling: u64) -> u64 {
    let clean = stat.inactive_file + stat.swap_cached.unwrap_or(0);
    usage.saturating_sub(ceiling).saturating_sub(clean)
}

impl GroupMemory {
    /// Nothing is set yet. `pids` are the processes in the group.
    pub fn new(root: Root, group: MemoryGroup, pids: Pids) -> Self {
        Self { root, group, processes: ProcessMemory::new(pids), ceiling: None }
    }

    /// Sets a v1 limit, with swap to go to; `None` takes it away.
    fn limit(&mut self, bytes: Option<u64>) -> io::Result<()> {
        if let (Some(bytes), Some(usage)) = (bytes, self.group.usage())
            && bytes < usage
        {
            let dirty = self.group.stat().map_or(0, |stat| to_write(usage, &stat, bytes));
            if dirty >= WORTH_NAMING {
                // The limit takes what is left.
                let _ = self.processes.page_out(dirty);
            }
        }
        self.group.set_limit(bytes)
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        let path = self.group.path().join(file);
        fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
    }
}

impl Thresholds for GroupMemory {
    fn means(&self) -> &'static str {
        if self.group.is_v1() { "a v1 memory group" } else { "a v2 memory group" }
    }

    fn job(&mut self) -> Option<JobMemory> {
        let stat = self.group.stat()?;
        Some(JobMemory {
            resident: self.group.usage().unwrap_or(stat.anon + stat.file),
            cache: stat.file,
            paged_out: stat.swapped,
            stalls: stat.refaults + stat.major_faults,
            returns: Some(stat.returns()),
        })
    }

    fn glance(&self) -> u64 {
        self.group.usage().unwrap_or(0)
    }

    fn page_out(&mut self, bytes: u64) -> io::Result<u64> {
        let before = self.group.usage().unwrap_or(0);
        let group = self.group.clone();
        let taken = || group.usage().map_or(0, |after| before.saturating_sub(after));
        if !self.group.is_v1() {
            return self.write("memory.reclaim", &bytes.to_string()).map(|()| taken());
        }
        // While the limit is low, a job without swap must find something to reclaim.
        let cache = self.group.stat().map_or(0, |stat| stat.file);
        let lowered = if self.has_ceiling() {
            self.limit(Some(before.saturating_sub(bytes)))
        } else {
            self.group.set_limit(Some(before.saturating_sub(bytes.min(cache / 2))))
        };
        let restored = self.group.set_limit(self.ceiling.filter(|_| self.has_ceiling()));
        // A refusal after most of it has gone is none.
        match lowered {
            Err(_) if taken() > 0 => restored.map(|()| taken()),
            lowered => lowered.and(restored).map(|()| taken()),
        }
    }

    fn has_ceiling(&self) -> bool {
        !self.group.is_v1() || free_swap(&self.root) >= SWAP_MARGIN
    }

    fn set_ceiling(&mut self, bytes: Option<u64>) -> io::Result<()> {
        let bytes = bytes.filter(|_| self.has_ceiling());
        if bytes == self.ceiling {
            return Ok(());
        }
        if self.group.is_v1() {
            if let Err(error) = self.limit(bytes) {
                // Pages in use did not go; what did go is not to come back.
                let reached = self.group.usage().map(|usage| usage + REACHED_MARGIN).ok_or(error)?;
                self.group.set_limit(Some(reached))?;
                self.ceiling = Some(reached);
                return Ok(());
            }
        } else {
            self.write("memory.high", &bytes.map_or_else(|| "max".to_owned(), |bytes| bytes.to_string()))?;
        }
        self.ceiling = bytes;
        Ok(())
    }

    fn set_thresholds(&mut self, setting: RoomSetting) -> io::Result<()> {
        if self.group.is_v1() {
            return Ok(());
        }
        self.write("memory.low", &setting.low_bytes.to_string())
    }
}

#[cfg(test)]
mod tests;
