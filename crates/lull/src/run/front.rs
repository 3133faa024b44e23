//! The front: what the shell sees. Parent of the job, it behaves as the job would.
//!
//! * Exit status: the job's; if the job died of a signal, the front dies of the same one.
//! * Ctrl-C, Ctrl-\ and Ctrl-Z reach the job from the terminal, since both are in one process group. The front
//!   ignores the first two and stops itself as the job has stopped, so that the shell sees a stopped job; `fg`
//!   continues both.
//! * A signal sent to the front alone (`kill PID`, an alarm set before lull began, the hang-up of a terminal whose
//!   session the front leads) is handed on to the job. One that the job itself sent is not: it went to the whole
//!   process group, the job included.
//! * If the guardian is dead, the front starts another; if that keeps failing and the supervisor is dead too, the front
//!   lets the job go and lets its trapped calls pass itself.
//!
//! ```text
//!             job stopped by the terminal            SIGCONT
//!  waiting ───────────────────────────▶ stopped ─────────────▶ waiting
//!     │ job ended
//!     ▼
//!  ended: ask the supervisor for the summary, exit as the job did
//! ```
//!
//! The helpers' own ends are not waited for: letting go of the sensors takes the kernel up to half a second, for which the
//! shell would have to wait.

use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use lull_linux::job::passing::{Channel, Packet};
use lull_linux::job::relief;
use lull_linux::job::shared::Shared;
use lull_linux::seccomp::Listener;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigHandler, SigSet, Signal, kill, raise, signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::forwarded::FORWARDED;
use super::messages::{FromSupervisor, ToSupervisor};
use super::notify::Relay;
use super::status::{self, StatusLine};
use lull_engine::job_processes;
use lull_engine::priority::set_weight;

/// By these people end a program.
const ENDS: [Signal; 4] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM];
/// How long the front waits for the supervisor's last words. Far longer than they take: one that still loads its sensors, or
/// has no CPU, is late.
const LAST_WORDS_MS: u16 = 10_000;
/// Guardians that may die before no more are started.
const MAX_RESPAWNS: u32 = 32;

/// How the job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Exited(i32),
    Killed(Signal),
}

impl Ending {
    /// As a shell writes it into `$?`.
    pub(crate) fn status(self) -> i32 {
        match self {
            Self::Exited(status) => status,
            Self::Killed(signal) => 128 + signal as i32,
        }
    }
}

/// What the shell had set for its child, to be set again in the job.
pub(crate) struct Inherited {
    pub(crate) mask: SigSet,
    ignores_children: bool,
}

impl Inherited {
    /// Runs in the forked job, so it makes system calls only.
    pub(crate) fn restore_dispositions(&self) {
        if self.ignores_children {
            // SAFETY: no handler is involved.
            let _ = unsafe { signal(Signal::SIGCHLD, SigHandler::SigIgn) };
        }
    }
}

/// Blocks the signals that the front takes from a descriptor, and makes it hear of its children's ends.
///
/// # Errors
/// Out of descriptors.
pub(crate) fn take_signals() -> anyhow::Result<(SignalFd, Inherited)> {
    let mut set = SigSet::empty();
    FORWARDED.iter().for_each(|signal| set.add(*signal));
    [Signal::SIGCHLD, Signal::SIGTSTP, Signal::SIGCONT].iter().for_each(|signal| set.add(*signal));
    let before =
        set.thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_BLOCK).context("cannot block signals")?;
    let fd = SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .context("cannot make a signal descriptor")?;
    // SAFETY: no handler is involved. While the signal is ignored, children end without a status.
    let child = unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) }.context("cannot take SIGCHLD")?;
    Ok((fd, Inherited { mask: before, ignores_children: matches!(child, SigHandler::SigIgn) }))
}

/// Hands on what was sent while there was no job yet. To be called before the job is let go: it blocks these signals until
/// then, so that one which it was sent as well does not come twice.
pub(crate) fn pass_on_early(signals: &SignalFd, job: Pid) {
    while let Ok(Some(info)) = signals.read_signal() {
        let signal = i32::try_from(info.ssi_signo).ok().and_then(|n| Signal::try_from(n).ok());
        if let Some(signal) = signal.filter(|signal| FORWARDED.contains(signal) || *signal == Signal::SIGTSTP)
        {
            let _ = kill(job, signal);
        }
    }
}

/// Lets go of the pipes or files that the shell gave the job as standard input and output: whoever is at their other
/// ends must see when the job closes them.
pub(crate) fn release_standard_streams() {
    let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") else { return };
    for standard in [libc::STDIN_FILENO, libc::STDOUT_FILENO] {
        // SAFETY: both descriptors are open.
        unsafe { libc::dup2(null.as_raw_fd(), standard) };
    }
}

