//! A control group of the cpu controller around a contender's job.
//!
//! The group is made by the same code that makes the groups of `lull run` ([`JobGroup`]), on v1 and v2 hosts, so its name
//! tells its owner, and whatever a killed harness leaves behind is removed by the next start ([`sweep`]). It goes when
//! the [`CpuGroup`] is dropped: at the end of a run, on an error, on SIGINT, SIGTERM and SIGHUP.
//!
//! | | v1 | v2 |
//! |---|---|---|
//! | idle class | `cpu.idle` | `cpu.idle` |
//! | quota | `cpu.cfs_quota_us` per `cpu.cfs_period_us` | `cpu.max` |
//!
//! The job enters by itself, before it starts: `sh -c 'echo $$ > GROUP/cgroup.procs && exec "$@"' sh CMD`. On v2 a child
//! group has these files only where its parent hands the cpu controller down, which needs a delegated group without
//! processes of its own, as a container or a systemd scope may have; elsewhere the contender cannot run and says so.
//!
//! Source: `Documentation/admin-guide/cgroup-v2.rst`, `Documentation/scheduler/sched-bwc.rst`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use lull_core::Nanos;
use lull_linux::cgroup::{GroupName, JobGroup, sweep_leftovers};
use lull_linux::probe::CgroupFacts;
use lull_linux::root::Root;
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;

use super::headroom::Controller;
use super::suspend::Suspender;
use crate::Error;
use crate::error::Context;
use crate::units::whole;

/// What the group is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The idle class among CPU groups.
    Idle,
    /// A limited share of the CPUs.
    Quota,
    /// Freezing, by the caller.
    Freeze,
}

/// How a quota is written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    V1,
    V2,
}

/// The quota of a group.
#[derive(Clone, Debug)]
pub struct Quota {
    directory: PathBuf,
    form: Form,
}

/// The length in which a quota is used up: the kernel's default.
const PERIOD_US: u64 = 100_000;
/// The smallest quota that the kernel takes.
const LEAST_US: u64 = 1_000;

impl Quota {
    fn of(directory: &Path) -> Option<Self> {
        let has = |name: &str| directory.join(name).exists();
        let form = match (has("cpu.cfs_quota_us"), has("cpu.max")) {
            (true, _) => Form::V1,
            (_, true) => Form::V2,
            _ => return None,
        };
        Some(Self { directory: directory.to_owned(), form })
    }

    /// The file and the text that allow `cpus` CPUs.
    fn setting(&self, cpus: f64) -> (PathBuf, String) {
        let quota_us = whole(cpus * PERIOD_US as f64).max(LEAST_US);
        match self.form {
            Form::V1 => (self.directory.join("cpu.cfs_quota_us"), quota_us.to_string()),
            Form::V2 => (self.directory.join("cpu.max"), format!("{quota_us} {PERIOD_US}")),
        }
    }

    /// Lets the group use `cpus` CPUs from now on.
    pub fn set(&self, cpus: f64) -> Result<(), Error> {
        let (file, text) = self.setting(cpus);
        std::fs::write(&file, text).at("set the quota in", &file)
    }

    /// Processor time that the group's living processes have used.
    pub fn used(&self) -> Nanos {
        let procs = std::fs::read_to_string(self.directory.join("cgroup.procs")).unwrap_or_default();
        procs.lines().filter_map(|line| process_time(line.parse().ok()?)).fold(Nanos::ZERO, Nanos::plus)
    }
}

/// Processor time of a process, all its threads; none if it is gone.
fn process_time(pid: i32) -> Option<Nanos> {
    let time = clock_gettime(clock_getcpuclockid(Pid::from_raw(pid)).ok()?).ok()?;
    u64::try_from(std::time::Duration::from(time).as_nanos()).ok().map(Nanos)
}

/// A group that goes when dropped, with what controls it.
pub struct CpuGroup {
    directory: PathBuf,
    quota: Option<Quota>,
    // Before the group, so that it never writes to a group that is gone.
    controller: Option<Controller>,
    suspender: Option<Suspender>,
    job: Option<JobGroup>,
}

impl CpuGroup {
    /// Makes a group beside this process's own.
    pub fn create(purpose: Use) -> Result<Self, Error> {
        let root = Root::real();
        let job = JobGroup::create(&GroupName::next(&root), &CgroupFacts::read(&root, true));
        let wanted: &[&str] =
            if purpose == Use::Freeze { &["cgroup.freeze", "freezer.state"] } else { &["cpu.idle"] };
        let has = |path: &PathBuf| wanted.iter().any(|name| path.join(name).exists());
        let directory = job.paths().into_iter().find(has);
        let mut group = Self {
            directory: directory.clone().unwrap_or_default(),
            quota: None,
            controller: None,
            suspender: None,
            job: None,
        };
        let missing = job.missing().iter().find(|missing| missing.what == "cpu.idle");
        let why = missing.map_or_else(|| "the kernel offers none".to_owned(), |missing| missing.why.clone());
        let idle = if purpose == Use::Idle { job.set_idle_cpu() } else { Ok(true) };
        // From here on the guard removes it.
        group.job = Some(job);
        let unmet =
            |detail: String| Error::Unmet { what: "a group of the cpu controller".to_owned(), detail };
        match (directory, idle) {
            (None, _) | (_, Ok(false)) => return Err(unmet(why)),
            (_, Err(error)) => return Err(unmet(error.to_string())),
            (Some(directory), Ok(true)) if purpose == Use::Quota => {
                group.quota = Quota::of(&directory);
                if group.quota.is_none() {
                    return Err(unmet(format!("{} takes no quota", directory.display())));
                }
            }
            _ => {}
        }
        if purpose == Use::Freeze {
            group.suspender = group.job.as_ref().map(Suspender::start).transpose()?;
        }
        Ok(group)
    }

    /// The command line that enters the group and then becomes `argv`.
    pub fn wrap(&self, argv: Vec<OsString>) -> Vec<OsString> {
        entering(&self.directory, argv)
    }

    /// Its quota, if it was made to have one.
    pub fn quota(&self) -> Option<&Quota> {
        self.quota.as_ref()
    }

    /// Hands the quota over until the group goes.
    pub fn control(&mut self, controller: Controller) {
        self.controller = Some(controller);
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for CpuGroup {
    fn drop(&mut self) {
        self.controller = None;
        self.suspender = None;
        if let Some(Err(error)) = self.job.take().map(JobGroup::remove) {
            eprintln!("lull bench: {error}");
        }
    }
}

/// The command line that enters the group in `directory` and then becomes `argv`.
pub fn entering(directory: &Path, argv: Vec<OsString>) -> Vec<OsString> {
    let script = "echo $$ > \"$0\" && exec \"$@\"";
    let mut wrapped: Vec<OsString> = ["sh", "-c", script].map(OsString::from).to_vec();
    wrapped.push(directory.join("cgroup.procs").into_os_string());
    wrapped.extend(argv);
    wrapped
}

/// Removes the groups of a harness that was killed.
pub fn sweep() {
    let root = Root::real();
    sweep_leftovers(&root, &CgroupFacts::read(&root, true));
}

#[cfg(test)]
mod tests;
