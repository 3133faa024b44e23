//! The network programs in a namespace and a control group of our own. Needs root, BPF, cgroup v2 and `ip`.
//!
//! The kernel skips a program that would interrupt itself: at least half of the packets must be seen, none as of the other
//! class, and no more than were sent, since nobody else sends here.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{HANG, becomes_readable, wait_until};
use lull_bpf::record::WAKE_LEAK;
use lull_bpf::{Congestion, Interface, InterfaceReport, NetSensor, NetSettings};
use lull_core::{Interval, Nanos, Observation};

mod common;

/// DSCP 1, Lower Effort.
const LOWER_EFFORT: i32 = 0x04;

fn now() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Nanos::from_secs(time.tv_sec.unsigned_abs()).plus(Nanos(time.tv_nsec.unsigned_abs()))
}

/// A cgroup v2 group; removed when dropped.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
        let mount = mounts.lines().find(|line| line.split(' ').nth(2) == Some("cgroup2"))?;
        let path = Path::new(mount.split(' ').nth(1)?).join(format!("lull-test-net-{}", std::process::id()));
        std::fs::create_dir(&path).ok()?;
        Some(Self(path))
    }

    /// A shell script that runs in the group, and in the namespace of the calling thread.
    fn bash(&self, script: &str) -> Child {
        let script = format!("echo 0 > {}/cgroup.procs; {script}", self.0.display());
        Command::new("bash").args(["-c", &script]).stdin(Stdio::piped()).spawn().unwrap()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let started = Instant::now();
        while std::fs::remove_dir(&self.0).is_err() && started.elapsed() < HANG {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

struct Scene {
    sensor: NetSensor,
    loopback: Interface,
    group: Group,
}

/// The calling thread is in a namespace of its own from then on.
fn scene() -> Option<Scene> {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("SKIPPED: needs root");
        return None;
    }
    let Some(group) = Group::new() else {
        eprintln!("SKIPPED: no cgroup v2 to make a group in");
        return None;
    };
    // SAFETY: moves this thread alone.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0
        || !Command::new("ip").args(["link", "set", "lo", "up"]).status().is_ok_and(|status| status.success())
    {
        eprintln!("SKIPPED: no network namespace of our own, or no ip command");
        return None;
    }
    let settings = NetSettings { job_group: Some(group.0.clone()), ..NetSettings::default() };
    let mut sensor = match NetSensor::load(&settings) {
        Ok(sensor) => sensor,
        Err(error) if Path::new("/sys/kernel/btf/vmlinux").exists() => panic!("{error}"),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return None;
        }
    };
    let namespace = std::fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
    let loopback = sensor.watch(u32::try_from(namespace).unwrap(), 1).unwrap();
    Some(Scene { sensor, loopback, group })
}

fn set_tos(socket: &UdpSocket, tos: i32) {
    // SAFETY: an integer option and its size.
    let outcome = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_TOS, (&raw const tos).cast(), 4)
    };
    assert_eq!(outcome, 0);
}

/// What was seen of an interface, once no packet waits and nothing changes. One whose end was skipped waits for a while.
fn settled(interface: &Interface) -> (Observation, InterfaceReport) {
    let mut seen = (interface.observation(now()), interface.report());
    wait_until("no packet waits", || {
        let before = seen.0;
        seen = (interface.observation(now()), interface.report());
        let waiting = seen.0.foreground.in_service + seen.0.background.in_service;
        seen.0 == before && interface.observation(now()) == before && waiting == 0
    });
    seen
}

#[test]
fn root_packets_are_told_apart_by_group_and_by_mark() {
    let Some(Scene { sensor: _sensor, loopback, group }) = scene() else { return };
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = receiver.local_addr().unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    for _ in 0..20 {
        sender.send_to(&[7; 100], to).unwrap();
    }
    let (seen, _) = settled(&loopback);
    let foreground = seen.foreground.started;
    assert!((10..=20).contains(&foreground) && seen.background.started == 0, "{seen:?}");
    set_tos(&sender, LOWER_EFFORT);
    for _ in 0..20 {
        sender.send_to(&[7; 100], to).unwrap();
    }
    let (seen, _) = settled(&loopback);
    let marked = seen.background.started;
    assert!((10..=20).contains(&marked) && seen.foreground.started == foreground, "{seen:?}");
    let script = format!("for i in {{1..20}}; do echo hello > /dev/udp/127.0.0.1/{}; done", to.port());
    assert!(group.bash(&script).wait().unwrap().success());
    let (seen, report) = settled(&loopback);
    let of_the_job = seen.background.started - marked;
    assert!((10..=20).contains(&of_the_job) && seen.foreground.started == foreground, "{seen:?}");
    for (view, timed) in [
        (seen.foreground, report.quiet.count() + report.loaded.count()),
        (seen.background, report.service.count()),
    ] {
        // The last that left is known by its number, the time of each by its own end.
        assert!(view.started / 2 <= view.ended && view.ended <= view.started, "{seen:?}");
        assert!((view.started / 2..=view.ended).contains(&timed), "{timed} of {seen:?}");
    }
    // With the headers of UDP, IPv4 and the link.
    assert_eq!(report.foreground, (foreground, foreground * 142));
    wait_until("no bytes wait", || loopback.queued_bytes(now()) == 0);
}