/// The helpers of the front, as far as they live.
pub(crate) struct Helpers {
    pub(crate) supervisor: Option<Pid>,
    pub(crate) guardian: Option<Pid>,
    pub(crate) channel: Channel,
    pub(crate) listener: Option<Arc<Listener>>,
    pub(crate) shared: Arc<Shared>,
    /// Starts another guardian, to watch over this supervisor.
    pub(crate) respawn: Respawn,
    /// Lets the job go.
    pub(crate) let_go: Box<dyn Fn()>,
}

pub(crate) type Respawn = Box<dyn Fn(Option<Pid>) -> anyhow::Result<Pid>>;

/// What the front saw of the run.
pub(crate) struct Outcome {
    pub(crate) ending: Ending,
    pub(crate) summary: Option<Box<super::summary::Summary>>,
    /// The supervisor died before the job did; how.
    pub(crate) lost_supervisor: Option<String>,
    /// How long the job ran.
    pub(crate) wall: lull_core::Nanos,
}

pub(crate) struct Front {
    job: Pid,
    signals: SignalFd,
    helpers: Helpers,
    status: StatusLine,
    /// By which the job tells its service manager, if there is one.
    relay: Option<Relay>,
    /// The supervisor that has died, until it is known how.
    lost_supervisor: Option<Pid>,
    how_lost: Option<String>,
    respawns: u32,
    relieved: bool,
}

impl Front {
    pub(crate) fn new(
        job: Pid,
        signals: SignalFd,
        helpers: Helpers,
        status: StatusLine,
        relay: Option<Relay>,
    ) -> Self {
        let (lost_supervisor, how_lost) = (None, None);
        Self { job, signals, helpers, status, relay, lost_supervisor, how_lost, respawns: 0, relieved: false }
    }

    /// Stays until the job has ended, and until the supervisor has summed up if that is wanted: one that has just begun to
    /// load its sensors takes a while to answer.
    ///
    /// # Errors
    /// Only when waiting itself is impossible.
    pub(crate) fn run(mut self, wants_summary: bool) -> anyhow::Result<Outcome> {
        let began = lull_linux::clock::now();
        let ending = loop {
            // Before the wait: the signal that told of an end may have been taken early.
            if let Some(ending) = self.reap()? {
                break ending;
            }
            let heir = self.is_heir();
            if heir && !self.relieved {
                (self.helpers.let_go)();
                if let Some(listener) = &self.helpers.listener {
                    relief::pass_unanswered(listener, &self.helpers.shared);
                }
                self.relieved = true;
            }
            let (signalled, spoke, trapped) = self.wait(heir)?;
            if trapped && let Some(listener) = &self.helpers.listener {
                relief::pass_next(listener, &self.helpers.shared);
            }
            if spoke {
                self.hear();
            }
            self.notify();
            if signalled {
                self.take_pending_signals();
            }
            self.status.draw();
        };
        let wall = lull_linux::clock::now().since(began);
        self.notify();
        self.status.clear();
        // What was told of a job that ended at once is still to be said.
        let told = self.hear();
        let summary = if wants_summary { told.or_else(|| self.last_words()) } else { None };
        Ok(Outcome { ending, wall, summary, lost_supervisor: self.how_lost() })
    }

    /// Hands on what the job has told its service manager.
    fn notify(&self) {
        if let Some(relay) = &self.relay {
            relay.pass_on(self.job);
        }
    }

    /// Both others are dead: trapped calls are ours to pass.
    fn is_heir(&self) -> bool {
        self.helpers.supervisor.is_none() && self.helpers.guardian.is_none()
    }

