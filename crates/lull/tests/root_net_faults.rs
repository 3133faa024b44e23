//! What may befall the network of a job: unusual ways to send, and an interface that comes and goes. No call of the job fails that
//! would not have failed anyway, all it sends is background, and nothing is left.
//!
//! The job is this test program again, with one of the ignored tests below.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::File;
use std::io::{IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use common::again::{assert_background, has_sign, start, to};
use common::net::{DISCARD_PORT, any_of, bed, connections, disturb_to, number_of, receiver, wait_for_a_room};
use common::wait_until;
use lull_bench::netbed::{Bed, Host};
use nix::sys::socket::{
    AddressFamily, Backlog, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType,
    SockaddrStorage, bind, getsockopt, listen, recvmsg, sendmsg, setsockopt, socket, sockopt,
};

const BYTES: usize = 200_000;
/// Of sockets that share one.
const SHARED_PORT: u16 = 7_117;
/// DSCP 1 in the upper six bits of the field.
const LOWER_EFFORT: i32 = 0x04;

/// Runs a job that sends `BYTES` over a connection, and looks at what arrived and as what it was counted.
fn sends_all(test: &str) {
    let Some(bed) = bed() else { return };
    for address in [bed.right.v4(), bed.right.v6()] {
        let (to, received) = receiver(&bed, address);
        let interface = start(&bed, test, to, &[]).finish();
        assert_eq!(received.join().unwrap(), BYTES, "{address}");
        assert_background(&interface, BYTES);
    }
}

#[test]
fn root_a_file_that_is_sent_by_the_kernel_is_background() {
    sends_all("job_sendfile_and_splice");
}

#[test]
#[ignore = "a job of another test"]
fn job_sendfile_and_splice() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[7; BYTES]).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let stream = TcpStream::connect(to()).unwrap();
    let mut sent = 0;
    while sent < BYTES / 2 {
        // SAFETY: two open descriptors, from the file's own position.
        let moved = unsafe {
            libc::sendfile(stream.as_raw_fd(), file.as_raw_fd(), std::ptr::null_mut(), BYTES / 2 - sent)
        };
        sent += usize::try_from(moved).unwrap();
    }
    // The rest through a pipe.
    splice_all(&file, &stream, BYTES - sent);
    wait_for_the_receiver(stream);
}

/// What is still in the socket when a job ends is sent, but counted by nobody.
fn wait_for_the_receiver(mut stream: TcpStream) {
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

fn splice_all(file: &File, stream: &TcpStream, mut left: usize) {
    let (out, into) = nix::unistd::pipe().unwrap();
    let splice = |from: i32, to: i32, length: usize| {
        // SAFETY: two open descriptors and no positions.
        let moved = unsafe { libc::splice(from, std::ptr::null_mut(), to, std::ptr::null_mut(), length, 0) };
        usize::try_from(moved).unwrap()
    };
    while left > 0 {
        let mut piped = splice(file.as_raw_fd(), into.as_raw_fd(), left.min(1 << 16));
        left -= piped;
        while piped > 0 {
            piped -= splice(out.as_raw_fd(), stream.as_raw_fd(), piped);
        }
    }
}

#[test]
fn root_a_connection_that_the_job_passes_on_is_background() {
    sends_all("job_passes_a_connection");
}

#[test]
#[ignore = "a job of another test"]
fn job_passes_a_connection() {
    let stream = TcpStream::connect(to()).unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--ignored", "--exact", "job_takes_a_connection"]).stdin(Stdio::from(OwnedFd::from(theirs)));
    let mut child = child.stdout(Stdio::null()).spawn().unwrap();
    let passed = [stream.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&passed)];
    sendmsg::<()>(ours.as_raw_fd(), &[IoSlice::new(b"x")], &rights, MsgFlags::empty(), None).unwrap();
    drop(stream);
    assert!(child.wait().unwrap().success());
}

#[test]
#[ignore = "a process of a job of another test"]
fn job_takes_a_connection() {
    let mut space = nix::cmsg_space!([i32; 1]);
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    let message = recvmsg::<()>(0, &mut parts, Some(&mut space), MsgFlags::empty()).unwrap();
    let Some(ControlMessageOwned::ScmRights(passed)) = message.cmsgs().unwrap().next() else {
        panic!("no descriptor came")
    };
    // SAFETY: the descriptor has just come and nobody else owns it.
    let mut stream = unsafe { TcpStream::from_raw_fd(passed[0]) };
    stream.write_all(&[7; BYTES]).unwrap();
    wait_for_the_receiver(stream);
}

#[test]
fn root_a_job_that_sets_its_own_class_sees_success_and_the_mark_stays() {
    sends_all("job_sets_its_own_class");
}

