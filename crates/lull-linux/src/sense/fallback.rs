//! Seeing a disk's foreground without BPF rights, at the scale of milliseconds.
//!
//! Problem: the block layer's public counters (`/sys/block/DISK/stat`) sum over everybody. Approach: what the job did is
//! known from its own accounts (`/proc/PID/io`), so the foreground is what remains:
//!
//! ```text
//!   device's completed bytes since the last sample
//! − the job's bytes not yet seen at the device       = foreground bytes
//! ```
//!
//! The two accounts differ in time: a process is charged a read when it submits it and a write when it dirties the page,
//! the device counts when it completes. So the job's bytes go into an account per direction, and completions draw from
//! it before they count as foreground. Reads that are still in the account when the device has none in service were
//! served by another disk and are struck off (one sample later, since the job may have submitted after the device was
//! read); dirtied bytes fade with a half-life of 30 s, after which write-back has come by. The job's accounts are read
//! *after* the device's, or requests between the two would look like foreground.
//!
//! Counts of requests follow from bytes: the size of the job's requests is learnt from samples in which it was alone, and
//! what a mixed sample completed beyond the job's is the foreground's. Before that, requests are shared out by bytes.
//!
//! What it can't see: while the job has requests in service, as many bytes of foreground can hide behind them (once the
//! job is held, nothing hides); a job that reads from two disks at once hides foreground of the same size on one for a
//! sample. On the other side, a file system's journal and write-back of other people's pages are foreground even if the
//! job caused them. Requests shorter than a sample are dated to the sample.
//!
//! Units: the files count sectors of 512 bytes. Source: `Documentation/block/stat.rst`, proc_pid_io(5).

use std::io;

use lull_core::{Nanos, Observation};

use crate::root::Root;

mod account;
mod read;

pub use account::Account;

/// A device's counters at one moment; cumulative but for those in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounts {
    /// Reads completed.
    pub reads: u64,
    /// Bytes they brought.
    pub read_bytes: u64,
    /// Writes completed.
    pub writes: u64,
    /// Bytes they took.
    pub write_bytes: u64,
    /// Reads in the device or queued before it.
    pub reads_in_flight: u32,
    /// Writes in the device or queued before it.
    pub writes_in_flight: u32,
}

/// What a job's processes have moved since they started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobIo {
    /// Bytes they caused to be read from disks.
    pub read_bytes: u64,
    /// Bytes they dirtied or wrote directly.
    pub write_bytes: u64,
}

/// The sensor of one disk.
#[derive(Debug)]
pub struct FallbackSensor {
    root: Root,
    disk: String,
    account: Account,
}

impl FallbackSensor {
    /// A sensor of `disk`, a name in `/sys/block`. The first sample is the zero of all counts.
    pub fn new(disk: &str, root: Root) -> Self {
        Self { root, disk: disk.to_owned(), account: Account::default() }
    }

    /// Reads the device and then, by calling `job`, the job's accounts.
    pub fn sample(&mut self, now: Nanos, job: impl FnOnce() -> JobIo) -> io::Result<Observation> {
        let device = read::device(&self.root, &self.disk)?;
        let job = job();
        Ok(self.account.update(now, device, job))
    }
}

#[cfg(test)]
mod tests;
