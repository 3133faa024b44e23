//! Started processes: command lines, captured output, resource use, and an end on every path.
//!
//! ```text
//!   spawn ──▶ running ──▶ reaped            wait, stop
//!                │           ▲
//!                │  drop     │  SIGTERM to the leader, then SIGKILL to its group
//!                └───────────┘
//! ```
//! A started process leads its own process group (a stopped background job cannot leave children behind) but
//! stays in the session: under autogroup, nice values count only within one session. Its standard input is
//! empty, its standard error is kept to the last few kilobytes for error messages. It is reaped by `wait4`,
//! which also gives the processor time of the whole tree it waited for; what it left behind can be [waited
//! for](Proc::await_left_behind) too.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use lull_core::Nanos;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::error::Context;
use crate::{Error, clock, stop};

mod orphans;

pub use orphans::{Usage, adopt};

/// How often a waiting harness looks at its stop flag.
pub const POLL: Duration = Duration::from_millis(10);
/// How long a stopped process has to end by itself.
const GRACE: Nanos = Nanos::from_secs(10);
/// How long the children that it left behind have to be gone.
const LEFT_BEHIND: Nanos = Nanos::from_secs(2);
/// How long helpers in sessions of their own have to put back what they changed, on a busy machine.
pub const HELPERS_END: Nanos = Nanos::from_secs(10);
/// How long the last line of a process that has ended may be on its way. Waited for only when the line is
/// late: who reads it may have to wait for a CPU.
pub(crate) const LAST_LINE: Nanos = Nanos::from_secs(5);
const KEPT_ERRORS: usize = 4096;

/// The program that embeds the load generators and `run`, as others start it.
#[derive(Clone, Debug)]
pub struct Program {
    /// What comes before a load's own arguments: the executable, normally followed by `load`.
    pub load: Vec<OsString>,
    /// What comes before the flags of a run: the executable, normally followed by `run`.
    pub run: Vec<OsString>,
}

impl Program {
    /// A binary whose subcommands are `load` and `run`.
    pub fn new(exe: PathBuf) -> Self {
        Self {
            load: vec![exe.clone().into_os_string(), "load".into()],
            run: vec![exe.into_os_string(), "run".into()],
        }
    }

    /// The same load generators, but jobs run by another binary's `run`.
    #[must_use]
    pub fn with_runner(self, exe: PathBuf) -> Self {
        Self { run: vec![exe.into_os_string(), "run".into()], ..self }
    }

    /// The command line of a load generator.
    pub fn load_argv<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Vec<OsString> {
        let mut argv = self.load.clone();
        argv.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        argv
    }

    /// The command line in front of a job that `run` is to run, up to and with `--`.
    pub fn run_argv(&self, flags: &[String]) -> Vec<OsString> {
        let mut argv = self.run.clone();
        argv.extend(flags.iter().map(OsString::from));
        argv.push("--".into());
        argv
    }
}

/// The words of a text, as a command line.
pub fn words(text: &str) -> Vec<OsString> {
    text.split_whitespace().map(OsString::from).collect()
}

