//! The few netlink requests that a waiting room needs: starting its device, the rate of its queue, and what waits there.
//!
//! A request is a header, a fixed part and attributes; the kernel answers each with 0 or an error number, after what was asked
//! for. Answers carry the number of their request: one that was given up may still be answered. Source: rtnetlink(7), `include/uapi/linux/if_link.h`, `include/uapi/linux/pkt_sched.h`.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};

use super::OVERHEAD_BYTES;

/// Attributes that the libc crate does not name.
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
/// As an attribute's number.
const AF_INET6: u16 = 10;
const ADDR_GEN_NONE: u8 = 1;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
/// `struct tc_stats`, and where it has the number of packets that wait.
const TCA_STATS: u16 = 3;
const QUEUED_AT: usize = 28;
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_BURST: u16 = 6;
const TC_H_ROOT: u32 = 0xffff_ffff;
const LINKLAYER_ETHERNET: u8 = 1;
/// Where messages and attributes begin: at multiples of this.
const ALIGN: usize = 4;
const HEADER_BYTES: usize = 16;
/// Of `struct tcmsg`.
const QUEUE_BYTES: usize = 20;
const ATTRIBUTE_BYTES: usize = 4;
/// Where a message and an attribute say what they are.
const KIND_AT: usize = 4;
/// The number of the request.
const NUMBER_AT: usize = 8;
const ATTRIBUTE_KIND_AT: usize = 2;

/// What a token bucket lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bucket {
    pub(super) bytes_per_s: u32,
    /// What may leave at once.
    pub(super) burst_bytes: u32,
    /// What may wait.
    pub(super) limit_bytes: u32,
}

/// A connection to the kernel, of the calling thread's network namespace.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: OwnedFd,
    /// Of the last request.
    number: Cell<u32>,
}

