//! The job's control groups.
//!
//! Problem: a job is many processes that come and go; to hold all of them at once, to give all of them the idle CPU class
//! and to find all of them, the kernel offers control groups, in two versions that live side by side on some hosts and
//! grant very different things to different users. Approach: [`JobGroup`] makes one child group in each hierarchy that
//! the probe found usable, and says of every service which hierarchy gives it, or why
//! none does ([`Missing`]). Nothing missing is fatal: the job then runs with less.
//!
//! ```text
//!            pure v2                      hybrid                              v1
//!   hold     own/lull-…/cpu.max           cpu/own/lull-…/cpu.cfs_quota_us     cpu/own/lull-…/cpu.cfs_quota_us
//!   freeze   own/lull-…/cgroup.freeze     unified: cgroup.freeze              freezer/own/lull-…/freezer.state
//!   idle     own/lull-…/cpu.idle          cpu/own/lull-…/cpu.idle             cpu/own/lull-…/cpu.idle
//!   confine  own/lull-…/cpuset.cpus       cpuset/own/lull-…/cpuset.cpus       cpuset/own/lull-…/cpuset.cpus
//! ```
//!
//! A group is made as high in the tree as can be, so that its idle class is compared with everybody's: at the top, in a scope of systemd's, or below
//! the group in which lull itself runs, if that has limits which the job must not leave or if nothing else is allowed ([`Hierarchy::place`],
//! ADR 0019). lull's own processes stay where they are. How far the class counts is told by [`Reach`].
//!
//! Life of a frozen state, as `is_frozen` tells it:
//!
//! ```text
//!           freeze()                 last task stopped
//!  thawed ───────────▶ freezing ────────────────────────▶ frozen
//!     ▲                   │ thaw()                           │ thaw(), remove()
//!     └───────────────────┴──────────────────────────────────┘
//! ```
//!
//! Names hold the owner (`lull-PID-START-NS-N`: process, its start time in clock ticks, PID namespace, number), so that the
//! next start can tell leftovers of a killed lull from groups in use ([`crate::leftovers`]).
//!
//! Edge cases: a JobGroup is not removed on drop, because processes that share it after a fork would remove it under each
//! other: its owner calls [`JobGroup::remove`]. Removal kills nothing: it thaws, moves what is left to the parent group
//! (from a place that takes no processes to the own group), and retries while the kernel still counts exiting tasks.

use std::fs;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::attempt::Attempt;
use group::Group;

mod above;
mod confine;
mod facts;
mod group;
pub(crate) mod least;
pub mod memory;
mod name;
pub(crate) mod quota;
pub(crate) mod reach;

pub use confine::Confinement;
pub use facts::{CgroupFacts, Hierarchy, Layout};
pub use least::Written;
pub use name::GroupName;
pub use quota::{Quota, is_held};
pub use reach::Reach;

/// What [`Missing`] calls the ways to hold.
pub const FREEZE: &str = "freeze";
/// Likewise.
pub const CPU_QUOTA: &str = "CPU quota";
/// Tries of moving processes out and removing a directory, and the pause between two.
pub(crate) const REMOVE_TRIES: u32 = 50;
pub(crate) const REMOVE_PAUSE: Duration = Duration::from_millis(2);

/// What went wrong with a group, and where.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} control group '{path}': {cause}")]
pub struct GroupError {
    action: &'static str,
    path: PathBuf,
    // Part of the message, so not a source that a report would print again.
    cause: io::Error,
}

impl GroupError {
    fn new(action: &'static str, path: &Path, cause: io::Error) -> Self {
        Self { action, path: path.to_owned(), cause }
    }
}

/// A service that this host does not give, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// The service.
    pub what: &'static str,
    /// Why it is not to be had.
    pub why: String,
}

/// The groups of one job.
pub struct JobGroup {
    groups: Vec<Group>,
    freezer: Option<usize>,
    idle: Option<usize>,
    quota: Option<usize>,
    confine: Option<usize>,
    memory: Option<usize>,
    missing: Vec<Missing>,
}

