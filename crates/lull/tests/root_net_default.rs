//! The network without being named: it is lent from the job's first internet socket on. A job without such a socket gets nothing of it, and whoever is killed meanwhile, the socket is made.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::net::SocketAddr;
use std::path::Path;
use std::process::Child;

use common::net::{
    bed, disturb, first_a_socket, for_bash, has_own_congestion_control, held_upload, let_go_on, on_left,
    receiver, rooms, socket, summary_at,
};
use common::{
    assert_nothing_left, clean_text, finish, groups_of, helper, in_own_mounts, lull_run, needs_root,
    new_marker, output, send, spawn_marked, state_of, wait_until,
};
use lull_bench::netbed::Bed;

/// TCP is held from the foreground's first packet on; nothing is frozen for the disks' or the CPUs' sake.
const ENDLESS: [&str; 4] = ["--interval", "inf", "--longest-hold", "off"];

/// A place for the marks by which jobs and tests wait for each other.
fn signs() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// A shell's wait for this file.
fn until(sign: &Path) -> String {
    format!("until [ -e {} ]; do sleep 0.05; done; ", sign.display())
}

fn give(sign: &Path) {
    std::fs::write(sign, "").unwrap();
}

fn supervisor(child: &Child) -> u32 {
    helper(child.id(), "lull-supervisor").unwrap()
}

#[test]
fn root_a_job_without_internet_sockets_loads_nothing() {
    let Some(bed) = bed() else { return };
    let signs = signs();
    let (ready, go, summary) =
        (signs.path().join("ready"), signs.path().join("go"), signs.path().join("summary"));
    // `ip` asks the kernel through a socket that is none of the internet's.
    let script = format!("ip -o link > {}; {}echo done", ready.display(), until(&go));
    let options = ["--json", "--summary", summary.to_str().unwrap()];
    let marker = new_marker();
    let child = spawn_marked(&mut on_left(&bed, &options, &script), &marker);
    let front = child.id();
    wait_until("the job to have asked", || std::fs::metadata(&ready).is_ok_and(|file| file.len() > 0));
    let supervisor = supervisor(&child);
    assert!(!has_own_congestion_control(supervisor));
    assert_eq!(rooms(&bed), 0);
    let threads = std::fs::read_dir(format!("/proc/{supervisor}/task")).unwrap().flatten();
    let names: Vec<String> =
        threads.map(|thread| std::fs::read_to_string(thread.path().join("comm")).unwrap()).collect();
    assert!(!names.iter().any(|name| name.starts_with("net-")), "{names:?}");
    give(&go);
    assert_eq!(clean_text(&finish(child)), "done\n");
    assert!(summary_at(summary.to_str().unwrap())["net"].is_null());
    assert_nothing_left(front, &marker);
}

#[test]
fn root_an_upload_that_nobody_named_is_background_in_both_protocols() {
    let Some(bed) = bed() else { return };
    for address in [bed.right.v4(), bed.right.v6()] {
        let (to, received) = receiver(&bed, address);
        let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let path = file.path().to_str().unwrap();
        let signs = signs();
        let go = signs.path().join("go");
        let script =
            format!("{}head -c 2000000 /dev/zero > {}; echo done", first_a_socket(&go), for_bash(to));
        let child = spawn_marked(&mut on_left(&bed, &["--json", "--summary", path], &script), &new_marker());
        let_go_on(child.id(), &go);
        assert_eq!(clean_text(&finish(child)), "done\n");
        assert_eq!(received.join().unwrap(), 2_000_000);
        let summary = summary_at(path);
        let interface = &summary["net"]["interfaces"][0];
        assert_eq!(summary["net"]["congestion"], "lull_idle", "{summary}");
        // The kernel goes on with what the socket still holds when the job has ended.
        assert!(interface["background_bytes"].as_u64().unwrap() >= 100_000, "{summary}");
        assert!(interface["foreground_bytes"].as_u64().unwrap() < 100_000, "{summary}");
    }
}

/// For [`in_own_mounts`]: what `ip netns exec` does to the mounts, so that no control groups are to be seen.
const NEW_SYS: &str = "umount -l /sys; mount -t sysfs sysfs /sys; exec \"$@\"";

#[test]
fn root_control_groups_that_are_not_mounted_here_are_found_and_left_clean_after_a_kill() {
    for victims in [&[][..], &["lull-guardian", "lull-supervisor"]] {
        let Some(bed) = bed() else { return };
        let (to, received) = receiver(&bed, bed.right.v4());
        let signs = signs();
        let (connect, go) = (signs.path().join("connect"), signs.path().join("go"));
        let summary = signs.path().join("summary");
        let script = format!(
            "{}head -c 1000000 /dev/zero > {}; ls /sys/fs/cgroup; {}echo done",
            first_a_socket(&connect),
            for_bash(to),
            until(&go)
        );
        let mut command = on_left(&bed, &["--json", "--summary", summary.to_str().unwrap()], &script);
        command = in_own_mounts(&command, NEW_SYS);
        bed.left.namespace().confine(&mut command);
        let marker = new_marker();
        let child = spawn_marked(&mut command, &marker);
        let front = child.id();
        let_go_on(front, &connect);
        assert_eq!(received.join().unwrap(), 1_000_000);
        assert!(!groups_of(front).is_empty());
        for name in victims {
            assert!(send(helper(front, name).unwrap(), libc::SIGKILL));
        }
        give(&go);
        let output = finish(child);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
        if victims.is_empty() {
            assert_eq!(String::from_utf8_lossy(&output.stderr), "");
            let net = &summary_at(summary.to_str().unwrap())["net"];
            assert_eq!(net["congestion"], "lull_idle", "{net}");
            assert!(net["interfaces"][0]["background_bytes"].as_u64().unwrap() >= 100_000, "{net}");
        }
        assert_nothing_left(front, &marker);
    }
}

