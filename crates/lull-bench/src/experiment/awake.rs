//! Idle CPUs that stay awake while something is measured.
//!
//! Problem: a CPU that falls idle sleeps, and takes time to come back; a virtual one is given to others
//! meanwhile. Background work keeps CPUs from that, so a foreground can be *faster* beside it than alone, by
//! more than background costs it. That is so in daily life, too, and hides what else background costs.
//!
//! Approach: what latency tests of the kernel do. While the file `/dev/cpu_dma_latency` is held open with a
//! bound of 0 µs in it, idle CPUs wait in a loop, and are woken without an interrupt. The kernel forgets the
//! bound when the file is closed, also by SIGKILL.
//!
//! Edge cases: an ordinary user may not open it, and a kernel without idle states has no such loop: CPUs then
//! sleep as ever. Whether it was held stands in the facts of the host.
//!
//! Source: the kernel's *PM Quality of Service interface*.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

/// Where the bound is asked for.
const LATENCY: &str = "/dev/cpu_dma_latency";

/// Keeps idle CPUs awake until it is dropped.
#[derive(Debug)]
pub struct Awake {
    held: Option<std::fs::File>,
}

impl Awake {
    /// As well as this machine and user can.
    pub fn keep() -> Self {
        Self::keep_by(Path::new(LATENCY))
    }

    /// CPUs sleep as they do without the benchmark.
    pub const fn doze() -> Self {
        Self { held: None }
    }

    fn keep_by(file: &Path) -> Self {
        let held = OpenOptions::new().write(true).open(file).and_then(|mut file| {
            file.write_all(&0_i32.to_ne_bytes())?;
            Ok(file)
        });
        Self { held: held.ok() }
    }

    /// Whether they are.
    pub const fn is_kept(&self) -> bool {
        self.held.is_some()
    }
}

#[cfg(test)]
mod tests;
