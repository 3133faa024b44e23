//! How a command's listener comes to the mount, and who answers if the mount dies.
//!
//! ```text
//!   lull reserve exec ── forks ──▶ keeper (session of its own)
//!        │ filter ──listener──────▶ │ ──listener, memory──▶ mount: socket named by its process id
//!        │ ◀────────"go"─────────── │ ◀─────"ok"───────────
//!        ▼ exec: the command        │ waits: command gone ─▶ ends
//!                                   └─        mount dead  ─▶ every call passes, until the command is gone
//! ```
//! The process that installs the filter becomes the command; the keeper is not its child by then.
//!
//! Who may connect: everybody. A listener shows the calls of those who installed its filter, and of nobody else; in which queue they are, the
//! tree says.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, accept4, bind, connect, getsockopt,
    listen as listen_at, socket, sockopt,
};

use super::Router;
use crate::gate::ahead;
use crate::job::passing::{Channel, Packet};
use crate::job::relief;
use crate::job::shared::Shared;
use crate::proc::{all, parent_of};
use crate::seccomp::Listener;

/// The name of a mount's socket, which is in no directory.
fn name(pid: u32) -> String {
    format!("lull-reserve-disk-{pid}")
}

fn new_socket(name: &str) -> io::Result<(OwnedFd, UnixAddr)> {
    let fd = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None)?;
    Ok((fd, UnixAddr::new_abstract(name.as_bytes())?))
}

/// Takes commands, in a thread of its own, for as long as this process lives.
pub(super) fn listen(router: &Arc<Router>) -> io::Result<()> {
    let (fd, address) = new_socket(&name(std::process::id()))?;
    bind(fd.as_raw_fd(), &address)?;
    listen_at(&fd, Backlog::new(64)?)?;
    let router = Arc::clone(router);
    std::thread::Builder::new().name("disk-attach".to_owned()).spawn(move || {
        loop {
            match accept4(fd.as_raw_fd(), SockFlag::SOCK_CLOEXEC) {
                Ok(found) => {
                    // Nobody who is slow may keep the others waiting.
                    // SAFETY: made for us just now.
                    let end = Channel::new(unsafe { OwnedFd::from_raw_fd(found) });
                    let router = Arc::clone(&router);
                    let _ = std::thread::Builder::new().spawn(move || take(&router, &end));
                }
                Err(Errno::EINTR | Errno::ECONNABORTED) => {}
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(50)),
            }
        }
    })?;
    Ok(())
}

/// One command: its listener, then its memory, with its process id; the answer is what went wrong.
fn take(router: &Arc<Router>, end: &Channel) {
    let answer = match receive(router, end) {
        Ok(()) => "ok".to_owned(),
        Err(error) => format!("no: {error}"),
    };
    let _ = end.send(answer.as_bytes(), None);
}

fn receive(router: &Arc<Router>, end: &Channel) -> io::Result<()> {
    let next = || match end.receive(false)? {
        Packet::Message(bytes, Some(fd)) => Ok((bytes, fd)),
        _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
    };
    let (_, listener) = next()?;
    let (pid, memory) = next()?;
    let pid: i32 =
        String::from_utf8(pid).ok().and_then(|text| text.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
    // The keeper's word counts for what it was started with alone.
    let peer = getsockopt(end, sockopt::PeerCredentials)?;
    let owner = |pid: i32| {
        std::fs::metadata(format!("/proc/{pid}")).map(|dir| std::os::unix::fs::MetadataExt::uid(&dir))
    };
    if peer.uid() != 0 && owner(pid)? != peer.uid() {
        return Err(io::Error::from(io::ErrorKind::PermissionDenied));
    }
    router.attach(listener, Shared::of(&memory)?, pid, peer.uid() == 0)
}

/// What the keeper has.
#[derive(Debug)]
pub struct Keeper {
    listener: Listener,
    shared: Shared,
    mount: OwnedFd,
    root: i32,
}

impl Keeper {
    /// Gives the calls of `root`, which wait at `listener`, to the mount that process `mount` serves.
    ///
    /// # Errors
    /// Why the mount does not take them; whoever has the listener must answer them.
    pub fn attach(listener: OwnedFd, mount: u32, root: i32) -> io::Result<Self> {
        // SAFETY: integers in, a new descriptor or an error out.
        let pidfd = unsafe { libc::syscall(libc::SYS_pidfd_open, mount, 0) };
        let pidfd = i32::try_from(pidfd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: made for us just now.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        let (shared, memory) = Shared::with_file()?;
        let (fd, address) = new_socket(&name(mount))?;
        connect(fd.as_raw_fd(), &address)?;
        let end = Channel::new(fd);
        end.send(b"listener", Some(listener.as_raw_fd()))?;
        end.send(root.to_string().as_bytes(), Some(memory.as_raw_fd()))?;
        match end.receive(false)? {
            Packet::Message(bytes, _) if bytes == b"ok" => {
                Ok(Self { listener: Listener::new(listener), shared, mount: pidfd, root })
            }
            Packet::Message(bytes, _) => Err(io::Error::other(String::from_utf8_lossy(&bytes).into_owned())),
            _ => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
        }
    }

    /// Lives until the command is gone.
    pub fn keep(self) {
        let mut polls = [
            libc::pollfd { fd: self.mount.as_raw_fd(), events: libc::POLLIN, revents: 0 },
            // The mount receives; here only the hang-up counts.
            libc::pollfd { fd: self.listener.as_raw_fd(), events: 0, revents: 0 },
        ];
        loop {
            // SAFETY: valid records for the length of the call.
            unsafe { libc::poll(polls.as_mut_ptr(), 2, -1) };
            if polls[1].revents & (libc::POLLHUP | libc::POLLNVAL) != 0 {
                return;
            }
            if polls[0].revents != 0 {
                break;
            }
        }
        relief::pass_unanswered(&self.listener, &self.shared);
        ahead::restore(descendants(self.root));
        while !relief::pass_next(&self.listener, &self.shared) {}
    }

    /// The descriptors that must stay open.
    pub fn descriptors(&self) -> [i32; 2] {
        [self.mount.as_raw_fd(), self.listener.as_raw_fd()]
    }
}

/// A process and what it has started.
fn descendants(root: i32) -> Vec<i32> {
    let is_below = |pid: &i32| {
        std::iter::successors(Some(*pid), |pid| parent_of(*pid).filter(|parent| *parent > 1))
            .any(|pid| pid == root)
    };
    all().into_iter().filter(is_below).collect()
}
