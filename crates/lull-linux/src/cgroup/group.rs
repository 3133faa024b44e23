//! One group of one hierarchy, of either version.
//!
//! | | v2 | v1 |
//! |---|---|---|
//! | freezes by | `cgroup.freeze`: 1 or 0 | `freezer.state`: FROZEN or THAWED; other hierarchies cannot |
//! | tells by | `cgroup.events`: `frozen 1` once all have stopped | `freezer.state`: FREEZING in between |
//! | a frozen task | stops at its next return to user space or interruptible sleep, and dies of SIGKILL | dies of SIGKILL only once it is thawed, which is why v2 is preferred where both exist |
//!
//! The files are opened once: a write to an open descriptor costs a few microseconds.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::GroupError;

/// What differs between the versions.
struct Freezer {
    file: &'static str,
    frozen: &'static str,
    thawed: &'static str,
    /// Where, and by which line, it is told that all have stopped.
    stopped: (&'static str, &'static str),
}

/// Kernels before 5.2 have no such file.
const V2: Freezer =
    Freezer { file: "cgroup.freeze", frozen: "1", thawed: "0", stopped: ("cgroup.events", "frozen 1") };
const V1: Freezer = Freezer {
    file: "freezer.state",
    frozen: "FROZEN",
    thawed: "THAWED",
    stopped: ("freezer.state", "FROZEN"),
};

/// A directory and its open control files.
pub(super) struct Group {
    path: PathBuf,
    procs: File,
    freezer: Option<(File, &'static Freezer)>,
}

impl Group {
    /// Of the version that its directory shows.
    pub(super) fn open(path: &Path) -> Result<Self, GroupError> {
        let open = |name: &str| OpenOptions::new().write(true).open(path.join(name));
        let procs = open("cgroup.procs").map_err(|cause| GroupError::new("open", path, cause))?;
        let version = if path.join("cgroup.controllers").exists() { &V2 } else { &V1 };
        let freezer = open(version.file).ok().map(|file| (file, version));
        Ok(Self { path: path.to_owned(), procs, freezer })
    }

    /// Its directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The open `cgroup.procs`: a process writes `0` to it to enter.
    pub(super) fn entry(&self) -> BorrowedFd<'_> {
        self.procs.as_fd()
    }

    /// Can it be frozen?
    pub(super) fn can_freeze(&self) -> bool {
        self.freezer.is_some()
    }

    /// Freezes or thaws; [`io::ErrorKind::Unsupported`] if this hierarchy can't.
    pub(super) fn set_frozen(&self, frozen: bool) -> io::Result<()> {
        let (file, version) = self.freezer.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let text = if frozen { version.frozen } else { version.thawed };
        file.write_all_at(text.as_bytes(), 0)
    }

    /// Have all its processes stopped?
    pub(super) fn is_frozen(&self) -> bool {
        self.freezer.as_ref().is_some_and(|(_, version)| {
            let (file, line) = version.stopped;
            fs::read_to_string(self.path.join(file)).is_ok_and(|text| text.lines().any(|it| it == line))
        })
    }
}
