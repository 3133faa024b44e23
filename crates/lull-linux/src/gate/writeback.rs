//! Having dirty pages written.
//!
//! sync_file_range(2) starts the writing of a range in the caller's own name: the requests carry the caller's class, which
//! for lull is the idle one. It changes nothing of what fsync and close promise the job: it writes no metadata and flushes
//! no disk cache, so that a file is exactly as durable as it would be if the kernel had happened to write it now.
//!
//! Units: pages. Edge cases: the call may wait for room in the disk's queue, so that it is no call for a thread that
//! decides.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use lull_core::memory::pages::Run;

use super::cached::{CacheCounts, cache_counts};
use super::evict::page_bytes;

/// Starts to write the dirty pages of `run`, counted from page `base`.
///
/// # Errors
/// As sync_file_range(2).
pub fn start(file: &File, base: u64, run: Run) -> io::Result<()> {
    let size = page_bytes();
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let offset = libc::off64_t::try_from((base + run.first) * size).map_err(invalid)?;
    let length = libc::off64_t::try_from(run.pages * size).map_err(invalid)?;
    // SAFETY: an open file and numbers.
    let outcome =
        unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, libc::SYNC_FILE_RANGE_WRITE) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// How many pages of `run` are dirty or being written.
///
/// # Errors
/// As [`cache_counts`].
pub fn pending(file: &File, base: u64, run: Run) -> io::Result<CacheCounts> {
    let size = page_bytes();
    cache_counts(file, (base + run.first) * size, run.pages * size)
}

/// The dirty pages of a file's first `pages`, found by halves: a part without any is looked at once. At most `looks` are taken; what they do not reach
/// is left out.
///
/// # Errors
/// As [`cache_counts`].
pub fn dirty_runs(file: &File, pages: u64, mut looks: u32) -> io::Result<Vec<Run>> {
    let mut found: Vec<Run> = Vec::new();
    let mut parts = vec![Run { first: 0, pages }];
    while let Some(part) = parts.pop().filter(|_| looks > 0) {
        looks -= 1;
        let dirty = if part.pages == 0 { 0 } else { pending(file, 0, part)?.dirty };
        if dirty == 0 {
            continue;
        }
        if dirty < part.pages {
            let half = part.pages / 2;
            parts.push(Run { first: part.first + half, pages: part.pages - half });
            parts.push(Run { pages: half, ..part });
            continue;
        }
        match found.last_mut().filter(|last| last.first + last.pages == part.first) {
            Some(last) => last.pages += part.pages,
            None => found.push(part),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
