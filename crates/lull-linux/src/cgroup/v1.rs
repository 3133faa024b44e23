//! A group of a v1 hierarchy.
//!
//! `freezer.state` takes FROZEN or THAWED and reads FREEZING in between. Tasks frozen this way do not die of SIGKILL
//! until they are thawed, which is why v2 is preferred where both exist. Hierarchies other than the freezer's have no
//! such file and can't freeze.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::{Group, borrow};

pub(super) struct Group1 {
    path: PathBuf,
    procs: File,
    state: Option<File>,
}

impl Group1 {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let procs = OpenOptions::new().write(true).open(path.join("cgroup.procs"))?;
        let state = OpenOptions::new().write(true).open(path.join("freezer.state")).ok();
        Ok(Self { path: path.to_owned(), procs, state })
    }
}

impl Group for Group1 {
    fn path(&self) -> &Path {
        &self.path
    }

    fn entry(&self) -> BorrowedFd<'_> {
        borrow(&self.procs)
    }

    fn set_frozen(&self, frozen: bool) -> io::Result<()> {
        let file = self.state.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        file.write_all_at(if frozen { b"FROZEN" } else { b"THAWED" }, 0)
    }

    fn is_frozen(&self) -> Option<bool> {
        self.state.as_ref()?;
        let state = std::fs::read_to_string(self.path.join("freezer.state")).ok()?;
        Some(state.trim() == "FROZEN")
    }
}
