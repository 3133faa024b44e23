//! Groups that are folders: what is written into them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use super::*;

const SECOND: Nanos = Nanos::from_secs(1);

/// A group with these files.
fn folder(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["cgroup.procs"].iter().chain(files) {
        fs::write(folder.path().join(file), "").unwrap();
    }
    folder
}

fn gate(choice: HoldBy, folder: &tempfile::TempDir) -> HoldGate {
    let group = JobGroup::open(&[folder.path().to_owned()]).unwrap();
    let shared = Arc::new(Shared::new().unwrap());
    HoldGate::new(choice, Some(group), JobProcesses::of_folder(folder.path()), shared)
}

fn text(folder: &tempfile::TempDir, file: &str) -> String {
    fs::read_to_string(folder.path().join(file)).unwrap()
}

/// Whether the group has less than one CPU in a hundred.
fn is_throttled(folder: &tempfile::TempDir) -> bool {
    text(folder, "cpu.cfs_quota_us").trim().parse::<u64>().is_ok_and(|quota_us| quota_us <= 1000)
}

#[test]
fn a_quota_holds_and_lets_go_and_is_counted() {
    let folder = folder(&["cpu.cfs_quota_us"]);
    let mut gate = gate(HoldBy::Quota, &folder);
    assert!(gate.can_hold() && gate.is_prompt() && !gate.is_held());
    gate.set(SECOND, true);
    assert!(gate.is_held() && is_throttled(&folder));
    gate.set(SECOND.times(2), true);
    gate.set(SECOND.times(3), false);
    assert!(!gate.is_held() && !is_throttled(&folder));
    gate.set(SECOND.times(5), true);
    assert_eq!((gate.count(), gate.total(SECOND.times(6))), (2, SECOND.times(3)));
    assert_eq!(gate.total_by_quota(SECOND.times(6)), SECOND.times(3));
    assert!(gate.give_up().is_some() && !is_throttled(&folder));
}

#[test]
fn a_freezer_is_used_by_choice_only() {
    let folder = folder(&["freezer.state"]);
    assert!(!gate(HoldBy::Quota, &folder).can_hold(), "nobody asked for it");
    let mut gate = gate(HoldBy::Freeze, &folder);
    gate.set(SECOND, true);
    assert!(gate.is_held() && text(&folder, "freezer.state").starts_with("FROZEN"));
    gate.set(SECOND.times(2), false);
    assert!(!gate.is_held() && text(&folder, "freezer.state").starts_with("THAWED"));
    assert_eq!(
        gate.total_by_quota(SECOND.times(3)),
        Nanos::ZERO,
        "the kernel does not take it for a want of CPUs"
    );
}

#[test]
fn without_a_group_processes_are_stopped_one_by_one() {
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let folder = folder(&[]);
    fs::write(folder.path().join("cgroup.procs"), child.id().to_string()).unwrap();
    let state = || fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let is_stopped = || state().rsplit(") ").next().unwrap().starts_with('T');
    let wait_until = |is_so: bool| {
        (0..60_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            is_stopped() == is_so
        })
    };
    let mut gate = gate(HoldBy::Freeze, &folder);
    assert!(gate.can_hold() && !gate.is_prompt(), "finding them takes its time");
    gate.set(clock::now(), true);
    assert!(gate.is_held() && wait_until(true));
    gate.set(clock::now(), false);
    assert!(!gate.is_held() && wait_until(false));
    assert!(!gate.is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn nobody_without_a_quota_is_held_unasked() {
    let folder = folder(&[]);
    let mut gate = gate(HoldBy::Quota, &folder);
    gate.set(SECOND, true);
    assert!(!gate.can_hold() && !gate.is_held() && gate.count() == 0);
    assert!(gate.is_empty() && gate.group().is_some());
}
