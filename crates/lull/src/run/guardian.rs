//! The guardian: outlives the supervisor, undoes what it had in force, and lets the job's calls pass from then on.
//!
//! ```text
//!             supervisor dead                job gone
//!  watching ──────────────────▶ relieving ────────────▶ remove the group, end
//!     │ job gone
//!     ▼
//!  wait for the supervisor's own end, remove what it left, end
//! ```
//!
//! A supervisor that dies before the filter stands is relieved once the listener has come: whoever leaves before that
//! leaves the job's first trapped call without an answer.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use lull_linux::cgroup::JobGroup;
use lull_linux::gate::{lend, stop};
use lull_linux::job::passing::{Channel, Packet};
use lull_linux::job::relief;
use lull_linux::job::shared::Shared;
use lull_linux::marks::IoClass;
use lull_linux::root::Root;
use lull_linux::seccomp::Listener;
use lull_linux::topology::cpus::CpuSet;

use super::messages::ToGuardian;
use super::net::queues::{Queues, release};
use lull_engine::hold_gate::{is_empty, remove_if_empty};
use lull_engine::memory::leftover::Leftover;

/// How often a job without listener is looked for.
const LOOK_MS: i32 = 300;
/// How long the supervisor may take to end once the job is gone.
const SUPERVISOR_END: Duration = Duration::from_secs(3);
/// How long processes of the job that were moved about may keep the group.
const GROUP_PAUSE: Duration = Duration::from_millis(300);

pub(crate) struct Guardian {
    pub(crate) channel: Channel,
    pub(crate) listener: Option<Arc<Listener>>,
    /// The front will still say whether there is a listener.
    pub(crate) awaits_listener: bool,
    pub(crate) shared: Arc<Shared>,
    pub(crate) group: Option<JobGroup>,
    /// What the job may not leave in memory.
    pub(crate) leftover: Leftover,
    /// Interfaces whose queue goes back to what it was when the job has ended.
    pub(crate) queues: Queues,
    /// Readable once the supervisor is dead; `None` if it is dead already.
    pub(crate) supervisor: Option<OwnedFd>,
    /// The terminal whose bottom row the front keeps to itself, and the sequence that gives it back.
    pub(crate) terminal: Option<(OwnedFd, String)>,
}

/// Which descriptors are ready, in order; `None` entries never are.
fn wait<const N: usize>(fds: [Option<RawFd>; N], timeout_ms: i32) -> [libc::c_short; N] {
    let mut polls = fds.map(|fd| libc::pollfd { fd: fd.unwrap_or(-1), events: libc::POLLIN, revents: 0 });
    // SAFETY: valid records for the length of the call.
    unsafe { libc::poll(polls.as_mut_ptr(), N as libc::nfds_t, timeout_ms) };
    polls.map(|poll| poll.revents)
}

impl Guardian {
    /// Lives until the job is gone.
    pub(crate) fn run(mut self) {
        let mut front = true;
        loop {
            if self.supervisor.is_none() && !(self.awaits_listener && front) {
                return self.relieve();
            }
            let listener = self.listener.as_ref().map(|listener| listener.as_raw_fd());
            // The supervisor receives; the guardian only looks for the hang-up.
            let quiet = if listener.is_some() { -1 } else { LOOK_MS };
            let ready = self.wait_quietly(front, listener, quiet);
            if front && ready[0] != 0 {
                front = self.hear();
            }
            if ready[1] != 0 {
                self.supervisor = None;
                continue;
            }
            let no_traps = listener.is_none() && !self.awaits_listener;
            if ready[2] & libc::POLLHUP != 0 || (no_traps && !front && is_empty(self.group.as_ref())) {
                break;
            }
        }
        let supervisor = self.supervisor.as_ref().map(AsRawFd::as_raw_fd);
        wait([supervisor], i32::try_from(SUPERVISOR_END.as_millis()).unwrap_or(i32::MAX));
        self.clean_up();
    }

    fn wait_quietly(&self, front: bool, listener: Option<RawFd>, timeout_ms: i32) -> [libc::c_short; 3] {
        let mut polls = [
            (front.then(|| self.channel.as_raw_fd()), libc::POLLIN),
            (self.supervisor.as_ref().map(AsRawFd::as_raw_fd), libc::POLLIN),
            (listener, 0),
        ]
        .map(|(fd, events)| libc::pollfd { fd: fd.unwrap_or(-1), events, revents: 0 });
        // SAFETY: valid records for the length of the call.
        unsafe { libc::poll(polls.as_mut_ptr(), 3, timeout_ms) };
        polls.map(|poll| poll.revents)
    }

    /// Takes the front's messages; false once it is gone.
    fn hear(&mut self) -> bool {
        match self.channel.receive(true) {
            Ok(Packet::Message(bytes, fd)) => {
                match (serde_json::from_slice(&bytes), fd) {
                    (Ok(ToGuardian::Listener), Some(fd)) => {
                        self.listener = Some(Arc::new(Listener::new(fd)));
                        self.awaits_listener = false;
                    }
                    (Ok(ToGuardian::NoListener), _) => self.awaits_listener = false,
                    (Ok(ToGuardian::Bye), _) => self.terminal = None,
                    _ => {}
                }
                // The front waits for this before it lets the job go.
                let _ = self.channel.send(b"k", None);
                true
            }
            Ok(Packet::Nothing) => true,
            Ok(Packet::Closed) | Err(_) => {
                if let Some((terminal, sequence)) = self.terminal.take() {
                    let _ = nix::unistd::write(&terminal, sequence.as_bytes());
                }
                false
            }
        }
    }

    /// The supervisor is dead.
    fn relieve(self) {
        stop::release(&self.shared);
        if let Some(group) = &self.group {
            let pids = group.procs().unwrap_or_default();
            IoClass::Lowest.change(|| group.procs().unwrap_or_default(), IoClass::Idle);
            // A group that cannot be let go was never held.
            let _ = group.relieve();
            if group.confinement().is_none() {
                lend::release(&pids, &CpuSet::online(&Root::real()));
            }
            lull_linux::gate::receive::open_windows(pids.iter().copied());
            lull_linux::gate::ahead::restore(pids);
        }
        if let Some(listener) = &self.listener {
            relief::pass_unanswered(listener, &self.shared);
            while !relief::pass_next(listener, &self.shared) {}
        }
        self.clean_up();
    }

    /// The job's first process is gone or going; descendants may live on in the group.
    fn clean_up(self) {
        if let Some(group) = &self.group {
            let _ = group.relieve();
            while group.procs().is_ok_and(|procs| !procs.is_empty()) {
                std::thread::sleep(GROUP_PAUSE);
            }
        }
        release(&self.queues);
        remove_if_empty(self.group, &self.leftover);
    }
}

#[cfg(test)]
mod tests;
