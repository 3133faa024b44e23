//! Programs that arrange their packets themselves: what they send is background all the same, and no call of theirs fails.
//!
//! The job is this test program again, with one of the ignored tests below.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{IoSlice, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixDatagram;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::again::{assert_background, has_sign, start, to};
use common::net::{any_of, bed, receiver, wait_for_a_room};
use common::wait_until;
use lull_bench::netbed::{Bed, Host};
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage,
    bind, connect, getsockopt, listen, recv, sendmsg, setsockopt, socket, sockopt,
};

const DATAGRAMS: usize = 1_000;
const DATAGRAM_BYTES: usize = 1_000;
/// DSCP EF in the upper six bits of the field.
const EXPEDITED: u8 = 0xb8;
/// More than lull leaves the sockets of datagrams, and less than what any program may have.
const LARGE_BUFFER_BYTES: usize = 150_000;
/// In a second.
const PACED_BYTES: usize = 200_000;

#[test]
fn root_datagrams_with_a_class_of_their_own_do_not_hold_the_job() {
    let Some(bed) = bed() else { return };
    for address in [bed.right.v4(), bed.right.v6()] {
        let sink = bed.right.namespace().inside(|| UdpSocket::bind(SocketAddr::new(address, 0)));
        let sink = sink.unwrap().unwrap();
        let options = ["--interval", "50ms"];
        let run = start(&bed, "job_gives_each_datagram_a_class", sink.local_addr().unwrap(), &options);
        wait_for_a_room(&bed, address);
        run.give_sign();
        let interface = run.finish();
        let bytes = |class: &str| interface[class].as_u64().unwrap();
        let sent = (DATAGRAMS * DATAGRAM_BYTES) as u64;
        assert!(bytes("background_bytes") >= sent / 2, "{interface}");
        assert!(bytes("foreground_bytes") < bytes("background_bytes") / 10, "{interface}");
    }
}

#[test]
#[ignore = "a job of another test"]
fn job_gives_each_datagram_a_class() {
    let socket = UdpSocket::bind(any_of(to().ip())).unwrap();
    let class = i32::from(EXPEDITED);
    let class = match to() {
        SocketAddr::V4(_) => ControlMessage::Ipv4Tos(&EXPEDITED),
        SocketAddr::V6(_) => ControlMessage::Ipv6TClass(&class),
    };
    let (data, address) = ([7; DATAGRAM_BYTES], SockaddrStorage::from(to()));
    let mut left = DATAGRAMS;
    while left > 0 {
        let sent =
            sendmsg(socket.as_raw_fd(), &[IoSlice::new(&data)], &[class], MsgFlags::empty(), Some(&address));
        assert_eq!(sent.unwrap(), data.len());
        left -= 1;
        // Until some waited: beside a foreground that has not begun there is nothing to see.
        if left == DATAGRAMS / 2 && !has_sign() {
            left += 1;
        }
    }
}

#[test]
fn root_only_datagrams_of_the_internet_have_a_bounded_buffer() {
    let Some(bed) = bed() else { return };
    let (to, received) = receiver(&bed, bed.right.v4());
    start(&bed, "job_sends_large_messages_to_itself", to, &[]).finish();
    assert_eq!(received.join().unwrap(), 0);
}

#[test]
#[ignore = "a job of another test"]
fn job_sends_large_messages_to_itself() {
    // What waits for the network has it now.
    drop(TcpStream::connect(to()).unwrap());
    let (ours, theirs) = UnixDatagram::pair().unwrap();
    let netlink =
        socket(AddressFamily::Netlink, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::NetlinkRoute);
    let netlink = netlink.unwrap();
    for fd in [ours.as_fd(), netlink.as_fd()] {
        setsockopt(&fd, sockopt::SndBuf, &LARGE_BUFFER_BYTES).unwrap();
        assert_eq!(getsockopt(&fd, sockopt::SndBuf).unwrap(), 2 * LARGE_BUFFER_BYTES);
    }
    let large = vec![7; LARGE_BUFFER_BYTES];
    assert_eq!(ours.send(&large).unwrap(), large.len());
    assert_eq!(theirs.recv(&mut vec![0; large.len()]).unwrap(), large.len());
    let internet = UdpSocket::bind(any_of(to().ip())).unwrap();
    setsockopt(&internet.as_fd(), sockopt::SndBuf, &LARGE_BUFFER_BYTES).unwrap();
    assert!(getsockopt(&internet.as_fd(), sockopt::SndBuf).unwrap() < 2 * LARGE_BUFFER_BYTES);
}

