//! What the job tells its service manager (sd_notify(3)).
//!
//! Problem: the manager hears the main process of a service alone (`NotifyAccess=main`), and only one in the service's control group. That is
//! the front; the job is its child, in another group. Approach: the job is given a socket of the front's, and the front hands on what comes
//! there, with the descriptors that come with it.
//!
//! ```text
//!   job ─ READY=1, WATCHDOG=1 … ─▶ socket of the front ─▶ the front sends ─▶ $NOTIFY_SOCKET
//! ```
//!
//! The front stays the service's main process: it ends as the job does. So `MAINPID=` with the job's own number is left out; another one names
//! a process to which the job hands over, and goes on.
//!
//! Edge cases: the socket's name is abstract, so that nothing is left behind, and anybody may send to it: what comes from other users'
//! processes that do not descend from the front is dropped. Without a socket to hand on to, or with one of another kind, nothing is changed.
//!
//! Source: sd_notify(3), unix(7) ("Autobind feature").

use std::ffi::CString;
use std::io::{IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, UnixAddr,
    UnixCredentials, bind, getsockname, recvmsg, sendmsg, setsockopt, socket, sockopt,
};
use nix::unistd::{Pid, geteuid};

use lull_engine::job_processes;

/// The variable that names the socket.
const SOCKET: &str = "NOTIFY_SOCKET";
/// A message is no longer than this, and carries no more descriptors (`NOTIFY_BUFFER_MAX` of systemd, SCM_RIGHTS of the kernel).
const MOST_BYTES: usize = 4096;
const MOST_FDS: usize = 253;

/// See the module.
pub(crate) struct Relay {
    socket: OwnedFd,
    name: CString,
    to: UnixAddr,
}

impl Relay {
    /// For the socket that this process was given; `None` without one.
    pub(crate) fn start() -> Option<Self> {
        let to = address(std::env::var_os(SOCKET)?.as_bytes())?;
        Self::to(to).ok()?
    }

    fn to(to: UnixAddr) -> nix::Result<Option<Self>> {
        let socket = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
        setsockopt(&socket, sockopt::PassCred, &true)?;
        bind(socket.as_raw_fd(), &UnixAddr::new_unnamed())?;
        let own: UnixAddr = getsockname(socket.as_raw_fd())?;
        let name = own.as_abstract().and_then(|name| CString::new([b"@", name].concat()).ok());
        Ok(name.map(|name| Self { socket, name, to }))
    }

    /// What the job is to take for the manager's socket.
    pub(crate) fn name(&self) -> CString {
        self.name.clone()
    }

    /// Hands on what has come.
    pub(crate) fn pass_on(&self, job: Pid) {
        while self.pass_one(job).is_ok() {}
    }

    fn pass_one(&self, job: Pid) -> nix::Result<()> {
        let mut bytes = [0; MOST_BYTES];
        let mut control = nix::cmsg_space!([i32; MOST_FDS], UnixCredentials);
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_CMSG_CLOEXEC;
        let message = recvmsg::<()>(self.socket.as_raw_fd(), &mut slices, Some(&mut control), flags)?;
        let (mut fds, mut sender) = (Vec::new(), None);
        for part in message.cmsgs()? {
            match part {
                ControlMessageOwned::ScmRights(rights) => {
                    // SAFETY: the kernel has just made these descriptors for us.
                    fds.extend(rights.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
                }
                ControlMessageOwned::ScmCredentials(credentials) => sender = Some(credentials),
                _ => {}
            }
        }
        let length = message.bytes;
        if sender.is_some_and(|sender| is_trusted(&sender)) {
            let text = without_own_main(&bytes[..length], job);
            let raw: Vec<i32> = fds.iter().map(AsRawFd::as_raw_fd).collect();
            let control = [ControlMessage::ScmRights(&raw)];
            let control = if raw.is_empty() { &[][..] } else { &control };
            // A manager that does not take it is the job's to notice: by its timeouts.
            let _ = sendmsg(
                self.socket.as_raw_fd(),
                &[IoSlice::new(&text)],
                control,
                MsgFlags::MSG_NOSIGNAL,
                Some(&self.to),
            );
        }
        Ok(())
    }
}

impl AsFd for Relay {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The address of a path, or of an abstract name behind an `@`.
fn address(text: &[u8]) -> Option<UnixAddr> {
    match text {
        [b'@', name @ ..] if !name.is_empty() => UnixAddr::new_abstract(name).ok(),
        [b'/', ..] => UnixAddr::new(Path::new(std::ffi::OsStr::from_bytes(text))).ok(),
        _ => None,
    }
}

fn is_trusted(sender: &UnixCredentials) -> bool {
    [0, geteuid().as_raw()].contains(&sender.uid())
        || job_processes::descends(sender.pid(), std::process::id().cast_signed())
}

/// The message without a line that makes the job the main process.
fn without_own_main(text: &[u8], job: Pid) -> Vec<u8> {
    let own = format!("MAINPID={job}");
    let lines = text.split(|byte| *byte == b'\n').filter(|line| *line != own.as_bytes());
    lines.collect::<Vec<_>>().join(&b'\n')
}

#[cfg(test)]
mod tests;
