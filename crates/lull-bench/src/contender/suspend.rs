//! Periodic suspension: a job that runs for a while and stands still for as long, whatever anybody else does.
//!
//! The simplest thing that suspends at all, and the yardstick of the `smart` paper for *when* to do it (observation 1). The
//! group is frozen instead of its processes being stopped one by one, so that nothing that the job starts escapes.
//!
//! Edge case: at the end the group is thawed, however the run ended.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use lull_linux::cgroup::JobGroup;

use crate::Error;

/// Time running, and time frozen.
pub const HALF_PERIOD: Duration = Duration::from_secs(1);

/// Freezes and thaws a group in turn; ends when dropped.
#[derive(Debug)]
pub struct Suspender {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Suspender {
    /// Begins with a time of running.
    pub fn start(group: &JobGroup) -> Result<Self, Error> {
        let unmet = |detail: String| Error::Unmet { what: "a group that can be frozen".to_owned(), detail };
        let group = JobGroup::open(&group.paths()).map_err(|error| unmet(error.to_string()))?;
        if !group.can_freeze() {
            return Err(unmet("neither cgroup.freeze nor the freezer controller is here".to_owned()));
        }
        let (stop, stopped) = channel();
        let thread = thread::spawn(move || {
            let mut frozen = false;
            while stopped.recv_timeout(HALF_PERIOD) == Err(RecvTimeoutError::Timeout) {
                frozen = !frozen;
                let done = if frozen { group.freeze() } else { group.thaw() };
                if let Err(error) = done {
                    eprintln!("lull bench: {error}");
                    break;
                }
            }
            // A group that cannot be thawed was never frozen.
            let _ = group.thaw();
        });
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Suspender {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic in it was printed; the group is removed all the same.
            let _ = thread.join();
        }
    }
}
