//! What the job does, and what is done for it, is background on the disks, whatever I/O class its programs set.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::{Child, Command, Stdio};

use common::cache::MIB;
use common::go::Go;
use common::loopdev::Loop;
use common::{clean_text, finish, lull_run, needs_root, new_marker, spawn_marked, wait_until_observed};
use serde_json::Value;

/// Programs of the observers of disks.
const PROGRAMS: usize = 8;

/// Background and foreground bytes on the disk of a job that runs `script` once the disk is observed.
fn bytes_of(disk: &Loop, script: &str) -> [u64; 2] {
    let (go, summary) = (Go::new(), tempfile::NamedTempFile::new().unwrap());
    let name = disk.path.file_name().unwrap().to_str().unwrap();
    let summary = summary.path();
    let options = ["--disk", name, "--resources", "disk", "--json", "--summary", summary.to_str().unwrap()];
    let child =
        spawn_marked(&mut lull_run(&options, &["sh", "-c", &go.script("true", script)]), &new_marker());
    wait_until_observed(child.id(), PROGRAMS);
    go.give();
    assert_eq!(clean_text(&finish(child)), "");
    let summary: Value = serde_json::from_str(&std::fs::read_to_string(summary).unwrap()).unwrap();
    ["background_bytes", "foreground_bytes"].map(|bytes| summary["disks"][0][bytes].as_u64().unwrap())
}

fn disk(dir: &tempfile::TempDir) -> Option<Loop> {
    needs_root().then(|| Loop::new(dir.path())).flatten()
}

#[test]
fn root_a_job_that_sets_its_own_io_class_is_no_foreground() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = disk(&dir) else { return };
    // One read that the kernel splits.
    let path = disk.path.display();
    let script = format!("ionice -c2 -n7 dd if={path} of=/dev/null iflag=direct bs=8M count=1 status=none");
    let [background, foreground] = bytes_of(&disk, &script);
    assert!(background >= 6 * MIB && foreground <= MIB, "{background} {foreground}");
}

/// A process of the foreground; ended when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn root_a_server_that_the_job_asks_is_no_foreground() {
    let dir = tempfile::tempdir().unwrap();
    let Some(disk) = disk(&dir) else { return };
    let [asks, answers] = ["asks", "answers"].map(|name| dir.path().join(name));
    for pipe in [&asks, &answers] {
        assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    }
    let (asks, answers, path) = (asks.display(), answers.display(), disk.path.display());
    let serve = format!(
        "exec 3<>{asks} 4<>{answers}; while read block <&3; do \
         dd if={path} of=/dev/null iflag=direct bs=64k count=1 skip=$block status=none; echo $block >&4; done"
    );
    let _server = Server(Command::new("sh").args(["-c", &serve]).stdin(Stdio::null()).spawn().unwrap());
    let script = format!(
        "exec 3<>{asks} 4<>{answers}; block=0; while [ $block -lt 64 ]; do \
         echo $block >&3; read answer <&4; block=$((block + 1)); done"
    );
    let [background, foreground] = bytes_of(&disk, &script);
    // What a machine without a free CPU does later than a second after it was asked for is the server's own.
    assert!(background >= 2 * MIB && foreground <= 2 * MIB, "{background} {foreground}");
}
