//! A group of the v2 hierarchy.
//!
//! `cgroup.freeze` takes 1 or 0 and stops tasks at their next return to user space or interruptible sleep; a frozen task
//! still dies of SIGKILL. `cgroup.events` says `frozen 1` once all have stopped. The freeze file is opened once: a write
//! to the open descriptor costs a few microseconds.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{Group, borrow, least, put};

pub(super) struct Group2 {
    path: PathBuf,
    procs: File,
    freeze: Option<File>,
}

impl Group2 {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let procs = OpenOptions::new().write(true).open(path.join("cgroup.procs"))?;
        // Kernels before 5.2 have no such file.
        let freeze = OpenOptions::new().write(true).open(path.join("cgroup.freeze")).ok();
        Ok(Self { path: path.to_owned(), procs, freeze })
    }
}

impl Group for Group2 {
    fn path(&self) -> &Path {
        &self.path
    }

    fn entry(&self) -> BorrowedFd<'_> {
        borrow(&self.procs)
    }

    fn set_frozen(&self, frozen: bool) -> io::Result<()> {
        let file = self.freeze.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        file.write_all_at(if frozen { b"1" } else { b"0" }, 0)
    }

    fn is_frozen(&self) -> Option<bool> {
        self.freeze.as_ref()?;
        let events = std::fs::read_to_string(self.path.join("cgroup.events")).ok()?;
        Some(events.lines().any(|line| line == "frozen 1"))
    }
}

/// Gives a new group that stands higher up than the own one the limit that it may not leave behind: so many tasks, and no more than that. And
/// the least weight: beside whole sessions one job would weigh as much.
pub(super) fn prepare_above(path: &Path, most_tasks: Option<u64>) -> io::Result<()> {
    for (file, least) in least::WEIGHTS_V2 {
        // Where the parent does not hand the controller down there is nothing to weigh.
        let _ = put(&path.join(file), least);
    }
    most_tasks.map_or(Ok(()), |most| put(&path.join("pids.max"), &most.to_string()))
}

/// The group of this process, if it is below the parent of the group `path`, and that takes no processes.
pub(super) fn home(path: &Path) -> Option<PathBuf> {
    home_of(path, &std::fs::read_to_string("/proc/self/cgroup").ok()?)
}

fn home_of(path: &Path, memberships: &str) -> Option<PathBuf> {
    let parent = path.parent()?;
    let hands_down = std::fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
    let own = Path::new(memberships.lines().find_map(|line| line.strip_prefix("0::/"))?);
    // A mount may show a part of the tree only, but the last names are the same.
    let parts: Vec<_> = own.components().collect();
    let mut ends = (0..parts.len()).map(|from| parent.join(parts[from..].iter().collect::<PathBuf>()));
    // The top takes processes whatever it hands down; it has no type.
    let is_full = !hands_down.trim().is_empty() && parent.join("cgroup.type").exists();
    ends.find(|end| end.join("cgroup.procs").exists()).filter(|_| is_full)
}

#[cfg(test)]
mod tests;
