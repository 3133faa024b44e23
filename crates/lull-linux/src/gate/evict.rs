//! Taking pages out of the page cache.
//!
//! POSIX_FADV_DONTNEED takes clean pages that no process has mapped. On dirty pages it would begin to write, at once and
//! in whatever burst: so the cache is asked first (cachestat(2), Linux 6.5), and a run with dirty pages is left alone.
//! Where cachestat is missing runs are taken as they come.
//!
//! Units: pages in, pages out. Source: posix_fadvise(2), `mm/fadvise.c`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use lull_core::PageSet;
use lull_core::memory::pages::Run;

use crate::gate::cached::{CacheCounts, cache_counts};

/// The kernel's page size in bytes.
pub fn page_bytes() -> u64 {
    // SAFETY: asks for a constant.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

/// What became of some pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evicted {
    /// Taken out, or gone already.
    pub gone: u64,
    /// Still there: mapped, or in use.
    pub left: u64,
    /// Not touched, since some of them are dirty or being written.
    pub dirty: u64,
}

/// Takes `run` of a file, counted from page `base`, out of the cache.
///
/// # Errors
/// As posix_fadvise(2).
pub fn evict(file: &File, base: u64, run: Run) -> io::Result<Evicted> {
    let size = page_bytes();
    let (offset, length) = ((base + run.first) * size, run.pages * size);
    let before = cache_counts(file, offset, length);
    if let Ok(CacheCounts { dirty, writeback, .. }) = before
        && dirty + writeback > 0
    {
        return Ok(Evicted { dirty: run.pages, ..Evicted::default() });
    }
    if before.is_ok_and(|counts| counts.cached == 0) {
        return Ok(Evicted { gone: run.pages, ..Evicted::default() });
    }
    advise(file, offset, length, libc::POSIX_FADV_DONTNEED)?;
    let left = cache_counts(file, offset, length).map_or(0, |counts| counts.cached.min(run.pages));
    Ok(Evicted { gone: run.pages - left, left, dirty: 0 })
}

/// Which pages of `run` are in the cache; where that cannot be told, all of them.
pub fn still_cached(file: &File, base: u64, run: Run) -> PageSet {
    let size = page_bytes();
    let is_cached = |page: &u64| {
        cache_counts(file, (base + page) * size, size).map_or(true, |counts: CacheCounts| counts.cached > 0)
    };
    PageSet::of((run.first..run.first + run.pages).filter(is_cached))
}

fn advise(file: &File, offset: u64, length: u64, advice: libc::c_int) -> io::Result<()> {
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let offset = libc::off_t::try_from(offset).map_err(invalid)?;
    let length = libc::off_t::try_from(length).map_err(invalid)?;
    // SAFETY: advice about an open file.
    match unsafe { libc::posix_fadvise(file.as_raw_fd(), offset, length, advice) } {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

#[cfg(test)]
mod tests;
