//! The network as a resource of `lull run`, on a test network: what the job sends is told from the rest, it yields, no call of
//! it fails, and whatever is killed meanwhile leaves its traffic flowing and nothing attached.
//!
//! An endless interval holds the job from the foreground's first packet on, so the tests need no real contention.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::File;
use std::io::Read;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Child;

use common::go::Go;
use common::net::{
    bed, connections, disturb, for_bash, has_own_congestion_control, held_upload, listener, number_of,
    on_left, receiver, rooms, socket, summary_at, wait_for_a_room,
};
use common::{assert_nothing_left, clean_text, finish, helper, new_marker, send, spawn_marked, wait_until};
use lull_bench::netbed::{self, Bed};
use lull_linux::gate::cached::borrow_descriptor;

const ENDLESS: [&str; 4] = ["--resources", "net", "--interval", "inf"];

#[test]
fn root_what_the_job_sends_is_counted_as_background_in_both_protocols() {
    let Some(bed) = bed() else { return };
    for address in [bed.right.v4(), bed.right.v6()] {
        let (to, received) = receiver(&bed, address);
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = file.path().to_str().unwrap();
        let options = ["--resources", "net", "--json", "--summary", path];
        let script = format!("head -c 2000000 /dev/zero > {}; echo done", for_bash(to));
        let output = common::output(&mut on_left(&bed, &options, &script));
        assert_eq!(clean_text(&output), "done\n");
        assert_eq!(received.join().unwrap(), 2_000_000);
        let summary = summary_at(path);
        let interface = &summary["net"]["interfaces"][0];
        assert_eq!(interface["interface"], netbed::DEVICE, "{summary}");
        // The kernel goes on with what the socket still holds when the job has ended.
        assert!(interface["background_bytes"].as_u64().unwrap() >= 100_000, "{summary}");
        assert!(interface["foreground_bytes"].as_u64().unwrap() < 10_000, "{summary}");
    }
}

#[test]
fn root_a_killed_supervisor_leaves_held_traffic_flowing_and_nothing_attached() {
    let Some(bed) = bed() else { return };
    let (to, received) = receiver(&bed, bed.right.v4());
    let marker = new_marker();
    // At the trickle of a held connection this would take more than two minutes.
    let child = held_upload(&bed, &ENDLESS, to, 10_000_000, &marker);
    let front = child.id();
    let supervisor = helper(front, "lull-supervisor").unwrap();
    assert!(has_own_congestion_control(supervisor));
    assert!(send(supervisor, libc::SIGKILL));
    let output = finish(child);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
    assert!(output.status.success());
    assert_eq!(received.join().unwrap(), 10_000_000);
    assert_nothing_left(front, &marker);
    wait_until("the congestion control to go", || !has_own_congestion_control(supervisor));
}

