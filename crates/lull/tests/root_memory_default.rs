//! The job's memory without being named: it is managed once the job is large. A small job gets nothing of it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::process::Child;

use common::cache::{MIB, cached, new_file, place};
use common::{
    AWAKE, READ_ONLY_GROUPS, assert_nothing_left, clean_text, finish, helper, in_own_mounts, lull, lull_run,
    needs_root, new_marker, output, spawn_marked, wait_until,
};
use lull_core::memory::pages::Run;
use lull_linux::gate::evict::{evict, page_bytes};
use serde_json::Value;

/// Sizes of key and value in the observer's maps, as the kernel tells them of a descriptor.
const MAP: [&str; 2] = ["key_size:\t24\n", "value_size:\t256\n"];

/// A job with so much in memory is large.
const FILE_BYTES: u64 = 40 * MIB;
/// How often the job reads a file that is taken out of the page cache again.
const READINGS: u32 = 8;

/// Whether the supervisor holds the maps of the page observer.
fn observes_pages(child: &Child) -> bool {
    let Some(supervisor) = helper(child.id(), "lull-supervisor") else { return false };
    let entries = std::fs::read_dir(format!("/proc/{supervisor}/fdinfo")).into_iter().flatten().flatten();
    let infos = entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    infos.into_iter().any(|info| MAP.iter().all(|line| info.contains(line)))
}

fn until(sign: &Path) -> String {
    format!("until [ -e {} ]; do sleep 0.05; done", sign.display())
}

fn give(sign: &Path) {
    std::fs::write(sign, "").unwrap();
}

fn summary_at(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn root_a_small_job_loads_nothing() {
    let Some(dir) = place() else { return };
    new_file(dir.path(), "data", MIB);
    let (ready, go, summary) = (dir.path().join("ready"), dir.path().join("go"), dir.path().join("summary"));
    let data = dir.path().join("data");
    let script =
        format!("{AWAKE}cat {} > /dev/null; touch {}; {}", data.display(), ready.display(), until(&go));
    let options = ["--json", "--summary", summary.to_str().unwrap()];
    let marker = new_marker();
    let child = spawn_marked(&mut lull_run(&options, &["bash", "-c", &script]), &marker);
    let front = child.id();
    wait_until("the job to have read", || ready.exists());
    // Far longer than it is left alone for being short.
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(!observes_pages(&child));
    let set = output(lull().args(["set", &front.to_string(), "--mem-low", "1MiB", "--mem-high", "9MiB"]));
    assert_eq!(
        String::from_utf8_lossy(&set.stdout).trim(),
        "mem-low 1MiB, mem-high 9MiB; not in force yet: waiting until the job is 1s old and has 32MiB in memory"
    );
    give(&go);
    assert_eq!(clean_text(&finish(child)), "");
    assert!(summary_at(&summary)["memory"].is_null());
    assert_nothing_left(front, &marker);
}

#[test]
fn root_what_a_large_job_reads_goes_again() {
    let Some(dir) = place() else { return };
    let [_early, late] = ["early", "late"].map(|name| new_file(dir.path(), name, FILE_BYTES));
    let [go, end, summary] = ["go", "end", "summary"].map(|name| dir.path().join(name));
    let read = |name: &str| format!("cat {} > /dev/null", dir.path().join(name).display());
    // Again and again: others may empty the page cache meanwhile.
    let again =
        |sign: &Path, name| format!("until [ -e {} ]; do {}; sleep 0.05; done", sign.display(), read(name));
    let script = format!("{AWAKE}{}; {}", again(&go, "early"), again(&end, "late"));
    let options = ["--json", "--summary", summary.to_str().unwrap()];
    let marker = new_marker();
    let child = spawn_marked(&mut lull_run(&options, &["bash", "-c", &script]), &marker);
    let front = child.id();
    wait_until("the observer's maps", || observes_pages(&child));
    give(&go);
    // Its programs come a moment after its maps: more than one reading of the file is theirs to see.
    let pages = FILE_BYTES / page_bytes();
    for _ in 0..READINGS {
        wait_until("the file to be read", || cached(&late) == pages);
        // What is being read just now may stay.
        let _ = evict(&late, 0, Run { first: 0, pages });
    }
    give(&end);
    assert_eq!(clean_text(&finish(child)), "");
    wait_until("its pages to go", || cached(&late) == 0);
    let memory = &summary_at(&summary)["memory"];
    assert!(memory["filled_bytes"].as_u64().unwrap() >= FILE_BYTES, "{memory}");
    assert_nothing_left(front, &marker);
}

#[test]
fn root_what_a_job_reads_before_its_pages_are_known_goes_with_its_group() {
    let Some(dir) = place() else { return };
    let data = new_file(dir.path(), "data", FILE_BYTES);
    let script = format!("cat {} > /dev/null", dir.path().join("data").display());
    let marker = new_marker();
    // Without the disks nobody but the job itself reads for it.
    let child = spawn_marked(&mut lull_run(&["--resources", "memory"], &["bash", "-c", &script]), &marker);
    let front = child.id();
    assert_eq!(clean_text(&finish(child)), "");
    assert_nothing_left(front, &marker);
    // Of 40 MiB: the kernel may count some pages late.
    assert!(cached(&data) * page_bytes() < FILE_BYTES / 20, "{} pages stay", cached(&data));
}

#[test]
fn root_what_a_job_wrote_before_its_pages_are_known_is_written_by_lull() {
    let Some(dir) = place() else { return };
    let [data, end, summary] = ["data", "end", "summary"].map(|name| dir.path().join(name));
    // All of it is dirty before lull has begun with the job's memory, and the file stays open.
    let script =
        format!("{AWAKE}exec 3> {}; head -c {FILE_BYTES} /dev/zero >&3; {}", data.display(), until(&end));
    let options = ["--json", "--summary", summary.to_str().unwrap()];
    let marker = new_marker();
    let child = spawn_marked(&mut lull_run(&options, &["bash", "-c", &script]), &marker);
    let front = child.id();
    wait_until("the observer's maps", || observes_pages(&child));
    // A moment for the files to be asked, and longer than dirty pages rest.
    std::thread::sleep(std::time::Duration::from_secs(3));
    give(&end);
    assert_eq!(clean_text(&finish(child)), "");
    let memory = &summary_at(&summary)["memory"];
    // The kernel may have begun to write on a machine that has much dirty.
    assert!(memory["dirtied_bytes"].as_u64().unwrap() >= FILE_BYTES / 2, "{memory}");
    assert!(memory["written_bytes"].as_u64().unwrap() >= FILE_BYTES / 2, "{memory}");
    assert_nothing_left(front, &marker);
}

#[test]
fn root_memory_that_cannot_be_had_is_told_only_if_it_was_named() {
    if !needs_root() {
        return;
    }
    let told = |options: &[&str]| {
        let command = lull_run(options, &["true"]);
        let output = output(&mut in_own_mounts(&command, READ_ONLY_GROUPS));
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(told(&[]), "");
    let named = told(&["--resources", "memory"]);
    assert!(named.contains("--resources memory: ") && named.lines().count() == 1, "{named}");
}
