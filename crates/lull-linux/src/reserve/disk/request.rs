//! What a trapped call asks of a disk, and doing it.
//!
//! | call | what a worker does | bytes |
//! |---|---|---|
//! | `read`, `pread64`, `sendfile` of a cached file | nothing: the call goes on at once | – |
//! | the same, not cached | reads the range into the page cache, a piece at a time, each queued anew | of the piece |
//! | `write`, `pwrite64`, `fsync` and its like | writes the file's dirty pages out, if there are enough of them | dirty |
//! | direct I/O, vectors, copies, `io_submit` | lets the call go, and looks until its thread has left it | its length, or a piece |
//!
//! The kernel's own read-ahead is turned off at the descriptor, as it would read past the queue; a sequential reader gets whole pieces instead.
//!
//! Units: bytes.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Client;
use crate::gate::cached::{borrow_descriptor, cache_counts, resident_pages};
use crate::gate::target::{Target, descriptors_of, is_sync, read_of};
use crate::seccomp::Trap;

/// No request is longer.
pub(super) const PIECE_BYTES: u64 = 256 * 1024;
/// A page.
const PAGE_BYTES: u64 = 4_096;
/// A writer may leave so much in memory; with more its next call waits until that is written.
const DIRTY_BYTES: u64 = 1024 * 1024;
/// How often it is looked whether a call has ended, and how long at the most: the disk may hang.
const LOOK: Duration = Duration::from_micros(150);
const LOOK_LIMIT: Duration = Duration::from_secs(30);

/// What is to be done.
#[derive(Debug)]
pub(super) enum Ask {
    /// Bring this range into the page cache.
    Read { file: OwnedFd, offset: u64, end: u64 },
    /// Write the dirty pages out.
    Clean { file: OwnedFd, bytes: u64 },
    /// Let the call do it.
    Watch { bytes: u64 },
}

/// A call in a queue.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) client: Arc<Client>,
    pub(super) id: u64,
    pub(super) tid: u32,
    pub(super) nr: i64,
    pub(super) ask: Ask,
}

/// The file that a call is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    pub(super) fd: i32,
    pub(super) dev: u64,
    pub(super) inode: u64,
    /// Nothing for a device, which has no end.
    pub(super) size_bytes: u64,
}

/// The first file on a disk that a call is about.
pub(super) fn subject(trap: &Trap) -> Option<Subject> {
    descriptors_of(trap).find_map(|(fd, target)| match target {
        Target::Disk { dev, inode, size_bytes } => Some(Subject { fd, dev, inode, size_bytes }),
        Target::EveryDisk | Target::Elsewhere => None,
    })
}

impl Ask {
    /// `None` if the disk has nothing to do, or nothing that can be waited for.
    pub(super) fn of(trap: &Trap, size_bytes: u64, goes_on: impl Fn(u64, u64) -> bool) -> Option<Self> {
        let watch = |bytes: u64| Some(Self::Watch { bytes: bytes.clamp(PAGE_BYTES, PIECE_BYTES) });
        if let Some(read) = read_of(trap) {
            let file = borrow_descriptor(trap.tid, read.fd).ok()?;
            if is_direct(&file) {
                return watch(read.length);
            }
            let is_device = size_bytes == 0;
            let offset = match read.offset {
                Some(offset) => offset,
                None if is_device => position_of_device(&file)?,
                // SAFETY: asking for the position changes nothing.
                None => u64::try_from(unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_CUR) }).ok()?,
            };
            let limit = if is_device { u64::MAX } else { size_bytes };
            let end = offset.saturating_add(read.length).min(limit);
            if end <= offset {
                return None;
            }
            let ahead = goes_on(offset, end);
            if resident_pages(&file, offset, end - offset).is_ok_and(|(cached, all)| cached >= all) {
                return None;
            }
            // SAFETY: advice about an open file.
            unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_RANDOM) };
            let end = if ahead { end.max(offset + PIECE_BYTES).min(limit) } else { end };
            return Some(Self::Read { file, offset, end });
        }
        let writes = [libc::SYS_write, libc::SYS_pwrite64].contains(&trap.nr);
        if !writes && !is_sync(trap) {
            return watch(PIECE_BYTES);
        }
        let fd = i32::try_from(trap.args[0]).ok()?;
        let file = borrow_descriptor(trap.tid, fd).ok()?;
        if writes && is_direct(&file) {
            return watch(trap.args[2]);
        }
        if [libc::SYS_sync, libc::SYS_syncfs].contains(&trap.nr) {
            return None;
        }
        let counts = cache_counts(&file, 0, 0).ok()?;
        let bytes = (counts.dirty + counts.writeback) * PAGE_BYTES;
        let least = if writes { DIRTY_BYTES } else { PAGE_BYTES };
        (bytes >= least).then_some(Self::Clean { file, bytes })
    }

    /// How long it is, until it is queued again.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Read { offset, end, .. } => (end - offset).clamp(PAGE_BYTES, PIECE_BYTES),
            Self::Clean { bytes, .. } | Self::Watch { bytes } => *bytes,
        }
    }
}

/// Where a device's descriptor stands. Seeking would wait for reads of the same device, and with them for a disk that hangs, while calls for
/// other disks wait behind this one.
fn position_of_device(file: &OwnedFd) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok()?;
    crate::proc::field(&text, "pos")?.parse().ok()
}

fn is_direct(file: &OwnedFd) -> bool {
    // SAFETY: reading flags changes nothing.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) & libc::O_DIRECT != 0 }
}

impl Job {
    /// Does the next part; whether that was all. The call has not gone on, unless it had to itself.
    pub(super) fn work(&mut self, space: &mut [u8]) -> bool {
        match &mut self.ask {
            Ask::Read { file, offset, end } => {
                let length = (*end - *offset).min(PIECE_BYTES).min(space.len() as u64);
                let position = i64::try_from(*offset).unwrap_or(i64::MAX);
                // SAFETY: the buffer is as long as is said; what comes is not looked at.
                let got = unsafe {
                    libc::pread(
                        file.as_raw_fd(),
                        space.as_mut_ptr().cast(),
                        usize::try_from(length).unwrap_or(0),
                        position,
                    )
                };
                *offset += length;
                // An error is the call's own to find.
                got <= 0 || *offset >= *end
            }
            Ask::Clean { file, .. } => {
                let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
                    | libc::SYNC_FILE_RANGE_WRITE
                    | libc::SYNC_FILE_RANGE_WAIT_AFTER;
                // SAFETY: an open descriptor and numbers.
                unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) };
                true
            }
            Ask::Watch { .. } => {
                self.client.pass(self.id);
                self.watch();
                true
            }
        }
    }

    /// Until the thread is in no call, or in another one.
    fn watch(&self) {
        let begun = Instant::now();
        let number = format!("{} ", self.nr);
        while begun.elapsed() < LOOK_LIMIT {
            // Its next call says that this one has ended, and looks the same from outside.
            if self.client.wait_for_next(self.tid, self.id, LOOK) {
                return;
            }
            // While it waits, the call's number stands first; `running` once it does not.
            let line = std::fs::read_to_string(format!("/proc/{}/syscall", self.tid)).unwrap_or_default();
            if !line.starts_with(&number) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests;
