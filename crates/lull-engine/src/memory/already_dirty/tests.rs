#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};

use lull_core::memory::pages::CHUNK_PAGES;
use lull_linux::gate::cached::cache_counts;
use lull_linux::gate::evict::page_bytes;

use super::dirty_pages;

/// Dirty pages of this file, per chunk, among those of this process.
fn found(file: &File) -> Vec<(u64, u64)> {
    let own = i32::try_from(std::process::id()).unwrap();
    let inode = file.metadata().unwrap().ino();
    let all = dirty_pages([own]);
    all.iter()
        .filter(|(chunk, _)| chunk.inode == inode)
        .map(|(chunk, set)| (chunk.index, set.count()))
        .collect()
}

#[test]
fn what_is_dirty_in_an_open_file_is_taken_over() {
    let mut named = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let page = page_bytes();
    let file = named.as_file_mut();
    if cache_counts(file, 0, page).is_err() {
        eprintln!("SKIPPED: this kernel has no cachestat");
        return;
    }
    // Across the border of two chunks.
    file.write_all_at(&vec![1; usize::try_from(20 * page).unwrap()], (CHUNK_PAGES - 8) * page).unwrap();
    assert_eq!(found(file), [(0, 8), (1, 12)]);
    let (reading, path) = (named.reopen().unwrap(), named.path().to_owned());
    drop(reading);
    let reading = File::open(&path).unwrap();
    reading.sync_all().unwrap();
    assert!(found(named.as_file()).is_empty());
}

#[test]
fn a_file_that_the_job_only_reads_is_not() {
    let named = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    named.as_file().write_all_at(&[1; 4096], 0).unwrap();
    let (file, path) = named.into_parts();
    let reading = File::open(&path).unwrap();
    drop(file);
    assert!(found(&reading).is_empty());
}
