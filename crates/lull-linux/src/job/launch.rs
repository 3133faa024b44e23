//! The way from fork to exec in the job: class marks, the filter, and waiting for the word to go.
//!
//! Everything is prepared before the fork; between fork and exec only system calls are made. Protocol with the front,
//! over one channel (closed on exec, so its end tells the front that exec has succeeded):
//!
//! ```text
//!   job → front   LISTENER + descriptor     the filter stands
//!               | NO_LISTENER + errno       it could not be installed: the job runs without request gate
//!   front → job   one byte                  someone answers trapped calls: go
//!   job → front   EXEC_FAILED + errno       and exits with 127 or 126
//! ```

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::sock_filter;

use crate::job::passing::{Channel, Packet};
use crate::marks::apply::{decimal, parse_decimal};
use crate::seccomp::listener;

/// First byte of the job's messages.
const LISTENER: u8 = b'L';
const NO_LISTENER: u8 = b'N';
const EXEC_FAILED: u8 = b'X';

/// Exit status when the command does not exist, as env(1) has it.
pub const STATUS_NOT_FOUND: i32 = 127;
/// Exit status when the command exists but cannot be executed.
pub const STATUS_NOT_EXECUTABLE: i32 = 126;
/// Exit status when lull itself failed.
pub const STATUS_LULL_FAILED: i32 = 125;

/// A command, ready to be executed.
#[derive(Debug)]
pub struct Command {
    words: Vec<CString>,
    pointers: Vec<*const libc::c_char>,
    /// The process that the environment was given to.
    given_to: libc::pid_t,
}

/// Variables that name the process to which something was given (sd_listen_fds(3), sd_watchdog_enabled(3)).
const NAMING: [&CStr; 2] = [c"LISTEN_PID", c"WATCHDOG_PID"];
/// … and one that does so by the number of a pidfd; without it LISTEN_PID counts.
const NAMING_PIDFD: &CStr = c"LISTEN_PIDFDID";
/// Where a service tells its manager what it does (sd_notify(3)).
const NOTIFY: &CStr = c"NOTIFY_SOCKET";

impl Command {
    /// From the words of the command line; none may hold a zero byte.
    ///
    /// # Errors
    /// InvalidInput for an empty command or a zero byte.
    pub fn new<I: IntoIterator<Item = Vec<u8>>>(words: I) -> io::Result<Self> {
        let words = words.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>()?;
        if words.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no command"));
        }
        let pointers = words.iter().map(|word| word.as_ptr()).chain([std::ptr::null()]).collect();
        // SAFETY: only asks.
        Ok(Self { words, pointers, given_to: unsafe { libc::getpid() } })
    }

    /// Becomes the command, with the signal mask that the shell gave; returns only the error.
    ///
    /// # Safety
    /// The process has one thread.
    pub unsafe fn execute(&self, mask: &libc::sigset_t) -> io::Error {
        // SAFETY: plain dispositions and a mask. Rust's start-up ignored SIGPIPE.
        unsafe {
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            libc::sigprocmask(libc::SIG_SETMASK, mask, std::ptr::null_mut());
        }
        // SAFETY: by the caller's word nobody else reads the environment.
        unsafe { self.take_over() };
        // SAFETY: both are terminated and live; on success this image ends.
        unsafe { libc::execvp(self.words[0].as_ptr(), self.pointers.as_ptr()) };
        io::Error::last_os_error()
    }

    /// What was given to the process that the service manager started is now this one's.
    ///
    /// # Safety
    /// The process has one thread.
    unsafe fn take_over(&self) {
        let (own, length) = decimal(std::process::id().cast_signed());
        let mut text = [0_u8; 16];
        text[..length].copy_from_slice(&own[..length]);
        for name in NAMING {
            // SAFETY: names and values are C strings, and nobody else uses the environment.
            unsafe {
                let value = libc::getenv(name.as_ptr());
                let is_given = !value.is_null()
                    && parse_decimal(CStr::from_ptr(value).to_bytes()) == Some(self.given_to);
                if is_given {
                    libc::setenv(name.as_ptr(), text.as_ptr().cast(), 1);
                    libc::unsetenv(NAMING_PIDFD.as_ptr());
                }
            }
        }
    }
}

/// What the job must do before it becomes the command.
pub struct Launch<'a> {
    /// The command.
    pub command: &'a Command,
    /// The filter, empty for none.
    pub program: &'a [sock_filter],
    /// Whether the filter traps anything (else it only refuses).
    pub traps: bool,
    /// Sets the class marks; runs between fork and exec, so it may only make system calls.
    pub set_marks: &'a dyn Fn(),
    /// Signal mask of the shell, to be restored.
    pub mask: libc::sigset_t,
    /// What the command is to take for its manager's socket, if it was given one.
    pub notify: Option<CString>,
}

