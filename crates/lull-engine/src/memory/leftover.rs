//! What the job left in the page cache goes with its memory group.
//!
//! Problem: what a job brings in before the page observer stands, or without one, has no names by which it could be taken out
//! again. But it is charged to the job's memory group until that is gone, and then to the group above.
//!
//! Approach: whoever removes the empty group, be it front, supervisor or guardian, first makes it give back its clean page
//! cache. Of a job that was old and large enough to be managed nothing may stay, of any other up to what may be kept.
//!
//! Units: bytes. Edge cases: what others use, or what is dirty, stays. While much is dirty nothing is taken: a version 1 group
//! would wait for the disk. A group with groups below it may hold processes of a lull inside; it is left alone.
//!
//! Source: `Documentation/admin-guide/cgroup-v1/memory.rst` (4.2, stat file), `cgroup-v2.rst` (memory.reclaim).

use lull_core::Nanos;
use lull_linux::cgroup::JobGroup;
use lull_linux::cgroup::memory::MemoryGroup;
use lull_linux::clock;

use super::aim::{Begins, LARGE_BYTES, MemoryAim, SHORT_JOB};

/// What has to be known to leftover.
#[derive(Clone, Copy, Debug)]
pub struct Leftover {
    /// `None`: the job's memory is left to the kernel.
    pub aim: Option<MemoryAim>,
    /// When the job began.
    pub born: Nanos,
}

impl Leftover {
    /// No process is left in the group: takes what it may not leave.
    pub fn from(&self, group: &JobGroup) {
        if let Some((aim, memory)) = self.aim.zip(group.memory()) {
            let lived = clock::now().since(self.born);
            take(&memory, lived, &aim);
        }
    }
}

fn take(group: &MemoryGroup, lived: Nanos, aim: &MemoryAim) {
    let Some(stat) = group.stat() else { return };
    if stat.dirty.unwrap_or(0) + stat.writeback > LARGE_BYTES || group.has_groups_below() {
        return;
    }
    let was_due = lived >= SHORT_JOB && group.peak().is_some_and(|peak| peak >= LARGE_BYTES);
    let may_stay = if was_due || aim.begins == Begins::AtOnce { 0 } else { aim.cache_keep_bytes };
    let clean = stat.clean_cache();
    if clean > may_stay {
        // What others use stays.
        let _ = group.reclaim(clean);
    }
}
