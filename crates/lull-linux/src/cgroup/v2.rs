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

use super::{Group, borrow};

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
