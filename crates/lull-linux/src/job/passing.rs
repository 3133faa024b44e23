//! Messages, with or without a descriptor, over pairs of sequenced-packet sockets: packets keep their borders, and the
//! death of the other end reads as an empty packet.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType, recvmsg, sendmsg,
    socketpair,
};

/// Room for most messages.
const USUAL_BYTES: usize = 64 * 1024;

/// One end of a pair.
#[derive(Debug)]
pub struct Channel(OwnedFd);

/// What came in.
#[derive(Debug)]
pub enum Packet {
    /// Bytes, and the descriptor that came with them.
    Message(Vec<u8>, Option<OwnedFd>),
    /// The other end is closed.
    Closed,
    /// Nothing there now (only when not blocking).
    Nothing,
}

impl Channel {
    /// Two connected ends, both closed on exec.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC)?;
        Ok((Self(a), Self(b)))
    }

    /// An end of a pair, or of a connection, of sequenced packets.
    pub fn new(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// Sends a non-empty message, with a copy of `fd` if given. Never blocks and never raises SIGPIPE.
    ///
    /// # Errors
    /// EPIPE or ECONNRESET when the other end is gone, EAGAIN when it does not keep up.
    pub fn send(&self, message: &[u8], fd: Option<i32>) -> io::Result<()> {
        let fds = fd.map(|fd| [fd]);
        let control: Vec<_> = fds.iter().map(|fds| ControlMessage::ScmRights(fds)).collect();
        let flags = MsgFlags::MSG_NOSIGNAL | MsgFlags::MSG_DONTWAIT;
        sendmsg::<()>(self.0.as_raw_fd(), &[IoSlice::new(message)], &control, flags, None)?;
        Ok(())
    }

    /// Receives one packet; waits for it unless `now` is set.
    ///
    /// # Errors
    /// Only what the socket layer itself reports.
    pub fn receive(&self, now: bool) -> io::Result<Packet> {
        let mut bytes = vec![0; USUAL_BYTES.max(self.next_bytes())];
        let mut control = nix::cmsg_space!([i32; 1]);
        let mut flags = MsgFlags::MSG_CMSG_CLOEXEC;
        flags.set(MsgFlags::MSG_DONTWAIT, now);
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let outcome = loop {
            match recvmsg::<()>(self.0.as_raw_fd(), &mut slices, Some(&mut control), flags) {
                Err(nix::errno::Errno::EINTR) => {}
                outcome => break outcome,
            }
        };
        let message = match outcome {
            Err(nix::errno::Errno::EAGAIN) => return Ok(Packet::Nothing),
            Err(nix::errno::Errno::ECONNRESET) => return Ok(Packet::Closed),
            outcome => outcome?,
        };
        let mut fd = None;
        for part in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(fds) = part {
                // SAFETY: the kernel has just made these descriptors for us.
                fd = fds.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }).next();
            }
        }
        let length = message.bytes;
        if length == 0 && fd.is_none() {
            return Ok(Packet::Closed);
        }
        bytes.truncate(length);
        Ok(Packet::Message(bytes, fd))
    }
}

impl Channel {
    /// The length of the next message, if it is there.
    fn next_bytes(&self) -> usize {
        let flags = libc::MSG_PEEK | libc::MSG_TRUNC | libc::MSG_DONTWAIT;
        // SAFETY: nothing is written to a buffer of no length.
        let length = unsafe { libc::recv(self.0.as_raw_fd(), std::ptr::null_mut(), 0, flags) };
        usize::try_from(length).unwrap_or(0)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Channel {
    fn as_raw_fd(&self) -> i32 {
        self.0.as_raw_fd()
    }
}

#[cfg(test)]
mod tests;
