//! Memory of a job that has a group of the memory controller.

use std::fs;
use std::io::{self, Write};

use lull_core::RoomSetting;

use super::{JobMemory, Thresholds, free_swap};
use crate::cgroup::memory::MemoryGroup;
use crate::root::Root;

/// Swap that must be free for a v1 limit to be safe: what a busy job writes between two looks.
const SWAP_MARGIN: u64 = 256 << 20;

/// What a group may grow between reading what it has and setting that as its limit.
const REACHED_MARGIN: u64 = 1 << 20;

/// See the module above.
#[derive(Debug)]
pub struct GroupMemory {
    root: Root,
    group: MemoryGroup,
    ceiling: Option<u64>,
}

impl GroupMemory {
    /// Nothing is set yet.
    pub fn new(root: Root, group: MemoryGroup) -> Self {
        Self { root, group, ceiling: None }
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
        })
    }

    fn page_out(&mut self, bytes: u64) -> io::Result<()> {
        if !self.group.is_v1() {
            return self.write("memory.reclaim", &bytes.to_string());
        }
        let before = self.group.usage().unwrap_or(0);
        // While the limit is low, a job without swap must find something to reclaim.
        let cache = self.group.stat().map_or(0, |stat| stat.file);
        let bytes = if self.has_ceiling() { bytes } else { bytes.min(cache / 2) };
        let lowered = self.group.set_limit(Some(before.saturating_sub(bytes)));
        let restored = self.group.set_limit(self.ceiling.filter(|_| self.has_ceiling()));
        // A refusal after most of it has gone is none.
        match lowered {
            Err(_) if self.group.usage().is_some_and(|after| after < before) => restored,
            lowered => lowered.and(restored),
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
            if let Err(error) = self.group.set_limit(bytes) {
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