#[test]
fn root_a_held_upload_goes_on_when_the_interval_is_over() {
    let Some(bed) = bed() else { return };
    let (to, received) = receiver(&bed, bed.right.v4());
    let marker = new_marker();
    let script = format!("head -c 3000000 /dev/zero > {}; echo done", for_bash(to));
    let options = ["--resources", "net", "--interval", "300ms"];
    let child = spawn_marked(&mut on_left(&bed, &options, &script), &marker);
    let front = child.id();
    for _ in 0..20 {
        disturb(&bed);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(clean_text(&finish(child)), "done\n");
    assert_eq!(received.join().unwrap(), 3_000_000);
    assert_nothing_left(front, &marker);
}

#[test]
fn root_a_job_that_sends_datagrams_is_held_and_sees_no_error() {
    let Some(bed) = bed() else { return };
    let sink = socket(&bed.right);
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = file.path().to_str().unwrap();
    let options = [&ENDLESS[..], &["--longest-hold", "5ms", "--json", "--summary", path]].concat();
    let to = format!("/dev/udp/{}/{}", bed.right.v4(), sink.local_addr().unwrap().port());
    let (marker, go) = (new_marker(), Go::new());
    let send = "echo datagram >&3 || echo failed";
    let script = format!("exec 3> {to}; until [ -e '{}' ]; do {send}; done; echo done", go.file().display());
    let child = spawn_marked(&mut on_left(&bed, &options, &script), &marker);
    let front = child.id();
    wait_for_a_room(&bed, bed.right.v4());
    go.give();
    assert_eq!(clean_text(&finish(child)), "done\n");
    let interface = &summary_at(path)["net"]["interfaces"][0];
    // The first one in F or P asks for the room; until it stands the job is frozen.
    assert!(interface["leaks"].as_u64().unwrap() > 0, "{interface}");
    assert!(interface["no_room"].is_null(), "{interface}");
    assert!(interface["parked"].as_u64().unwrap() > 0, "{interface}");
    assert_nothing_left(front, &marker);
}

/// Starts a job that sends 3,000 datagrams, and waits until its calls wait in the room.
fn held_sender(bed: &Bed, sink: &UdpSocket, marker: &str) -> Child {
    let to = format!("/dev/udp/{}/{}", bed.right.v4(), sink.local_addr().unwrap().port());
    let script = format!(
        "exec 3> {to}; d=$(printf %01400d 7); for i in $(seq 3000); do echo $d >&3 || echo failed; done; echo done"
    );
    let options = [&ENDLESS[..], &["--longest-hold", "60min"]].concat();
    let child = spawn_marked(&mut on_left(bed, &options, &script), marker);
    wait_until("the sender to wait in the room", || {
        disturb(bed);
        let output = bed.left.command("tc").args(["-s", "qdisc", "show"]).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        let room = shown.split("qdisc ").find(|one| one.starts_with("tbf") && one.contains("dev lull"));
        room.is_some_and(|room| room.contains("backlog ") && !room.contains("backlog 0b"))
    });
    child
}

/// The largest window that the job's connection to this host has announced to a sender that never stops.
fn announced(bed: &Bed, from: SocketAddr) -> u64 {
    let shown = connections(&bed.right, &format!("sport = :{}", from.port()));
    number_of(&shown, "snd_wnd:").unwrap_or(0)
}

/// Sends to the first who connects until that one is gone.
fn sender(bed: &Bed) -> SocketAddr {
    use std::io::Write;
    let (from, listener) = listener(&bed.right, bed.right.v4());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        while stream.write_all(&[7; 1 << 14]).is_ok() {}
    });
    from
}

/// The largest window of a connection that is held: two packets, rounded up as windows are.
const HELD: u64 = 4_096;

/// A job that receives without end from there, held by now.
fn held_receiver(bed: &Bed, from: SocketAddr, options: &[&str], marker: &str) -> Child {
    // Calls too small to be trapped: where all of lull is killed nobody is left to answer them.
    let script = format!("exec 3<> {}; exec dd bs=4k <&3 > /dev/null", for_bash(from));
    let child = spawn_marked(&mut on_left(bed, options, &script), marker);
    wait_until("the window to be small", || {
        disturb(bed);
        (1..=HELD).contains(&announced(bed, from))
    });
    child
}

#[test]
fn root_what_the_job_receives_is_slowed_and_flows_again_after_a_kill() {
    let Some(bed) = bed() else { return };
    let (from, marker) = (sender(&bed), new_marker());
    let child = held_receiver(&bed, from, &ENDLESS, &marker);
    let front = child.id();
    assert!(send(helper(front, "lull-supervisor").unwrap(), libc::SIGKILL));
    wait_until("the window to be wide again", || announced(&bed, from) > HELD);
    assert!(send(front, libc::SIGTERM));
    finish(child);
    assert_nothing_left(front, &marker);
}

#[test]
fn root_the_next_lull_opens_windows_when_all_of_the_last_was_killed() {
    let Some(bed) = bed() else { return };
    let (from, marker) = (sender(&bed), new_marker());
    let mut child = held_receiver(&bed, from, &ENDLESS, &marker);
    let front = child.id();
    let job = common::job_of(front);
    let helpers = ["lull-guardian", "lull-supervisor"].map(|name| helper(front, name).unwrap());
    for pid in helpers.into_iter().chain([front]) {
        assert!(send(pid, libc::SIGKILL));
    }
    child.wait().unwrap();
    assert_eq!(clean_text(&common::output(&mut common::lull_run(&[], &["echo", "done"]))), "done\n");
    wait_until("the window to be wide again", || announced(&bed, from) > HELD);
    assert!(send(job, libc::SIGKILL));
    wait_until("the job to go", || common::state_of(job).is_none());
    assert_eq!(clean_text(&common::output(&mut common::lull_run(&[], &["echo", "done"]))), "done\n");
    assert_nothing_left(front, &marker);
}

#[test]
fn root_a_connection_that_outlives_the_run_elsewhere_gets_its_window_back() {
    let Some(bed) = bed() else { return };
    let (from, marker) = (sender(&bed), new_marker());
    let child = held_receiver(&bed, from, &ENDLESS, &marker);
    let front = child.id();
    // As if the job had passed it to a process of somebody else's.
    let job = common::job_of(front);
    let mut connection = File::from(borrow_descriptor(job, 0).unwrap());
    assert!(send(job, libc::SIGKILL));
    finish(child);
    assert_nothing_left(front, &marker);
    // What is not taken would bound the window, too.
    let take =
        std::thread::spawn(move || while connection.read(&mut [0; 1 << 16]).is_ok_and(|got| got > 0) {});
    wait_until("the window to be wide again", || announced(&bed, from) > HELD);
    drop(bed);
    drop(take);
}

