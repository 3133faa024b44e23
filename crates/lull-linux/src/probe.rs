//! Facts: what this host offers, found by looking and by trying, never guessed from a version where a trial is cheap.
//!
//! Problem: what lull may set, load or install depends on the kernel, on how it was built, on the user's rights, on the
//! container around, and on each disk's scheduler; and much of what is popular (ionice, nice) is silently ignored on
//! most machines. Approach: one pass at start fills [`Facts`]; rules that follow from them are elsewhere
//! ([`crate::marks::Plan`]). Trials that would change the caller (a scheduling class, a seccomp filter) run in a forked
//! child; the trial cgroup is removed at once. A pass takes a few milliseconds.
//!
//! Edge cases: a fact that can't be had is `None` or [`Attempt::Fails`] with the system's answer, never an error: a
//! probe has to work best on the strangest host. `Facts` serialises to the JSON of `lull doctor --json`.
//!
//! Units: sizes in bytes, as their names say.

use serde::Serialize;

pub use crate::attempt::Attempt;
pub use crate::cgroup::{CgroupFacts, Hierarchy, Layout};
use crate::root::Root;
use crate::topology::Topology;

pub mod bpf;
pub mod cgroups;
mod child;
pub mod cpu;
pub mod disks;
pub mod elsewhere;
pub mod kernel;
pub mod net;
pub mod seccomp;
pub mod user;

pub use bpf::BpfFacts;
pub use cpu::{Autogroup, CpuFacts};
pub use disks::{DiskFacts, IoprioEffect, IoprioLevel};
pub use kernel::Kernel;
pub use net::{InterfaceFacts, NetFacts};
pub use seccomp::SeccompFacts;
pub use user::{Limit, UserFacts};

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
