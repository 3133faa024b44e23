//! Pressure stall information: how long somebody waited for a resource, and being woken when it becomes much.
//!
//! The kernel adds up the time in which some task of a control group, or of the machine, could not go on for want of a resource (`total=`
//! of the line `some`, in microseconds), and that in which some task could not and no other of them was at work (line `full`). Whoever writes `some STALL WINDOW` to the same file, and polls for POLLPRI, is woken when
//! that grows by STALL within WINDOW, once per window at most.
//!
//! Windows shorter than two seconds want CAP_SYS_RESOURCE, which root in a container may not have: the shorter trigger is tried
//! first ([`Trigger::open`]). A trigger goes when its descriptor is closed.
//!
//! [`OthersPressure`] is what is left for others when the job's own stalls, and those of lull's own work, are taken off. Stalls overlap:
//! that is the least that others can have waited.
//!
//! Edge cases: with `psi=0` on the kernel's command line the files exist but cannot be read; kernels before 5.2 have no triggers; v1
//! groups have no such files. Source: `Documentation/accounting/psi.rst`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use lull_core::Nanos;

use crate::cgroup::memory::MemoryGroup;
use crate::root::{Root, read_small};

/// Stall and window of the triggers to try, in microseconds: 1% of the time.
const TRIGGERS_US: [(u64, u64); 2] = [(5_000, 500_000), (20_000, 2_000_000)];

/// Where the machine's pressure on memory is told.
pub const MACHINE: &str = "/proc/pressure/memory";

/// Where that of a v2 group is told.
pub fn of_group(directory: &Path) -> PathBuf {
    directory.join("memory.pressure")
}

/// How long some task has waited so far, from the text of such a file.
pub fn stalled(text: &str) -> Option<Nanos> {
    total(text, "some ")
}

/// How long tasks of a v2 group wanted a CPU so far on which none of them ran, in the mean of the CPUs that they wanted. Others
/// may have used it, or a quota be spent. A frozen task wants none; one that needs a CPU to freeze does.
pub fn starved_of_cpu(directory: &Path) -> Option<Nanos> {
    total(&read_small(&directory.join("cpu.pressure")).ok()?, "full ")
}

fn total(text: &str, line: &str) -> Option<Nanos> {
    let line = text.lines().find(|told| told.starts_with(line))?;
    let total = line.split_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse().ok().map(Nanos::from_micros)
}

/// Wakes whoever polls it for POLLPRI; POLLERR says that what it watches is gone.
#[derive(Debug)]
pub struct Trigger {
    file: File,
}

impl Trigger {
    /// On this file of pressure, the shortest that may be had.
    ///
    /// # Errors
    /// When the kernel has none, or does not allow it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut refused = io::Error::from(io::ErrorKind::Unsupported);
        for (stall_us, window_us) in TRIGGERS_US {
            let mut options = OpenOptions::new();
            let mut file = options.read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path)?;
            // One write, ended by a zero byte, as the kernel wants it.
            match file.write_all(format!("some {stall_us} {window_us}\0").as_bytes()) {
                Ok(()) => return Ok(Self { file }),
                Err(error) => refused = error,
            }
        }
        Err(refused)
    }
}

impl AsFd for Trigger {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// How long somebody but the job has waited for memory, at least.
#[derive(Debug)]
pub struct OthersPressure {
    all: PathBuf,
    job: Option<PathBuf>,
    /// Stalls while lull itself was at work.
    own: Nanos,
}

impl OthersPressure {
    /// Of the nearest of these limited groups that tells, else of the machine; the job's own is that of its v2 group.
    pub fn new(root: &Root, limits: &[MemoryGroup], job: Option<&Path>) -> Self {
        let mut told = limits.iter().map(|group| of_group(group.path())).filter(|path| path.exists());
        let all = told.next().unwrap_or_else(|| root.path(MACHINE));
        Self { all, job: job.map(of_group), own: Nanos::ZERO }
    }

    /// So far; zero where nothing is told.
    pub fn stalled(&self) -> Nanos {
        self.of_others().since(self.own)
    }

    fn of_others(&self) -> Nanos {
        let job = self.job.as_deref().map(|path| self.of(path)).unwrap_or_default();
        self.of(&self.all).since(job)
    }

    /// Does something that may make tasks wait, and counts that as nobody's stall.
    pub fn aside<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = self.of_others();
        let done = work();
        self.own = self.own.plus(self.of_others().since(before));
        done
    }

    /// Where to be woken.
    ///
    /// # Errors
    /// When the kernel has no trigger there, or does not allow it.
    pub fn trigger(&self) -> io::Result<Trigger> {
        Trigger::open(&self.all)
    }

    fn of(&self, path: &Path) -> Nanos {
        read_small(path).ok().as_deref().and_then(stalled).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