impl JobGroup {
    const fn empty() -> Self {
        Self {
            groups: Vec::new(),
            freezer: None,
            idle: None,
            quota: None,
            confine: None,
            memory: None,
            missing: Vec::new(),
        }
    }

    /// Makes the job's groups where the facts say it can be done.
    pub fn create(name: &GroupName, facts: &CgroupFacts) -> Self {
        let mut job = Self::empty();
        match facts.freezing() {
            Some(hierarchy) => match job.enter_hierarchy(name, hierarchy) {
                Ok(index) => job.freezer = Some(index),
                Err(error) => job.miss(FREEZE, error.to_string()),
            },
            None => job.miss(FREEZE, why_not(facts, "freezer", |hierarchy| hierarchy.freeze)),
        }
        match facts.idling() {
            Some(hierarchy) => match job.enter_hierarchy(name, hierarchy) {
                Ok(index) => job.idle = Some(index),
                Err(error) => job.miss("cpu.idle", error.to_string()),
            },
            None => job.miss("cpu.idle", why_not(facts, "cpu", |hierarchy| hierarchy.cpu_idle)),
        }
        match facts.throttling() {
            Some(hierarchy) => match job.enter_hierarchy(name, hierarchy) {
                Ok(index) => job.quota = Some(index),
                Err(error) => job.miss(CPU_QUOTA, error.to_string()),
            },
            None => {
                job.miss(CPU_QUOTA, why_not(facts, "cpu", |hierarchy| hierarchy.quota && hierarchy.cpu_idle));
            }
        }
        if let Some(hierarchy) = facts.confining() {
            match job.enter_hierarchy(name, hierarchy) {
                Ok(index) => job.confine = Some(index),
                Err(error) => job.miss("cpuset", error.to_string()),
            }
        }
        job
    }

    /// Has the job's memory told apart too, where the facts say it can be done.
    pub fn account_memory(&mut self, name: &GroupName, facts: &CgroupFacts) {
        match facts.accounting() {
            Some(hierarchy) => match self.enter_hierarchy(name, hierarchy) {
                Ok(index) => self.memory = Some(index),
                Err(error) => self.miss("memory", error.to_string()),
            },
            None => self.miss("memory", why_not(facts, "memory", |hierarchy| hierarchy.memory)),
        }
    }

    /// The group by which the job's memory is told apart, if there is one.
    pub fn memory(&self) -> Option<memory::MemoryGroup> {
        memory::MemoryGroup::open(self.groups.get(self.memory?)?.path())
    }

    /// Opens groups that exist already, as [`Self::paths`] named them: for a guardian that takes over.
    pub fn open(paths: &[PathBuf]) -> Result<Self, GroupError> {
        let mut job = Self::empty();
        for path in paths {
            let group = Group::open(path)?;
            if group.can_freeze() {
                job.freezer = Some(job.groups.len());
            }
            if path.join("cpu.idle").exists() {
                job.idle = Some(job.groups.len());
            }
            if quota::is_there(path) {
                job.quota = Some(job.groups.len());
            }
            if path.join("cpuset.cpus").exists() {
                job.confine = Some(job.groups.len());
            }
            if memory::MemoryGroup::open(path).is_some() {
                job.memory = Some(job.groups.len());
            }
            job.groups.push(group);
        }
        Ok(job)
    }

    /// The index of the group in this hierarchy, made if need be.
    fn enter_hierarchy(&mut self, name: &GroupName, hierarchy: &Hierarchy) -> Result<usize, GroupError> {
        let place = hierarchy.place().unwrap_or(&hierarchy.mount);
        let path = place.join(name.to_string());
        if let Some(index) = self.groups.iter().position(|group| group.path() == path) {
            return Ok(index);
        }
        fs::create_dir(&path).map_err(|cause| GroupError::new("create", &path, cause))?;
        let prepared = match hierarchy.above.as_deref().filter(|_| hierarchy.version == 2) {
            Some(_) => above::prepare(&path, hierarchy.most_tasks),
            None => confine::prepare(&path),
        };
        let opened = prepared
            .map_err(|cause| GroupError::new("prepare", &path, cause))
            .and_then(|()| Group::open(&path));
        let group = opened.inspect_err(|_| {
            let _swept_later = fs::remove_dir(&path);
        })?;
        self.groups.push(group);
        Ok(self.groups.len() - 1)
    }

