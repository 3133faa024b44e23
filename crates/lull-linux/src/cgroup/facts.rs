//! What the host's control groups allow, as [`crate::probe::cgroups`] finds it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::attempt::Attempt;

/// Which kinds of hierarchy are mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// One v2 tree.
    V2,
    /// v1 controllers beside a v2 tree.
    Hybrid,
    /// v1 only.
    V1,
    /// None mounted.
    Absent,
}

/// One hierarchy as seen from this process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hierarchy {
    /// 1 or 2.
    pub version: u8,
    /// v1: the controllers bound to it. v2: those that the own group could hand down.
    pub controllers: Vec<String>,
    /// v2: the controllers that children of the own group have. v1: the same as `controllers`.
    pub handed_down: Vec<String>,
    /// Where it is mounted.
    pub mount: PathBuf,
    /// The own group, as `/proc/self/cgroup` names it.
    pub own_path: String,
    /// The own group's directory, if this mount shows it.
    pub own: Option<PathBuf>,
    /// Is the own group the root of the hierarchy?
    pub at_root: bool,
    /// Making a group for a job.
    pub child: Attempt,
    /// Where jobs' groups are made, if not below the own group but higher up.
    pub above: Option<PathBuf>,
    /// Why they are not made higher up although that could be done.
    pub inside: Option<String>,
    /// The number of tasks that a job may have there, if that is limited.
    pub most_tasks: Option<u64>,
    /// Can the job's group be frozen?
    pub freeze: bool,
    /// Can it be made a CPU idle group?
    pub cpu_idle: bool,
    /// Can its CPU time be limited?
    pub quota: bool,
    /// Can it be killed as a whole?
    pub kill: bool,
    /// Can it be confined to some CPUs, with the affinities that its tasks set themselves kept? (Linux 6.2)
    pub cpuset: bool,
    /// Can its memory be limited?
    pub memory: bool,
}

impl Hierarchy {
    /// The group below which jobs' groups are made, if this mount shows it.
    pub fn place(&self) -> Option<&Path> {
        self.above.as_deref().or(self.own.as_deref())
    }
}

/// All hierarchies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CgroupFacts {
    /// Which kinds are mounted.
    pub layout: Layout,
    /// The v2 tree.
    pub v2: Option<Hierarchy>,
    /// The v1 hierarchies.
    pub v1: Vec<Hierarchy>,
}

impl CgroupFacts {
    /// The v1 hierarchy of a controller.
    pub fn v1_of(&self, controller: &str) -> Option<&Hierarchy> {
        self.v1.iter().find(|hierarchy| hierarchy.controllers.iter().any(|name| name == controller))
    }

    /// The hierarchy to freeze a job in: v2 where it can, since a group frozen there can still be killed.
    pub fn freezing(&self) -> Option<&Hierarchy> {
        let able = |hierarchy: &&Hierarchy| hierarchy.child.works() && hierarchy.freeze;
        self.v2.as_ref().filter(able).or_else(|| self.v1_of("freezer").filter(able))
    }

    /// The hierarchy to make a job's CPU class idle in.
    pub fn idling(&self) -> Option<&Hierarchy> {
        let able = |hierarchy: &&Hierarchy| hierarchy.child.works() && hierarchy.cpu_idle;
        self.v2.as_ref().filter(able).or_else(|| self.v1_of("cpu").filter(able))
    }

    /// The hierarchy to hold a job in by its CPU time. Only one with idle groups: elsewhere a group of its own would give the job more
    /// weight than its tasks have.
    pub fn throttling(&self) -> Option<&Hierarchy> {
        self.idling().filter(|hierarchy| hierarchy.quota)
    }

    /// The hierarchy in which a job's memory can be told apart and limited.
    pub fn accounting(&self) -> Option<&Hierarchy> {
        let able = |hierarchy: &&Hierarchy| hierarchy.child.works() && hierarchy.memory;
        self.v2.as_ref().filter(able).or_else(|| self.v1_of("memory").filter(able))
    }

    /// The hierarchy to choose a job's CPUs in.
    pub fn confining(&self) -> Option<&Hierarchy> {
        let able = |hierarchy: &&Hierarchy| hierarchy.child.works() && hierarchy.cpuset;
        self.v2.as_ref().filter(able).or_else(|| self.v1_of("cpuset").filter(able))
    }
}
