//! A job that syncs what it wrote, beside a foreground that waits for its own log.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use common::cache::{MIB, place};
use common::{
    assert_nothing_left, clean_text, finish, helper, job_of, lull_run, new_marker, send, spawn_marked,
    wait_until, wait_until_observed,
};
use serde_json::Value;

/// Programs of the observers of disks and of the page cache.
const PROGRAMS: usize = 12;

/// Appends to a log and waits for each record, until dropped.
struct Log {
    over: Arc<AtomicBool>,
    writer: Option<JoinHandle<()>>,
}

impl Log {
    fn at(path: &Path) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (mut file, ends) = (File::create(path).unwrap(), Arc::clone(&over));
        let writer = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                file.write_all(&[1; 4096]).unwrap();
                file.sync_data().unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        Self { over, writer: Some(writer) }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.writer.take().map(JoinHandle::join);
    }
}

/// Starts a job that begins once disks and page cache are observed.
fn started(dir: &Path, options: &[&str], script: &str, marker: &str) -> Child {
    let go = dir.join("go");
    let script = format!("while [ ! -e {} ]; do sleep 0.05; done; {script}", go.display());
    let options: Vec<&str> = ["--resources", "disk,memory"].iter().chain(options).copied().collect();
    let child = spawn_marked(&mut lull_run(&options, &["sh", "-c", &script]), marker);
    wait_until_observed(child.id(), PROGRAMS);
    std::fs::write(go, "").unwrap();
    child
}

#[test]
fn root_what_a_job_syncs_beside_a_foreground_is_written_in_pieces_first() {
    let Some(dir) = place() else { return };
    let _log = Log::at(&dir.path().join("log"));
    let summary = dir.path().join("summary");
    let options = ["--json", "--summary", summary.to_str().unwrap()];
    let out = dir.path().join("out");
    let script = format!("dd if=/dev/zero bs=1M count=8 conv=fsync status=none of={}", out.display());
    clean_text(&finish(started(dir.path(), &options, &script, &new_marker())));
    let summary: Value = serde_json::from_str(&std::fs::read_to_string(summary).unwrap()).unwrap();
    // So little would rest, and the call itself would write all of it.
    assert!(summary["memory"]["written_bytes"].as_u64().unwrap() > 0, "{summary}");
    assert_eq!(std::fs::read(out).unwrap(), vec![0; 8 << 20]);
}

#[test]
fn root_a_supervisor_killed_while_a_call_waits_for_pieces_lets_it_go() {
    let Some(dir) = place() else { return };
    let _log = Log::at(&dir.path().join("log"));
    let (marker, out) = (new_marker(), dir.path().join("out"));
    // Beside the foreground nothing has a turn.
    let script = format!("dd if=/dev/zero bs=32k count=128 conv=fsync status=none of={}", out.display());
    let child = started(dir.path(), &["--interval", "infinite"], &script, &marker);
    let front = child.id();
    job_of(front);
    wait_until("the job to write", || out.metadata().map_or(0, |meta| meta.len()) == 4 * MIB);
    std::thread::sleep(Duration::from_millis(100));
    send(helper(front, "lull-supervisor").unwrap_or(u32::MAX >> 1), libc::SIGKILL);
    assert_eq!(clean_text(&finish(child)), "");
    assert_eq!(std::fs::read(out).unwrap(), vec![0; 4 << 20]);
    assert_nothing_left(front, &marker);
}
