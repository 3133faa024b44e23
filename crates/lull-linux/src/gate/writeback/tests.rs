//! What is dirty is clean some time after its writing was started.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use lull_core::memory::pages::Run;

use super::{dirty_runs, page_bytes, pending, start};

#[test]
fn dirty_pages_become_clean() {
    let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let run = Run { first: 0, pages: 4 };
    file.write_all(&vec![7; usize::try_from(4 * page_bytes()).unwrap()]).unwrap();
    if pending(&file, 0, run).is_err() {
        eprintln!("SKIPPED: this kernel has no cachestat");
        return;
    }
    start(&file, 0, run).unwrap();
    let began = Instant::now();
    let is_clean = || pending(&file, 0, run).is_ok_and(|counts| counts.dirty + counts.writeback == 0);
    while !is_clean() {
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", pending(&file, 0, run));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn what_is_dirty_is_found() {
    let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let page = page_bytes();
    file.set_len(1000 * page).unwrap();
    let write = |first: u64, pages: u64| {
        file.write_all_at(&vec![7; usize::try_from(pages * page).unwrap()], first * page).unwrap();
    };
    write(3, 1);
    write(500, 300);
    let Ok(found) = dirty_runs(&file, 1000, 10_000) else {
        eprintln!("SKIPPED: this kernel has no cachestat");
        return;
    };
    assert_eq!(found, [Run { first: 3, pages: 1 }, Run { first: 500, pages: 300 }]);
    // A file in countless pieces costs no more than that.
    assert!(dirty_runs(&file, 1000, 1).unwrap().is_empty());
}
