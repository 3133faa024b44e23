//! Names of job groups: `lull-PID-START-NS-N`.
//!
//! PID alone would not do: numbers are reused, so the start time (clock ticks after boot, field 22 of
//! `/proc/PID/stat`) goes with it. NS is the PID namespace's inode: from another namespace the same PID means another
//! process, so a sweep keeps its hands off those. N counts the jobs of one lull.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::proc::StatLine;
use crate::root::Root;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// The name of a job's group: whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupName {
    /// The owner.
    pub pid: u32,
    /// When the owner started, in clock ticks after boot.
    pub start_ticks: u64,
    /// The owner's PID namespace.
    pub namespace: u64,
    /// The owner's how-manieth.
    pub number: u32,
}

impl GroupName {
    /// The next name of this process.
    pub fn next(root: &Root) -> Self {
        let pid = std::process::id();
        Self {
            pid,
            start_ticks: start_ticks(root, pid).unwrap_or(0),
            namespace: pid_namespace(root),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Is the process that this name tells of gone? Only ever true of processes in this PID namespace.
    pub fn owner_is_gone(&self, root: &Root) -> bool {
        self.namespace == pid_namespace(root) && start_ticks(root, self.pid) != Some(self.start_ticks)
    }
}

/// When a process started; `None` if there is none.
fn start_ticks(root: &Root, pid: u32) -> Option<u64> {
    StatLine::read(root, pid)?.start_ticks()
}

fn pid_namespace(root: &Root) -> u64 {
    std::fs::metadata(root.path("/proc/self/ns/pid")).map_or(0, |found| found.ino())
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lull-{}-{}-{}-{}", self.pid, self.start_ticks, self.namespace, self.number)
    }
}

/// A name that no lull gave.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not the name of a lull job group")]
pub struct ParseNameError(String);

impl FromStr for GroupName {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let mut parts = text.strip_prefix("lull-")?.split('-');
            let name = Self {
                pid: parts.next()?.parse().ok()?,
                start_ticks: parts.next()?.parse().ok()?,
                namespace: parts.next()?.parse().ok()?,
                number: parts.next()?.parse().ok()?,
            };
            parts.next().is_none().then_some(name)
        };
        parse().ok_or_else(|| ParseNameError(text.to_owned()))
    }
}
