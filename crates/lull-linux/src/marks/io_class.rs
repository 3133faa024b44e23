//! The job's I/O class while the request gate decides about it.
//!
//! Problem: mq-deadline, which most disks have that are not NVMe, gives nothing of class idle to the device while a request of a
//! better class is there. It looks again when the next request comes, or after 3 ms rounded up to ticks of the kernel's. Beside a
//! foreground that is often in the device, a job with one or two requests at a time waits 4 to 8 ms for many of them, although the
//! gate has let them in. So does whoever needs a page or a lock that such a request holds.
//!
//! Approach: the job begins in class idle, and is there whenever no gate decides. While one does, and some disk has mq-deadline, it
//! has the lowest best-effort level instead, which is served in its turn. The observers know the job without its class.
//!
//! ```text
//!   Idle ──the gate stands, some disk has mq-deadline──▶ Lowest
//!    ▲                                                      │
//!    └──────the supervisor ends, or is killed───────────────┘
//! ```
//!
//! Edge cases: a thread that has chosen another class keeps it. With BFQ among the disks the job stays in class idle, which BFQ serves
//! in gaps of its own. What is born meanwhile has its parent's class: whoever changes a whole job looks until nobody is left.
//!
//! Source: block/mq-deadline.c (`dd_dispatch_request`), block/blk-mq-sched.c (`BLK_MQ_BUDGET_DELAY`), ioprio_set(2).

use super::apply::IOPRIO_WHO_PROCESS;
use crate::probe::cpu::{IOPRIO_IDLE, IOPRIO_LOWEST};
use crate::proc::threads;
use crate::root::Root;

/// A job that starts processes all the time is not looked through for ever.
const MOST_LOOKS: u32 = 8;

/// A class that lull sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoClass {
    /// Whatever follows from the CPU class.
    None,
    /// After everybody else.
    Idle,
    /// The last level of those that are served by turns.
    Lowest,
}

impl IoClass {
    const fn value(self) -> libc::c_int {
        match self {
            Self::None => 0,
            Self::Idle => IOPRIO_IDLE,
            Self::Lowest => IOPRIO_LOWEST,
        }
    }

    /// What suits a job behind a gate, on disks with these names.
    pub fn behind_a_gate<'a>(root: &Root, disks: impl IntoIterator<Item = &'a str>) -> Self {
        let mut class = Self::Idle;
        for disk in disks {
            let schedulers = root.read(format!("/sys/block/{disk}/queue/scheduler")).unwrap_or_default();
            if schedulers.contains("[bfq]") {
                return Self::Idle;
            }
            if schedulers.contains("[mq-deadline]") {
                class = Self::Lowest;
            }
        }
        class
    }

    /// Gives a thread another class, if it has this one; whether it has.
    pub fn change_thread(self, tid: libc::pid_t, to: Self) -> bool {
        // SAFETY: integers alone.
        unsafe {
            libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, tid) == i64::from(self.value())
                && libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, tid, to.value()) == 0
        }
    }

    /// Gives all threads of a job another class that have this one. `pids`: its processes now.
    pub fn change(self, pids: impl Fn() -> Vec<i32>, to: Self) {
        let looks = if self == to { 0 } else { MOST_LOOKS };
        for _ in 0..looks {
            let threads = pids().into_iter().flat_map(threads);
            if threads.filter(|tid| self.change_thread(*tid, to)).count() == 0 {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests;
