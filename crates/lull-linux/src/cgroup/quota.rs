//! Holding a job by a quota of CPU time: nothing is interrupted.
//!
//! Problem: whoever freezes or stops a process ends its blocking calls early: writes to pipes come back short, waits end with
//! EINTR. Approach: the group gets the least quota that the kernel takes. Its tasks stop when they
//! return to user mode; who sleeps in a call sleeps on, and the call ends as it would have.
//!
//! ```text
//!              hold()                            release()
//!   no quota ──────────▶ 1 ms in each 100 ms ◀────────────▶ more than there is
//!      ▲                      │                    hold()       │
//!      └──────────────────────┴──────── restore(), sweep ───────┘
//! ```
//!
//! So no hold lasts longer than 100 ms: then the kernel itself grants 1 ms, enough to answer a request or to let a lock go that the
//! foreground waits for. Between two holds the quota stays, too large to matter: the first quota of a machine, and the loss of its
//! last, has the kernel patch its own code, which interrupts every CPU and takes 0.1 ms instead of 5 to 25 µs (ADR 0020 has the
//! measurements).
//!
//! Edge cases: each hold begins with a grant; a task that never enters the kernel is stopped by its CPU's next timer tick. Below a
//! v1 group with a quota of its own nothing larger is taken: there the quota is lifted instead. Before Linux 6.18 a task may be
//! stopped inside the kernel, with a lock.
//!
//! Source: `Documentation/scheduler/sched-bwc.rst`, cgroup-v2.rst "cpu.max", `kernel/sched/core.c` (`tg_set_cfs_bandwidth`).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The least quota that the kernel takes.
const LEAST_US: u64 = 1_000;
/// The period: the kernel's own, so that v1's file for it may stay as it is.
const PERIOD_US: u64 = 100_000;
/// More than the CPUs of any machine have in a period.
const BEYOND_US: u64 = 100_000_000_000;

const V2: &str = "cpu.max";
const V1: &str = "cpu.cfs_quota_us";

/// The open quota of a group.
#[derive(Debug)]
pub struct Quota {
    file: File,
    is_v2: bool,
}

/// Does this group have a quota?
pub(crate) fn is_there(group: &Path) -> bool {
    [V2, V1].iter().any(|name| group.join(name).exists())
}

impl Quota {
    /// Opens a group's quota; `None` if its hierarchy has none.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let open = |name| OpenOptions::new().write(true).open(path.join(name)).ok();
        let v2 = open(V2).map(|file| Self { file, is_v2: true });
        v2.or_else(|| open(V1).map(|file| Self { file, is_v2: false }))
    }

    fn write(&self, quota_us: u64) -> io::Result<()> {
        let text = if self.is_v2 { format!("{quota_us} {PERIOD_US}") } else { quota_us.to_string() };
        self.file.write_all_at(text.as_bytes(), 0)
    }

    /// Leaves the group next to no CPU time.
    ///
    /// # Errors
    /// When the kernel refuses; the group then keeps what it had.
    pub fn hold(&self) -> io::Result<()> {
        self.write(LEAST_US)
    }

    /// Gives it all that it can use.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn release(&self) -> io::Result<()> {
        match self.write(BEYOND_US) {
            // Larger than the parent's.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => self.restore(),
            done => done,
        }
    }

    /// Takes the quota away, as the group had none when it was made.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn restore(&self) -> io::Result<()> {
        let none: &[u8] = if self.is_v2 { b"max" } else { b"-1" };
        self.file.write_all_at(none, 0)
    }
}

/// Is this group held by its quota? False if it has none.
pub fn is_held(group: &Path) -> bool {
    let of = |name| fs::read_to_string(group.join(name)).ok();
    let text = of(V2).or_else(|| of(V1)).unwrap_or_default();
    text.split_whitespace().next() == Some(&LEAST_US.to_string())
}

#[cfg(test)]
mod tests;
