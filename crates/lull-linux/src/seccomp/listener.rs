//! Installing the filter and answering trapped calls.
//!
//! One answer is given: continue (but io_uring is refused, where it has to be, as the filter would do, and calls about affinities are
//! made by whoever answers). If every holder of the listener is gone, the kernel fails trapped calls
//! with ENOSYS; whoever holds it must therefore outlive the job or be one of several (see `job`).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libc::{seccomp_notif, seccomp_notif_resp, sock_filter, sock_fprog};

/// Wakes the other side on the caller's own CPU, which cuts a trapped call from about 12 to 4 µs (Linux 6.6).
const FD_SYNC_WAKE_UP: u64 = 1;

/// One trapped call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trap {
    /// Names the call until it is answered; unique per filter.
    pub id: u64,
    /// The calling thread.
    pub tid: u32,
    /// The call's number.
    pub nr: i64,
    /// Its arguments.
    pub args: [u64; 6],
}

impl Trap {
    /// Whether the call may have to wait for a disk. The others are trapped to be told of.
    pub fn uses_a_disk(&self) -> bool {
        ![libc::SYS_socket, libc::SYS_seccomp, libc::SYS_prctl, libc::SYS_io_uring_setup].contains(&self.nr)
            && !self.concerns_cpus()
    }

    /// Whether the call asks for a listener like lull's: `seccomp(operation, flags, …)`.
    pub fn listens(&self) -> bool {
        self.nr == libc::SYS_seccomp && self.args[1] & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER != 0
    }

    /// Whether the call asks for the CPUs of a thread, or chooses them.
    pub fn concerns_cpus(&self) -> bool {
        [libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity].contains(&self.nr)
    }

    /// From the kernel's record.
    pub fn from_raw(raw: &seccomp_notif) -> Self {
        Self { id: raw.id, tid: raw.pid, nr: i64::from(raw.data.nr), args: raw.data.args }
    }
}

/// What came of waiting for a trapped call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// A call waits for its answer.
    Call(Trap),
    /// The caller was killed, or a signal came: nothing to do.
    Nothing,
    /// No task is left under the filter.
    JobGone,
}

/// The descriptor on which trapped calls are received and answered.
#[derive(Debug)]
pub struct Listener(OwnedFd);

impl Listener {
    /// Takes over a descriptor that [`install`] made, probably in another process.
    pub fn new(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// Makes both directions wake synchronously where the kernel can; without, calls are only slower.
    pub fn wake_synchronously(&self) -> bool {
        // SAFETY: the argument is the flag word itself.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, FD_SYNC_WAKE_UP) == 0 }
    }

    /// Waits for a trapped call. The kernel writes its record to `space`, which may lie in memory shared with the
    /// guardian: from then on the guardian knows of it, whenever this process dies.
    ///
    /// # Safety
    /// `space` must be valid for writes and used by no other thread of this process meanwhile.
    pub unsafe fn receive(&self, space: *mut seccomp_notif) -> io::Result<Received> {
        // SAFETY: the caller's promise; the kernel demands zeroed memory.
        let outcome = unsafe {
            space.write_bytes(0, 1);
            libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, space)
        };
        if outcome == 0 {
            // SAFETY: filled by the kernel just now.
            return Ok(Received::Call(Trap::from_raw(unsafe { &*space })));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ENOENT) if self.is_hung_up() => Ok(Received::JobGone),
            Some(libc::ENOENT | libc::EINTR) => Ok(Received::Nothing),
            _ => Err(error),
        }
    }

    /// Lets a trapped call go on. Returns false when nobody waits for it any more (its thread was killed, or it was
    /// answered before).
    pub fn pass(&self, id: u64) -> bool {
        let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(1);
        self.send(seccomp_notif_resp { id, val: 0, error: 0, flags })
    }

    /// Makes a trapped call fail with this error number. Returns as [`Self::pass`].
    pub fn refuse(&self, id: u64, errno: i32) -> bool {
        self.send(seccomp_notif_resp { id, val: 0, error: -errno, flags: 0 })
    }

    /// Makes a trapped call return this without being made. Returns as [`Self::pass`].
    pub fn answer(&self, id: u64, value: i64) -> bool {
        self.send(seccomp_notif_resp { id, val: value, error: 0, flags: 0 })
    }

    /// Whether somebody still waits with this call.
    pub fn is_waiting(&self, id: u64) -> bool {
        // SAFETY: the kernel reads the number.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) == 0 }
    }

    fn send(&self, mut answer: seccomp_notif_resp) -> bool {
        // SAFETY: a valid answer for the length of the call.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) == 0 }
    }

    /// Waits until a call is there to be received (true), or the last task under the filter is gone (false). Before
    /// Linux 6.11 [`Self::receive`] alone would wait for ever then.
    pub fn wait(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid pollfd.
        while unsafe { libc::poll(&raw mut poll, 1, -1) } < 0 {}
        poll.revents & libc::POLLIN != 0 || poll.revents & (libc::POLLHUP | libc::POLLNVAL) == 0
    }

    /// Whether the last task under the filter is gone.
    pub fn is_hung_up(&self) -> bool {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid pollfd, no waiting.
        unsafe { libc::poll(&raw mut poll, 1, 0) > 0 && poll.revents & libc::POLLHUP != 0 }
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

/// Installs `program` on the calling thread (and whatever it forks or executes) and returns the listener. Makes only
/// system calls, so it may run between fork and exec.
///
/// As root the job keeps its setuid programs; others must give up new privileges first, as the kernel demands.
///
/// # Errors
/// ENOSYS or EINVAL without seccomp user notification (Linux 5.0); EBUSY when a filter with a listener is there already
/// (a nested `lull run`).
pub fn install(program: &[sock_filter]) -> io::Result<OwnedFd> {
    let length = u16::try_from(program.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let prog = sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    let set = |flags: libc::c_ulong| {
        // SAFETY: the program outlives the call, which copies it.
        let fd = unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const prog)
        };
        i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)
    };
    // A signal must not make a waiting call restart over and over (Linux 5.19); older kernels do without.
    let wanted = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
    let attempt = || match set(wanted | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => set(wanted),
        outcome => outcome,
    };
    let fd = match attempt() {
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            // SAFETY: plain integers.
            if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
                return Err(io::Error::last_os_error());
            }
            attempt()?
        }
        outcome => outcome?,
    };
    // SAFETY: the kernel has just made this descriptor for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Installs a program that traps nothing (only refuses io_uring): no listener is made.
///
/// # Errors
/// As [`install`].
pub fn install_without_listener(program: &[sock_filter]) -> io::Result<()> {
    let length = u16::try_from(program.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let prog = sock_fprog { len: length, filter: program.as_ptr().cast_mut() };
    // SAFETY: plain integers; the program outlives the call, which copies it.
    let done = unsafe {
        let set = || libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const prog);
        set() == 0 || (libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && set() == 0)
    };
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}
