//! Trying something irreversible in a child that ends right after.
//!
//! A scheduling class or a seccomp filter, once set, stays. So the trial runs in a forked process, which reports error
//! numbers through a pipe and exits without running any handler. Other threads may exist in the parent, so the trial may
//! only make system calls: no allocation, no lock.

use std::io::{self, Read};
use std::os::fd::AsRawFd;

use nix::fcntl::OFlag;
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, fork, pipe2};

/// Runs `trial` in a child; its error numbers (0 for success) come back.
pub(super) fn in_child<const N: usize>(trial: fn() -> [i32; N]) -> io::Result<[i32; N]> {
    let (reader, writer) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: the child only makes system calls (the contract of `trial`, and write and _exit below).
    match unsafe { fork() }? {
        ForkResult::Child => {
            let outcome = trial();
            // SAFETY: the pointer and length describe `outcome`; the descriptor is open.
            unsafe { libc::write(writer.as_raw_fd(), outcome.as_ptr().cast(), size_of_val(&outcome)) };
            // SAFETY: ends this process, running no handler.
            unsafe { libc::_exit(0) }
        }
        ForkResult::Parent { child } => {
            drop(writer);
            let mut outcome = [0; N];
            let mut reader = std::fs::File::from(reader);
            let read = outcome.iter_mut().try_for_each(|slot| {
                let mut bytes = [0; size_of::<i32>()];
                reader.read_exact(&mut bytes)?;
                *slot = i32::from_ne_bytes(bytes);
                Ok(())
            });
            // Whoever ignores SIGCHLD has no child to wait for; the outcome is known all the same.
            while waitpid(child, None) == Err(nix::errno::Errno::EINTR) {}
            read.map(|()| outcome)
        }
    }
}

/// The error number of a raw system call's result; 0 if it succeeded.
pub(super) fn errno_of(result: libc::c_long) -> i32 {
    if result < 0 { nix::errno::Errno::last_raw() } else { 0 }
}

#[cfg(test)]
mod tests;
