//! Lowering the sessions that a job makes, where autogroup voids its marks.
//!
//! With autogroup and no CPU group of the job's own, SCHED_IDLE and nice weigh only within a session: a child of the job that
//! calls setsid(2) begins a session that gets as much CPU as the user's. Such a session has no process but the job's, so its
//! whole share can be lowered, to that of nice 19. The session in which the job was started is the user's too and is left
//! alone, unless lull leads it (`setsid lull run`): then nobody else is in it. Where the job has a CPU group with `cpu.idle`, none of this is needed.
//!
//! Edge cases: an ordinary user may change one session per tenth of a second; the others are lowered next time. Children of
//! a session inherit its share. Nothing is undone: the session ends with the job's last process in it.
//!
//! Source: sched(7) "The autogroup feature".

use std::collections::BTreeSet;
use std::path::PathBuf;

/// The share of nice 19.
const LOWEST: &str = "19";

/// The sessions of a job.
#[derive(Debug)]
pub struct Sessions {
    users: Option<i32>,
    lowered: BTreeSet<i32>,
}

impl Sessions {
    /// For a job whose front is this process, in this session.
    pub fn of_front(front: i32, session: i32) -> Self {
        Self { users: Some(session).filter(|session| *session != front), lowered: BTreeSet::new() }
    }

    /// Lowers the sessions that the job's processes `pids` lead or are in, and says how many are lowered by now.
    pub fn lower(&mut self, pids: &[i32]) -> usize {
        for pid in pids {
            // SAFETY: only asks; an error is -1.
            let session = unsafe { libc::getsid(*pid) };
            if session <= 0 || Some(session) == self.users || self.lowered.contains(&session) {
                continue;
            }
            if std::fs::write(autogroup_of(*pid), LOWEST).is_ok() {
                self.lowered.insert(session);
            }
        }
        self.lowered.len()
    }
}

/// The file with the share of a process's session; there is none without autogroup.
fn autogroup_of(pid: i32) -> PathBuf {
    format!("/proc/{pid}/autogroup").into()
}

#[cfg(test)]
mod tests;
