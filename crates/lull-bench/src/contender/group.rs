//! A control group of the cpu controller around a contender's job.
//!
//! The group is made by the same code that makes the groups of `lull run` ([`JobGroup`]), on v1 and v2 hosts,
//! so its name tells its owner, and whatever a killed harness leaves behind is removed by the next start
//! ([`sweep`]). It goes when the [`CpuGroup`] is dropped: at the end of a run, on an error, on SIGINT,
//! SIGTERM and SIGHUP; after SIGKILL a [`Restorer`] thaws and removes it.
//!
//! | | v1 | v2 |
//! |---|---|---|
//! | idle class | `cpu.idle` | `cpu.idle` |
//! | quota | `cpu.cfs_quota_us` per `cpu.cfs_period_us` | `cpu.max` |
//! | least weight | `cpu.idle`, else `cpu.shares`; `blkio.bfq.weight` | `cpu.idle`, else `cpu.weight`; `io.weight`, `io.bfq.weight` |
//!
//! The job enters by itself, before it starts: `sh -c 'echo $$ > "$0" && exec "$@"' GROUP/cgroup.procs CMD`.
//! On v2 a child group has these files only where its parent hands the cpu controller down, which needs a
//! delegated group without processes of its own, as a container or a systemd scope may have; elsewhere the
//! contender cannot run and says so.
//!
//! Source: `Documentation/admin-guide/cgroup-v2.rst`, `Documentation/scheduler/sched-bwc.rst`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use lull_core::Nanos;
use lull_linux::cgroup::{GroupError, GroupName, JobGroup, Written};
use lull_linux::probe::{CgroupFacts, elsewhere};
use lull_linux::root::Root;

use super::headroom::Policy;
use super::quota::Quota;
use super::restorer::Restorer;
use super::suspend::{self, Suspender};
use super::ticker::Ticker;
use super::top::{self, Class, Top};
use crate::Error;

/// What the group is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The idle class among CPU groups.
    Idle,
    /// A limited share of the CPUs.
    Quota,
    /// Freezing, by the caller.
    Freeze,
    /// The least weight on CPUs and disks.
    Least,
    /// A class that is in force, at the top of the tree.
    Top(Class),
}

/// A group that goes when dropped, with what controls it.
#[derive(Default)]
pub struct CpuGroup {
    directory: PathBuf,
    /// Further groups that the job enters.
    beside: Vec<PathBuf>,
    /// What was written to the groups' files, as one would type it.
    typed: Vec<String>,
    quota: Option<Quota>,
    // Before the group, so that it never writes to a group that is gone.
    controller: Option<Ticker>,
    suspender: Option<Suspender>,
    job: Option<JobGroup>,
    /// Removes the groups if this process does not.
    restorer: Option<Restorer>,
}