#[test]
#[ignore = "a job of another test"]
fn job_sets_its_own_class() {
    let mut stream = TcpStream::connect(to()).unwrap();
    let fd = stream.as_fd();
    setsockopt(&fd, sockopt::TcpCongestion, &"reno".into()).unwrap();
    setsockopt(&fd, sockopt::Priority, &6).unwrap();
    let congestion = getsockopt(&fd, sockopt::TcpCongestion).unwrap();
    assert!(congestion.to_string_lossy().starts_with("lull_"), "{congestion:?}");
    if to().is_ipv4() {
        setsockopt(&fd, sockopt::Ipv4Tos, &0x10).unwrap();
        assert_eq!(getsockopt(&fd, sockopt::Ipv4Tos).unwrap() & 0xfc, LOWER_EFFORT);
    } else {
        setsockopt(&fd, sockopt::Ipv6TClass, &0x10).unwrap();
        assert_eq!(getsockopt(&fd, sockopt::Ipv6TClass).unwrap() & 0xfc, LOWER_EFFORT);
    }
    stream.write_all(&[7; BYTES]).unwrap();
    wait_for_the_receiver(stream);
}

#[test]
fn root_datagrams_of_every_kind_are_background_and_none_is_refused() {
    let Some(bed) = bed() else { return };
    for address in [bed.right.v4(), bed.right.v6()] {
        let sink = bed.right.namespace().inside(|| UdpSocket::bind(SocketAddr::new(address, 0)));
        // It stays: with nobody there, an answer would fail the next call.
        let sink = sink.unwrap().unwrap();
        let to = sink.local_addr().unwrap();
        let interface = start(&bed, "job_sends_datagrams", to, &["--interval", "20ms"]).finish();
        // The last of them wait in the room when the job ends, and are not lost.
        assert!(interface["background_bytes"].as_u64().unwrap() >= 10 * 65_000, "{interface}");
    }
}

#[test]
#[ignore = "a job of another test"]
fn job_sends_datagrams() {
    let any = any_of(to().ip());
    let first = UdpSocket::bind(any).unwrap();
    // Larger than what lull leaves it.
    setsockopt(&first.as_fd(), sockopt::SndBuf, &(4_usize << 20)).unwrap();
    let large = vec![7; 65_000];
    for _ in 0..10 {
        // Unconnected, in fragments.
        assert_eq!(first.send_to(&large, to()).unwrap(), large.len());
    }
    // Two on one port.
    let pair: Vec<UdpSocket> = (0..2).map(|_| shared_port(any)).collect();
    assert_eq!(pair[0].local_addr().unwrap().port(), pair[1].local_addr().unwrap().port());
    for socket in &pair {
        socket.connect(to()).unwrap();
        for _ in 0..5 {
            assert_eq!(socket.send(&large).unwrap(), large.len());
        }
    }
}

/// A socket on the port that all of these share.
fn shared_port(any: SocketAddr) -> UdpSocket {
    shared(any.ip(), SockType::Datagram).into()
}

/// A listener on that port.
fn shared_listener(at: SocketAddr) -> TcpListener {
    let fd = shared(at.ip(), SockType::Stream);
    listen(&fd, Backlog::MAXCONN).unwrap();
    fd.into()
}

fn shared(address: IpAddr, kind: SockType) -> OwnedFd {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let fd = socket(family, kind, SockFlag::empty(), None).unwrap();
    setsockopt(&fd, sockopt::ReusePort, &true).unwrap();
    bind(fd.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(address, SHARED_PORT))).unwrap();
    fd
}

fn ip(host: &Host, words: &str) {
    assert!(host.command("ip").args(words.split(' ')).status().unwrap().success(), "ip {words}");
}

fn flap(bed: &Bed) {
    ip(&bed.left, "link set net0 down");
    ip(&bed.left, "link set net0 up");
}

#[test]
fn root_a_link_that_flaps_and_then_vanishes_harms_nobody() {
    let Some(bed) = bed() else { return };
    let to = SocketAddr::new(bed.right.v4(), DISCARD_PORT);
    let options = ["--interval", "inf", "--longest-hold", "20ms"];
    let run = start(&bed, "job_sends_until_the_link_is_gone", to, &options);
    wait_for_a_room(&bed, bed.right.v4());
    for _ in 0..3 {
        flap(&bed);
        disturb_to(&bed, bed.right.v4());
    }
    ip(&bed.left, "link del net0");
    let interface = run.finish();
    assert!(interface["parked"].as_u64().unwrap() > 0, "{interface}");
}

#[test]
#[ignore = "a job of another test"]
fn job_sends_until_the_link_is_gone() {
    let socket = UdpSocket::bind(any_of(to().ip())).unwrap();
    let exists = || nix::net::if_::if_nametoindex("net0").is_ok();
    while exists() {
        // The kernel's own errors, of a link that is down, are the job's to see.
        let _ = socket.send_to(&[7; 1_000], to());
    }
}

