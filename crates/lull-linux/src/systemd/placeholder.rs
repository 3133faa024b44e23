//! A process that does nothing but be there, so that a scope has one until the job comes.

use std::fs;
use std::path::PathBuf;

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork};

/// The process; it ends when dropped, and with the thread that made it.
#[derive(Debug)]
pub(super) struct Placeholder {
    pid: Pid,
    /// The group that it was moved to.
    group: Option<PathBuf>,
}

impl Placeholder {
    /// Forks it.
    pub(super) fn start() -> nix::Result<Self> {
        let parent = nix::unistd::getpid();
        // SAFETY: the child only makes system calls.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => Ok(Self { pid: child, group: None }),
            // SAFETY: plain integers. A parent that is gone by now sends no signal.
            ForkResult::Child => unsafe {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
                // Descriptors of the parent would be kept open by it.
                libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
                if libc::getppid() == parent.as_raw() {
                    loop {
                        libc::pause();
                    }
                }
                libc::_exit(0)
            },
        }
    }

    pub(super) const fn pid(&self) -> Pid {
        self.pid
    }

    /// Moves it to a new group of its own, which goes with it.
    pub(super) fn retire_to(&mut self, group: PathBuf) -> std::io::Result<()> {
        fs::create_dir(&group)?;
        let moved = fs::write(group.join("cgroup.procs"), self.pid.to_string());
        self.group = Some(group);
        moved
    }
}

impl Drop for Placeholder {
    fn drop(&mut self) {
        // Forked by us and not waited for, so the number is still its own.
        let _ = kill(self.pid, Signal::SIGKILL);
        while waitpid(self.pid, None) == Err(nix::errno::Errno::EINTR) {}
        if let Some(group) = &self.group {
            // systemd removes it with the scope otherwise.
            let _ = fs::remove_dir(group);
        }
    }
}
