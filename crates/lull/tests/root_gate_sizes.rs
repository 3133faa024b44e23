//! What the request gate lets through beside a foreground: how much at once, and in which class.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::process::{Child, Command};

use common::foreground::{Foreground, Rhythm};
use common::go::Go;
use common::loopdev::Loop;
use common::{
    finish, helper, job_of, lull_run, needs_root, new_marker, send, spawn_marked, wait_until,
    wait_until_observed,
};
use serde_json::Value;

/// Programs of the observers of disks.
const PROGRAMS: usize = 8;
const KIB: u64 = 1024;

fn set_queue(disk: &Loop, knob: &str, value: &str) {
    let name = disk.path.file_name().unwrap().to_str().unwrap();
    std::fs::write(format!("/sys/block/{name}/queue/{knob}"), value).unwrap();
}

/// A job on this disk that runs `script` when `go` is given; the disk is observed.
fn started(disk: &Loop, go: &Go, script: &str, summary: &Path) -> Child {
    let name = disk.path.file_name().unwrap().to_str().unwrap();
    let options =
        ["--disk", name, "--resources", "disk", "--window", "64KiB", "--interval", "none", "--json"];
    let options = [&options[..], &["--summary", summary.to_str().unwrap()]].concat();
    let child =
        spawn_marked(&mut lull_run(&options, &["sh", "-c", &go.script("true", script)]), &new_marker());
    wait_until_observed(child.id(), PROGRAMS);
    child
}

#[test]
fn root_nothing_is_read_ahead_of_trapped_calls_beside_a_foreground() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = needs_root().then(|| Loop::new(dir.path())).flatten() else { return };
    set_queue(&disk, "read_ahead_kb", "4096");
    let Some(foreground) = Foreground::on(&disk.path, Rhythm::Steady) else { return };
    let (go, summary) = (Go::new(), tempfile::NamedTempFile::new().unwrap());
    let script = format!("dd if={} of=/dev/null bs=64k status=none", disk.path.display());
    let child = started(&disk, &go, &script, summary.path());
    go.give();
    assert!(finish(child).status.success());
    drop(foreground);
    let summary: Value = serde_json::from_str(&std::fs::read_to_string(summary.path()).unwrap()).unwrap();
    let [bytes, requests] =
        ["background_bytes", "background_requests"].map(|count| summary["disks"][0][count].as_u64().unwrap());
    // All of it was read, and with the kernel's read-ahead it would be two requests.
    assert!(bytes >= 7 << 20 && bytes / requests <= 64 * KIB, "{bytes} bytes in {requests} requests");
}

fn io_class(pid: u32) -> String {
    let out = Command::new("ionice").args(["-p", &pid.to_string()]).output().unwrap();
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

#[test]
fn root_behind_the_gate_of_mq_deadline_the_job_has_turns_and_without_it_the_idle_class() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = needs_root().then(|| Loop::new(dir.path())).flatten() else { return };
    for (scheduler, class) in [("none", "idle"), ("mq-deadline", "best-effort: prio 7")] {
        set_queue(&disk, "scheduler", scheduler);
        let (go, summary) = (Go::new(), tempfile::NamedTempFile::new().unwrap());
        let child = started(&disk, &go, "true", summary.path());
        let job = job_of(child.id());
        wait_until("the class behind the gate", || io_class(job) == class);
        send(helper(child.id(), "lull-supervisor").unwrap(), libc::SIGKILL);
        wait_until("the class without a gate", || io_class(job) == "idle");
        go.give();
        assert!(finish(child).status.success());
    }
}
