//! What a command leaves behind: it is told, and can be let go, by itself or on demand.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::Child;

use common::go::Go;
use common::{
    assert_nothing_left, clean_text, finish, groups_of, lull, lull_run, needs_root, new_marker, output, send,
    spawn_marked, wait_until,
};
use serde_json::Value;

/// A command that leaves a process behind, whose number it prints.
const LEAVES: &str = "sleep 600 >&- 2>&- & echo $!";

fn start(options: &[&str], marker: &str) -> Child {
    spawn_marked(&mut lull_run(options, &["sh", "-c", LEAVES]), marker)
}

fn policy_of(pid: u32) -> i32 {
    // SAFETY: only asks.
    unsafe { libc::sched_getscheduler(i32::try_from(pid).unwrap()) }
}

/// I/O classes of a job: idle, and the lowest of best-effort behind the gate of mq-deadline.
const OURS: [i64; 2] = [3 << 13, 2 << 13 | 7];

fn ioprio_of(pid: u32) -> i64 {
    // SAFETY: only asks.
    unsafe { libc::syscall(libc::SYS_ioprio_get, 1, pid) }
}

fn is_in_a_job_group(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap().contains("/lull-")
}

fn is_foreground(pid: u32) -> bool {
    policy_of(pid) == libc::SCHED_OTHER && !OURS.contains(&ioprio_of(pid)) && !is_in_a_job_group(pid)
}

#[test]
fn root_what_is_left_behind_is_told_and_let_go_on_demand() {
    if !needs_root() {
        return;
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let marker = new_marker();
    let child = start(&["--json", "--summary", file.path().to_str().unwrap()], &marker);
    let front = child.id();
    let left: u32 = clean_text(&finish(child)).trim().parse().unwrap();
    let summary: Value = serde_json::from_str(&std::fs::read_to_string(file.path()).unwrap()).unwrap();
    let notes = summary["notes"].to_string();
    // It may be a shell still, about to become what was started.
    assert!(
        notes.contains(&format!(" ({left})")) && notes.contains(&format!("lull set {front} --release")),
        "{notes}"
    );
    assert_eq!(policy_of(left), libc::SCHED_IDLE);
    assert!(OURS.contains(&ioprio_of(left)), "{}", ioprio_of(left));
    let release = || output(lull().args(["set", &front.to_string(), "--release"]));
    assert_eq!(clean_text(&release()), "1 let go\n");
    assert!(is_foreground(left));
    assert_eq!(groups_of(front), Vec::<std::path::PathBuf>::new());
    assert!(!release().status.success(), "there is nobody to ask any more");
    assert!(send(left, libc::SIGKILL));
    assert_nothing_left(front, &marker);
}

#[test]
fn root_what_is_left_behind_is_let_go_at_once_if_that_is_wanted() {
    if !needs_root() {
        return;
    }
    let marker = new_marker();
    let child = start(&["--release-leftovers"], &marker);
    let front = child.id();
    let left: u32 = clean_text(&finish(child)).trim().parse().unwrap();
    wait_until("it is foreground", || is_foreground(left));
    assert!(send(left, libc::SIGKILL));
    assert_nothing_left(front, &marker);
}

#[test]
fn root_a_command_that_runs_is_not_let_go() {
    if !needs_root() {
        return;
    }
    let (go, marker) = (Go::new(), new_marker());
    let child = spawn_marked(&mut lull_run(&[], &["sh", "-c", &go.script("true", "echo done")]), &marker);
    let front = child.id();
    let mut refused = String::new();
    wait_until("the run answers", || {
        let said = output(lull().args(["set", &front.to_string(), "--release"]));
        refused = String::from_utf8_lossy(&said.stderr).into_owned();
        !refused.contains("no lull run")
    });
    assert!(refused.contains("has not ended"), "{refused}");
    go.give();
    assert_eq!(clean_text(&finish(child)), "done\n");
    assert_nothing_left(front, &marker);
}
