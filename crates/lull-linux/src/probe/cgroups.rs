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

use super::{Attempt, Kernel, elsewhere};
use crate::cgroup::{CgroupFacts, GroupName, Hierarchy, Layout, quota};
use crate::root::Root;
use crate::topology::mounts::{Mount, MountTable};

mod place;

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
}

/// Where the v2 tree is.
pub fn v2_mount(root: &Root) -> Option<PathBuf> {
    Mounts::read(root).find(|mount| mount.fs == "cgroup2").map(|mount| root.path(mount.point))
}

/// What is mounted in this process's mount namespace, and failing that in others.
pub(crate) struct Mounts<'a> {
    root: &'a Root,
    own: MountTable,
}

impl<'a> Mounts<'a> {
    pub(crate) fn read(root: &'a Root) -> Self {
        Self { root, own: MountTable::parse(&root.read("/proc/self/mountinfo").unwrap_or_default()) }
    }

    /// The oldest that is wanted; its point leads there from here.
    pub(crate) fn find(&self, wanted: impl Fn(&&Mount) -> bool) -> Option<Mount> {
        self.find_here(&wanted).or_else(|| elsewhere::find(self.root, wanted))
    }

    /// The oldest that is wanted in this process's mount namespace.
    pub(crate) fn find_here(&self, wanted: impl Fn(&&Mount) -> bool) -> Option<Mount> {
        self.own.iter().find(wanted).cloned()
    }
}

fn words(text: Option<String>) -> Vec<String> {
    text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

fn describe(root: &Root, mount: &Mount, controllers: &[&str], own_path: &str) -> Hierarchy {
    let version = if mount.fs == "cgroup2" { 2 } else { 1 };
    let point = root.path(&mount.point);
    let own = mount.directory(own_path).map(|dir| root.path(dir)).filter(|dir| dir.is_dir());
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
            Some(_) => Attempt::fails("not tried"),
            None => {
                Attempt::fails(format!("group {own_path} is outside of what {} shows", mount.point.display()))
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
    hierarchy.child = Attempt::from_io(&made);
    if made.is_err() {
        return;
    }
    offers(&child, Kernel::read(root).at_least(6, 2), hierarchy);
    let entered = std::fs::OpenOptions::new().write(true).open(child.join("cgroup.procs"));
    if let Err(error) = entered {
        hierarchy.child = Attempt::Fails {
            errno: error.raw_os_error().unwrap_or(0),
            why: format!("a child group takes no processes: {error}"),
        };
    }
    // A group that can't be removed has no process and no effect; the next start sweeps it.
    let _swept_later = std::fs::remove_dir(&child);
}

#[cfg(test)]
mod tests;