    fn miss(&mut self, what: &'static str, why: String) {
        self.missing.push(Missing { what, why });
    }

    /// What this host does not give.
    pub fn missing(&self) -> &[Missing] {
        &self.missing
    }

    /// The directories, for a record that outlives this process.
    pub fn paths(&self) -> Vec<PathBuf> {
        self.groups.iter().map(|group| group.path().to_owned()).collect()
    }

    /// Moves a process into the groups.
    pub fn add(&self, pid: i32) -> Result<(), GroupError> {
        self.groups.iter().try_for_each(|group| {
            put(&group.path().join("cgroup.procs"), &pid.to_string())
                .map_err(|cause| GroupError::new("move a process into", group.path(), cause))
        })
    }

    /// Open descriptors of each `cgroup.procs`: a child between fork and exec enters by writing `0` to each
    /// ([`crate::marks::enter`]).
    pub fn entries(&self) -> Vec<BorrowedFd<'_>> {
        self.groups.iter().map(|group| group.entry()).collect()
    }

    /// Can the job be frozen by its group?
    pub const fn can_freeze(&self) -> bool {
        self.freezer.is_some()
    }

    /// Asks the kernel to stop all processes of the job; returns at once.
    pub fn freeze(&self) -> Result<(), GroupError> {
        self.set_frozen(true)
    }

    /// Lets all processes of the job run.
    pub fn thaw(&self) -> Result<(), GroupError> {
        self.set_frozen(false)
    }

    fn set_frozen(&self, frozen: bool) -> Result<(), GroupError> {
        let action = if frozen { "freeze" } else { "thaw" };
        match self.freezer.and_then(|index| self.groups.get(index)) {
            Some(group) => {
                group.set_frozen(frozen).map_err(|cause| GroupError::new(action, group.path(), cause))
            }
            None => Err(GroupError::new(action, Path::new(""), io::ErrorKind::Unsupported.into())),
        }
    }

    /// Have all processes of the job stopped?
    pub fn is_frozen(&self) -> bool {
        let group = self.freezer.and_then(|index| self.groups.get(index));
        group.is_some_and(Group::is_frozen)
    }

    /// Gives the job the idle class among CPU groups. `Ok(false)` if this host has none to give.
    pub fn set_idle_cpu(&self) -> Result<bool, GroupError> {
        let Some(group) = self.idle.and_then(|index| self.groups.get(index)) else { return Ok(false) };
        put(&group.path().join("cpu.idle"), "1")
            .map(|()| true)
            .map_err(|cause| GroupError::new("set cpu.idle of", group.path(), cause))
    }

    /// Whether this host has an idle class among CPU groups to give.
    pub fn has_idle_cpu(&self) -> bool {
        self.idle.is_some()
    }

    /// The quota of the job's CPU time; `None` if this host gives it none by group.
    pub fn quota(&self) -> Option<Quota> {
        self.quota.and_then(|index| self.groups.get(index)).and_then(|group| Quota::open(group.path()))
    }

    /// Gives the job back what its owner may have taken: thaws it, lends it all CPUs and all their time, and lets it have its memory.
    ///
    /// # Errors
    /// When the group cannot be thawed; one that cannot was never frozen.
    pub fn relieve(&self) -> Result<(), GroupError> {
        if let Some(confinement) = self.confinement() {
            // Refused only while the parent itself has no CPU.
            let _ = confinement.set(None);
        }
        if let Some(quota) = self.quota() {
            // Refused only if the group is gone.
            let _ = quota.restore();
        }
        if let Some(memory) = self.memory() {
            memory.relieve();
        }
        self.thaw()
    }

    /// The choice of the job's CPUs; `None` if this host gives it none by group.
    pub fn confinement(&self) -> Option<Confinement> {
        self.confine
            .and_then(|index| self.groups.get(index))
            .and_then(|group| Confinement::open(group.path()))
    }

    /// The processes of the job, as this PID namespace numbers them; empty if there is no group.
    pub fn procs(&self) -> Result<Vec<i32>, GroupError> {
        match self.groups.first() {
            Some(group) => {
                procs_in(group.path()).map_err(|cause| GroupError::new("list", group.path(), cause))
            }
            None => Ok(Vec::new()),
        }
    }

    /// Removes groups that no process has entered; any other stays. Needs no descriptor, so that it works where none are left.
    pub fn remove_unused(self) {
        for path in self.paths() {
            let _is_in_use = fs::remove_dir(path);
        }
    }

    /// Thaws, moves remaining processes to the parent groups and removes the groups. The first error is told after all
    /// groups had their turn.
    pub fn remove(self) -> Result<(), GroupError> {
        let outcomes: Vec<_> = self.groups.iter().map(dissolve).collect();
        outcomes.into_iter().collect()
    }
}

