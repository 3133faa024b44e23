//! Files of a test's own on a real disk, and how much of them is in the page cache.

use std::fs::File;
use std::path::Path;

use lull_core::memory::pages::Run;
use lull_linux::gate::cached::cache_counts;
use lull_linux::gate::evict::{evict, page_bytes};

use super::needs_root;

pub(crate) const MIB: u64 = 1 << 20;

/// A directory of its own on a real disk; `None`, told aloud, where nothing can be observed.
pub(crate) fn place() -> Option<tempfile::TempDir> {
    if !needs_root() {
        return None;
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        eprintln!("SKIPPED: this kernel has no BTF");
        return None;
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = new_file(dir.path(), "probe", page_bytes());
    if cache_counts(&file, 0, page_bytes()).is_err() {
        eprintln!("SKIPPED: this kernel has no cachestat");
        return None;
    }
    Some(dir)
}

/// A file that is on the disk and not in the cache.
pub(crate) fn new_file(dir: &Path, name: &str, bytes: u64) -> File {
    let path = dir.join(name);
    std::fs::write(&path, vec![7; usize::try_from(bytes).unwrap()]).unwrap();
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    let pages = bytes.div_ceil(page_bytes());
    assert_eq!(evict(&file, 0, Run { first: 0, pages }).unwrap().left, 0);
    file
}

/// Its pages in the cache.
pub(crate) fn cached(file: &File) -> u64 {
    cache_counts(file, 0, file.metadata().unwrap().len()).unwrap().cached
}
