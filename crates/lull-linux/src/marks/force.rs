//! Whether a job's CPU class is in force: found by experiment.
//!
//! Problem: SCHED_IDLE, nice and a group's idle weight are accepted everywhere, and count only inside the group, session or slice in which they
//! were set. What the tree looks like tells what should be; the kernel tells what is. Approach: two tasks that do nothing but compute share
//! one CPU, one in the place of the foreground (the caller's group and class), one in the job's with the job's class. After
//! `LENGTH` of their time together it is seen who had how much. In force the job's task has next to nothing; otherwise it has half. What is
//! in between is looked at for `MOST`.
//!
//! Edge cases: others on that CPU take from both. One tick of the scheduler is 1 to 10 ms, on a virtual machine whose CPUs are taken away more, so
//! a task may have so much by chance: the bound is a quarter. On a CPU that gives the two less within `PATIENCE`, the answer is not known.
//!
//! Source: sched(7), `Documentation/admin-guide/cgroup-v2.rst` ("CPU").

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use lull_core::Nanos;
use nix::fcntl::OFlag;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::{ForkResult, Pid, fork, pipe2};
use serde::Serialize;

use super::MarkSet;

/// Processor time of both tasks together.
const LENGTH: Nanos = Nanos::from_millis(50);
/// The same where the shares are not clear.
const MOST: Nanos = Nanos::from_millis(400);
/// Shares of the job's task that are clear: below and above.
const CLEAR: [f64; 2] = [0.1, 0.4];
const PATIENCE: Duration = Duration::from_secs(3);
const LOOK: Duration = Duration::from_millis(5);
/// A class that is in force leaves the job's task less than this share.
const IN_FORCE_BELOW: f64 = 0.25;

/// What the two tasks had of one CPU, in the time of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shares {
    /// The one in the foreground's place.
    pub foreground_ns: u64,
    /// The one in the job's.
    pub job_ns: u64,
}

impl Shares {
    /// The job's share.
    pub fn of_job(&self) -> f64 {
        self.job_ns as f64 / (self.foreground_ns + self.job_ns).max(1) as f64
    }

    /// Whether the foreground's task came first.
    pub fn in_force(&self) -> bool {
        self.of_job() < IN_FORCE_BELOW
    }
}

/// A task that computes until it is dropped.
struct Task(Pid);

impl Task {
    /// Forks it onto one CPU. It waits for `go` to be closed, so that it can be moved before.
    fn start(cpus: &CpuSet, go: &File, close: &File, marks: MarkSet) -> io::Result<Self> {
        let (go, close) = (go.as_raw_fd(), close.as_raw_fd());
        // SAFETY: the child only makes system calls, and computes.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(Self(child)),
            ForkResult::Child => {
                // SAFETY: plain integers; one byte into a buffer of one.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
                    libc::close(close);
                    let mut byte = 0_u8;
                    libc::read(go, (&raw mut byte).cast(), 1);
                }
                // What is refused makes the comparison no worse than the job has it.
                let _ = marks.apply();
                let _ = sched_setaffinity(Pid::from_raw(0), cpus);
                let mut sum = 0_u64;
                loop {
                    sum = std::hint::black_box(sum.wrapping_add(1));
                }
            }
        }
    }

    fn used(&self) -> Option<Nanos> {
        let time = clock_gettime(clock_getcpuclockid(self.0).ok()?).ok()?;
        u64::try_from(Duration::from(time).as_nanos()).ok().map(Nanos)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // Forked by us and not waited for, so the number is still its own.
        let _ = kill(self.0, Signal::SIGKILL);
        while waitpid(self.0, None) == Err(nix::errno::Errno::EINTR) {}
    }
}

/// Compares a task of this process's class and group with one of the job's: with these marks, moved by `to_job`.
///
/// # Errors
/// When the tasks cannot be started or moved, or had no CPU.
pub fn compare(marks: MarkSet, to_job: impl FnOnce(i32) -> io::Result<()>) -> io::Result<Shares> {
    let allowed = sched_getaffinity(Pid::from_raw(0))?;
    // The last one: the first has most of the interrupts.
    let last = (0..CpuSet::count()).rev().find(|cpu| allowed.is_set(*cpu).unwrap_or(false));
    let mut one = CpuSet::new();
    one.set(last.ok_or(io::ErrorKind::NotFound)?)?;
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC)?;
    let (go, hold) = (File::from(reader), File::from(writer));
    let foreground = Task::start(&one, &go, &hold, MarkSet::default())?;
    let job = Task::start(&one, &go, &hold, marks)?;
    to_job(job.0.as_raw())?;
    drop(hold);
    let began = Instant::now();
    let used = || Some([foreground.used()?, job.used()?]);
    let gone = || io::Error::other("a task of the experiment is gone");
    let first = used().ok_or_else(gone)?;
    loop {
        std::thread::sleep(LOOK);
        let now = used().ok_or_else(gone)?;
        let [foreground, job] = [0, 1].map(|index| now[index].since(first[index]));
        let (all, shares) = (foreground.plus(job), Shares { foreground_ns: foreground.0, job_ns: job.0 });
        let is_clear = shares.of_job() < CLEAR[0] || shares.of_job() > CLEAR[1];
        if all >= MOST || (all >= LENGTH && is_clear) {
            return Ok(shares);
        }
        if began.elapsed() > PATIENCE {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "others left the two tasks hardly any CPU"));
        }
    }
}

#[cfg(test)]
mod tests;
