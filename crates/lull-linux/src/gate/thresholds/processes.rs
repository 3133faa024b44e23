//! Memory of a job's processes, one by one, where there is no memory controller.
//!
//! process_madvise(MADV_PAGEOUT), Linux 5.10, reclaims ranges of another process at once. The ranges are its private
//! writable mappings, from `/proc/PID/maps`; where the last call stopped the next one goes on, so that in turn all pages are
//! asked for, in use or not. Shared pages count for every process that has them. What a job takes back meanwhile counts as
//! given, or a job that writes as fast as it gives would be gone through whole; and a call ends after some time, since a program
//! may have mapped terabytes that it does not use.
//!
//! Needs CAP_SYS_NICE, and the right to trace the process.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use lull_core::{MemoryThresholds, Nanos};

use super::{JobMemory, Pids, Thresholds};
use crate::clock;
use crate::gate::evict::page_bytes;
use crate::proc::{StatLine, bytes};
use crate::root::Root;

/// Bytes of one range at most: a call does not return before all of it is written.
const RANGE: u64 = 4 << 20;
/// And at least: one is two system calls, whatever it gives.
const LEAST_RANGE: u64 = 256 << 10;
/// A call lasts no longer, but for the range that it has begun. Twice as long as a whole batch takes.
pub(super) const LONGEST: Nanos = Nanos::from_millis(250);

/// See the module.
pub struct ProcessMemory {
    pids: Pids,
    /// Where to go on: process and address.
    cursor: (i32, u64),
}

impl std::fmt::Debug for ProcessMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProcessMemory").field("cursor", &self.cursor).finish_non_exhaustive()
    }
}

impl ProcessMemory {
    /// Of these processes.
    pub fn new(pids: Pids) -> Self {
        Self { pids, cursor: (0, 0) }
    }
}

impl Thresholds for ProcessMemory {
    fn means(&self) -> &'static str {
        "process_madvise"
    }

    fn job(&mut self) -> Option<JobMemory> {
        let mut job = JobMemory::default();
        for pid in (self.pids)() {
            let Some(status) = std::fs::read_to_string(format!("/proc/{pid}/status")).ok() else { continue };
            job.resident += bytes(&status, "VmRSS").unwrap_or(0);
            job.paged_out += bytes(&status, "VmSwap").unwrap_or(0);
            let stat = StatLine::read(&Root::real(), pid);
            job.stalls += stat.and_then(|stat| stat.major_faults()).unwrap_or(0);
        }
        Some(job)
    }

    fn glance(&self) -> u64 {
        0
    }

    fn page_out(&mut self, bytes: u64) -> io::Result<u64> {
        let until = clock::now().plus(LONGEST);
        let mut pids = (self.pids)();
        pids.sort_unstable();
        let place = pids.partition_point(|pid| *pid < self.cursor.0);
        pids.rotate_left(place);
        let (mut taken, mut outcome) = (0, Err(io::ErrorKind::NotFound.into()));
        for pid in pids {
            let from = if pid == self.cursor.0 { self.cursor.1 } else { 0 };
            match page_out_of(pid, from, bytes - taken, until) {
                Ok(PagedOut { bytes: of_process, next }) => {
                    taken += of_process;
                    outcome = Ok(());
                    self.cursor = (pid, next);
                }
                // It may have ended; the error counts if no other process gives anything.
                Err(error) if outcome.is_err() => outcome = Err(error),
                Err(_) => {}
            }
            if taken >= bytes || clock::now() >= until {
                break;
            }
            self.cursor = (pid + 1, 0);
        }
        outcome.map(|()| taken)
    }

    fn has_ceiling(&self) -> bool {
        false
    }

    fn set_ceiling(&mut self, _: Option<u64>, _: bool) -> io::Result<()> {
        Ok(())
    }

    fn set_thresholds(&mut self, _: MemoryThresholds) -> io::Result<()> {
        Ok(())
    }
}

/// Resident bytes of a process.
fn resident(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * page_bytes()
}

struct PagedOut {
    bytes: u64,
    next: u64,
}

/// Private writable ranges of `maps`, in pieces of at most `most`, from address `from` on. One after the other: a program may
/// have mapped terabytes that it does not use.
fn ranges(maps: &str, from: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    maps.lines().filter_map(private).flat_map(move |(start, end)| {
        let first = start.max(from);
        let next = move |at: &u64| Some(at.saturating_add(most)).filter(|next| *next < end);
        std::iter::successors(Some(first).filter(|first| *first < end), next)
            .map(move |at| (at, most.min(end - at)))
    })
}

/// Start and end of a range that a line of `maps` tells, if it is private, writable and nothing special.
fn private(line: &str) -> Option<(u64, u64)> {
    let mut words = line.split_whitespace();
    let (span, rights) = (words.next()?, words.next()?);
    let is_special = line.ends_with(']') && !line.ends_with("[heap]") && !line.contains("[anon:");
    if !rights.starts_with("rw") || !rights.ends_with('p') || is_special {
        return None;
    }
    let (start, end) = span.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
}

fn page_out_of(pid: i32, from: u64, wanted: u64, until: Nanos) -> io::Result<PagedOut> {
    // SAFETY: two integers.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
    // SAFETY: made for us just now.
    let process = unsafe { OwnedFd::from_raw_fd(fd) };
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let (mut before, mut bytes, mut next) = (resident(pid), 0, 0);
    for (start, length) in ranges(&maps, from, wanted.clamp(LEAST_RANGE, RANGE)) {
        let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
        let vector = libc::iovec {
            iov_base: std::ptr::with_exposed_provenance_mut(usize::try_from(start).map_err(invalid)?),
            iov_len: usize::try_from(length).map_err(invalid)?,
        };
        // SAFETY: one record that lives across the call; the addresses are another process's and are only named.
        let outcome = unsafe {
            libc::syscall(
                libc::SYS_process_madvise,
                process.as_raw_fd(),
                &raw const vector,
                1,
                libc::MADV_PAGEOUT,
                0,
            )
        };
        if outcome < 0 {
            let error = io::Error::last_os_error();
            // The mapping may have gone meanwhile, or be one that stays: locked, or of huge pages.
            if !matches!(error.raw_os_error(), Some(libc::ENOMEM | libc::EINVAL)) {
                return Err(error);
            }
        }
        next = start + length;
        let now = resident(pid);
        bytes += before.saturating_sub(now);
        before = now;
        if bytes >= wanted || clock::now() >= until {
            break;
        }
    }
    Ok(PagedOut { bytes, next })
}

#[cfg(test)]
mod tests;
