//! Starting what holds the network, once the job uses it.
//!
//! Problem: loading the programs takes a fifth of a second, and most jobs make no socket. A call that waited for them would be slower than
//! all that a short command does with its socket.
//!
//! Approach: the filter traps the call that makes an internet socket. The first one begins the loading and goes on at once. When the programs
//! stand, the TCP connections that the job has by then are found and marked. A job that makes none pays nothing, and leaves nothing to undo.
//!
//! ```text
//!            first socket              programs stand, or are refused
//!   unused ───────────────▶ loading ────────────────────────────────▶ over
//! ```
//!
//! Edge cases: what the job sends until then is sent as without lull. Datagrams through a socket that it connected until then are not
//! marked, only counted as its own. A job that speaks to this host alone loads the programs for nothing, since only later calls have addresses, and those
//! in memory. 32-bit programs and io_uring (`--io-uring`) make sockets that no filter sees; they alone load nothing.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use lull_linux::clock;

use super::{Net, NetAim};
use crate::job_processes::JobProcesses;
use crate::nudge::Nudge;
use crate::priority::at_normal_priority;

/// The network, and what a person should know; or why it is left as it is.
pub(crate) type Outcome = Result<(Net, Vec<String>), String>;

/// See the module.
#[derive(Default)]
pub(crate) enum WhenUsed {
    /// Loaded, refused, or not wanted.
    #[default]
    Over,
    Unused(Box<Plan>),
    Loading(Receiver<Outcome>),
}

/// What is needed to load.
pub(crate) struct Plan {
    aim: NetAim,
    job_processes: JobProcesses,
    nudge: Arc<Nudge>,
}

impl WhenUsed {
    /// Nothing but a plan, for now. The nudge is given when the programs stand.
    pub(super) fn planned(aim: NetAim, job_processes: &JobProcesses, nudge: &Arc<Nudge>) -> Self {
        Self::Unused(Box::new(Plan { aim, job_processes: job_processes.clone(), nudge: Arc::clone(nudge) }))
    }

    /// The job makes a socket.
    pub(crate) fn is_used(&mut self) {
        if let Self::Unused(_) = self
            && let Self::Unused(plan) = std::mem::take(self)
        {
            *self = plan.load().map_or(Self::Over, Self::Loading);
        }
    }

    /// What came of it, once.
    pub(crate) fn outcome(&mut self) -> Option<Outcome> {
        let Self::Loading(outcome) = self else { return None };
        match outcome.try_recv() {
            Err(TryRecvError::Empty) => None,
            outcome => {
                *self = Self::Over;
                // Without an answer the loader has panicked.
                outcome.ok()
            }
        }
    }
}

impl Plan {
    /// Begins; none if there is no thread to be had.
    fn load(self: Box<Self>) -> Option<Receiver<Outcome>> {
        let (sender, outcome) = sync_channel(1);
        let started = std::thread::Builder::new().name("net-start".to_owned()).spawn(move || {
            let Self { aim, job_processes, nudge } = *self;
            // The job uses the network already: at the supervisor's own priority a busy machine makes it take many seconds.
            let started = at_normal_priority(|| Net::start(&aim, job_processes.v2_group(), clock::now()));
            // Nobody takes it when the job has ended.
            let _ = sender.send(started);
            nudge.give();
        });
        started.ok().map(|_| outcome)
    }
}

#[cfg(test)]
mod tests;