impl Netlink {
    pub(super) fn open() -> io::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )?;
        Ok(Self { socket, number: Cell::new(0) })
    }

    /// Starts an interface, without address resolution and without addresses that the kernel makes up.
    pub(super) fn start(&self, index: u32, mtu: u32, queue_packets: u32) -> io::Result<()> {
        let message = |with_v6: bool| {
            let mut message = Message::new(libc::RTM_NEWLINK, 0);
            let flags = (libc::IFF_UP | libc::IFF_NOARP).cast_unsigned();
            message.bytes(&[0; 4]).word(index).word(flags).word(flags);
            message.attribute(libc::IFLA_MTU, &mtu.to_ne_bytes());
            message.attribute(libc::IFLA_TXQLEN, &queue_packets.to_ne_bytes());
            if with_v6 {
                message.nested(libc::IFLA_AF_SPEC, |message| {
                    message.nested(AF_INET6, |message| {
                        message.attribute(IFLA_INET6_ADDR_GEN_MODE, &[ADDR_GEN_NONE]);
                    });
                });
            }
            message
        };
        // A kernel without IPv6 makes up no addresses either.
        self.ask(message(true)).or_else(|_| self.ask(message(false))).map(|_| ())
    }

    /// Gives the interface's queue this bucket, whatever it had.
    pub(super) fn shape(&self, index: u32, bucket: Bucket) -> io::Result<()> {
        let mut message = Message::new(libc::RTM_NEWQDISC, libc::NLM_F_CREATE | libc::NLM_F_REPLACE);
        message.bytes(&[0; 4]).word(index).word(1 << 16).word(TC_H_ROOT).word(0);
        message.attribute(TCA_KIND, b"tbf\0");
        message.nested(TCA_OPTIONS, |message| {
            let mut parameters = [0_u8; 36];
            parameters[1] = LINKLAYER_ETHERNET;
            parameters[2..4].copy_from_slice(&OVERHEAD_BYTES.to_ne_bytes());
            parameters[8..12].copy_from_slice(&bucket.bytes_per_s.to_ne_bytes());
            parameters[24..28].copy_from_slice(&bucket.limit_bytes.to_ne_bytes());
            message.attribute(TCA_TBF_PARMS, &parameters);
            message.attribute(TCA_TBF_BURST, &bucket.burst_bytes.to_ne_bytes());
        });
        self.ask(message).map(|_| ())
    }

    /// How many packets wait in the interface's queue.
    pub(super) fn queued(&self, index: u32) -> io::Result<u32> {
        // Before Linux 6.13 only an echo sends the answer to who asked.
        let mut message = Message::new(libc::RTM_GETQDISC, libc::NLM_F_ECHO);
        message.bytes(&[0; 4]).word(index).word(0).word(TC_H_ROOT).word(0);
        let answer = self.ask(message)?;
        let attributes = answer.get(HEADER_BYTES + QUEUE_BYTES..).unwrap_or_default();
        let stats = attribute_of(attributes, TCA_STATS);
        let queued = stats.and_then(|stats| word_at(stats, QUEUED_AT));
        queued.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// What the kernel sends before it says that all went well; empty for most requests.
    fn ask(&self, message: Message) -> io::Result<Vec<u8>> {
        let number = self.send(message)?;
        let mut answer = Vec::new();
        loop {
            let mut part = [0_u8; 4096];
            // SAFETY: the buffer lives through the call.
            let got = unsafe { libc::recv(self.socket.as_raw_fd(), part.as_mut_ptr().cast(), part.len(), 0) };
            let part = match usize::try_from(got) {
                Ok(got) => &part[..got],
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => continue,
                    error => return Err(error),
                },
            };
            if word_at(part, NUMBER_AT) != Some(number) {
                continue;
            }
            if half_at(part, KIND_AT).map(i32::from) != Some(libc::NLMSG_ERROR) {
                answer = part.to_vec();
                continue;
            }
            // After the header an error number, 0 for none, below zero.
            return match word_at(part, HEADER_BYTES).map(u32::cast_signed) {
                Some(0) => Ok(answer),
                Some(number) => Err(io::Error::from_raw_os_error(-number)),
                None => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
    }

    /// Its number.
    fn send(&self, message: Message) -> io::Result<u32> {
        let number = self.number.get().wrapping_add(1);
        self.number.set(number);
        let message = message.finish(number);
        // SAFETY: the buffer lives through the call.
        let sent = unsafe { libc::send(self.socket.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(number) }
    }
}

fn half_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes)
}

fn word_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

/// The value of the first attribute of this kind.
fn attribute_of(mut attributes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let length = usize::from(half_at(attributes, 0)?);
        let value = attributes.get(ATTRIBUTE_BYTES..length)?;
        if half_at(attributes, ATTRIBUTE_KIND_AT)? == kind {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(ALIGN)..)?;
    }
}

/// A request that is being written.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: libc::c_int) -> Self {
        let flags = u16::try_from(libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags).unwrap_or_default();
        let mut message = Self(Vec::with_capacity(256));
        // The length and the number are set at the end.
        message.word(0).bytes(&kind.to_ne_bytes()).bytes(&flags.to_ne_bytes()).word(0).word(0);
        message
    }

    fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn word(&mut self, word: u32) -> &mut Self {
        self.bytes(&word.to_ne_bytes())
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        self.nested(kind, |message| {
            message.bytes(value);
        });
    }

    fn nested(&mut self, kind: u16, write: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        self.bytes(&[0; 2]).bytes(&kind.to_ne_bytes());
        write(self);
        let length = u16::try_from(self.0.len() - start).unwrap_or(u16::MAX);
        self.0[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self.0.resize(self.0.len().next_multiple_of(ALIGN), 0);
    }

    fn finish(mut self, number: u32) -> Vec<u8> {
        let length = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0[NUMBER_AT..NUMBER_AT + 4].copy_from_slice(&number.to_ne_bytes());
        self.0
    }
}

#[cfg(test)]
mod tests;
