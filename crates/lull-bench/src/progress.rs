//! Two counters and a switch, shared between a load generator and the harness through a small mapped file.
//!
//! A background load runs longer than the window in which it is judged, so its total says little; the harness
//! samples the counters and interpolates at the window's ends. A mapping, because a `write` per request would
//! itself be a request that a gate may hold. The file belongs on tmpfs (see [`directory`]), so that no page
//! of it is ever written to the disk under test.
//!
//! The switch pauses the load between two pieces of its work ([beats](crate::beats)): it then sleeps on the
//! word itself, so a paused load costs next to nothing.
//!
//! | offset | size | |
//! |---|---|---|
//! | 0 | 8 | requests done |
//! | 8 | 8 | bytes done |
//! | 16 | 4 | 1 while paused, 0 otherwise |

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use memmap2::{MmapOptions, MmapRaw};
use rustix::thread::futex;

use crate::Error;
use crate::error::Context;

const LENGTH: usize = 24;
const SWITCH: usize = 16;
/// A paused load looks this often whether it is to end.
const LOOK_EVERY: futex::Timespec = futex::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The mapped counters: requests and bytes done so far.
#[derive(Debug)]
pub struct Progress {
    map: MmapRaw,
}

impl Progress {
    /// Creates the file with both counters at zero.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
            .at("create", path)?;
        file.set_len(LENGTH as u64).at("set the size", path)?;
        Self::map(&file, path)
    }

    /// Opens a file that [`Progress::create`] made.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = OpenOptions::new().read(true).write(true).open(path).at("open", path)?;
        if file.metadata().at("examine", path)?.len() < LENGTH as u64 {
            return Err(Error::Argument {
                argument: format!("--progress {}", path.display()),
                problem: format!("the file must hold {LENGTH} bytes"),
            });
        }
        Self::map(&file, path)
    }

    fn map(file: &std::fs::File, path: &Path) -> Result<Self, Error> {
        let map = MmapOptions::new().len(LENGTH).map_raw(file).at("map", path)?;
        Ok(Self { map })
    }

    fn counter(&self, index: usize) -> &AtomicU64 {
        debug_assert!(index < SWITCH / 8);
        // SAFETY: the mapping is page-aligned, LENGTH bytes long, lives as long as `self`, and every process
        // that maps the file touches it only through these atomics.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().cast::<u64>().add(index)) }
    }

    fn switch(&self) -> &AtomicU32 {
        // SAFETY: as for the counters; the word lies behind them within the mapping and is aligned to 4
        // bytes.
        unsafe { AtomicU32::from_ptr(self.map.as_mut_ptr().add(SWITCH).cast::<u32>()) }
    }

    /// Pauses the load, or lets it go on.
    pub fn pause(&self, paused: bool) {
        if self.switch().swap(u32::from(paused), Ordering::Relaxed) != u32::from(paused) {
            // Nobody may be waiting; a waiter that is missed looks again by itself.
            let _ = futex::wake(self.switch(), futex::Flags::empty(), u32::MAX);
        }
    }

    /// Sleeps while paused, unless `ends` says otherwise.
    pub fn wait_while_paused(&self, ends: impl Fn() -> bool) {
        while self.switch().load(Ordering::Relaxed) == 1 && !ends() {
            // A signal, the time and a changed word all lead to another look.
            let _ = futex::wait(self.switch(), futex::Flags::empty(), 1, Some(&LOOK_EVERY));
        }
    }

    /// Counts one finished request of `bytes`.
    pub fn add(&self, bytes: u64) {
        self.counter(0).fetch_add(1, Ordering::Relaxed);
        self.counter(1).fetch_add(bytes, Ordering::Relaxed);
    }

    /// Requests finished.
    pub fn requests(&self) -> u64 {
        self.counter(0).load(Ordering::Relaxed)
    }

    /// Bytes moved.
    pub fn bytes(&self) -> u64 {
        self.counter(1).load(Ordering::Relaxed)
    }
}

/// Where progress files go: tmpfs where the machine has it at the usual place.
pub fn directory() -> PathBuf {
    let shm = PathBuf::from("/dev/shm");
    if shm.is_dir() { shm } else { std::env::temp_dir() }
}

/// What the names of this process's files begin with.
pub fn prefix(pid: u32) -> String {
    format!("lull-bench-{pid}-")
}

/// Removes the files of harnesses that are gone.
pub fn sweep() {
    sweep_in(&directory(), &|pid| Path::new("/proc").join(pid.to_string()).exists());
}

fn sweep_in(directory: &Path, lives: &dyn Fn(u32) -> bool) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner =
            name.to_str().and_then(|name| name.strip_prefix("lull-bench-")?.split_once('-')?.0.parse().ok());
        if owner.is_some_and(|pid| !lives(pid)) {
            // Another user's files are theirs to remove.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests;
