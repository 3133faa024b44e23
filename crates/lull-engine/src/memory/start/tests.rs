//! When a job counts as large.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lull_core::MemoryThresholds;

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
    let footprint =
        Footprint::new(Some(group(dir.path())), JobProcesses::of_supervisor(None), ReadAhead::default());
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
fn what_is_read_ahead_for_a_job_counts_as_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let read_ahead = ReadAhead::default();
    let footprint =
        Footprint::new(Some(group(dir.path())), JobProcesses::of_supervisor(None), read_ahead.clone());
    read_ahead.add(LARGE_BYTES);
    // It would wait for ever.
    footprint.wait_until_large();
    assert_eq!(footprint.bytes(), LARGE_BYTES);
}

#[test]
fn a_job_whose_group_is_gone_has_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let footprint =
        Footprint::new(Some(group(dir.path())), JobProcesses::of_supervisor(None), ReadAhead::default());
    drop(dir);
    assert_eq!(footprint.bytes(), 0);
}

#[test]
fn thresholds_wait_until_somebody_keeps_to_them() {
    let (to_room, orders) = LimitLine::new().unwrap();
    let has_begun = Arc::new(AtomicBool::new(false));
    let start = MemoryStart {
        pages: Pages::default(),
        begins: Begins::WhenLarge,
        to_room: Arc::new(to_room),
        has_begun: Arc::clone(&has_begun),
        pending: None,
        memory: None,
    };
    let set = start.room_setter();
    let waits = set(MemoryThresholds::default());
    assert_eq!(waits, Passed::Waits("the job is 1s old and has 32MiB in memory".into()));
    has_begun.store(true, Ordering::SeqCst);
    assert_eq!(set(MemoryThresholds::default()), Passed::InForce);
    drop(orders);
    assert_eq!(set(MemoryThresholds::default()), Passed::ToNobody, "its thread could not be had");
    drop(start);
    assert_eq!(set(MemoryThresholds::default()), Passed::ToNobody);
}
