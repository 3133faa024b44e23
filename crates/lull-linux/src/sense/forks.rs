//! Which processes come to be and end, as the kernel's process connector tells it.
//!
//! Problem: what a process may have is to be handed to the children that it starts from then on, and nobody asks before a fork. Approach: the
//! connector (netlink, root, the first PID and network namespaces) tells of each fork and each end in order. Threads are left out.
//!
//! Edge cases: when more happens than the socket's buffer holds, the kernel drops events and says so ([`Change::Lost`]). The kernel
//! answers the request to listen; where it does not, there is no connector for this process.
//!
//! Source: `Documentation/driver-api/connector.rst`, `include/uapi/linux/cn_proc.h`.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use nix::sys::socket::sockopt::{RcvBuf, ReceiveTimeout};
use nix::sys::socket::{MsgFlags, recv, send, setsockopt};
use nix::sys::time::TimeVal;

/// `CN_IDX_PROC` and `CN_VAL_PROC`.
const PROC: u32 = 1;
const LISTEN: u32 = 1;
const HEADER_BYTES: usize = 16;
/// Of `struct cn_msg`.
const MESSAGE_BYTES: usize = 20;
const EVENT_AT: usize = HEADER_BYTES + MESSAGE_BYTES;
/// The request's length, as its header says it.
const REQUEST_BYTES: u32 = 40;
const _: () = assert!(REQUEST_BYTES as usize == EVENT_AT + 4, "one word of data");
/// `NLMSG_DONE`, as connectors mark their messages.
const DONE: u16 = 3;
/// Where an event's own fields begin, after its kind, a CPU and a time.
const FIELDS_AT: usize = EVENT_AT + 16;
const WHAT_NONE: u32 = 0;
const WHAT_FORK: u32 = 1;
const WHAT_EXIT: u32 = 0x8000_0000;
const BUFFER_BYTES: usize = 1 << 20;
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A process was started.
    Fork {
        /// By this one.
        parent: i32,
        /// The new one.
        child: i32,
    },
    /// A process ended.
    Exit(i32),
    /// More happened than could be told.
    Lost,
}

/// A listener.
#[derive(Debug)]
pub struct Forks {
    socket: OwnedFd,
}

impl Forks {
    /// Begins to listen.
    ///
    /// # Errors
    /// Without root, outside of the first namespaces, or where the kernel has no process connector.
    pub fn listen() -> io::Result<Self> {
        // SAFETY: plain integers; the descriptor is checked before it is owned.
        let raw = unsafe {
            libc::socket(libc::AF_NETLINK, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, libc::NETLINK_CONNECTOR)
        };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just made, and nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(raw) };
        // SAFETY: all zeros is a valid address.
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = u16::try_from(libc::AF_NETLINK).unwrap_or(16);
        address.nl_groups = PROC;
        let length = u32::try_from(size_of::<libc::sockaddr_nl>()).unwrap_or(12);
        // SAFETY: the address lives through the call, and has this length.
        if unsafe { libc::bind(raw, (&raw const address).cast(), length) } < 0 {
            return Err(io::Error::last_os_error());
        }
        // A smaller buffer only means that events are lost sooner.
        let _ = setsockopt(&socket, RcvBuf, &BUFFER_BYTES);
        send(raw, &request(), MsgFlags::empty())?;
        let forks = Self { socket };
        forks.wait_at_most(Some(ANSWER_LIMIT))?;
        let mut buffer = [0; 256];
        loop {
            let length = recv(raw, &mut buffer, MsgFlags::empty()).map_err(|error| match error {
                nix::errno::Errno::EAGAIN => io::Error::new(
                    io::ErrorKind::Unsupported,
                    "the kernel's process connector does not answer",
                ),
                other => other.into(),
            })?;
            if word(&buffer[..length], EVENT_AT) == Some(WHAT_NONE) {
                break;
            }
        }
        forks.wait_at_most(None)?;
        Ok(forks)
    }

    fn wait_at_most(&self, limit: Option<Duration>) -> io::Result<()> {
        let seconds = i64::try_from(limit.unwrap_or_default().as_secs()).unwrap_or(0);
        Ok(setsockopt(&self.socket, ReceiveTimeout, &TimeVal::new(seconds, 0))?)
    }

    /// Waits for the next change.
    ///
    /// # Errors
    /// The socket's, other than a buffer that has run over.
    pub fn wait(&self) -> io::Result<Change> {
        let mut buffer = [0; 256];
        loop {
            match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(length) => {
                    if let Some(change) = parse(&buffer[..length]) {
                        return Ok(change);
                    }
                }
                Err(nix::errno::Errno::ENOBUFS) => return Ok(Change::Lost),
                Err(nix::errno::Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The request to be told.
fn request() -> [u8; REQUEST_BYTES as usize] {
    let mut bytes = [0; REQUEST_BYTES as usize];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(0, &REQUEST_BYTES.to_ne_bytes());
    put(4, &DONE.to_ne_bytes());
    put(HEADER_BYTES, &PROC.to_ne_bytes());
    put(HEADER_BYTES + 4, &PROC.to_ne_bytes());
    put(HEADER_BYTES + 16, &4_u16.to_ne_bytes());
    put(EVENT_AT, &LISTEN.to_ne_bytes());
    bytes
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

/// The change that a message tells of, if it is one of processes.
fn parse(bytes: &[u8]) -> Option<Change> {
    let field = |number: usize| word(bytes, FIELDS_AT + 4 * number).map(u32::cast_signed);
    match word(bytes, EVENT_AT)? {
        WHAT_FORK => {
            let (parent, child, group) = (field(1)?, field(2)?, field(3)?);
            (child == group).then_some(Change::Fork { parent, child })
        }
        WHAT_EXIT => (field(0)? == field(1)?).then_some(Change::Exit(field(0)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
