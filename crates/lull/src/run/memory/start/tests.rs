//! When a job counts as large.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;

/// Looks like a v2 group to whoever reads it.
fn group(dir: &std::path::Path) -> MemoryGroup {
    std::fs::write(dir.join("memory.max"), "max\n").unwrap();
    std::fs::write(dir.join("memory.current"), "0\n").unwrap();
    MemoryGroup::open(dir).unwrap()
}

#[test]
fn a_job_is_waited_for_until_its_group_has_much_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let footprint = Footprint::new(Some(group(dir.path())), Family::of_supervisor(None));
    let is_large = Arc::new(AtomicBool::new(false));
    let waiter = std::thread::spawn({
        let is_large = Arc::clone(&is_large);
        move || {
            footprint.wait_until_large();
            is_large.store(true, Ordering::SeqCst);
        }
    });
    let replace = |bytes: u64| {
        // A file that is written in place is empty for a moment.
        std::fs::write(dir.path().join("next"), format!("{bytes}\n")).unwrap();
        std::fs::rename(dir.path().join("next"), dir.path().join("memory.current")).unwrap();
    };
    replace(LARGE_BYTES - 1);
    std::thread::sleep(Duration::from_millis(300));
    assert!(!is_large.load(Ordering::SeqCst));
    replace(LARGE_BYTES);
    waiter.join().unwrap();
}

#[test]
fn a_job_whose_group_is_gone_has_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let footprint = Footprint::new(Some(group(dir.path())), Family::of_supervisor(None));
    drop(dir);
    assert_eq!(footprint.bytes(), 0);
}
