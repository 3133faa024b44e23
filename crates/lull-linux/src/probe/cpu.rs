//! CPUs, memory, and which CPU classes a process may take here.
//!
//! Autogroup: with `sched_autogroup_enabled`, every session (terminal) is one unit of CPU scheduling, so nice values and
//! SCHED_IDLE weigh only against processes of the same session. It bears on tasks in the root cpu cgroup only; in any
//! other group the group's own weight (or `cpu.idle`) decides. A task's cpu cgroup on v2 is its nearest ancestor that has
//! the cpu controller, recognisable by `cpu.weight`.
//!
//! Source: sched(7) "The autogroup feature", `Documentation/admin-guide/cgroup-v2.rst`.

use std::path::Path;

use serde::Serialize;

use super::child::{errno_of, in_child};
use super::{Attempt, CgroupFacts};
use crate::proc::bytes;
use crate::root::Root;

const IOPRIO_WHO_PROCESS: libc::c_int = 1;
/// Class idle (3) above 13 bits of level.
pub(crate) const IOPRIO_IDLE: libc::c_int = 3 << 13;
/// The lowest of the eight levels of class best-effort.
pub(crate) const IOPRIO_LOWEST: libc::c_int = 2 << 13 | 7;

/// Per-session CPU shares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Autogroup {
    /// Is the feature on?
    pub enabled: bool,
    /// Does it bear on this process?
    pub applies: bool,
    /// Why it does or does not.
    pub why: String,
}

/// CPUs, memory and CPU classes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpuFacts {
    /// CPUs this process may run on.
    pub cpus: usize,
    /// Memory in all.
    pub memory_bytes: u64,
    /// Swap in all.
    pub swap_bytes: u64,
    /// Per-session shares.
    pub autogroup: Autogroup,
    /// Taking class SCHED_IDLE, tried in a child.
    pub sched_idle: Attempt,
    /// Taking I/O class idle, tried in a child.
    pub ioprio_idle: Attempt,
    /// Raising one's own nice value, tried in a child.
    pub nice: Attempt,
}

impl CpuFacts {
    /// Reads and tries.
    pub fn read(root: &Root, cgroups: &CgroupFacts) -> Self {
        let meminfo = root.read("/proc/meminfo").unwrap_or_default();
        let bytes = |name| bytes(&meminfo, name).unwrap_or(0);
        let [sched_idle, ioprio_idle, nice] = match in_child(try_classes) {
            Ok(errnos) => errnos.map(Attempt::from_errno),
            Err(error) => {
                let failed = Attempt::fails(format!("the trial could not run: {error}"));
                [failed.clone(), failed.clone(), failed]
            }
        };
        Self {
            cpus: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            memory_bytes: bytes("MemTotal"),
            swap_bytes: bytes("SwapTotal"),
            autogroup: autogroup(root, cgroups),
            sched_idle,
            ioprio_idle,
            nice,
        }
    }
}

/// Does autogroup bear on this process?
pub fn autogroup(root: &Root, cgroups: &CgroupFacts) -> Autogroup {
    let enabled = root.number::<u8>("/proc/sys/kernel/sched_autogroup_enabled") == Some(1);
    if !enabled {
        return Autogroup { enabled, applies: false, why: "it is off on this kernel".to_owned() };
    }
    if let Some(cpu) = cgroups.v1_of("cpu") {
        let applies = cpu.at_root;
        let why = if applies {
            "this process is in the root cpu cgroup"
        } else {
            "a cpu cgroup of its own decides"
        };
        return Autogroup { enabled, applies, why: why.to_owned() };
    }
    let weighed = cgroups.v2.as_ref().and_then(|v2| {
        let own = v2.own.as_deref()?;
        let inside = own.ancestors().take_while(|dir| dir.starts_with(&v2.mount));
        inside.map(Path::to_owned).find(|dir| dir.join("cpu.weight").exists())
    });
    match weighed {
        Some(dir) => Autogroup {
            enabled,
            applies: false,
            why: format!("the weight of cgroup {} decides", dir.display()),
        },
        None => Autogroup {
            enabled,
            applies: true,
            why: "no cpu cgroup but the root holds this process".to_owned(),
        },
    }
}

/// In a child: error numbers of taking SCHED_IDLE, I/O class idle, and nice 19.
fn try_classes() -> [i32; 3] {
    // SAFETY: changes the class of this (child) process only; no pointers.
    let ioprio = unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE) };
    let ioprio = errno_of(ioprio);
    // SAFETY: as above.
    let nice = errno_of(unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, 19) });
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads one sched_param from the pointer.
    let idle = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_IDLE, &raw const none) };
    [errno_of(idle), ioprio, nice]
}

#[cfg(test)]
mod tests;
