//! Clean pages go, dirty ones stay.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;
use std::os::unix::fs::FileExt;

use lull_core::memory::pages::Run;

use super::{evict, page_bytes, still_cached};
use crate::gate::cached::cache_counts;

#[test]
fn clean_pages_go_and_dirty_ones_stay() {
    let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let size = page_bytes();
    let length = 8 * size;
    file.write_all(&vec![7; usize::try_from(length).unwrap()]).unwrap();
    let Ok(before) = cache_counts(&file, 0, length) else {
        eprintln!("SKIPPED: this kernel has no cachestat");
        return;
    };
    // The kernel may have gathered the pages in a larger unit, which goes as a whole or not at all.
    let run = Run { first: 2, pages: 6 };
    if before.dirty == 8 {
        let outcome = evict(&file, 0, run).unwrap();
        assert!(outcome.dirty == 6 || cache_counts(&file, 0, length).unwrap().dirty < 8, "{outcome:?}");
    }
    file.sync_all().unwrap();
    let outcome = evict(&file, 0, Run { first: 0, pages: 8 }).unwrap();
    assert_eq!((outcome.gone, outcome.left, outcome.dirty), (8, 0, 0));
    assert_eq!(cache_counts(&file, 0, 8 * size).unwrap().cached, 0);
    assert!(still_cached(&file, 0, Run { first: 0, pages: 8 }).is_empty());
    // One that was read again, with what the kernel reads ahead of it.
    file.read_exact_at(&mut [0], 5 * size).unwrap();
    let cached = still_cached(&file, 2, Run { first: 0, pages: 6 });
    assert!(cached.runs().iter().any(|run| (run.first..run.first + run.pages).contains(&3)), "{cached:?}");
    assert_eq!(cached.count(), cache_counts(&file, 2 * size, 6 * size).unwrap().cached);
}
