//! The page cache after a job: as it was before.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Child;

use common::cache::{MIB, cached, new_file, place};
use common::go::Go;
use common::{
    assert_nothing_left, clean_text, finish, helper, job_of, lull_run, new_marker, output, send,
    spawn_marked, wait_until, wait_until_observed,
};
use lull_linux::gate::cached::cache_counts;
use lull_linux::gate::evict::page_bytes;
use serde_json::Value;

/// Programs of the page-cache observer.
const PROGRAMS: usize = 2;

/// Starts a job that begins once the page-cache observer stands; the disks are left alone, so that no other programs are
/// loaded.
fn started(dir: &Path, options: &[&str], script: &str, marker: &str) -> Child {
    let go = dir.join("go");
    let _ = std::fs::remove_file(&go);
    let script = format!("while [ ! -e {} ]; do sleep 0.05; done; {script}", go.display());
    let options: Vec<&str> = ["--resources", "memory"].iter().chain(options).copied().collect();
    let child = spawn_marked(&mut lull_run(&options, &["sh", "-c", &script]), marker);
    wait_until_observed(child.id(), PROGRAMS);
    std::fs::write(go, "").unwrap();
    child
}

fn summary_at(file: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// Runs a job to its end; the summary.
fn summary_of(dir: &Path, options: &[&str], script: &str) -> Value {
    let file = dir.join("summary");
    let options: Vec<&str> =
        options.iter().copied().chain(["--json", "--summary", file.to_str().unwrap()]).collect();
    clean_text(&finish(started(dir, &options, script, &new_marker())));
    let summary = summary_at(&file);
    assert!(summary["memory"]["filled_bytes"].as_u64().unwrap() > 0, "{summary}");
    summary
}

/// Runs a job to its end; the summary's part about memory.
fn memory_of(dir: &Path, options: &[&str], script: &str) -> Value {
    summary_of(dir, options, script)["memory"].clone()
}

#[test]
fn root_what_a_job_read_goes_and_what_was_there_before_stays() {
    let Some(dir) = place() else { return };
    let mut file = new_file(dir.path(), "data", 64 * MIB);
    file.read_exact(&mut vec![0; usize::try_from(8 * MIB).unwrap()]).unwrap();
    // What the kernel reads ahead comes in by itself.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let before = cached(&file);
    assert!(before >= 7 * MIB / page_bytes());
    let path = dir.path().join("data");
    let memory = memory_of(dir.path(), &[], &format!("cat {} > /dev/null", path.display()));
    assert!(memory["filled_bytes"].as_u64().unwrap() >= 32 * MIB, "{memory}");
    wait_until("the job's pages to go", || cached(&file) <= before);
    // The kernel may take some of its own accord.
    assert!(cached(&file) >= before / 2, "pages that others had cached stay: {} of {before}", cached(&file));
}

#[test]
fn root_many_small_files_that_are_open_for_a_moment_leave_nothing() {
    let Some(dir) = place() else { return };
    let files: Vec<File> = (0..200).map(|i| new_file(dir.path(), &format!("small{i}"), 9000)).collect();
    memory_of(dir.path(), &[], &format!("cat {}/small* > /dev/null", dir.path().display()));
    wait_until("the job's pages to go", || files.iter().all(|file| cached(file) == 0));
}

#[test]
fn root_a_job_that_reads_its_own_data_again_keeps_it_within_the_bound() {
    let Some(dir) = place() else { return };
    let path: PathBuf = dir.path().join("data");
    let file = new_file(dir.path(), "data", 16 * MIB);
    let read = format!("cat {} > /dev/null", path.display());
    let (again, done) = (Go::new(), dir.path().join("done"));
    let script = again.script(&format!("{read}; touch {}", done.display()), &read);
    let filled = |keep: &str, is_seen_to_go: bool| {
        let summary = dir.path().join("summary");
        let options = ["--cache-keep", keep, "--json", "--summary", summary.to_str().unwrap()];
        let child = started(dir.path(), &options, &script, &new_marker());
        wait_until("the first read", || done.exists());
        if is_seen_to_go {
            wait_until("the pages of the first read to go", || cached(&file) == 0);
        }
        again.give();
        clean_text(&finish(child));
        wait_until("the job's pages to go", || cached(&file) == 0);
        again.take_back();
        std::fs::remove_file(&done).unwrap();
        summary_at(&summary)["memory"]["filled_bytes"].as_u64().unwrap()
    };
    let (kept, dropped) = (filled("64MiB", false), filled("0", true));
    assert!(dropped >= kept + 12 * MIB, "kept: {kept} bytes came in, dropped: {dropped}");
}

#[test]
fn root_while_the_job_lives_what_it_read_stays_within_the_bound() {
    let Some(dir) = place() else { return };
    let file = new_file(dir.path(), "data", 48 * MIB);
    let read = format!("cat {0} > /dev/null", dir.path().join("data").display());
    let script = format!("{read}; {read}; touch {}; exec sleep 1000", dir.path().join("done").display());
    let child = started(dir.path(), &["--cache-keep", "8MiB"], &script, &new_marker());
    wait_until("the job to have read", || dir.path().join("done").exists());
    // The job holds nothing back: what is over the bound goes though it reads no more.
    wait_until("what is over the bound to go", || cached(&file) <= 8 * MIB / page_bytes());
    assert!(cached(&file) > 0, "something is kept for the job");
    send(child.id(), libc::SIGTERM);
    finish(child);
    wait_until("the rest to go", || cached(&file) == 0);
}

#[test]
fn root_dirty_pages_are_written_while_the_job_lives() {
    let Some(dir) = place() else { return };
    let path = dir.path().join("out");
    let script = format!(
        "head -c 16777216 /dev/zero > {}; touch {}; exec sleep 1000",
        path.display(),
        dir.path().join("done").display()
    );
    // The kernel would leave this little alone for half a minute.
    let child = started(dir.path(), &["--dirty", "64MiB"], &script, &new_marker());
    wait_until("the job to have written", || dir.path().join("done").exists());
    let file = File::open(&path).unwrap();
    wait_until("its pages to be clean", || {
        let counts = cache_counts(&file, 0, 16 * MIB).unwrap();
        counts.dirty + counts.writeback == 0
    });
    send(child.id(), libc::SIGTERM);
    finish(child);
    wait_until("its pages to go", || cached(&file) == 0);
}

#[test]
fn root_without_the_resource_the_pages_stay() {
    let Some(dir) = place() else { return };
    let file = new_file(dir.path(), "data", MIB);
    let script = format!("cat {} > /dev/null", dir.path().join("data").display());
    clean_text(&output(&mut lull_run(&["--resources", "disk"], &["sh", "-c", &script])));
    assert_eq!(cached(&file), MIB / page_bytes());
}

#[test]
fn root_a_supervisor_killed_while_it_keeps_pages_harms_nobody() {
    let Some(dir) = place() else { return };
    let path = dir.path().join("data");
    let file = new_file(dir.path(), "data", 16 * MIB);
    let marker = new_marker();
    let script = format!("cat {0} > /dev/null; sleep 1; cat {0} | wc -c", path.display());
    let child = started(dir.path(), &[], &script, &marker);
    let front = child.id();
    job_of(front);
    wait_until("the first read", || cached(&file) > 0);
    send(helper(front, "lull-supervisor").unwrap_or(u32::MAX >> 1), libc::SIGKILL);
    assert_eq!(clean_text(&finish(child)).trim(), (16 * MIB).to_string());
    assert_nothing_left(front, &marker);
}

#[test]
fn root_what_a_job_wrote_is_written_in_pieces_and_goes() {
    let Some(dir) = place() else { return };
    let path = dir.path().join("out");
    let write = "dd if=/dev/zero bs=64k count=1024 iflag=fullblock status=none | tr '\\0' x";
    let script = format!("{write} > {}", path.display());
    let memory = memory_of(dir.path(), &["--dirty", "8MiB"], &script);
    assert!(memory["dirtied_bytes"].as_u64().unwrap() >= 60 * MIB, "{memory}");
    assert!(memory["written_bytes"].as_u64().unwrap() > 0, "{memory}");
    let file = File::open(&path).unwrap();
    wait_until("the job's pages to be written and to go", || cached(&file) == 0);
    let content = std::fs::read(&path).unwrap();
    assert!(content.len() as u64 == 64 * MIB && content.iter().all(|byte| *byte == b'x'));
}

#[test]
fn root_a_job_is_not_held_for_dirty_pages_while_nobody_is_at_work() {
    let Some(dir) = place() else { return };
    let write = "dd if=/dev/zero bs=64k count=512 iflag=fullblock status=none | tr '\\0' x";
    let script = format!("{write} > {}", dir.path().join("out").display());
    // No disk is observed, so nobody is seen at work on one.
    let summary = summary_of(dir.path(), &["--dirty", "1MiB"], &script);
    assert!(summary["memory"]["dirtied_bytes"].as_u64().unwrap() >= 30 * MIB, "{summary}");
    assert_eq!(summary["holds"], 0, "{summary}");
}

#[test]
fn root_a_supervisor_killed_while_the_job_writes_loses_nothing() {
    let Some(dir) = place() else { return };
    let path = dir.path().join("out");
    let marker = new_marker();
    let write = "dd if=/dev/zero bs=64k count=1024 iflag=fullblock status=none | tr '\\0' x";
    let script = format!("{write} > {}", path.display());
    let child = started(dir.path(), &["--dirty", "1MiB"], &script, &marker);
    let front = child.id();
    job_of(front);
    let length = || path.metadata().map_or(0, |meta| meta.len());
    wait_until("the job to write", || length() > 0);
    send(helper(front, "lull-supervisor").unwrap_or(u32::MAX >> 1), libc::SIGKILL);
    assert_eq!(clean_text(&finish(child)), "");
    let content = std::fs::read(&path).unwrap();
    assert!(content.len() as u64 == 64 * MIB && content.iter().all(|byte| *byte == b'x'));
    assert_nothing_left(front, &marker);
}