/// The directory of this group, where the hierarchy is mounted in the usual place.
fn v2_group(name: &str) -> Option<PathBuf> {
    let mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
    let root = mounts.into_iter().find(|root| root.join("cgroup.controllers").exists())?;
    Some(root.join(name.trim_start_matches('/')))
}

#[test]
fn root_a_process_that_left_the_group_gets_the_windows_of_its_connections_back() {
    let Some(bed) = bed() else { return };
    let (from, marker) = (sender(&bed), new_marker());
    // The group of this test, or of who started it.
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let Some(outside) = groups.lines().find_map(|line| line.strip_prefix("0::")).and_then(v2_group) else {
        eprintln!("SKIPPED: no control groups of version 2");
        return;
    };
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let word = directory.path().join("leave");
    let script = format!(
        "exec 3<> {}; dd bs=4k <&3 > /dev/null 2>&1 & until [ -e {} ]; do sleep 0.02; done; echo $! > {}/cgroup.procs; echo $!",
        for_bash(from),
        word.display(),
        outside.display()
    );
    // No filter: a run with one lasts until all that have it are gone.
    let options = [&ENDLESS[..], &["--gate", "none"]].concat();
    let child = spawn_marked(&mut on_left(&bed, &options, &script), &marker);
    wait_until("the window to be small", || {
        disturb(&bed);
        (1..=HELD).contains(&announced(&bed, from))
    });
    let front = child.id();
    File::create(&word).unwrap();
    let left: u32 = clean_text(&finish(child)).trim().parse().unwrap();
    wait_until("the window to be wide again", || announced(&bed, from) > HELD);
    assert!(send(left, libc::SIGKILL));
    assert_nothing_left(front, &marker);
}

/// Sends from this host to the other without end, for as long as the test lives.
fn upload(bed: &Bed) {
    use std::io::{Read, Write};
    let (to, listener) = listener(&bed.right, bed.right.v4());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = [0; 1 << 14];
        while stream.read(&mut bytes).is_ok_and(|length| length > 0) {}
    });
    let mut stream = bed.left.namespace().inside(|| std::net::TcpStream::connect(to)).unwrap().unwrap();
    std::thread::spawn(move || while stream.write_all(&[7; 1 << 14]).is_ok() {});
}

#[test]
fn root_an_upload_of_the_foreground_does_not_hold_what_the_job_receives() {
    let Some(bed) = bed() else { return };
    let (from, marker) = (sender(&bed), new_marker());
    upload(&bed);
    let child = held_receiver(&bed, from, &["--resources", "net", "--interval", "1s"], &marker);
    wait_until("the window to be wide beside the upload alone", || announced(&bed, from) > HELD);
    assert!(send(child.id(), libc::SIGTERM));
    let front = child.id();
    finish(child);
    assert_nothing_left(front, &marker);
}

#[test]
fn root_datagrams_that_wait_hold_their_sender_and_not_the_job() {
    let Some(bed) = bed() else { return };
    let sink = socket(&bed.right);
    let marker = new_marker();
    let child = held_sender(&bed, &sink, &marker);
    let front = child.id();
    // The sender sleeps in its call; nobody is frozen.
    let bash = common::job_of(front);
    wait_until("the sender to sleep in the kernel", || {
        let stack = std::fs::read_to_string(format!("/proc/{bash}/wchan")).unwrap();
        stack.starts_with("sock_")
    });
    assert!(send(front, libc::SIGTERM));
    finish(child);
    assert_nothing_left(front, &marker);
    wait_until("the room to go", || rooms(&bed) == 0);
}

#[test]
fn root_datagrams_pass_again_when_the_supervisor_is_killed() {
    let Some(bed) = bed() else { return };
    let sink = socket(&bed.right);
    let marker = new_marker();
    let child = held_sender(&bed, &sink, &marker);
    let front = child.id();
    assert_eq!(rooms(&bed), 1);
    assert!(send(helper(front, "lull-supervisor").unwrap(), libc::SIGKILL));
    let output = finish(child);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
    assert!(output.status.success());
    assert_nothing_left(front, &marker);
    wait_until("the room to go", || rooms(&bed) == 0);
}
