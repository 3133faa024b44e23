//! Which CPUs a group may use.
//!
//! v2: an empty `cpuset.cpus` stands for all that the parent has. v1: a new group has no CPU and no memory node, and takes
//! no task before it has both; it is given its parent's. There the group also leaves load balancing to its parent: with a
//! balancing of its own, each write would have the kernel look at its scheduling domains.
//!
//! A task that chose CPUs itself keeps its choice within the group's (since Linux 6.2, below which the probe does not offer
//! this): where the two have no CPU in common, the group's count until they have again.
//!
//! Source: `Documentation/admin-guide/cgroup-v1/cpusets.rst`, cgroup-v2.rst "Cpuset", sched_setaffinity(2).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::put;
use crate::topology::cpus::CpuSet;

/// The open `cpuset.cpus` of a group.
#[derive(Debug)]
pub struct Confinement {
    path: PathBuf,
    cpus: File,
}

impl Confinement {
    /// Opens a group's choice; `None` if its hierarchy has none.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let cpus = OpenOptions::new().write(true).open(path.join("cpuset.cpus")).ok()?;
        Some(Self { path: path.to_owned(), cpus })
    }

    /// Confines the group to `cpus`; `None` gives it all that its parent has.
    ///
    /// # Errors
    /// When the kernel refuses, as for CPUs that the parent has not.
    pub fn set(&self, cpus: Option<&CpuSet>) -> io::Result<()> {
        let text = match cpus {
            Some(cpus) => cpus.to_string(),
            None if is_v1(&self.path) => parent_has(&self.path, "cpus")?,
            None => String::new(),
        };
        // Control files take a write as a whole, at any offset; a line end makes an empty text one byte long.
        self.cpus.write_all_at(format!("{text}\n").as_bytes(), 0)
    }
}

fn is_v1(path: &Path) -> bool {
    path.join("cpuset.sched_load_balance").exists()
}

/// What the parent of a v1 group may use: `cpus` or `mems`.
fn parent_has(path: &Path, what: &str) -> io::Result<String> {
    let parent = path.parent().ok_or(io::ErrorKind::NotFound)?;
    let text = fs::read_to_string(parent.join(format!("cpuset.effective_{what}")))?;
    Ok(text.trim().to_owned())
}

/// Makes a new group fit to take tasks.
pub(super) fn prepare(path: &Path) -> io::Result<()> {
    if !is_v1(path) {
        return Ok(());
    }
    put(&path.join("cpuset.sched_load_balance"), "0")?;
    for what in ["mems", "cpus"] {
        put(&path.join(format!("cpuset.{what}")), &parent_has(path, what)?)?;
    }
    Ok(())
}
