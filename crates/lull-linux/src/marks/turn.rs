//! When lull's own threads get a CPU: after others, or before them.
//!
//! Problem: what lull decides must not take the CPU from the foreground, and what the foreground waits for must not wait for others.
//!
//! Approach: the supervisor is SCHED_BATCH, which takes a CPU from the idle class only. SCHED_RR at its lowest is for what has to be done
//! at once: a thread that makes room for the foreground, and the moments between letting the job go and being awake again.
//!
//! ```text
//!   OTHER ── let_others_run ──▶ BATCH ── come_first ──▶ RR
//!                                 ▲                     │
//!                                 └── First is dropped ─┘
//! ```
//!
//! Edge cases: a thread that was given another policy keeps it. Who may not take RR stays as it is. An ordinary user may have a limit
//! that allows it (RLIMIT_RTPRIO), but may not take back SCHED_RESET_ON_FORK: so that stays set. Children of BATCH inherit BATCH all the same.
//!
//! Source: sched(7), sched_setscheduler(2).

use super::apply::IOPRIO_WHO_PROCESS;

/// The nice value that weighs most.
const HIGHEST: libc::c_int = -20;

/// From now on this thread, and those it starts, take no CPU from a task that runs when they are woken, unless that is of the idle
/// class: what has slept for long would come first, however little it weighs, and stay until it sleeps again.
pub fn let_others_run() {
    if policy() == libc::SCHED_OTHER {
        set_policy(libc::SCHED_BATCH, 0);
    }
}

/// For a thread that others wait for, which runs for microseconds at a time: in the fair class, at the highest weight that is allowed, whatever
/// its process has. Not SCHED_RR: the kernel wakes that where it ran last, not on the CPU that the waiting task has just left.
pub fn run_promptly() {
    if policy() == libc::SCHED_BATCH {
        set_policy(libc::SCHED_OTHER, 0);
    }
    // SAFETY: plain integers; 0 is the calling thread.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, HIGHEST) };
}

/// The thread has its CPU when it wants it, until this is dropped there.
#[derive(Debug)]
#[must_use]
pub struct First(());

impl Drop for First {
    fn drop(&mut self) {
        set_policy(libc::SCHED_BATCH | libc::SCHED_RESET_ON_FORK, 0);
    }
}

/// For a thread that is about to let the job go, and to hold it again. The job is on this CPU at once, and when this thread has to wait for
/// another in between, the kernel lets even the idle class run until the next tick, for fairness. `None` unless
/// [`let_others_run`] is in force, and where it is not allowed.
pub fn come_first() -> Option<First> {
    (policy() == libc::SCHED_BATCH && set_first()).then(|| First(()))
}

/// Lets the calling thread, of a process that marked itself, run when its time has come and use the disk like others: for work
/// that the foreground would wait for. A nice value would not do, since it counts only within the session where the kernel
/// groups by session. Who may not is as slow as before.
pub fn serve_the_foreground() {
    // SAFETY: plain integers; 0 is the calling thread. Without an I/O class of its own its class follows from its CPU priority.
    unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, 0) };
    let _ = set_first();
}

fn set_first() -> bool {
    set_policy(libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, 1)
}

/// Without its flag.
fn policy() -> libc::c_int {
    // SAFETY: only asks; 0 is the calling thread.
    unsafe { libc::sched_getscheduler(0) & !libc::SCHED_RESET_ON_FORK }
}

fn set_policy(policy: libc::c_int, sched_priority: libc::c_int) -> bool {
    let param = libc::sched_param { sched_priority };
    // SAFETY: integers, and one sched_param that lives through the call; 0 is the calling thread. Its nice value stays.
    unsafe { libc::sched_setscheduler(0, policy, &raw const param) == 0 }
}

#[cfg(test)]
mod tests;