pub(crate) fn procs_in(path: &Path) -> io::Result<Vec<i32>> {
    let text = fs::read_to_string(path.join("cgroup.procs"))?;
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

/// Thaws a group, moves its processes to the parent, or to the own group if that takes none, and removes it. Gone already is as good.
fn dissolve(group: &Group) -> Result<(), GroupError> {
    let path = group.path();
    if group.can_freeze() {
        let _removed_or_retried = group.set_frozen(false);
    }
    if let Some(quota) = Quota::open(path) {
        let _removed_or_retried = quota.restore();
    }
    let mut tries = 0;
    loop {
        match fs::remove_dir(path) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if tries >= REMOVE_TRIES => return Err(GroupError::new("remove", path, error)),
            Err(_) => {}
        }
        if let Some(home) = above::home(path).or_else(|| path.parent().map(Path::to_owned)) {
            for pid in procs_in(path).unwrap_or_default() {
                // A process may exit in between, or belong to a namespace not seen here: the next round tells.
                let _next_round = put(&home.join("cgroup.procs"), &pid.to_string());
            }
        }
        tries += 1;
        std::thread::sleep(REMOVE_PAUSE);
    }
}

/// Why no hierarchy gives a service, with the next step for the most frequent cause.
fn why_not(facts: &CgroupFacts, controller: &str, gives: fn(&Hierarchy) -> bool) -> String {
    let Some(hierarchy) = facts.v1_of(controller).or(facts.v2.as_ref()) else {
        return "no control groups are mounted".to_owned();
    };
    let place = hierarchy.place().unwrap_or(&hierarchy.mount).display();
    match &hierarchy.child {
        Attempt::Fails { errno, why } if [libc::EACCES, libc::EPERM, libc::EROFS].contains(errno) => format!(
            "no group may be made in {place}: {why}; `systemd-run --user --scope lull run …` starts lull in a group of yours"
        ),
        Attempt::Fails { why, .. } => format!("no group may be made in {place}: {why}"),
        Attempt::Works
            if !gives(hierarchy) && hierarchy.version == 2 && ["cpu", "memory"].contains(&controller) =>
        {
            let inside =
                hierarchy.inside.as_ref().map(|why| format!("; elsewhere: {why}")).unwrap_or_default();
            format!(
                "group {place} does not hand the {controller} controller down, and may not while it holds processes{inside}"
            )
        }
        Attempt::Works => {
            format!("groups in {place} do not offer it (kernel {controller} support is missing)")
        }
    }
}

/// Removes a group without processes, also while the kernel still counts exiting tasks. Gone already is as good.
pub(crate) fn remove_patiently(path: &Path) -> io::Result<()> {
    for _ in 0..REMOVE_TRIES {
        match fs::remove_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && procs_in(path)?.is_empty() => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => return other,
        }
        std::thread::sleep(REMOVE_PAUSE);
    }
    fs::remove_dir(path)
}

/// Writes to a control file that must exist.
pub(crate) fn put(path: &Path, text: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests;