#[test]
fn root_the_first_connection_is_held_and_flows_when_helpers_are_killed() {
    for names in [&["lull-supervisor"][..], &["lull-guardian", "lull-supervisor"]] {
        let Some(bed) = bed() else { return };
        let (to, received) = receiver(&bed, bed.right.v4());
        let marker = new_marker();
        let child = held_upload(&bed, &ENDLESS, to, 10_000_000, &marker);
        let (front, supervisor) = (child.id(), supervisor(&child));
        assert!(has_own_congestion_control(supervisor));
        let pids: Vec<u32> = names.iter().map(|name| helper(front, name).unwrap()).collect();
        for pid in pids {
            assert!(send(pid, libc::SIGKILL));
        }
        let output = finish(child);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
        assert_eq!(received.join().unwrap(), 10_000_000);
        assert_nothing_left(front, &marker);
        wait_until("the congestion control to go", || !has_own_congestion_control(supervisor));
    }
}

/// Starts a job that connects once `go` is there; its supervisor is stopped, and will not answer.
fn waiting_for_a_socket(bed: &Bed, signs: &Path, to: SocketAddr, marker: &str) -> (Child, u32) {
    let (ready, go) = (signs.join("ready"), signs.join("go"));
    let connect = format!("exec 3> {}; echo data >&3 && echo done", for_bash(to));
    let script = format!("> {}; {}{connect}", ready.display(), until(&go));
    let child = spawn_marked(&mut on_left(bed, &[], &script), marker);
    wait_until("the job to begin", || ready.exists());
    let supervisor = supervisor(&child);
    assert!(send(supervisor, libc::SIGSTOP));
    wait_until("the supervisor to stop", || state_of(supervisor).is_some_and(|(state, _)| state == 'T'));
    let job = common::job_of(child.id());
    give(&go);
    wait_until("the socket to wait", || {
        std::fs::read_to_string(format!("/proc/{job}/wchan")).is_ok_and(|place| place.contains("seccomp"))
    });
    (child, supervisor)
}

#[test]
fn root_a_socket_that_waits_is_made_when_the_supervisor_is_killed() {
    let Some(bed) = bed() else { return };
    let (signs, marker) = (signs(), new_marker());
    let (to, received) = receiver(&bed, bed.right.v4());
    let (child, supervisor) = waiting_for_a_socket(&bed, signs.path(), to, &marker);
    let front = child.id();
    assert!(send(supervisor, libc::SIGKILL));
    let output = finish(child);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
    assert_eq!(received.join().unwrap(), 5);
    assert_nothing_left(front, &marker);
}

#[test]
fn root_a_socket_that_waits_is_made_when_the_supervisor_comes_to_it() {
    let Some(bed) = bed() else { return };
    let (signs, marker) = (signs(), new_marker());
    let (to, received) = receiver(&bed, bed.right.v4());
    let (child, supervisor) = waiting_for_a_socket(&bed, signs.path(), to, &marker);
    let front = child.id();
    // The guardian is replaced, and does not mix the two up.
    assert!(send(helper(front, "lull-guardian").unwrap(), libc::SIGKILL));
    assert!(send(supervisor, libc::SIGCONT));
    assert_eq!(clean_text(&finish(child)), "done\n");
    assert_eq!(received.join().unwrap(), 5);
    assert_nothing_left(front, &marker);
}

#[test]
fn root_eight_jobs_at_once_have_a_congestion_control_and_a_room_each() {
    const JOBS: usize = 8;
    let Some(bed) = bed() else { return };
    let signs = signs();
    let go = signs.path().join("go");
    let sink = socket(&bed.right);
    let datagrams = format!("/dev/udp/{}/{}", bed.right.v4(), sink.local_addr().unwrap().port());
    let mut jobs = Vec::new();
    for _ in 0..JOBS {
        let (to, received) = receiver(&bed, bed.right.v4());
        let script = format!(
            "exec 3> {} 4> {datagrams}; head -c 20000 /dev/zero >&3; \
             until [ -e {} ]; do echo datagram >&4; sleep 0.05; done; echo done",
            for_bash(to),
            go.display()
        );
        let options = ["--interval", "inf", "--longest-hold", "5ms"];
        let marker = new_marker();
        let child = spawn_marked(&mut on_left(&bed, &options, &script), &marker);
        jobs.push((child, marker, received));
    }
    wait_until("a room each", || {
        disturb(&bed);
        rooms(&bed) == JOBS
    });
    let supervisors: Vec<u32> = jobs.iter().map(|(child, ..)| supervisor(child)).collect();
    assert!(supervisors.iter().all(|supervisor| has_own_congestion_control(*supervisor)));
    give(&go);
    for (child, marker, received) in jobs {
        let front = child.id();
        assert_eq!(clean_text(&finish(child)), "done\n");
        assert_eq!(received.join().unwrap(), 20_000);
        assert_nothing_left(front, &marker);
    }
    wait_until("the rooms to go", || rooms(&bed) == 0);
    wait_until("the congestion controls to go", || {
        !supervisors.iter().any(|supervisor| has_own_congestion_control(*supervisor))
    });
}

#[test]
fn root_only_a_network_that_was_named_and_cannot_be_had_is_told() {
    if !needs_root() {
        return;
    }
    let told = |options: &[&str]| {
        let output = output(&mut lull_run(options, &["echo", "done"]));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n", "{options:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let named = told(&["--resources", "net", "--sensor", "diskstats"]);
    assert!(named.contains("--resources net: ") && named.lines().count() == 1, "{named}");
    for options in [&[][..], &["--sensor", "diskstats"], &["--gate", "none"]] {
        assert_eq!(told(options), "", "{options:?}");
    }
}
