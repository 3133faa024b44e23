//! What a started process leaves behind: helpers that lead sessions of their own and outlive it.
//!
//! ```text
//!  harness ──▶ leader ──▶ helper          leader ends           harness ──▶ helper ──▶ reaped and counted
//! ```
//! By itself `wait4` gives the time of what the leader waited for. Everything else goes to process 1, and its
//! time is lost. So the harness [adopts](adopt) orphans: a child that it did not start itself was left behind
//! by a process that it started.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use lull_core::Nanos;
use nix::unistd::Pid;

use crate::Error;
use crate::error::Context;

static ADOPTS: AtomicBool = AtomicBool::new(false);
/// The leaders that the harness started and has not reaped.
static LEADERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Makes this process the parent of every orphan among its descendants.
pub fn adopt() -> Result<(), Error> {
    nix::sys::prctl::set_child_subreaper(true).map_err(io::Error::from).to("adopt orphaned processes")?;
    ADOPTS.store(true, Ordering::Relaxed);
    Ok(())
}

/// What processes used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Processor time, user and system.
    pub cpu: Nanos,
    /// Largest resident set of any one of them, in bytes.
    pub peak_bytes: u64,
}

impl Usage {
    /// Of these and those.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { cpu: self.cpu.plus(other.cpu), peak_bytes: self.peak_bytes.max(other.peak_bytes) }
    }
}

/// Reaps a child that has ended, without waiting; below zero, any of that process group.
pub(super) fn reap(pid: i32) -> io::Result<Option<(ExitStatus, Usage)>> {
    let mut status = 0;
    // SAFETY: rusage is a plain struct of integers; all zero is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live, writable values of the right type.
    match unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) } {
        0 => Ok(None),
        reaped if reaped > 0 => {
            leaders().remove(&reaped);
            let usage = Usage {
                cpu: span(usage.ru_utime).plus(span(usage.ru_stime)),
                peak_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0).saturating_mul(1024),
            };
            Ok(Some((ExitStatus::from_raw(status), usage)))
        }
        _ => Err(io::Error::last_os_error()),
    }
}

fn span(time: libc::timeval) -> Nanos {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Nanos::from_secs(seconds).plus(Nanos::from_micros(micros))
}

/// To be held from before a leader is started until it is in the set: nobody may take it for an orphan.
pub(super) fn leaders() -> MutexGuard<'static, BTreeSet<i32>> {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The children of this process that are nobody's leader; none while it does not adopt.
pub(super) fn strangers(leaders: &BTreeSet<i32>) -> BTreeSet<i32> {
    if !ADOPTS.load(Ordering::Relaxed) {
        return BTreeSet::new();
    }
    let own = Pid::this().as_raw();
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| lull_linux::proc::parent_of(*pid) == Some(own) && !leaders.contains(pid)).collect()
}