    fn wait(&self, heir: bool) -> anyhow::Result<(bool, bool, bool)> {
        // SAFETY: both descriptors live in self for the whole call.
        let (channel, listener) = unsafe {
            use std::os::fd::BorrowedFd;
            let listener = self.helpers.listener.as_ref().filter(|_| heir);
            (
                BorrowedFd::borrow_raw(self.helpers.channel.as_raw_fd()),
                listener.map(|listener| BorrowedFd::borrow_raw(listener.as_raw_fd())),
            )
        };
        let mut fds = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        let listening = self.helpers.supervisor.is_some();
        if listening {
            fds.push(PollFd::new(channel, PollFlags::POLLIN));
        }
        fds.extend(self.relay.iter().map(|relay| PollFd::new(relay.as_fd(), PollFlags::POLLIN)));
        if let Some(listener) = listener {
            fds.push(PollFd::new(listener, PollFlags::POLLIN));
        }
        let redraw = self.status.redraws_every().map(|every| Duration::from_nanos(every.0));
        let timeout = redraw.and_then(|every| every.try_into().ok()).unwrap_or(PollTimeout::NONE);
        match poll(&mut fds, timeout) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error).context("cannot wait for the job"),
        }
        let ready = |index: usize| fds.get(index).and_then(PollFd::any).unwrap_or(false);
        let trapped = fds
            .last()
            .filter(|_| listener.is_some())
            .and_then(PollFd::revents)
            .is_some_and(|events| events.contains(PollFlags::POLLIN));
        Ok((ready(0), listening && ready(1), trapped))
    }

    /// Takes the supervisor's messages.
    fn hear(&mut self) -> Option<Box<super::summary::Summary>> {
        loop {
            match self.helpers.channel.receive(true) {
                Ok(Packet::Message(bytes, _)) => match serde_json::from_slice(&bytes) {
                    Ok(FromSupervisor::Status(status)) => self.status.set(*status),
                    Ok(FromSupervisor::Told(text)) => {
                        // Above the status line, which is drawn again.
                        self.status.clear();
                        status::say(&text);
                    }
                    Ok(FromSupervisor::Summary(summary)) => return Some(summary),
                    Ok(FromSupervisor::Serving) | Err(_) => {}
                },
                Ok(Packet::Nothing) => return None,
                Ok(Packet::Closed) | Err(_) => {
                    self.lost_supervisor = self.helpers.supervisor.take().or(self.lost_supervisor);
                    return None;
                }
            }
        }
    }

    fn take_pending_signals(&mut self) {
        while let Ok(Some(info)) = self.signals.read_signal() {
            let Some(signal) = i32::try_from(info.ssi_signo).ok().and_then(|n| Signal::try_from(n).ok())
            else {
                continue;
            };
            // The terminal's own signals (SI_KERNEL) reach the whole process group, the job included; so do those
            // that a job sends to its group.
            let sent_by_process = info.ssi_code <= 0 && !self.is_of_the_job(info.ssi_pid);
            let to_front_alone = match signal {
                Signal::SIGALRM => true,
                Signal::SIGHUP => sent_by_process || leads_session(),
                _ => sent_by_process,
            };
            match signal {
                Signal::SIGWINCH => self.status.resized(),
                Signal::SIGCONT => {
                    self.status.resumed();
                    let _ = kill(self.job, Signal::SIGCONT);
                }
                Signal::SIGTSTP if to_front_alone => {
                    let _ = kill(self.job, Signal::SIGTSTP);
                }
                _ if FORWARDED.contains(&signal) && to_front_alone => {
                    let _ = kill(self.job, signal);
                }
                _ => {}
            }
        }
    }

    fn is_of_the_job(&self, sender: u32) -> bool {
        i32::try_from(sender).is_ok_and(|sender| job_processes::descends(sender, self.job.as_raw()))
    }

    /// Takes note of children that ended or stopped; the job's end ends the wait.
    fn reap(&mut self) -> anyhow::Result<Option<Ending>> {
        loop {
            let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
            match waitpid(None, Some(flags)) {
                Ok(WaitStatus::Exited(pid, status)) if pid == self.job => {
                    return Ok(Some(Ending::Exited(status)));
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.job => {
                    return Ok(Some(Ending::Killed(signal)));
                }
                Ok(WaitStatus::Stopped(pid, signal)) if pid == self.job => self.stop_like_the_job(signal),
                Ok(end @ (WaitStatus::Exited(pid, _) | WaitStatus::Signaled(pid, ..))) => {
                    self.lost(pid, end);
                }
                Ok(WaitStatus::StillAlive) => return Ok(None),
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error).context("lost the job"),
            }
        }
    }

    /// A stop that came from the terminal stops the front too, so that the shell takes the terminal back. A SIGSTOP from
    /// elsewhere is between the sender and the job.
    fn stop_like_the_job(&mut self, signal: Signal) {
        if !matches!(signal, Signal::SIGTSTP | Signal::SIGTTIN | Signal::SIGTTOU) {
            return;
        }
        self.status.clear();
        // The same signal, so that the shell tells the same; blocked until it is the only one of its kind.
        // SAFETY: the default disposition.
        let _ = unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) };
        let set = SigSet::from(signal);
        let _ = set.thread_block();
        let _ = raise(signal);
        let _ = set.thread_unblock();
        // Here after the shell has continued us.
        let _ = set.thread_block();
    }

    fn lost(&mut self, pid: Pid, end: WaitStatus) {
        if self.helpers.supervisor == Some(pid) {
            self.hear();
            self.helpers.supervisor = None;
            self.lost_supervisor = Some(pid);
        }
        if self.lost_supervisor == Some(pid) {
            self.how_lost = Some(how_it_ended(end));
        } else if self.helpers.guardian == Some(pid) {
            self.helpers.guardian = None;
            if self.respawns < MAX_RESPAWNS {
                self.respawns += 1;
                self.helpers.guardian = (self.helpers.respawn)(self.helpers.supervisor).ok();
            }
        }
    }

    /// How the supervisor died, if it did before the job.
    fn how_lost(&mut self) -> Option<String> {
        let pid = self.lost_supervisor?;
        if self.how_lost.is_none()
            && let Ok(end) = waitpid(pid, None)
        {
            self.how_lost = Some(how_it_ended(end));
        }
        self.how_lost.take().or_else(|| Some("has ended".to_owned()))
    }

    /// Tells the supervisor that the job has ended and takes its summary. Who is tired of waiting may send a signal.
    fn last_words(&mut self) -> Option<Box<super::summary::Summary>> {
        let supervisor = self.helpers.supervisor?;
        // There is nobody left to be gentle for, and its own weight may be too little to answer in time.
        set_weight(supervisor.as_raw().unsigned_abs(), 0);
        let end = serde_json::to_vec(&ToSupervisor::JobEnded).ok()?;
        self.helpers.channel.send(&end, None).ok()?;
        // Those by which the job was ended are none of ours.
        while let Ok(Some(_)) = self.signals.read_signal() {}
        let deadline = lull_linux::clock::now().plus(lull_core::Nanos::from_millis(LAST_WORDS_MS.into()));
        loop {
            let left = deadline.since(lull_linux::clock::now());
            if left == lull_core::Nanos::ZERO {
                return None;
            }
            // SAFETY: the channel lives in self for the whole call.
            let fd = unsafe { std::os::fd::BorrowedFd::borrow_raw(self.helpers.channel.as_raw_fd()) };
            let left_ms = u16::try_from(left.0.div_ceil(1_000_000)).unwrap_or(LAST_WORDS_MS);
            let mut fds = [fd, self.signals.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
            let _ = poll(&mut fds, PollTimeout::from(left_ms));
            if let Some(summary) = self.hear() {
                return Some(summary);
            }
            if self.is_interrupted() {
                return None;
            }
            self.helpers.supervisor?;
        }
    }

    /// Whether a signal has come that says so.
    fn is_interrupted(&self) -> bool {
        let mut is_interrupted = false;
        while let Ok(Some(info)) = self.signals.read_signal() {
            let ends = |signal: &Signal| *signal as u32 == info.ssi_signo && !is_ignored(*signal);
            is_interrupted |= ENDS.iter().any(ends);
        }
        is_interrupted
    }
}

