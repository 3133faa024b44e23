//! The least that a control group can be given by weight: of the CPUs, and of disks.
//!
//! | | v2 | v1 |
//! |---|---|---|
//! | CPUs | `cpu.idle` = 1, else `cpu.weight` = 1 | `cpu.idle` = 1, else `cpu.shares` = 2 |
//! | disks | `io.weight` = 1 and `io.bfq.weight` = 1 | `blkio.bfq.weight` = 1 |
//!
//! This is what an administrator would write by hand; `lull run` itself decides per request and needs none of it. Edge cases: on v2 a group
//! has these files only where its parent hands the controller down; weights of disks have an effect only under BFQ, or with `io.cost`.
//!
//! Source: `Documentation/admin-guide/cgroup-v2.rst`, `Documentation/block/bfq-iosched.rst`, `kernel/sched/sched.h` (`MIN_SHARES`).

use std::path::PathBuf;

use super::CgroupFacts;
use super::{GroupError, GroupName, JobGroup, put};

/// A control file and what was written to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The file.
    pub file: PathBuf,
    /// The text.
    pub text: &'static str,
}

/// On v2, of everything.
pub(super) const WEIGHTS_V2: [(&str, &str); 3] = [CPU[1], DISK[0], DISK[1]];
pub(crate) const CPU: [(&str, &str); 3] = [("cpu.idle", "1"), ("cpu.weight", "1"), ("cpu.shares", "2")];
const DISK: [(&str, &str); 3] = [("io.weight", "1"), ("io.bfq.weight", "1"), ("blkio.bfq.weight", "1")];

impl JobGroup {
    /// Gives the job the least weight on the CPUs. Empty if this host has none to give.
    ///
    /// # Errors
    /// When a file that is there refuses.
    pub fn set_least_cpu(
        &mut self,
        name: &GroupName,
        facts: &CgroupFacts,
    ) -> Result<Vec<Written>, GroupError> {
        self.set_first(name, facts, "cpu", &CPU, 1)
    }

    /// Gives the job the least weight on disks. Empty if this host has none to give.
    ///
    /// # Errors
    /// When a file that is there refuses.
    pub fn set_least_io(
        &mut self,
        name: &GroupName,
        facts: &CgroupFacts,
    ) -> Result<Vec<Written>, GroupError> {
        self.set_first(name, facts, "blkio", &DISK, DISK.len())
    }

    /// Writes to up to `most` of the files that a group has: one of the job's, or a new one of the v1 controller.
    fn set_first(
        &mut self,
        name: &GroupName,
        facts: &CgroupFacts,
        controller: &str,
        files: &[(&str, &'static str)],
        most: usize,
    ) -> Result<Vec<Written>, GroupError> {
        if let Some(hierarchy) = facts.v1_of(controller).filter(|hierarchy| hierarchy.own.is_some()) {
            self.enter_hierarchy(name, hierarchy)?;
        }
        let mut written = Vec::new();
        for (file, text) in files {
            let there = self.groups.iter().map(|group| group.path().join(file)).find(|path| path.exists());
            let Some(path) = there.filter(|_| written.len() < most) else { continue };
            put(&path, text).map_err(|cause| GroupError::new("set a weight of", &path, cause))?;
            written.push(Written { file: path, text });
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests;
