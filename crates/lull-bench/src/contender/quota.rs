//! The quota of a control group: how much of the CPUs it may use.
//!
//! | v1 | v2 |
//! |---|---|
//! | `cpu.cfs_quota_us` per `cpu.cfs_period_us` | `cpu.max` |
//!
//! Source: `Documentation/scheduler/sched-bwc.rst`.

use std::path::{Path, PathBuf};

use lull_core::Nanos;
use lull_linux::sense::machine;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use crate::Error;
use crate::error::Context;
use crate::units::whole;

/// How a quota is written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// The quota of a group.
#[derive(Clone, Debug)]
pub struct Quota {
    directory: PathBuf,
    form: Version,
}

/// The length in which a quota is used up: the kernel's default.
const PERIOD_US: u64 = 100_000;
/// The smallest quota that the kernel takes.
const LEAST_US: u64 = 1_000;

impl Quota {
    pub(super) fn of(directory: &Path) -> Option<Self> {
        let has = |name: &str| directory.join(name).exists();
        let form = match (has("cpu.cfs_quota_us"), has("cpu.max")) {
            (true, _) => Version::V1,
            (_, true) => Version::V2,
            _ => return None,
        };
        Some(Self { directory: directory.to_owned(), form })
    }

    /// The file and the text that allow `cpus` CPUs.
    pub(super) fn setting(&self, cpus: f64) -> (PathBuf, String) {
        let quota_us = whole(cpus * PERIOD_US as f64).max(LEAST_US);
        match self.form {
            Version::V1 => (self.directory.join("cpu.cfs_quota_us"), quota_us.to_string()),
            Version::V2 => (self.directory.join("cpu.max"), format!("{quota_us} {PERIOD_US}")),
        }
    }

    /// Lets the group use `cpus` CPUs from now on.
    pub fn set(&self, cpus: f64) -> Result<(), Error> {
        let (file, text) = self.setting(cpus);
        std::fs::write(&file, text).at("set the quota in", &file)
    }

    /// Processor time that the group has used: by its own account where it has one, else what its living
    /// processes have, which falls back when one ends.
    pub fn used(&self) -> Nanos {
        machine::group_time(&self.directory).unwrap_or_else(|| self.used_by_the_living())
    }

    fn used_by_the_living(&self) -> Nanos {
        let procs = std::fs::read_to_string(self.directory.join("cgroup.procs")).unwrap_or_default();
        procs.lines().filter_map(|line| process_time(line.parse().ok()?)).fold(Nanos::ZERO, Nanos::plus)
    }
}

/// Processor time of a process, all its threads; none if it is gone.
fn process_time(pid: i32) -> Option<Nanos> {
    let time = clock_gettime(clock_getcpuclockid(Pid::from_raw(pid)).ok()?).ok()?;
    u64::try_from(std::time::Duration::from(time).as_nanos()).ok().map(Nanos)
}

#[cfg(test)]
mod tests;