/// The end of a helper, for people.
fn how_it_ended(end: WaitStatus) -> String {
    let is_over_limit = || {
        use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
        getrlimit(Resource::RLIMIT_CPU).is_ok_and(|(_, most)| most != RLIM_INFINITY)
    };
    match end {
        WaitStatus::Signaled(_, Signal::SIGKILL, _) if is_over_limit() => {
            "was killed, maybe by the limit of CPU time (ulimit -t)".to_owned()
        }
        WaitStatus::Signaled(_, Signal::SIGKILL, _) => "was killed".to_owned(),
        WaitStatus::Signaled(_, signal, _) => format!("was ended by {signal}"),
        WaitStatus::Exited(_, status) if status != 0 => format!("failed (exit status {status})"),
        _ => "has ended".to_owned(),
    }
}

/// Whether this process was started to ignore it, as by nohup. It comes to the descriptor nevertheless.
fn is_ignored(signal: Signal) -> bool {
    // SAFETY: all zero is a valid record, and the call only fills it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal as i32, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Whether the kernel sends the hang-up of the terminal to this process alone.
fn leads_session() -> bool {
    // SAFETY: both only ask.
    unsafe { libc::getsid(0) == libc::getpid() }
}

/// Ends this process the way the job ended.
pub(crate) fn end_like(ending: Ending) -> ! {
    if let Ending::Killed(signal_number) = ending {
        // The job has left its core dump, if any; ours would only replace it.
        let _ = nix::sys::resource::setrlimit(nix::sys::resource::Resource::RLIMIT_CORE, 0, 0);
        // SAFETY: plain integers. A core handler that is a pipe is called whatever the limit.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
        // SAFETY: the default disposition.
        let _ = unsafe { signal(signal_number, SigHandler::SigDfl) };
        let _ = SigSet::from(signal_number).thread_unblock();
        let _ = raise(signal_number);
    }
    std::process::exit(ending.status())
}

#[cfg(test)]
mod tests;