/// A command line as one would type it.
pub fn shown(argv: &[OsString]) -> String {
    let quoted = argv.iter().map(|arg| {
        let text = arg.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+%@".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text.into_owned()
        } else {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// How a process ended and what it used.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// Exit status or signal.
    pub status: ExitStatus,
    /// Processor time of the process and of all descendants that were waited for, user and system.
    pub cpu: Nanos,
    /// Largest resident set of any one of them, in bytes.
    pub peak_bytes: u64,
}

impl Exit {
    /// With what others used.
    #[must_use]
    pub fn and(self, others: Usage) -> Self {
        let Usage { cpu, peak_bytes } = Usage { cpu: self.cpu, peak_bytes: self.peak_bytes }.and(others);
        Self { cpu, peak_bytes, ..self }
    }
}

/// What a process left behind when it ended.
#[derive(Clone, Copy, Debug)]
pub struct LeftBehind {
    /// What those used that have ended.
    pub usage: Usage,
    /// Whether all have ended.
    pub all_ended: bool,
}

/// A running process that does not outlive its owner.
#[derive(Debug)]
pub struct Proc {
    pid: Pid,
    handle: Option<OwnedFd>,
    command: String,
    exit: Option<Exit>,
    /// Children of the harness that this one cannot have left behind.
    before: BTreeSet<i32>,
    /// What the orphans used that were reaped.
    orphans: Usage,
    stdin: Option<ChildStdin>,
    errors: Arc<Mutex<Vec<u8>>>,
    errors_done: Option<thread::JoinHandle<()>>,
}

/// What a process starts with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Working directory; the harness's own if none.
    pub directory: Option<&'a Path>,
    /// Keep a pipe to its standard input, which the process sees closed when the harness is gone.
    pub leash: bool,
    /// Ask the kernel to send it SIGTERM when the thread that starts it is gone.
    pub bound: bool,
}

impl Proc {
    /// Starts `argv`; returns the process and the reading end of its standard output.
    pub fn spawn(argv: &[OsString], options: Options<'_>) -> Result<(Self, ChildStdout), Error> {
        let command = shown(argv);
        let fail = |problem: String| Error::Process { command: command.clone(), problem };
        let Some((program, args)) = argv.split_first() else {
            return Err(fail("the command is empty".to_owned()));
        };
        let mut builder = Command::new(program);
        builder.args(args).process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        builder.stdin(if options.leash { Stdio::piped() } else { Stdio::null() });
        if let Some(directory) = options.directory {
            builder.current_dir(directory);
        }
        if options.bound {
            // SAFETY: between fork and exec it only makes one system call.
            unsafe {
                builder.pre_exec(|| nix::sys::prctl::set_pdeathsig(Signal::SIGTERM).map_err(Into::into))
            };
        }
        let mut leaders = orphans::leaders();
        let before = orphans::strangers(&leaders);
        let mut child = builder.spawn().map_err(|e| fail(format!("cannot start it: {e}")))?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(fail("its output is not connected".to_owned()));
        };
        let pid = Pid::from_raw(i32::try_from(child.id()).map_err(|_| fail("bad process id".to_owned()))?);
        leaders.insert(pid.as_raw());
        drop(leaders);
        let errors = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&errors);
        let errors_done = thread::spawn(move || keep_tail(stderr, &kept));
        let stdin = child.stdin.take();
        Ok((
            Self {
                pid,
                handle: pidfd(pid),
                command,
                exit: None,
                before,
                orphans: Usage::default(),
                stdin,
                errors,
                errors_done: Some(errors_done),
            },
            stdout,
        ))
    }

    /// Its process id.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// The command line as one would type it.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// How it ended, if it has.
    pub fn poll(&mut self) -> Result<Option<Exit>, Error> {
        if self.exit.is_none() {
            let reaped = orphans::reap(self.pid.as_raw()).to("wait for a process")?;
            self.exit = reaped.map(|(status, Usage { cpu, peak_bytes })| Exit { status, cpu, peak_bytes });
        }
        Ok(self.exit)
    }

    /// Once it has ended, waits until everything has ended that it left behind, at most so long. Only a
    /// harness that [adopts](adopt) knows of any, and cannot tell one process's orphans from those of another
    /// that runs at the same time.
    pub fn await_left_behind(&mut self, limit: Nanos) -> LeftBehind {
        let deadline = clock::now().plus(limit);
        let mut left = BTreeSet::new();
        loop {
            if left.is_empty() {
                // Those that have ended may have left others.
                left = &orphans::strangers(&orphans::leaders()) - &self.before;
            }
            if left.is_empty() {
                return LeftBehind { usage: self.orphans, all_ended: true };
            }
            left.retain(|pid| self.is_alive(*pid));
            if left.is_empty() {
                continue;
            }
            if clock::now() >= deadline || stop::requested() {
                return LeftBehind { usage: self.orphans, all_ended: false };
            }
            thread::sleep(POLL);
        }
    }

    /// Whether this orphan lives; counts one that has ended. Below zero, those of that process group.
    fn is_alive(&mut self, pid: i32) -> bool {
        loop {
            match orphans::reap(pid) {
                Ok(Some((_, usage))) => self.orphans = self.orphans.and(usage),
                Ok(None) => return true,
                // No such child.
                Err(_) => return false,
            }
        }
    }

    /// Waits for its end; gives up when the harness is asked to stop.
    pub fn wait(&mut self) -> Result<Exit, Error> {
        loop {
            if let Some(exit) = self.wait_until(Nanos::MAX)? {
                return Ok(exit);
            }
        }
    }

    /// Waits for its end until about then, never less; gives up when the harness is asked to stop.
    pub fn wait_until(&mut self, until: Nanos) -> Result<Option<Exit>, Error> {
        while clock::now() < until {
            if let Some(exit) = self.poll()? {
                return Ok(Some(exit));
            }
            stop::check()?;
            self.pause();
        }
        Ok(None)
    }

    /// Sleeps until the process ends, at most for [`POLL`].
    fn pause(&self) {
        match &self.handle {
            Some(handle) => {
                let mut wanted = [PollFd::new(handle.as_fd(), PollFlags::POLLIN)];
                let limit = u16::try_from(POLL.as_millis()).unwrap_or(u16::MAX);
                // EINTR only means that the caller looks at its conditions early.
                let _ = poll(&mut wanted, limit);
            }
            None => thread::sleep(POLL),
        }
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        if self.exit.is_none() {
            // ESRCH cannot happen before it is reaped; EPERM only for a setuid job, which is killed at its
            // deadline.
            let _ = kill(self.pid, Signal::SIGTERM);
        }
    }

    /// Sends SIGTERM and waits; after a grace period its whole group is killed. Children that it left in its
    /// group go with it, so that nothing disturbs the next run.
    pub fn stop(&mut self) -> Result<Exit, Error> {
        let exit = self.stop_leader()?;
        let deadline = clock::now().plus(LEFT_BEHIND);
        let mut signal = Signal::SIGTERM;
        while killpg(self.pid, signal).is_ok() && clock::now() < deadline {
            thread::sleep(POLL);
            signal = Signal::SIGKILL;
            // One that was adopted stays in its group until it is reaped.
            self.is_alive(-self.pid.as_raw());
        }
        Ok(exit)
    }

    fn stop_leader(&mut self) -> Result<Exit, Error> {
        self.stdin = None;
        if let Some(exit) = self.poll()? {
            return Ok(exit);
        }
        self.terminate();
        let deadline = clock::now().plus(GRACE);
        while clock::now() < deadline {
            if let Some(exit) = self.poll()? {
                return Ok(exit);
            }
            self.pause();
        }
        let _ = killpg(self.pid, Signal::SIGKILL);
        let end = clock::now().plus(GRACE);
        while clock::now() < end {
            if let Some(exit) = self.poll()? {
                return Ok(exit);
            }
            self.pause();
        }
        Err(self.failed("it does not end after SIGKILL"))
    }

    /// An error that names the command and quotes the end of its standard error.
    pub fn failed(&mut self, problem: &str) -> Error {
        if self.exit.is_some()
            && let Some(done) = self.errors_done.take()
        {
            // The tail is complete once every holder of the pipe is gone; a surviving grandchild must not
            // block us.
            let deadline = clock::now().plus(Nanos::from_millis(200));
            while !done.is_finished() && clock::now() < deadline {
                thread::sleep(POLL);
            }
        }
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&errors);
        let tail = text.trim_end().lines().rev().take(3).collect::<Vec<_>>();
        let tail = tail.into_iter().rev().collect::<Vec<_>>().join(" / ");
        let problem = if tail.is_empty() { problem.to_owned() } else { format!("{problem}: {tail}") };
        Error::Process { command: self.command.clone(), problem }
    }
}

impl Drop for Proc {
    fn drop(&mut self) {
        if self.exit.is_none() {
            // Nobody is left to tell; stop() has done what can be done.
            let _ = self.stop();
        }
    }
}

/// A descriptor that becomes readable when the process ends; none before Linux 5.3.
fn pidfd(pid: Pid) -> Option<OwnedFd> {
    let pid = rustix::process::Pid::from_raw(pid.as_raw())?;
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok()
}

fn keep_tail(mut stderr: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut chunk = [0_u8; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut chunk) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(chunk.iter().take(count));
        let excess = kept.len().saturating_sub(KEPT_ERRORS);
        kept.drain(..excess);
    }
}

/// Lines of a process's standard output as they come; the channel closes at its end.
pub fn lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests;
