//! The class of packets as a receiver sees it, and of those that a socket will send.

use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use lull_bench::netbed::Host;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};

/// DSCP 1 in the upper six bits of the field.
pub(crate) const LOWER_EFFORT: i32 = 0x04;
const DSCP_MASK: i32 = 0xfc;
/// A packet that takes longer is lost, also on a slow machine.
const LOST: Duration = Duration::from_secs(10);

fn set(socket: &impl AsFd, level: i32, option: i32, value: i32) {
    let (fd, value) = (socket.as_fd().as_raw_fd(), &raw const value);
    // SAFETY: an integer option and its size.
    assert_eq!(unsafe { libc::setsockopt(fd, level, option, value.cast(), 4) }, 0);
}

/// A datagram socket on this host that is told the class of what it receives.
pub(crate) fn datagrams(host: &Host, address: IpAddr, port: u16) -> UdpSocket {
    let bound = host.namespace().inside(|| UdpSocket::bind(SocketAddr::new(address, port)));
    let socket = bound.unwrap().unwrap();
    match address {
        IpAddr::V4(_) => set(&socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1),
        IpAddr::V6(_) => set(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1),
    }
    socket.set_read_timeout(Some(LOST)).unwrap();
    socket
}

/// Marks what the socket sends from now on as Lower Effort, or as nothing.
pub(crate) fn set_lower_effort(socket: &impl AsFd, is_v6: bool, lower: bool) {
    let class = if lower { LOWER_EFFORT } else { 0 };
    match is_v6 {
        false => set(socket, libc::IPPROTO_IP, libc::IP_TOS, class),
        true => set(socket, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, class),
    }
}

/// Marks what the socket sends inside this host.
pub(crate) fn set_mark(socket: &impl AsFd, mark: i32) {
    set(socket, libc::SOL_SOCKET, libc::SO_MARK, mark);
}

/// Receives a datagram; whether it was Lower Effort, and from where. `None`: nothing came.
pub(crate) fn receive(socket: &UdpSocket) -> Option<(bool, SocketAddr)> {
    let mut data = [0; 2048];
    let mut control = nix::cmsg_space!([i32; 4]);
    let mut parts = [IoSliceMut::new(&mut data)];
    let message =
        recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty())
            .ok()?;
    let class = message.cmsgs().unwrap().find_map(|control| match control {
        ControlMessageOwned::Ipv4Tos(class) => Some(i32::from(class)),
        ControlMessageOwned::Ipv6TClass(class) => Some(class),
        _ => None,
    });
    let from = message.address.unwrap();
    let from = from
        .as_sockaddr_in()
        .map(|from| SocketAddr::from((from.ip(), from.port())))
        .or_else(|| from.as_sockaddr_in6().map(|from| SocketAddr::from((from.ip(), from.port()))));
    Some((class.unwrap() & DSCP_MASK == LOWER_EFFORT, from.unwrap()))
}
