//! Taking the marks off a process that is background no longer.
//!
//! A mark goes only where it still is what lull has set: whatever a process has chosen since stays. An ordinary user may not raise a
//! nice value again (setpriority(2)) unless RLIMIT_NICE allows it, nor lower `oom_score_adj` below what it was given.

use super::apply::{NICE_LOWEST, raised};
use super::io_class::IoClass;
use crate::proc::threads;
use crate::root::Root;

/// What a process has without marks.
#[derive(Clone, Copy, Debug)]
pub struct Plain {
    nice: libc::c_int,
    oom_score: i32,
    timer_slack: libc::c_int,
}

impl Plain {
    /// What the calling process has, before it changes its own.
    pub fn of_self() -> Self {
        // SAFETY: only asks.
        let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        // SAFETY: only asks.
        let timer_slack = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK, 0, 0, 0, 0) };
        let oom_score = Root::real().number("/proc/self/oom_score_adj").unwrap_or(0);
        Self { nice, oom_score, timer_slack }
    }

    /// Takes the marks off a process and its threads, as far as this user may.
    pub fn restore(self, pid: i32) {
        threads(pid).into_iter().for_each(|tid| self.restore_thread(tid));
        let path = format!("/proc/{pid}/oom_score_adj");
        if Root::real().number(&path) == Some(raised(self.oom_score)) {
            // Refused to an ordinary user below the least that the process ever had.
            let _ = std::fs::write(path, self.oom_score.to_string());
        }
    }

    fn restore_thread(self, tid: libc::pid_t) {
        IoClass::Idle.change_thread(tid, IoClass::None);
        let none = libc::sched_param { sched_priority: 0 };
        // SAFETY: integers, and one sched_param that lives through the call.
        unsafe {
            if libc::sched_getscheduler(tid) == libc::SCHED_IDLE {
                libc::sched_setscheduler(tid, libc::SCHED_OTHER, &raw const none);
            }
            let who = tid.unsigned_abs();
            if libc::getpriority(libc::PRIO_PROCESS, who) == NICE_LOWEST {
                libc::setpriority(libc::PRIO_PROCESS, who, self.nice);
            }
        }
        // The default that the thread would go back to is the job's.
        let _ = std::fs::write(format!("/proc/{tid}/timerslack_ns"), self.timer_slack.to_string());
    }
}