#[test]
fn root_a_rate_that_the_job_gives_its_connection_is_kept() {
    let Some(bed) = bed() else { return };
    let (to, received) = receiver(&bed, bed.right.v4());
    let interface = start(&bed, "job_bounds_its_own_rate", to, &[]).finish();
    assert_eq!(received.join().unwrap(), PACED_BYTES);
    assert_background(&interface, PACED_BYTES);
}

#[test]
#[ignore = "a job of another test"]
fn job_bounds_its_own_rate() {
    let mut stream = TcpStream::connect(to()).unwrap();
    let rate = u32::try_from(PACED_BYTES).unwrap();
    set_most_rate(&stream, rate);
    stream.write_all(&[7; PACED_BYTES]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    assert!(pacing_rate(&stream) <= u64::from(rate), "{}", pacing_rate(&stream));
}

fn set_most_rate(stream: &TcpStream, rate: u32) {
    // SAFETY: the number lives through the call.
    let set = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const rate).cast(),
            4,
        )
    };
    assert_eq!(set, 0);
}

/// `tcpi_pacing_rate` of `struct tcp_info`, behind 8 bytes and 24 numbers of 4.
fn pacing_rate(stream: &TcpStream) -> u64 {
    const AT: usize = 8 + 24 * 4;
    let mut info = [0_u8; AT + 8];
    let mut len = libc::socklen_t::try_from(info.len()).unwrap();
    // SAFETY: the space and its length live through the call.
    let got = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    assert_eq!((got, usize::try_from(len).unwrap()), (0, info.len()));
    u64::from_ne_bytes(info[AT..].try_into().unwrap())
}

/// A socket of a connection that may go several ways; none where the kernel has no MPTCP.
fn multipath() -> Option<OwnedFd> {
    // SAFETY: integers in, a new descriptor or an error out.
    let fd =
        unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, libc::IPPROTO_MPTCP) };
    // SAFETY: made for us just now.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The left host's connections to this port, with their class: two lines each.
fn paths(bed: &Bed, to: SocketAddr) -> Vec<String> {
    let filter = format!("dport = :{}", to.port());
    let output = bed.left.command("ss").args(["-Htin", "--tos", "state", "established", &filter]).output();
    let shown = String::from_utf8(output.unwrap().stdout).unwrap();
    let lines: Vec<&str> = shown.lines().collect();
    lines.chunks(2).map(<[&str]>::concat).collect()
}

#[test]
fn root_every_path_of_a_multipath_connection_is_background() {
    let Some(bed) = bed() else { return };
    let set_up =
        |host: &Host, words: &str| host.command("ip").args(words.split(' ')).status().unwrap().success();
    let limits = "mptcp limits set subflow 2 add_addr_accepted 2";
    let listener = bed.right.namespace().inside(multipath).unwrap();
    let (Some(listener), true) = (listener, [&bed.left, &bed.right].iter().all(|host| set_up(host, limits)))
    else {
        eprintln!("SKIPPED: no MPTCP here");
        return;
    };
    assert!(set_up(&bed.left, "addr add 10.77.0.77/24 dev net0"));
    assert!(set_up(&bed.left, "mptcp endpoint add 10.77.0.77 dev net0 subflow"));
    bind(listener.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(bed.right.v4(), 0))).unwrap();
    listen(&listener, Backlog::MAXCONN).unwrap();
    let listener = TcpListener::from(listener);
    let to = listener.local_addr().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let receiver = std::thread::spawn(move || {
        let (mut stream, mut space) = (listener.accept().unwrap().0, [0; 1 << 14]);
        while !stopped.load(Ordering::Relaxed) && stream.read(&mut space).unwrap() > 0 {}
        stream.write_all(b"x").unwrap();
        while stream.read(&mut space).unwrap() > 0 {}
    });
    let run = start(&bed, "job_uploads_on_every_path", to, &[]);
    wait_until("both paths to have the mark and the congestion control", || {
        let shown = paths(&bed, to);
        let is_marked = |path: &String| path.contains("tos:0x4") && path.contains(" lull_");
        shown.len() == 2 && shown.iter().all(is_marked)
    });
    stop.store(true, Ordering::Relaxed);
    let interface = run.finish();
    receiver.join().unwrap();
    let bytes = |class: &str| interface[class].as_u64().unwrap();
    assert!(bytes("background_bytes") > 10 * bytes("foreground_bytes"), "{interface}");
}

#[test]
#[ignore = "a job of another test"]
fn job_uploads_on_every_path() {
    let socket = multipath().unwrap();
    connect(socket.as_raw_fd(), &SockaddrStorage::from(to())).unwrap();
    let mut stream = TcpStream::from(socket);
    // Until the other side has seen enough.
    while recv(stream.as_raw_fd(), &mut [0], MsgFlags::MSG_DONTWAIT).is_err() {
        stream.write_all(&[7; 1 << 14]).unwrap();
    }
}
