//! Facts: what this host offers, found by looking and by trying, never guessed from a version where a trial is cheap.
//!
//! Problem: what lull may set, load or install depends on the kernel, on how it was built, on the user's rights, on the
//! container around, and on each disk's scheduler; and much of what is popular (ionice, nice) is silently ignored on
//! most machines. Approach: one pass at start fills [`Facts`]; rules that follow from them are elsewhere
//! ([`crate::marks::Plan`]). Trials that would change the caller (a scheduling class, a seccomp filter) run in a forked
//! child; the trial cgroup is removed at once. A pass takes a few milliseconds.
//!
//! Edge cases: a fact that can't be had is `None` or [`Trial::Fails`] with the system's answer, never an error: a
//! probe has to work best on the strangest host. `Facts` serialises to the JSON of `lull doctor --json`.
//!
//! Units: sizes in bytes, as their names say.

use std::fmt;

use nix::errno::Errno;
use serde::Serialize;

use crate::root::Root;
use crate::topology::Topology;

pub mod bpf;
pub mod cgroups;
pub mod cpu;
pub mod disks;
pub mod elsewhere;
pub mod kernel;
pub mod net;
pub mod seccomp;
mod trial;
pub mod user;

pub use bpf::BpfFacts;
pub use cgroups::{CgroupFacts, Hierarchy, Layout};
pub use cpu::{Autogroup, CpuFacts};
pub use disks::{DiskFacts, IoprioEffect, IoprioLevel};
pub use kernel::Kernel;
pub use net::{InterfaceFacts, NetFacts};
pub use seccomp::SeccompFacts;
pub use user::{Limit, UserFacts};

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum Trial {
    /// It works.
    Works,
    /// The system refused.
    Fails {
        /// The error number; 0 where the reason is not an error of a system call.
        errno: i32,
        /// What that means, in words.
        why: String,
    },
}

impl Trial {
    /// From an error number, 0 being success.
    pub fn from_errno(errno: i32) -> Self {
        if errno == 0 {
            return Self::Works;
        }
        let known = Errno::from_raw(errno);
        Self::Fails { errno, why: format!("{} ({known:?})", known.desc()) }
    }

    /// From what a library call returned.
    pub fn from_io<T>(result: &std::io::Result<T>) -> Self {
        match result {
            Ok(_) => Self::Works,
            Err(error) => match error.raw_os_error() {
                Some(errno) => Self::from_errno(errno),
                None => Self::fails(error.to_string()),
            },
        }
    }

    /// A failure without a system call.
    pub fn fails(why: impl Into<String>) -> Self {
        Self::Fails { errno: 0, why: why.into() }
    }

    /// Did it work?
    pub const fn works(&self) -> bool {
        matches!(self, Self::Works)
    }

    /// The error number of a failed system call.
    pub const fn errno(&self) -> Option<i32> {
        match self {
            Self::Fails { errno, .. } if *errno != 0 => Some(*errno),
            _ => None,
        }
    }
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Works => f.write_str("works"),
            Self::Fails { why, .. } => f.write_str(why),
        }
    }
}

/// What this host offers.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The kernel.
    pub kernel: Kernel,
    /// Who asks, with which rights and limits.
    pub user: UserFacts,
    /// Loading BPF programs.
    pub bpf: BpfFacts,
    /// Holding system calls.
    pub seccomp: SeccompFacts,
    /// Control groups.
    pub cgroups: CgroupFacts,
    /// CPUs, memory, CPU classes.
    pub cpu: CpuFacts,
    /// Network interfaces and TCP.
    pub net: NetFacts,
    /// Every disk that has a size.
    pub disks: Vec<DiskFacts>,
}

impl Facts {
    /// Probes the running host.
    pub fn probe() -> Self {
        let root = Root::real();
        let topology = Topology::host();
        let kernel = Kernel::read(&root);
        let cgroups = CgroupFacts::read(&root, true);
        Self {
            user: UserFacts::read(&root),
            bpf: BpfFacts::read(&root),
            seccomp: SeccompFacts::read(&kernel),
            cpu: CpuFacts::read(&root, &cgroups),
            net: NetFacts::read(&root),
            disks: disks::read_all(&root, &topology),
            cgroups,
            kernel,
        }
    }

    /// The facts of one disk.
    pub fn disk(&self, name: &str) -> Option<&DiskFacts> {
        self.disks.iter().find(|disk| disk.name == name)
    }
}

#[cfg(test)]
mod tests;
