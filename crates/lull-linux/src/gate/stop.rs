//! Holding a job that has no control group: SIGSTOP and SIGCONT, the last resort.
//!
//! A freezer is better in every way: it takes one write, holds children that are being born, and nobody sees it. Signals are
//! seen: a parent that waits for stopped children is told. So only what runs is stopped, and only what was stopped here
//! is continued: a process that its user had stopped stays as it was.
//!
//! ```text
//!            hold: SIGSTOP           release: SIGCONT
//!   runs ──────────────────▶ ours ──────────────────▶ runs
//!   stopped before ──────────────────────────────────▶ stopped before
//! ```
//!
//! Edge cases: a child born while its parent is being stopped is found by going through the job again until nobody new
//! runs. A process that somebody continues meanwhile is stopped again by the next [`Stopper::hold`]. A stop that the user
//! sends to a process that is held cannot be told from ours, and ends with the hold. A number that was reused is told by its
//! start time. Who stops is killed: what was stopped is listed in memory that its heirs share, before it is stopped, and
//! [`release`] is theirs to call.

use std::collections::HashSet;
use std::sync::Arc;

use crate::job::shared::{Shared, Stopped};
use crate::proc::StatLine;
use crate::root::Root;

/// Rounds in search of processes that were born meanwhile.
const ROUNDS: usize = 16;

/// Stops the processes of a job, and keeps the list of them.
#[derive(Debug)]
pub struct Stopper {
    shared: Arc<Shared>,
}

/// A process's state letter and start time.
fn state_of(root: &Root, pid: i32) -> Option<(char, u64)> {
    let stat = StatLine::read(root, pid)?;
    Some((stat.state()?, stat.start_ticks()?))
}

fn send(pid: i32, signal: i32) -> bool {
    // SAFETY: plain integers.
    unsafe { libc::kill(pid, signal) == 0 }
}

/// Lets all go on that are listed as stopped.
pub fn release(shared: &Shared) {
    let root = Root::real();
    for stopped in shared.stopped() {
        if state_of(&root, stopped.pid).is_some_and(|(_, start)| start == stopped.start) {
            send(stopped.pid, libc::SIGCONT);
        }
        shared.unlist_stopped(stopped);
    }
}

impl Stopper {
    /// Stops nobody yet.
    pub const fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    /// Stops all processes that `pids` finds, except those that somebody else has stopped.
    pub fn hold(&mut self, mut pids: impl FnMut() -> Vec<i32>) {
        let root = Root::real();
        let mut listed: HashSet<Stopped> = self.shared.stopped().into_iter().collect();
        for _ in 0..ROUNDS {
            let mut found = false;
            for pid in pids() {
                // T: stopped by a signal; t: by a debugger; Z, X: dead.
                let Some((state, start)) = state_of(&root, pid) else { continue };
                if matches!(state, 'T' | 't' | 'Z' | 'X') {
                    continue;
                }
                let stopped = Stopped { pid, start };
                let is_new = !listed.contains(&stopped);
                if is_new && !self.shared.list_stopped(stopped) {
                    continue;
                }
                // A second look at one that has not come to its stop yet is not news.
                found |= send(pid, libc::SIGSTOP) && is_new;
                listed.insert(stopped);
            }
            if !found {
                break;
            }
        }
    }

    /// Lets all go on that were stopped here.
    pub fn release(&mut self) {
        release(&self.shared);
    }

    /// Is anything held?
    pub fn is_holding(&self) -> bool {
        !self.shared.stopped().is_empty()
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests;
