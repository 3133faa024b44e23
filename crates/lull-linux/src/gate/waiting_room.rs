//! A waiting room for the job's datagrams: a network device of lull's own, beside the interface that they are for.
//!
//! ```text
//!   sendto ──▶ interface, egress program ──free──▶ the interface's queue ──▶ driver
//!                     │ foreground at work                 ▲
//!                     ▼                                    │ give
//!              the room's queue (token bucket) ──take──▶ lull
//! ```
//! Problem: a datagram is sent by a call that returns at once. To hold it per request without asking user space at every
//! call, it has to wait in a queue of the kernel, and the sender has to wait for that queue.
//!
//! Approach: the room is a TUN or TAP device, whose queue is a token bucket. What waits in the bucket is charged to the
//! sender's socket, so a sender whose socket buffer is full sleeps in its call, as it does on a slow interface. A *fill* lets
//! 128 KiB through to lull, and then next to nothing until the next one. So lull never has to stop anybody: a flood stops by
//! itself, what lull holds is bounded, and a few datagrams per hold never meet the end of a fill. A packet in the room keeps its
//! link header, so it needs no second routing.
//!
//! Fails open: the device is gone with the descriptor. What waited is lost then, as in any queue that goes away, and
//! senders wake up. Without fills the bucket still leaks 10 kB/s, so that senders of a lull that hangs wake up too.
//!
//! Units: packets and bytes. Source: tc-tbf(8), packet(7), `net/sched/sch_tbf.c`.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use nix::net::if_::{if_indextoname, if_nametoindex};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
use nix::sys::time::TimeVal;

use crate::tun::{self, Layer};

mod netlink;

use netlink::{Bucket, Netlink};

/// How a room's device is named.
const NAME: &str = "lull";
/// Packets between the bucket and lull.
const RING_PACKETS: u32 = 4_096;
/// What may wait in the bucket: many senders with full socket buffers.
const LIMIT_BYTES: u32 = 64 << 20;
const LEAK_BYTES_PER_S: u32 = 10_000;
/// What a fill lets through, if packets are not jumbo.
const FILL_BYTES: u32 = 128 << 10;
/// What a packet counts in a bucket beside its length, so that tiny ones are few too.
const OVERHEAD_BYTES: u16 = 512;
/// WaitingRoomDevice for a link header.
const HEADER_BYTES: u32 = 64;
/// An Ethernet header, and where its source and type are.
const ETHER_BYTES: usize = 14;
const ETHER_TYPE_AT: usize = 12;
/// The type for local experiments (IEEE 802): of the frame that wakes the bucket.
const KICK_TYPE: [u8; 2] = [0x88, 0xb5];
const KICK_BYTES: usize = 60;
/// As the address has it.
const AF_PACKET: libc::sa_family_t = 17;
/// How long a packet waits for its place in the interface's queue before its keeper looks up.
const GIVE_WAIT_US: i64 = 100_000;
/// TC_PRIO_BULK: the kernel's own queues send it last.
const PRIORITY: libc::c_int = 2;

/// A room. All of it is gone when it is dropped.
#[derive(Debug)]
pub struct WaitingRoomDevice {
    device: File,
    index: u32,
    interface: u32,
    layer: Layer,
    packets: OwnedFd,
    kicks: OwnedFd,
    netlink: Netlink,
    mtu: u32,
    /// As the bucket counts, since the last fill.
    taken_bytes: u32,
}