impl std::fmt::Debug for Launch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launch")
            .field("command", self.command)
            .field("traps", &self.traps)
            .finish_non_exhaustive()
    }
}

fn tell(channel: i32, kind: u8, errno: i32, fd: Option<i32>) {
    let mut message = [kind, 0, 0, 0, 0];
    message[1..].copy_from_slice(&errno.to_ne_bytes());
    let mut iov = libc::iovec { iov_base: message.as_mut_ptr().cast(), iov_len: message.len() };
    let mut control = [0_u64; 4];
    // SAFETY: all records live through the call; the control buffer is large and aligned enough for one descriptor.
    unsafe {
        let mut header: libc::msghdr = std::mem::zeroed();
        header.msg_iov = &raw mut iov;
        header.msg_iovlen = 1;
        if let Some(fd) = fd {
            header.msg_control = control.as_mut_ptr().cast();
            header.msg_controllen = libc::CMSG_SPACE(4) as _;
            let part = libc::CMSG_FIRSTHDR(&raw const header);
            (*part).cmsg_level = libc::SOL_SOCKET;
            (*part).cmsg_type = libc::SCM_RIGHTS;
            (*part).cmsg_len = libc::CMSG_LEN(4) as _;
            libc::CMSG_DATA(part).cast::<i32>().write_unaligned(fd);
        }
        libc::sendmsg(channel, &raw const header, libc::MSG_NOSIGNAL);
    }
}

impl Launch<'_> {
    /// Runs in the forked child and never returns. `channel` is the child's end.
    ///
    /// # Safety
    /// To be called only in a child just forked from a process with one thread, or with no lock held elsewhere.
    pub unsafe fn run(&self, channel: &Channel) -> ! {
        let raw = channel.as_raw_fd();
        (self.set_marks)();
        let mut held: Option<OwnedFd> = None;
        if !self.program.is_empty() {
            let outcome = if self.traps {
                listener::install(self.program).map(Some)
            } else {
                listener::install_without_listener(self.program).map(|()| None)
            };
            match outcome {
                Ok(Some(fd)) => {
                    tell(raw, LISTENER, 0, Some(fd.as_raw_fd()));
                    held = Some(fd);
                }
                Ok(None) => tell(raw, NO_LISTENER, 0, None),
                Err(error) => tell(raw, NO_LISTENER, error.raw_os_error().unwrap_or(libc::EIO), None),
            }
        } else {
            tell(raw, NO_LISTENER, 0, None);
        }
        let mut go = 0_u8;
        // SAFETY: one byte of our own; recv is never trapped.
        let got = unsafe {
            loop {
                let got = libc::recv(raw, (&raw mut go).cast(), 1, 0);
                if got >= 0 || *libc::__errno_location() != libc::EINTR {
                    break got;
                }
            }
        };
        if got != 1 {
            // SAFETY: ends this process without running handlers of the parent's image.
            unsafe { libc::_exit(STATUS_LULL_FAILED) };
        }
        drop(held);
        if let Some(name) = &self.notify {
            // SAFETY: both are C strings, and this process has one thread.
            unsafe { libc::setenv(NOTIFY.as_ptr(), name.as_ptr(), 1) };
        }
        // SAFETY: just forked.
        let error = unsafe { self.command.execute(&self.mask) };
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        tell(raw, EXEC_FAILED, errno, None);
        let status = if errno == libc::ENOENT { STATUS_NOT_FOUND } else { STATUS_NOT_EXECUTABLE };
        // SAFETY: as above.
        unsafe { libc::_exit(status) }
    }
}

/// What the job reports to the front.
#[derive(Debug)]
pub enum Report {
    /// The filter stands.
    Listener(OwnedFd),
    /// There is no request gate; the reason, if it was wanted.
    NoListener(Option<io::Error>),
    /// The command could not be executed.
    ExecFailed(io::Error),
    /// The channel is closed: exec succeeded, or the job was killed before.
    Closed,
}

/// Waits for the job's next report.
///
/// # Errors
/// What the socket layer reports, or a message that makes no sense.
pub fn next_report(channel: &Channel) -> io::Result<Report> {
    let Packet::Message(bytes, fd) = channel.receive(false)? else { return Ok(Report::Closed) };
    let errno = bytes.get(1..5).and_then(|b| b.try_into().ok()).map_or(0, i32::from_ne_bytes);
    let error = (errno != 0).then(|| io::Error::from_raw_os_error(errno));
    match (bytes.first(), fd) {
        (Some(&LISTENER), Some(fd)) => Ok(Report::Listener(fd)),
        (Some(&NO_LISTENER), None) => Ok(Report::NoListener(error)),
        (Some(&EXEC_FAILED), None) => {
            Ok(Report::ExecFailed(error.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EIO))))
        }
        _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
    }
}