#[test]
fn root_a_record_is_free_again_when_its_interface_is_gone() {
    let Some(Scene { mut sensor, loopback, group: _group }) = scene() else { return };
    let namespace = u32::try_from(std::fs::metadata("/proc/thread-self/ns/net").unwrap().ino()).unwrap();
    let others: Vec<Interface> = (2..).map_while(|index| sensor.watch(namespace, index).ok()).collect();
    // Somebody takes them, so that nothing is answered.
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = receiver.local_addr().unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    let send = || (0..10).for_each(|_| assert_eq!(sender.send_to(&[7; 100], to).unwrap(), 100));
    send();
    let before = settled(&loopback).1.foreground.0;
    assert!((5..=10).contains(&before), "{before}");
    loopback.hold_until(now().plus(Nanos::from_secs(9)));
    sensor.unwatch(namespace, 1, &loopback);
    send();
    assert_eq!(settled(&loopback).1.foreground.0, before, "nobody looks");
    let again = sensor.watch(namespace, 1).unwrap();
    assert!(sensor.watch(namespace, 1_000).is_err(), "there is one record for each of {}", others.len() + 1);
    assert_eq!(again.report(), InterfaceReport::default());
    send();
    let (_, report) = settled(&again);
    assert!((5..=10).contains(&report.foreground.0), "{report:?}");
}

#[test]
fn root_a_datagram_of_the_job_carries_the_mark() {
    let Some(Scene { sensor: _sensor, group, loopback: _ }) = scene() else { return };
    for address in ["127.0.0.1:0", "[::1]:0"] {
        let receiver = UdpSocket::bind(address).unwrap();
        receiver.set_read_timeout(Some(HANG)).unwrap();
        let on = 1_i32;
        let (level, option) = if address.starts_with('[') {
            (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS)
        } else {
            (libc::IPPROTO_IP, libc::IP_RECVTOS)
        };
        // SAFETY: an integer option and its size.
        unsafe { libc::setsockopt(receiver.as_raw_fd(), level, option, (&raw const on).cast(), 4) };
        let host = address.trim_end_matches(":0").trim_matches(['[', ']']);
        let script = format!("echo hello > /dev/udp/{host}/{}", receiver.local_addr().unwrap().port());
        assert!(group.bash(&script).wait().unwrap().success());
        assert_eq!(received_class(&receiver) & 0xfc, LOWER_EFFORT, "{address}");
    }
}

/// Receives a datagram; its traffic class.
fn received_class(socket: &UdpSocket) -> i32 {
    let mut data = [0_u8; 64];
    let mut control = [0_u64; 16];
    let mut part = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
    // SAFETY: all zero is a valid header.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control);
    // SAFETY: the header's buffers live through the call, and the control messages are walked within their length.
    unsafe {
        assert!(libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0) > 0);
        let message = libc::CMSG_FIRSTHDR(&raw const header);
        assert!(!message.is_null());
        i32::from(*libc::CMSG_DATA(message))
    }
}

#[test]
fn root_tcp_of_the_job_has_the_own_congestion_control_and_the_mark_wins() {
    let Some(Scene { sensor, group, .. }) = scene() else { return };
    if *sensor.congestion() != Congestion::Idle {
        eprintln!("SKIPPED: {:?}", sensor.congestion());
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut job = group.bash(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}; echo hello >&3; read -r line"));
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0; 6]).unwrap();
    let filter = format!("dport = :{port}");
    let shown = Command::new("ss").args(["-Htin", &filter]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    drop(job.stdin.take());
    job.wait().unwrap();
    assert!(shown.contains(&format!("lull_{} ", std::process::id())), "{shown}");
}

#[test]
fn root_a_datagram_of_the_job_in_an_endless_interval_is_a_leak_and_wakes() {
    let Some(Scene { sensor, loopback, group }) = scene() else { return };
    loopback.set_policy(Interval::Infinite, Interval::Infinite, 0);
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = receiver.local_addr().unwrap();
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"hello", to).unwrap();
    loopback.ask_wake(WAKE_LEAK);
    assert_eq!(loopback.leaks(), 0, "the foreground is free to go");
    let script = format!("for i in {{1..10}}; do echo hello > /dev/udp/127.0.0.1/{}; done", to.port());
    assert!(group.bash(&script).wait().unwrap().success());
    wait_until("leaks are counted", || loopback.leaks() >= 5);
    assert!(loopback.leaks() <= 10, "{}", loopback.leaks());
    assert!(becomes_readable(sensor.wake_fd()));
    sensor.drain();
}

#[test]
fn root_two_sensors_have_a_congestion_control_each() {
    let Some(Scene { sensor, group, loopback: _ }) = scene() else { return };
    let settings = NetSettings { job_group: Some(group.0.clone()), ..NetSettings::default() };
    if *sensor.congestion() != Congestion::Idle {
        eprintln!("SKIPPED: {:?}", sensor.congestion());
        return;
    }
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "load_once"])
        .env("LULL_TEST_GROUP", &group.0)
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    // In one process the name is taken.
    assert_ne!(*NetSensor::load(&settings).unwrap().congestion(), Congestion::Idle);
}

#[test]
#[ignore = "the second process of root_two_sensors_have_a_congestion_control_each"]
fn load_once() {
    let group = std::env::var_os("LULL_TEST_GROUP").unwrap();
    let settings = NetSettings { job_group: Some(group.into()), ..NetSettings::default() };
    assert_eq!(*NetSensor::load(&settings).unwrap().congestion(), Congestion::Idle);
}