impl CpuGroup {
    /// Makes a group beside this process's own.
    pub fn create(purpose: Purpose) -> Result<Self, Error> {
        let root = Root::real();
        let (name, facts) = (GroupName::next(&root), CgroupFacts::read(&root, true));
        if let Purpose::Top(class) = purpose {
            return Self::at_top(top::make(&name, &facts, class).map_err(unmet)?);
        }
        // From here on the guard removes it.
        let mut group = Self::default();
        group.job = Some(JobGroup::create(&name, &facts));
        let Some(job) = &mut group.job else { return Ok(group) };
        let failed = |error: GroupError| unmet(error.to_string());
        if job.paths().iter().any(|path| elsewhere::is_private(path)) {
            return Err(unmet(
                "control groups are not mounted in this mount namespace; enter the network's with nsenter --net=FILE".to_owned(),
            ));
        }
        if purpose == Purpose::Least {
            let mut written = job.set_least_cpu(&name, &facts).map_err(failed)?;
            let groups_of = |written: &[Written]| -> Vec<PathBuf> {
                written.iter().filter_map(|one| one.file.parent().map(Path::to_owned)).collect()
            };
            let Some(directory) = groups_of(&written).into_iter().next() else {
                return Err(unmet("no group with cpu.idle, cpu.weight or cpu.shares can be made".to_owned()));
            };
            let disks = job.set_least_io(&name, &facts).map_err(failed)?;
            group.beside = groups_of(&disks);
            group.beside.dedup();
            group.beside.retain(|path| *path != directory);
            group.directory = directory;
            group.restorer = Some(Restorer::of_groups(&job.paths())?);
            written.extend(disks);
            group.typed =
                written.iter().map(|one| format!("echo {} > {}", one.text, one.file.display())).collect();
            return Ok(group);
        }
        let wanted: &[&str] =
            if purpose == Purpose::Freeze { &["cgroup.freeze", "freezer.state"] } else { &["cpu.idle"] };
        let has = |path: &PathBuf| wanted.iter().any(|name| path.join(name).exists());
        let Some(directory) = job.paths().into_iter().find(has) else {
            let missing = job.missing().iter().find(|missing| missing.what == "cpu.idle");
            return Err(unmet(
                missing.map_or_else(|| "the kernel offers none".to_owned(), |missing| missing.why.clone()),
            ));
        };
        group.restorer = Some(Restorer::of_groups(&job.paths())?);
        match purpose {
            Purpose::Idle => {
                job.set_idle_cpu().map_err(failed)?;
                group.typed.push(format!("echo 1 > {}", directory.join("cpu.idle").display()));
            }
            Purpose::Quota => {
                let Some(quota) = Quota::of(&directory) else {
                    return Err(unmet(format!("{} takes no quota", directory.display())));
                };
                group.quota = Some(quota);
            }
            Purpose::Freeze => {
                let suspender = Suspender::start(job)?;
                let name =
                    if directory.join("cgroup.freeze").exists() { "cgroup.freeze" } else { "freezer.state" };
                group.typed.push(format!(
                    "{}: thawed and frozen in turn, {} s each",
                    directory.join(name).display(),
                    suspend::HALF_PERIOD.as_secs_f64()
                ));
                group.suspender = Some(suspender);
            }
            Purpose::Least | Purpose::Top(_) => {}
        }
        group.directory = directory;
        Ok(group)
    }

    /// Takes over a group at the top of the tree.
    fn at_top(top: Top) -> Result<Self, Error> {
        let directory = top.directory.clone();
        let mut group = Self::default();
        (group.directory, group.typed, group.job) = (directory, vec![top.typed], Some(top.job));
        group.restorer = Some(Restorer::of_groups(&[top.directory])?);
        Ok(group)
    }

    /// What was written to the groups' files, as one would type it.
    pub fn typed(&self) -> &[String] {
        &self.typed
    }

    /// The command line that enters the group and then becomes `argv`.
    pub fn wrap(&self, argv: Vec<OsString>) -> Vec<OsString> {
        self.beside.iter().fold(entering(&self.directory, argv), |argv, directory| entering(directory, argv))
    }

    /// The command line within a group, if there is one.
    pub fn wrap_in(group: Option<&Self>, argv: Vec<OsString>) -> Vec<OsString> {
        match group {
            Some(group) => group.wrap(argv),
            None => argv,
        }
    }

    /// Its quota, if it was made to have one.
    pub fn quota(&self) -> Option<&Quota> {
        self.quota.as_ref()
    }

    /// Hands the quota over until the group goes.
    pub fn control(&mut self, controller: Ticker, policy: Policy) {
        if let Some(quota) = &self.quota {
            let (file, text) = quota.setting(policy.first());
            self.typed.push(format!(
                "echo {text} > {}, then every {} the quota of {:.2} CPUs less what the others used",
                file.display(),
                policy.period,
                policy.first()
            ));
        }
        self.controller = Some(controller);
    }

    /// How long the job was frozen so far, and for how long that has been going on; none if the group is not
    /// there for that.
    pub fn frozen(&self) -> Option<(Nanos, Nanos)> {
        self.suspender.as_ref().map(Suspender::frozen)
    }

    /// Its directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}

fn unmet(detail: String) -> Error {
    Error::Unmet { what: "a group of the cpu controller".to_owned(), detail }
}

impl Drop for CpuGroup {
    fn drop(&mut self) {
        self.controller = None;
        self.suspender = None;
        if let Some(Err(error)) = self.job.take().map(JobGroup::remove) {
            eprintln!("lull bench: {error}");
        }
        self.restorer = None;
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
    lull_linux::leftovers::sweep(&root, &CgroupFacts::read(&root, true));
}

#[cfg(test)]
mod tests;