impl WaitingRoomDevice {
    /// Makes a room, with a first fill, for the interface with this index, in the calling thread's network namespace. It has no
    /// bound yet.
    ///
    /// # Errors
    /// Without CAP_NET_ADMIN and CAP_NET_RAW, or where the kernel has no TUN devices or no token bucket.
    pub fn open(interface: u32) -> io::Result<Self> {
        let packets = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?;
        // Of its own, so that no kick waits behind what is given.
        let kicks = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?;
        let (layer, mtu) = facts(&packets, interface)?;
        let (device, name) = tun::open(&format!("{NAME}%d"), layer)?;
        let index = if_nametoindex(name.as_str())?;
        setsockopt(&packets, sockopt::Priority, &PRIORITY)?;
        setsockopt(&packets, sockopt::SendTimeout, &TimeVal::new(0, GIVE_WAIT_US))?;
        let netlink = Netlink::open()?;
        netlink.start(index, mtu, RING_PACKETS)?;
        let room = Self { device, index, interface, layer, packets, kicks, netlink, mtu, taken_bytes: 0 };
        room.pour()?;
        Ok(room)
    }

    /// Whether an interface of this name is a room, of this lull or another.
    pub fn is_room(interface: &str) -> bool {
        let number = interface.strip_prefix(NAME);
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// The index of the room's device, to which datagrams that have to wait are redirected.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The kernel's number of the socket through which [`WaitingRoomDevice::give`] sends; no other socket ever has it.
    ///
    /// # Errors
    /// Before Linux 4.12.
    pub fn giver(&self) -> io::Result<u64> {
        let mut cookie = 0_u64;
        let mut len = libc::socklen_t::try_from(size_of_val(&cookie)).unwrap_or(0);
        // SAFETY: the number and its length live through the call.
        let asked = unsafe {
            libc::getsockopt(
                self.packets.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_COOKIE,
                (&raw mut cookie).cast(),
                &raw mut len,
            )
        };
        if asked < 0 { Err(io::Error::last_os_error()) } else { Ok(cookie) }
    }

    /// Polls readable when a packet has come through the bucket.
    pub fn device(&self) -> RawFd {
        self.device.as_raw_fd()
    }

    /// What a fill lets through: two packets of any size fit.
    fn fill_bytes(&self) -> u32 {
        FILL_BYTES.max(2 * (self.mtu + HEADER_BYTES + u32::from(OVERHEAD_BYTES)))
    }

    /// Whether so much has come through that something may wait in the bucket.
    pub fn is_low(&self) -> bool {
        self.taken_bytes >= self.fill_bytes() / 2
    }

    /// Lets more through.
    ///
    /// # Errors
    /// When the kernel refuses: the bucket is as it was.
    pub fn fill(&mut self) -> io::Result<()> {
        self.pour()?;
        self.taken_bytes = 0;
        // The bucket looks at what it may do when the next packet comes.
        let kick: Vec<u8> = [0; ETHER_TYPE_AT].into_iter().chain(KICK_TYPE).collect();
        let padding = vec![0; KICK_BYTES - kick.len()];
        // Where there is no room for it, earlier ones wait and do the same.
        let kick = [kick, padding].concat();
        let _ = send(&self.kicks, self.index, KICK_TYPE, &kick, libc::MSG_DONTWAIT);
        Ok(())
    }

    fn pour(&self) -> io::Result<()> {
        let bucket = Bucket {
            bytes_per_s: LEAK_BYTES_PER_S,
            burst_bytes: self.fill_bytes(),
            limit_bytes: LIMIT_BYTES,
        };
        self.netlink.shape(self.index, bucket)
    }

    /// Whether anything waits in the bucket.
    ///
    /// # Errors
    /// When the device is gone.
    pub fn is_any_queued(&self) -> io::Result<bool> {
        self.netlink.queued(self.index).map(|queued| queued > 0)
    }

    /// Bounds what the interface's queue may have of the room's packets, as the kernel counts them; `None` for no bound.
    ///
    /// # Errors
    /// Without CAP_NET_ADMIN.
    pub fn set_bound(&self, bytes: Option<u32>) -> io::Result<()> {
        // The kernel doubles it for its own bookkeeping, and counts with that.
        let bytes = bytes.map_or(i32::MAX as usize / 2, |bytes| bytes as usize / 2);
        Ok(setsockopt(&self.packets, sockopt::SndBufForce, &bytes)?)
    }

    /// Takes the next packet that has come through the bucket into `space`; `None` if there is none.
    ///
    /// # Errors
    /// When the device fails.
    pub fn take(&mut self, space: &mut Vec<u8>) -> io::Result<Option<usize>> {
        loop {
            // A link header more than the interface's largest packet, with tags.
            space.resize(self.mtu as usize + HEADER_BYTES as usize, 0);
            match self.device.read(space) {
                Ok(len) => {
                    space.truncate(len);
                    let counted =
                        u32::try_from(len).unwrap_or(u32::MAX).saturating_add(OVERHEAD_BYTES.into());
                    self.taken_bytes = self.taken_bytes.saturating_add(counted);
                    if self.ether_type(space).is_some() {
                        return Ok(Some(len));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// What a packet is, as Ethernet numbers it; `None` for the kick and what makes no sense.
    fn ether_type(&self, packet: &[u8]) -> Option<[u8; 2]> {
        match self.layer {
            Layer::Frames => {
                let kind = packet.get(ETHER_TYPE_AT..ETHER_BYTES)?.try_into().ok()?;
                (kind != KICK_TYPE).then_some(kind)
            }
            Layer::Packets => match packet.first()? >> 4 {
                4 => Some([0x08, 0x00]),
                6 => Some([0x86, 0xdd]),
                _ => None,
            },
        }
    }

    /// Gives a packet to the interface; waits, up to 100 ms, while too many of the room's are in its queue.
    ///
    /// # Errors
    /// `WouldBlock` when nothing left that queue for so long: the packet may be given again. Else as send(2), and the packet is
    /// lost: the interface is down or gone.
    pub fn give(&self, packet: &[u8]) -> io::Result<()> {
        let Some(kind) = self.ether_type(packet) else { return Ok(()) };
        send(&self.packets, self.interface, kind, packet, 0)
    }
}

fn send(socket: &OwnedFd, index: u32, kind: [u8; 2], packet: &[u8], flags: libc::c_int) -> io::Result<()> {
    // SAFETY: all zero is a valid address.
    let mut to: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    to.sll_family = AF_PACKET;
    to.sll_ifindex = index.cast_signed();
    to.sll_protocol = u16::from_ne_bytes(kind);
    let len = libc::socklen_t::try_from(size_of_val(&to)).unwrap_or(0);
    // SAFETY: packet and address live through the call.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            packet.as_ptr().cast(),
            packet.len(),
            flags,
            (&raw const to).cast(),
            len,
        )
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

nix::ioctl_read_bad!(
    /// The largest packet of an interface.
    ask_mtu,
    libc::SIOCGIFMTU,
    libc::ifreq
);
nix::ioctl_read_bad!(
    /// The link address of an interface, which begins with the kind of link.
    ask_link,
    libc::SIOCGIFHWADDR,
    libc::ifreq
);

/// What an interface carries, and its largest packet. Asked by a socket: /sys may show another network namespace.
/// These calls take a name, which may be another one than a moment ago.
fn facts(socket: &OwnedFd, interface: u32) -> io::Result<(Layer, u32)> {
    let name = if_indextoname(interface)?;
    // SAFETY: all zero is a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.as_bytes()) {
        *to = (*from).cast_signed();
    }
    // SAFETY: the request is as these calls want it and lives through them; each fills the field that is read after it.
    let (kind, mtu) = unsafe {
        ask_link(socket.as_raw_fd(), &raw mut request)?;
        let kind = request.ifr_ifru.ifru_hwaddr.sa_family;
        ask_mtu(socket.as_raw_fd(), &raw mut request)?;
        (kind, request.ifr_ifru.ifru_mtu)
    };
    let layer = if kind == libc::ARPHRD_ETHER { Layer::Frames } else { Layer::Packets };
    Ok((layer, u32::try_from(mtu).unwrap_or(1_500)))
}
