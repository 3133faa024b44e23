//! How control groups are laid out here, and what this process may do with them.
//!
//! Three layouts are met: pure v2 (systemd's default), v1, and hybrid (v1 controllers beside a v2 tree without the usual
//! ones). In each hierarchy, this process has a group of its own; what lull needs is a child group there, with
//! `cpu.max` (v2) or `cpu.cfs_quota_us` (v1) to hold a job, `cgroup.freeze` or `freezer.state` to freeze it, and `cpu.idle` to mark it. Whether a child can be made
//! depends on ownership, delegation, read-only mounts and limits of depth: it is tried, and removed at once.
//!
//! Edge cases: in a container the mount may show a subtree only: the group's path is taken relative to the mount's root;
//! a path with `..` (a group outside the namespace) can't be reached. v2's `cpu.idle` exists in a child only if the
//! parent hands the cpu controller down, which it may not do while it holds processes: never changed here; jobs' groups are made higher up where
//! that can be done: see `place`. A mount namespace may show no hierarchy at all
//! (`ip netns exec`): see [`super::elsewhere`].
//!
//! Source: cgroups(7), `Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/freezer-subsystem.rst`.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Kernel, Trial, elsewhere};
use crate::cgroup::{GroupName, quota};
use crate::root::Root;
use crate::topology::mounts::{Mount, MountTable};

mod place;

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
    pub child: Trial,
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
    /// Reads the layout; with `attempt`, makes and removes a child in those hierarchies that lull can use.
    pub fn read(root: &Root, attempt: bool) -> Self {
        let mounts = Mounts::read(root);
        let memberships = root.read("/proc/self/cgroup").unwrap_or_default();
        let mut v2 = None;
        let mut v1 = Vec::new();
        for line in memberships.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(own_path)) = (parts.next(), parts.next()) else { continue };
            let controllers: Vec<_> = controllers.split(',').filter(|name| !name.is_empty()).collect();
            let wanted = |mount: &&Mount| match controllers.as_slice() {
                [] => mount.fs == "cgroup2",
                all => mount.fs == "cgroup" && all.iter().all(|name| mount.has_option(name)),
            };
            let Some(mount) = mounts.find(wanted) else { continue };
            let mut hierarchy = describe(root, &mount, &controllers, own_path);
            let useful = hierarchy.version == 2
                || ["cpu", "freezer", "cpuset", "memory"].iter().any(|name| controllers.contains(name));
            if attempt && useful {
                try_child(root, &mut hierarchy);
                if hierarchy.version == 2 || controllers.contains(&"cpu") {
                    place::find(root, &mut hierarchy);
                }
            }
            match hierarchy.version {
                2 => v2 = Some(hierarchy),
                _ => v1.push(hierarchy),
            }
        }
        let layout = match (v2.is_some(), v1.is_empty()) {
            (true, true) => Layout::V2,
            (true, false) => Layout::Hybrid,
            (false, false) => Layout::V1,
            (false, true) => Layout::Absent,
        };
        Self { layout, v2, v1 }
    }

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

/// Where the v2 tree is.
pub fn v2_mount(root: &Root) -> Option<PathBuf> {
    Mounts::read(root).find(|mount| mount.fs == "cgroup2").map(|mount| root.path(mount.point))
}

/// What is mounted in this process's mount namespace, and failing that in others.
struct Mounts<'a> {
    root: &'a Root,
    own: MountTable,
}

impl<'a> Mounts<'a> {
    fn read(root: &'a Root) -> Self {
        Self { root, own: MountTable::parse(&root.read("/proc/self/mountinfo").unwrap_or_default()) }
    }

    /// The oldest that is wanted; its point leads there from here.
    fn find(&self, wanted: impl Fn(&&Mount) -> bool) -> Option<Mount> {
        let own = self.own.iter().find(&wanted).cloned();
        own.or_else(|| elsewhere::find(self.root, wanted))
    }
}

fn words(text: Option<String>) -> Vec<String> {
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

fn describe(root: &Root, mount: &Mount, controllers: &[&str], own_path: &str) -> Hierarchy {
    let version = if mount.fs == "cgroup2" { 2 } else { 1 };
    let point = root.path(&mount.point);
    let own = own_directory(mount, own_path).map(|dir| root.path(dir)).filter(|dir| dir.is_dir());
    let read = |name: &str| own.as_deref().and_then(|own| std::fs::read_to_string(own.join(name)).ok());
    let has = |name: &str| own.as_deref().is_some_and(|own| own.join(name).exists());
    let bound: Vec<String> = controllers.iter().map(|&name| name.to_owned()).collect();
    let (controllers, handed_down, at_root) = match version {
        2 => (words(read("cgroup.controllers")), words(read("cgroup.subtree_control")), !has("cgroup.type")),
        _ => (bound.clone(), bound, has("release_agent")),
    };
    Hierarchy {
        version,
        controllers,
        handed_down,
        mount: point,
        own_path: own_path.to_owned(),
        at_root: own.is_some() && at_root,
        child: match own {
            Some(_) => Trial::fails("not tried"),
            None => {
                Trial::fails(format!("group {own_path} is outside of what {} shows", mount.point.display()))
            }
        },
        own,
        above: None,
        inside: None,
        most_tasks: None,
        freeze: false,
        cpu_idle: false,
        quota: false,
        kill: false,
        cpuset: false,
        memory: false,
    }
}

/// The own group's directory, seen through a mount that may show a subtree only.
fn own_directory(mount: &Mount, own_path: &str) -> Option<PathBuf> {
    let own = Path::new(own_path);
    if own.components().any(|part| part == std::path::Component::ParentDir) {
        return None;
    }
    own.strip_prefix(&mount.fs_root).ok().map(|below| mount.point.join(below))
}

/// Notes what a group for a job has.
fn offers(group: &Path, keeps_affinities: bool, hierarchy: &mut Hierarchy) {
    let has = |name: &str| group.join(name).exists();
    hierarchy.freeze = has("cgroup.freeze") || has("freezer.state");
    hierarchy.cpu_idle = has("cpu.idle");
    hierarchy.quota = quota::is_there(group);
    hierarchy.kill = has("cgroup.kill");
    hierarchy.memory = has("memory.limit_in_bytes") || has("memory.max");
    hierarchy.cpuset = has("cpuset.cpus") && keeps_affinities;
}

/// Makes a child group, looks at what it has, and removes it.
fn try_child(root: &Root, hierarchy: &mut Hierarchy) {
    let Some(own) = hierarchy.own.as_deref() else { return };
    let child = own.join(GroupName::next(root).to_string());
    let made = std::fs::create_dir(&child);
    hierarchy.child = Trial::from_io(&made);
    if made.is_err() {
        return;
    }
    offers(&child, Kernel::read(root).at_least(6, 2), hierarchy);
    let entered = std::fs::OpenOptions::new().write(true).open(child.join("cgroup.procs"));
    if let Err(error) = entered {
        hierarchy.child = Trial::Fails {
            errno: error.raw_os_error().unwrap_or(0),
            why: format!("a child group takes no processes: {error}"),
        };
    }
    // A group that can't be removed has no process and no effect; the next start sweeps it.
    let _swept_later = std::fs::remove_dir(&child);
}

#[cfg(test)]
mod tests;
