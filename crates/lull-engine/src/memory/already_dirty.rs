//! What the job had made dirty before its pages were observed.
//!
//! Problem: a page is told when it becomes dirty. A job that is looked at once it is large has written for a second by then, and what it wrote stays with
//! the kernel, to be written in a burst.
//!
//! Approach: once, when the observer stands, the files that the job's processes have open for writing are asked for their dirty pages. Edge
//! cases: a file that the job has closed again is the kernel's to write; what another program has made dirty in a file that the job has open for
//! writing is taken for the job's, and is written sooner than it would be.

use std::collections::HashSet;
use std::fs::File;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use lull_bpf::Chunk;
use lull_core::PageSet;
use lull_core::memory::pages::{CHUNK_PAGES, Run};
use lull_linux::gate::evict::page_bytes;
use lull_linux::gate::inode::FileId;
use lull_linux::gate::writeback;

/// Files that are asked.
const FILES: usize = 256;
/// Looks at each: some microseconds each.
const LOOKS: u32 = 4096;
/// The right to write in the mode of a descriptor's exchange.
const FOR_WRITING: u32 = 0o200;

/// The dirty pages of all files that these processes have open for writing.
pub(super) fn dirty_pages(pids: impl IntoIterator<Item = i32>) -> Vec<(Chunk, PageSet)> {
    let mut known = HashSet::new();
    let mut found = Vec::new();
    for pid in pids {
        for entry in std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten() {
            if known.len() >= FILES {
                return found;
            }
            let Some((id, file)) = written_file(&entry.path()) else { continue };
            if known.insert(id) {
                found.extend(chunks(&id, &file));
            }
        }
    }
    found
}

/// The regular file behind a descriptor that may write.
fn written_file(exchange: &Path) -> Option<(FileId, File)> {
    let may_write = exchange.symlink_metadata().ok()?.permissions().mode() & FOR_WRITING != 0;
    // Opening anything else may do more than open it.
    if !may_write || !exchange.metadata().ok()?.is_file() {
        return None;
    }
    let mut options = std::fs::OpenOptions::new();
    let file = options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOATIME).open(exchange).ok()?;
    Some((FileId::of(&file).ok()?, file))
}

fn chunks(id: &FileId, file: &File) -> Vec<(Chunk, PageSet)> {
    let pages = file.metadata().map_or(0, |facts| facts.size()).div_ceil(page_bytes());
    let mut found: Vec<(Chunk, PageSet)> = Vec::new();
    for Run { first, pages } in writeback::dirty_runs(file, pages, LOOKS).unwrap_or_default() {
        let end = first + pages;
        for index in first / CHUNK_PAGES..end.div_ceil(CHUNK_PAGES) {
            let base = index * CHUNK_PAGES;
            let part = PageSet::of(first.max(base) - base..end.min(base + CHUNK_PAGES) - base);
            match found.last_mut().filter(|(chunk, _)| chunk.index == index) {
                Some((_, known)) => *known = known.or(&part),
                None => {
                    let (dev, inode) = (id.dev.to_kernel(), id.inode);
                    found.push((Chunk { dev, inode, generation: id.generation, index }, part));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
