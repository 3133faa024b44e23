//! Forking lull's own helper processes off the front.
//!
//! A helper leads a session of its own, so that the terminal's signals pass it by; it holds none of the descriptors that
//! the shell gave the job (a pipe would never end), and works in `/`. Limits that were set for the job (ulimit) are not its own. What people send to end, stop or tell a program is
//! blocked: a service manager and `pkill` send it to every process of the run, and it is the job that it is meant for. A
//! helper that ended before a job that takes its time would make the job's calls fail.

use std::ffi::CStr;
use std::os::fd::RawFd;

use anyhow::Context;
use lull_linux::probe::elsewhere;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{ForkResult, Pid, fork};

use super::forwarded::FORWARDED;

/// Limits that are the job's: a helper takes what it may have.
const LIMITS: [Resource; 8] = [
    Resource::RLIMIT_CPU,
    Resource::RLIMIT_NPROC,
    Resource::RLIMIT_NOFILE,
    Resource::RLIMIT_AS,
    Resource::RLIMIT_DATA,
    Resource::RLIMIT_STACK,
    Resource::RLIMIT_FSIZE,
    Resource::RLIMIT_MEMLOCK,
];

/// Forks a helper that runs `body` and exits. `keep`: the descriptors that it needs besides 0 to 2, which become
/// `/dev/null`, and the one through which control groups are reached ([`elsewhere`]).
///
/// # Errors
/// When the process cannot be forked.
pub(crate) fn spawn(name: &CStr, keep: &[RawFd], body: impl FnOnce()) -> anyhow::Result<Pid> {
    // SAFETY: the front has one thread, so the child may do anything.
    match unsafe { fork() }.context("cannot fork")? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            become_helper(name, keep);
            // A panic ends like an error: the other processes see the death and take over.
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            // SAFETY: skips handlers that belong to the front.
            unsafe { libc::_exit(i32::from(outcome.is_err())) }
        }
    }
}

/// Makes this process a helper: its name, its session, its descriptors, its signals, as for [`spawn`].
pub(crate) fn become_helper(name: &CStr, keep: &[RawFd]) {
    LIMITS.into_iter().for_each(raise);
    let _ = nix::unistd::setsid();
    let _ = std::env::set_current_dir("/");
    // SAFETY: the name is copied; plain integers otherwise.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr(), 0, 0, 0) };
    if let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        use std::os::fd::AsRawFd;
        for standard in 0..=2 {
            // SAFETY: both descriptors are open.
            unsafe { libc::dup2(null.as_raw_fd(), standard) };
        }
    }
    close_others(keep);
    let mut blocked = SigSet::empty();
    FORWARDED.iter().chain(&[Signal::SIGTSTP, Signal::SIGXCPU]).for_each(|signal| blocked.add(*signal));
    let _ = blocked.thread_set_mask();
}

/// Takes away a limit that was set for the job, as far as this user may.
fn raise(limit: Resource) {
    let Ok((_, most)) = getrlimit(limit) else { return };
    if setrlimit(limit, RLIM_INFINITY, RLIM_INFINITY).is_err() {
        // Up to the hard limit everybody may.
        let _ = setrlimit(limit, most, most);
    }
}

/// Closes every descriptor from 3 on that is not in `keep`.
fn close_others(keep: &[RawFd]) {
    let mut keep: Vec<RawFd> =
        keep.iter().copied().chain(elsewhere::descriptor()).filter(|fd| *fd > 2).collect();
    keep.sort_unstable();
    let mut from = 3;
    for fd in keep.into_iter().chain([RawFd::MAX]) {
        if fd > from {
            // SAFETY: closes what this process does not use; nothing owns these numbers here any more.
            unsafe { libc::syscall(libc::SYS_close_range, from, fd - 1, 0) };
        }
        from = fd.saturating_add(1);
    }
}
