//! Settings of the whole machine that an experiment changes for a while: bounds on dirty pages, and a swap
//! file.
//!
//! What was there before comes back when a guard is dropped: at the end of the run, on an error, on a panic,
//! and on SIGINT, SIGTERM and SIGHUP, which the harness turns into errors (see [`stop`](lull_linux::stop)). A
//! swap file that a killed harness leaves in use is taken out of use by the next one in the same directory.
//!
//! | file in `/proc/sys/vm` | pinned | pinned, files divided by N | `dirty-bytes` |
//! |---|---|---|---|
//! | `dirty_ratio`, `dirty_background_ratio` | 20, 10: the kernel's own | – | – |
//! | `dirty_bytes`, `dirty_background_bytes` | 0 | 20% and 10% of the memory, divided by N | 64 MiB, 16 MiB, divided by N |
//!
//! A job that writes a file again and again whose size is below the bounds would never be made to write to
//! the disk: so they follow its size. Writing the one kind sets the other to 0, so both kinds are noted and
//! whichever was in force is written back.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::fcntl::{FallocateFlags, fallocate};

use crate::Error;
use crate::error::Context;
use crate::units::Bytes;

/// Where the kernel keeps its settings of memory.
pub const PROC_VM: &str = "/proc/sys/vm";
const RATIOS: [(&str, u64); 2] = [("dirty_ratio", 20), ("dirty_background_ratio", 10)];
const BYTES: [(&str, u64); 2] = [("dirty_bytes", 64 << 20), ("dirty_background_bytes", 16 << 20)];
/// The kernel takes no smaller bound than two pages.
const LEAST_BOUND: u64 = 2 * 4096;
const SWAP_FILE: &str = "swap.dat";

/// Bounds on dirty pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirtyBounds {
    /// The kernel's own, for files that are divided by `scale`, on a machine with `memory`.
    Pinned {
        /// What sizes are divided by.
        scale: u64,
        /// The machine's memory, if that is known.
        memory: Option<Bytes>,
    },
    /// Those of the contender `dirty-bytes`.
    Small {
        /// What sizes are divided by.
        scale: u64,
    },
}

impl DirtyBounds {
    /// What is written to which file.
    fn settings(self) -> [(&'static str, u64); 2] {
        match self {
            Self::Pinned { scale: 0 | 1, .. } | Self::Pinned { memory: None, .. } => RATIOS,
            Self::Pinned { scale, memory: Some(memory) } => {
                [("dirty_bytes", 20), ("dirty_background_bytes", 10)]
                    .map(|(name, percent)| (name, (memory.0 / 100 * percent / scale).max(LEAST_BOUND)))
            }
            Self::Small { scale } => {
                BYTES.map(|(name, bytes)| (name, (bytes / scale.max(1)).max(LEAST_BOUND)))
            }
        }
    }
}

/// Puts the former bounds on dirty pages back when dropped.
#[derive(Debug)]
pub struct DirtyGuard {
    former: Vec<(PathBuf, String)>,
}

impl DirtyGuard {
    /// These bounds, until dropped.
    pub fn set(proc_vm: &Path, bounds: DirtyBounds) -> Result<Self, Error> {
        let mut former = Vec::new();
        for (name, _) in RATIOS.iter().chain(&BYTES) {
            let path = proc_vm.join(name);
            let value = fs::read_to_string(&path).at("read", &path)?.trim().to_owned();
            // A bound of 0 says that the other kind is in force.
            if value != "0" {
                former.push((path, value));
            }
        }
        // From here on the guard puts back what is changed.
        let guard = Self { former };
        for (name, value) in bounds.settings() {
            let path = proc_vm.join(name);
            fs::write(&path, value.to_string()).at("set", &path)?;
        }
        Ok(guard)
    }
}

impl Drop for DirtyGuard {
    fn drop(&mut self) {
        for (path, value) in &self.former {
            if let Err(error) = fs::write(path, value) {
                eprintln!("lull bench: {}: cannot put '{value}' back: {error}", path.display());
            }
        }
    }
}

/// A swap file, in use until dropped.
#[derive(Debug)]
pub struct SwapFile {
    path: PathBuf,
}

impl SwapFile {
    /// Makes one of `size` in `directory`, which must not be on a memory or network file system.
    pub fn add(directory: &Path, size: Bytes) -> Result<Self, Error> {
        let path = directory.join(SWAP_FILE);
        Self::sweep(directory);
        let mut options = fs::OpenOptions::new();
        let file =
            options.write(true).create(true).truncate(true).mode(0o600).open(&path).at("create", &path)?;
        // From here on the guard removes it.
        let swap = Self { path };
        let length = i64::try_from(size.0).unwrap_or(i64::MAX);
        fallocate(&file, FallocateFlags::empty(), 0, length)
            .map_err(std::io::Error::from)
            .at("make room in", &swap.path)?;
        drop(file);
        tool("mkswap", &swap.path)?;
        tool("swapon", &swap.path)?;
        Ok(swap)
    }

    /// Takes the swap file of a killed harness out of use.
    pub fn sweep(directory: &Path) {
        let path = directory.join(SWAP_FILE);
        let in_use = fs::read_to_string("/proc/swaps").unwrap_or_default();
        let Ok(absolute) = path.canonicalize() else { return };
        if in_use.lines().any(|line| line.split_whitespace().next() == absolute.to_str()) {
            drop(Self { path: absolute });
        }
    }
}

impl Drop for SwapFile {
    fn drop(&mut self) {
        let is_in_use = fs::read_to_string("/proc/swaps").is_ok_and(|text| {
            self.path.canonicalize().is_ok_and(|path| text.contains(&*path.to_string_lossy()))
        });
        if is_in_use && let Err(error) = tool("swapoff", &self.path) {
            eprintln!("lull bench: {error}");
            return;
        }
        if let Err(error) = fs::remove_file(&self.path) {
            eprintln!("lull bench: {}: cannot remove it: {error}", self.path.display());
        }
    }
}

fn tool(name: &str, path: &Path) -> Result<(), Error> {
    let output = Command::new(name).arg(path).output().at("run mkswap, swapon or swapoff on", path)?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::Process {
        command: format!("{name} {}", path.display()),
        problem: said.trim().lines().next_back().unwrap_or("it failed and said nothing").to_owned(),
    })
}

#[cfg(test)]
mod tests;