#[test]
fn root_a_link_that_has_another_name_now_has_a_room() {
    let Some(bed) = bed() else { return };
    let sink = common::net::socket(&bed.right);
    let run = start(&bed, "job_sends_until_it_waits", sink.local_addr().unwrap(), &["--interval", "50ms"]);
    // By then lull knows the interfaces.
    sink.recv(&mut [0]).unwrap();
    ip(&bed.left, "link set net0 down");
    ip(&bed.left, "link set net0 name other0 up");
    wait_for_a_room(&bed, bed.right.v4());
    run.give_sign();
    let interface = run.finish();
    assert!(interface["no_room"].is_null() && interface["parked"].as_u64().unwrap() > 0, "{interface}");
}

#[test]
#[ignore = "a job of another test"]
fn job_sends_until_it_waits() {
    let socket = UdpSocket::bind(any_of(to().ip())).unwrap();
    let mut left = 1_000;
    while left > 0 {
        // The kernel's own errors, of a link that is down, are the job's to see.
        let _ = socket.send_to(&[7; 1_000], to());
        left -= usize::from(has_sign());
    }
}

#[test]
fn root_a_link_of_ipv6_alone_is_lent_as_any_other() {
    let Some(bed) = bed() else { return };
    for host in [&bed.left, &bed.right] {
        ip(host, "-4 addr flush dev net0");
    }
    let (to, received) = receiver(&bed, bed.right.v6());
    let interface = start(&bed, "job_uploads", to, &[]).finish();
    assert_eq!(received.join().unwrap(), BYTES);
    assert_background(&interface, BYTES);
    let to = SocketAddr::new(bed.right.v6(), DISCARD_PORT);
    let options = ["--interval", "inf", "--longest-hold", "20ms"];
    let run = start(&bed, "job_sends_until_the_link_is_gone", to, &options);
    wait_for_a_room(&bed, to.ip());
    ip(&bed.left, "link del net0");
    let interface = run.finish();
    assert!(interface["no_room"].is_null() && interface["parked"].as_u64().unwrap() > 0, "{interface}");
}

#[test]
fn root_a_held_upload_outlives_a_link_that_flaps() {
    let Some(bed) = bed() else { return };
    let (to, received) = receiver(&bed, bed.right.v4());
    let run = start(&bed, "job_uploads", to, &["--interval", "2s"]);
    let filter = format!("dport = :{}", to.port());
    wait_until("the connection to be held", || {
        disturb_to(&bed, to.ip());
        number_of(&connections(&bed.left, &filter), "cwnd:") == Some(2)
    });
    for _ in 0..3 {
        flap(&bed);
        disturb_to(&bed, to.ip());
    }
    let interface = run.finish();
    assert_eq!(received.join().unwrap(), BYTES);
    assert_background(&interface, BYTES);
}

#[test]
#[ignore = "a job of another test"]
fn job_uploads() {
    let mut stream = TcpStream::connect(to()).unwrap();
    stream.write_all(&[7; BYTES]).unwrap();
    wait_for_the_receiver(stream);
}

const CALLERS: usize = 8;

#[test]
fn root_what_comes_to_a_port_that_sockets_of_the_job_share_is_answered_as_background() {
    let Some(bed) = bed() else { return };
    for address in [bed.left.v4(), bed.left.v6()] {
        let to = SocketAddr::new(address, SHARED_PORT);
        let run = start(&bed, "job_serves_a_shared_port", to, &[]);
        let filter = format!("sport = :{SHARED_PORT}");
        wait_until("the job to listen", || {
            let shown = bed.left.command("ss").args(["-Hltn", &filter]).output().unwrap();
            String::from_utf8(shown.stdout).unwrap().lines().count() == 2
        });
        for _ in 0..CALLERS {
            let mut stream = bed.right.namespace().inside(|| TcpStream::connect(to)).unwrap().unwrap();
            let mut data = Vec::new();
            stream.read_to_end(&mut data).unwrap();
            assert_eq!(data.len(), BYTES, "{address}");
        }
        let interface = run.finish();
        assert_background(&interface, CALLERS * BYTES);
    }
}

#[test]
#[ignore = "a job of another test"]
fn job_serves_a_shared_port() {
    let listeners: Vec<TcpListener> = (0..2).map(|_| shared_listener(to())).collect();
    for listener in &listeners {
        listener.set_nonblocking(true).unwrap();
    }
    let mut served = 0;
    while served < CALLERS {
        for (mut stream, _) in listeners.iter().filter_map(|listener| listener.accept().ok()) {
            stream.set_nonblocking(false).unwrap();
            stream.write_all(&[7; BYTES]).unwrap();
            wait_for_the_receiver(stream);
            served += 1;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
