//! Whether somebody else freezes a thread of the job.
//!
//! A thread whose call waits for lull does not stand still, so the group that is being frozen never becomes frozen: lull lets such calls
//! go. The thread's own group is looked at, since what runs in a job may have moved to a group of its own: a container, or `systemd-run`.
//!
//! Source: `cgroup.freeze` in Documentation/admin-guide/cgroup-v2.rst; `freezer.state`, which tells of the groups above too, in
//! cgroup-v1/freezer-subsystem.rst; cgroups(7) for `/proc/TID/cgroup`.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use crate::probe::cgroups::Mounts;
use crate::root::{Root, read_small};
use crate::topology::mounts::Mount;

/// Where groups are frozen.
#[derive(Clone, Debug, Default)]
pub struct Freezers {
    v1: Option<Mount>,
    v2: Option<Mount>,
}

impl Freezers {
    /// Finds them once; mounts come and go rarely.
    pub fn find(root: &Root) -> Self {
        let mounts = Mounts::read(root);
        Self {
            // Most machines have none, and to look elsewhere for it is dear.
            v1: mounts.find_here(|mount| mount.fs == "cgroup" && mount.has_option("freezer")),
            v2: mounts.find(|mount| mount.fs == "cgroup2"),
        }
    }

    /// Whether the thread's group, or one above it, is frozen or on the way to it.
    pub fn freeze(&self, root: &Root, tid: u32) -> bool {
        let memberships = read_small(&root.path(format!("/proc/{tid}/cgroup"))).unwrap_or_default();
        memberships
            .lines()
            .filter_map(|line| self.group(line))
            .any(|group| is_being_frozen(&root.path(group)))
    }

    /// The directory of the group that a line of `/proc/TID/cgroup` names, if groups are frozen there.
    fn group(&self, line: &str) -> Option<PathBuf> {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let mount = match controllers {
            "" => self.v2.as_ref(),
            some if some.split(',').any(|name| name == "freezer") => self.v1.as_ref(),
            _ => None,
        };
        mount?.directory(path)
    }
}

/// Whether the group, or one above it, is frozen or on the way to it.
fn is_being_frozen(group: &Path) -> bool {
    let reads = |path: &Path, file: &str| read_to_string(path.join(file)).ok();
    if let Some(state) = reads(group, "freezer.state") {
        return state.trim() != "THAWED";
    }
    // The root group has no such file.
    let states = group.ancestors().map_while(|path| reads(path, "cgroup.freeze"));
    states.into_iter().any(|state| state.trim() == "1")
}

#[cfg(test)]
mod tests;
