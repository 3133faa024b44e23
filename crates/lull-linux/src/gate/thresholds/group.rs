//! Memory of a job that has a group of the memory controller.
//!
//! A v1 limit that is lowered takes 32 pages at a time, the oldest first, and looks at each that was used of late twice: 7 ms of a
//! CPU for a MiB were measured (Linux 6.18), whatever the disk. What has to be written is therefore named before, by address
//! ([`super::processes`]): that took a fourth of the time. The limit then finds clean pages. Page cache that is clean already goes first.
//!
//! ```text
//!   name    ─1─┐ ─2─┐ ─3─┐ … ─n─         1.1 GB/s, where the limit after all of it got 0.6
//!   limit      └─▶ 1  └─▶ 2  └─▶ …       waits until what was named is written
//! ```
//! It is named in pieces (`trail.rs`), and the limit follows one piece behind, so that the disk always has something to write. The last piece is
//! not waited for: the limit stays above what was asked for until the next look.

use std::fs;
use std::io::{self, Write};

use lull_core::MemoryThresholds;

use self::trail::{Trail, WORTH_NAMING};
use super::processes::{LONGEST, ProcessMemory};
use super::{JobMemory, Pids, Thresholds, free_swap};
use crate::cgroup::memory::MemoryGroup;
use crate::clock;
use crate::root::Root;

mod trail;

/// Swap that must be free for a v1 limit to be safe: what a busy job writes between two looks.
const SWAP_MARGIN: u64 = 256 << 20;

/// What a group may grow between reading what it has and setting that as its limit.
const REACHED_MARGIN: u64 = 1 << 20;

/// See the module above.
#[derive(Debug)]
pub struct GroupMemory {
    root: Root,
    group: MemoryGroup,
    processes: ProcessMemory,
    /// The limit or `memory.high` as it is.
    ceiling: Option<u64>,
    /// Named by the latest call, which did not wait for it to be written.
    in_flight: u64,
    /// A limit that could not be reached.
    refused: Option<u64>,
}

impl GroupMemory {
    /// Nothing is set yet. `pids` are the processes in the group.
    pub fn new(root: Root, group: MemoryGroup, pids: Pids) -> Self {
        Self { root, group, processes: ProcessMemory::new(pids), ceiling: None, in_flight: 0, refused: None }
    }

    /// Sets a v1 limit as it is to be; `None` takes it away.
    fn set(&mut self, bytes: Option<u64>) -> io::Result<()> {
        self.group.set_limit(bytes).inspect(|()| self.ceiling = bytes)
    }

    /// Sets a v1 limit, with swap to go to. It may stay a piece higher.
    fn limit(&mut self, bytes: Option<u64>) -> io::Result<()> {
        let in_flight = std::mem::take(&mut self.in_flight);
        match (bytes, self.group.usage()) {
            (Some(bytes), Some(usage)) if bytes < usage => self.lower(bytes, usage, in_flight),
            _ => self.set(bytes),
        }
    }

    /// Has written what has to be written before a group with this usage has only `bytes`, and lowers the limit.
    fn lower(&mut self, bytes: u64, usage: u64, in_flight: u64) -> io::Result<()> {
        let until = clock::now().plus(LONGEST);
        // What fails on the way is tried again at the end. At first, so that it does not grow meanwhile.
        let _ = self.set(Some(usage + REACHED_MARGIN));
        let clean = self.group.stat().map_or(0, |stat| stat.clean_inactive());
        if clean >= WORTH_NAMING {
            let _ = self.set(Some(usage.saturating_sub(clean).max(bytes)));
        }
        let mut trail = Trail::new(bytes, usage, clean + in_flight);
        while let Some(piece) = trail.next().filter(|_| clock::now() < until) {
            let named = self.processes.page_out(piece).unwrap_or(0);
            if let Some(limit) = trail.named(named) {
                let _ = self.set(Some(limit));
            }
        }
        let end = trail.end();
        self.set(Some(end.limit))?;
        self.in_flight = end.in_flight;
        Ok(())
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
        let ceiling = self.ceiling;
        // While the limit is low, a job without swap must find something to reclaim.
        let cache = self.group.stat().map_or(0, |stat| stat.file);
        let lowered = if self.has_ceiling() {
            self.limit(Some(before.saturating_sub(bytes)))
        } else {
            self.set(Some(before.saturating_sub(bytes.min(cache / 2))))
        };
        let restored = self.set(ceiling.filter(|_| self.has_ceiling()));
        // A refusal after most of it has gone is none.
        match lowered {
            Err(_) if taken() > 0 => restored.map(|()| taken()),
            lowered => lowered.and(restored).map(|()| taken()),
        }
    }

    fn has_ceiling(&self) -> bool {
        !self.group.is_v1() || free_swap(&self.root) >= SWAP_MARGIN
    }

    fn set_ceiling(&mut self, bytes: Option<u64>, insists: bool) -> io::Result<()> {
        let bytes = bytes.filter(|_| self.has_ceiling());
        let is_refused = bytes.is_some() && bytes == self.refused && !insists;
        if bytes == self.ceiling || is_refused {
            return Ok(());
        }
        if !self.group.is_v1() {
            self.write("memory.high", &bytes.map_or_else(|| "max".to_owned(), |bytes| bytes.to_string()))?;
            self.ceiling = bytes;
            return Ok(());
        }
        self.refused = None;
        self.limit(bytes).or_else(|error| {
            // Pages in use did not go; what did go is not to come back.
            let reached = self.group.usage().map(|usage| usage + REACHED_MARGIN).ok_or(error)?;
            self.refused = bytes;
            self.set(Some(reached))
        })
    }

    fn set_thresholds(&mut self, setting: MemoryThresholds) -> io::Result<()> {
        if self.group.is_v1() {
            return Ok(());
        }
        self.write("memory.low", &setting.low_bytes.to_string())
    }
}
