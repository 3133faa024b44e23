//! Whether a trapped read would be served from the page cache, so that it need not wait for the disk.
//!
//! Asked only about calls that would otherwise wait. The descriptor is duplicated out of the caller (pidfd_getfd), its
//! position read, and cachestat(2) (Linux 6.5) counts the resident pages of the range: about 3 µs in all. A sequential
//! reader triggers read-ahead even on a hit, at the first page of the last window that was read ahead; the range asked
//! about therefore extends by the disk's read-ahead, up to the end of the file: then a hit starts no request at all.
//!
//! Where cachestat is missing or refused the answer is "not cached": the call waits, as any read of the disk does.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::gate::target::Read;

/// cachestat(2); the number is the same on every architecture.
const SYS_CACHESTAT: libc::c_long = 451;
/// Pages are counted in this size, whatever the machine's.
pub(crate) const PAGE_BYTES: u64 = 4096;

#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

#[repr(C)]
#[derive(Default)]
struct Stat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Pages of a range in the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Resident.
    pub cached: u64,
    /// … of which to be written.
    pub dirty: u64,
    /// … of which being written.
    pub writeback: u64,
}

/// What the cache holds of `length` bytes from `offset`, in pages of the kernel.
///
/// # Errors
/// ENOSYS before Linux 6.5; EPERM without write access to the file and without owning it.
pub fn cache_counts(fd: &impl AsRawFd, offset: u64, length: u64) -> io::Result<CacheCounts> {
    let range = Range { offset, length };
    let mut stat = Stat::default();
    // SAFETY: both records live through the call and have the kernel's layout.
    let outcome = unsafe { libc::syscall(SYS_CACHESTAT, fd.as_raw_fd(), &raw const range, &raw mut stat, 0) };
    if outcome != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(CacheCounts { cached: stat.cached, dirty: stat.dirty, writeback: stat.writeback })
}

/// Pages of `length` bytes from `offset` that are resident, of how many.
///
/// # Errors
/// As [`cache_counts`].
pub fn resident_pages(fd: &impl AsRawFd, offset: u64, length: u64) -> io::Result<(u64, u64)> {
    let first = offset / PAGE_BYTES;
    let end = offset.saturating_add(length).div_ceil(PAGE_BYTES);
    let counts = cache_counts(fd, first * PAGE_BYTES, (end - first) * PAGE_BYTES)?;
    Ok((counts.cached, end - first))
}

/// A duplicate of another thread's descriptor.
///
/// # Errors
/// Without the right to trace that thread, or where it has no such descriptor.
pub fn borrow_descriptor(tid: u32, fd: i32) -> io::Result<OwnedFd> {
    // PIDFD_THREAD (Linux 6.9) accepts any thread; before that only a thread group's leader has a pidfd.
    const PIDFD_THREAD: libc::c_uint = libc::O_EXCL.cast_unsigned();
    // SAFETY: integers in, a new descriptor or an error out.
    let open = |flags: libc::c_uint| unsafe { libc::syscall(libc::SYS_pidfd_open, tid, flags) };
    let own = |outcome: libc::c_long| {
        let fd = i32::try_from(outcome).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: made for us just now.
        Ok::<_, io::Error>(unsafe { OwnedFd::from_raw_fd(fd) })
    };
    let process = own(open(PIDFD_THREAD)).or_else(|_| own(open(0)))?;
    // SAFETY: as above.
    own(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) })
}

/// Whether `read` by thread `tid` from a file of `size_bytes` needs nothing from a disk that reads
/// `read_ahead_bytes` ahead.
pub fn is_cached(tid: u32, read: &Read, size_bytes: u64, read_ahead_bytes: u64) -> bool {
    let Ok(file) = borrow_descriptor(tid, read.fd) else { return false };
    let offset = match read.offset {
        Some(offset) => offset,
        // SAFETY: asking for the position changes nothing.
        None => match u64::try_from(unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_CUR) }) {
            Ok(offset) => offset,
            Err(_) => return false,
        },
    };
    // SAFETY: reading flags changes nothing.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) } & libc::O_DIRECT != 0 {
        return false;
    }
    if offset >= size_bytes {
        return true;
    }
    let length = read.length.saturating_add(read_ahead_bytes).min(size_bytes - offset);
    resident_pages(&file, offset, length).is_ok_and(|(cached, all)| cached >= all)
}

#[cfg(test)]
mod tests;
