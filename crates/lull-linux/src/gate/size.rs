//! How much a trapped call moves, as far as its arguments tell.
//!
//! Lengths that lie in the caller's memory are read from there: vectors, and the first request of an `io_submit` for all of its
//! requests. A sync tells no length; what its file has to be written is counted (cachestat(2), Linux 6.5).

use std::os::fd::AsRawFd;

use super::cached::{PAGE_BYTES, borrow_descriptor, cache_counts};
use super::target::{descriptor, first_iocb, read_memory};
use crate::seccomp::Trap;

/// `struct iovec`.
const IOVEC_BYTES: usize = 16;
/// The most vectors that are read.
const IOVECS: usize = 64;
/// `aio_nbytes` of a `struct iocb`.
const AIO_NBYTES_OFFSET: usize = 32;

/// Bytes that the call moves at most; `None` if nothing tells.
pub fn bytes_of(trap: &Trap) -> Option<u64> {
    match trap.nr {
        libc::SYS_read | libc::SYS_write | libc::SYS_pread64 | libc::SYS_pwrite64 => Some(trap.args[2]),
        libc::SYS_sendfile => Some(trap.args[3]),
        libc::SYS_copy_file_range | libc::SYS_splice => Some(trap.args[4]),
        libc::SYS_readv
        | libc::SYS_writev
        | libc::SYS_preadv
        | libc::SYS_pwritev
        | libc::SYS_preadv2
        | libc::SYS_pwritev2 => in_vectors(trap),
        libc::SYS_io_submit => submitted(trap),
        libc::SYS_fsync | libc::SYS_fdatasync | libc::SYS_sync_file_range => unwritten(trap),
        _ => None,
    }
}

fn in_vectors(trap: &Trap) -> Option<u64> {
    let (first, count) = (usize::try_from(trap.args[1]).ok()?, usize::try_from(trap.args[2]).ok()?);
    let lengths = (0..count.min(IOVECS)).map(|at| {
        let length = read_memory::<8>(trap.tid, first.checked_add(at * IOVEC_BYTES + IOVEC_BYTES / 2)?)?;
        Some(u64::from_ne_bytes(length))
    });
    lengths.sum()
}

fn submitted(trap: &Trap) -> Option<u64> {
    let bytes = read_memory(trap.tid, first_iocb(trap)?.checked_add(AIO_NBYTES_OFFSET)?)?;
    Some(u64::from_ne_bytes(bytes).saturating_mul(trap.args[1].max(1)))
}

/// What of the file is dirty.
fn unwritten(trap: &Trap) -> Option<u64> {
    let file = borrow_descriptor(trap.tid, descriptor(trap.args[0])).ok()?;
    let counts = cache_counts(&file.as_raw_fd(), 0, 0).ok()?;
    Some(counts.dirty * PAGE_BYTES)
}

#[cfg(test)]
mod tests;
