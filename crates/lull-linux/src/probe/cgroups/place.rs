//! Where jobs' groups are made: as high in the tree as can be.
//!
//! Problem: a group's weight and idle class count among its siblings. Below the own group a job's class is compared with nothing but the rest of
//! a session, a slice or a service, which together weigh as much as any other. And v2 lets a group that holds processes hand no controller
//! down: a child of a session can be frozen and nothing else.
//! Approach, one rule: the group is made in the highest group that this process may make groups in and that hands the cpu controller down.
//! For root that is the top, elsewhere the top of what is delegated. Where systemd runs the machine the v2 tree is systemd's: it is asked for a
//! scope at such a place instead ([`CgroupFacts::ask_systemd`]). v1 hierarchies are rearranged by nobody: the cpu controller's is used as it is,
//! and memory, freezer and cpuset stay below the own group, with its limits.
//!
//! What leaves a group leaves its limits. So neither the own group nor one above it, below that place, may have any ([`UNLIMITED`]). `pids.max`
//! alone may be set, as systemd does for everything it starts, and is taken along. Weights and protections are no limits. A BPF program attached
//! to such a group (address filters, device rules) is one. In another lull's job the group stays inside: elsewhere it would run while that job is held.
//!
//! Source: `Documentation/admin-guide/cgroup-v2.rst` ("No Internal Process Constraint", "CPU"), bpf(2), systemd.resource-control(5).

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::{CgroupFacts, Hierarchy, Layout, offers};
use crate::cgroup::GroupName;
use crate::probe::{Attempt, Kernel};
use crate::root::Root;
use crate::systemd::{self, Manager, Scope, ScopeError};

/// What a group's file says where nobody has set a limit. Files that a kernel or a group does not have say nothing.
const UNLIMITED: [(&str, &str); 13] = [
    ("cpu.cfs_quota_us", "-1"),
    ("cpu.max", "max 100000"),
    ("cpu.uclamp.max", "max"),
    ("cpuset.cpus", ""),
    ("cpuset.cpus.partition", "member"),
    ("cpuset.mems", ""),
    ("io.max", ""),
    ("memory.high", "max"),
    ("memory.max", "max"),
    ("memory.swap.high", "max"),
    ("memory.swap.max", "max"),
    ("memory.zswap.max", "max"),
    ("memory.zswap.writeback", "1"),
];

impl CgroupFacts {
    /// Where systemd runs the machine, has it make a scope for a job, in which the facts then say what the job can have. `None` if it does not
    /// run the v2 tree, or if the job has to stay inside ([`Hierarchy::inside`]).
    ///
    /// # Errors
    /// When systemd refuses; the facts are as before.
    pub fn ask_systemd(&mut self, root: &Root) -> Result<Option<Scope>, ScopeError> {
        let Some(v2) = self.v2.as_mut().filter(|_| self.layout == Layout::V2) else { return Ok(None) };
        let (Some(manager), Some(own)) = (Manager::find(root), v2.own.clone()) else { return Ok(None) };
        // What both groups are below counts on.
        let top = v2.mount.join(manager.top());
        let shared = top.ancestors().find(|dir| own.starts_with(dir)).unwrap_or(&v2.mount).to_owned();
        let most_tasks = match leaves(&v2.mount, &own, &shared) {
            Ok(most_tasks) => most_tasks,
            Err(why) => {
                v2.inside = Some(why);
                return Ok(None);
            }
        };
        let scope = Scope::start(root, manager, &v2.own_path, most_tasks, &v2.mount)?;
        let group = scope.directory().join(GroupName::next(root).to_string());
        let made = fs::create_dir(&group);
        v2.child = Attempt::from_io(&made);
        if made.is_ok() {
            offers(&group, Kernel::read(root).at_least(6, 2), v2);
            let _swept_later = fs::remove_dir(&group);
        }
        (v2.above, v2.most_tasks) = (Some(scope.directory().to_owned()), most_tasks);
        Ok(Some(scope))
    }
}

/// Finds the highest place for jobs' groups, by making one there and removing it.
pub(super) fn find(root: &Root, hierarchy: &mut Hierarchy) {
    let Some(own) = hierarchy.own.clone() else { return };
    if hierarchy.version == 2 && systemd::is_running(root) {
        return;
    }
    let mut above: Vec<PathBuf> = own
        .ancestors()
        .skip(1)
        .take_while(|dir| dir.starts_with(&hierarchy.mount))
        .map(Path::to_owned)
        .collect();
    above.reverse();
    for place in above {
        let group = place.join(GroupName::next(root).to_string());
        if fs::create_dir(&group).is_err() {
            continue;
        }
        let has_cpu = ["cpu.weight", "cpu.shares"].iter().any(|file| group.join(file).exists());
        // Who moves a process must be allowed to write to the nearest common group, too.
        let takes = |dir: &Path| fs::OpenOptions::new().write(true).open(dir.join("cgroup.procs")).is_ok();
        let is_fit = has_cpu && takes(&place) && takes(&group);
        let left = is_fit.then(|| leaves(&hierarchy.mount, &own, &place));
        if let Some(Ok(most_tasks)) = &left {
            offers(&group, Kernel::read(root).at_least(6, 2), hierarchy);
            hierarchy.child = Attempt::Works;
            (hierarchy.above, hierarchy.most_tasks) = (Some(place), *most_tasks);
        }
        // A group that can't be removed has no process and no effect; the next start sweeps it.
        let _swept_later = fs::remove_dir(&group);
        match left {
            None => {}
            Some(Ok(_)) => {
                hierarchy.inside = None;
                return;
            }
            // Below the group with the limit there may be room.
            Some(Err(why)) => hierarchy.inside = hierarchy.inside.take().or(Some(why)),
        }
    }
}

/// The least number of tasks that the groups from `own` up to below `place` allow; an error names a limit that may not be left.
fn leaves(mount: &Path, own: &Path, place: &Path) -> Result<Option<u64>, String> {
    let is_job = |part: std::path::Component| {
        part.as_os_str().to_str().is_some_and(|name| name.parse::<GroupName>().is_ok())
    };
    if own.strip_prefix(mount).is_ok_and(|below| below.components().any(is_job)) {
        return Err("lull runs in the job of another lull".to_owned());
    }
    let mut most_tasks: Option<u64> = None;
    for group in own.ancestors().take_while(|dir| *dir != place && dir.starts_with(mount)) {
        let read = |file: &str| fs::read_to_string(group.join(file)).ok();
        let name = group.strip_prefix(mount).unwrap_or(group).display();
        if let Some(kind) = read("cgroup.type").filter(|kind| kind.trim() != "domain") {
            return Err(format!("group {name} is of the type '{}'", kind.trim()));
        }
        for (file, unlimited) in UNLIMITED {
            if let Some(text) = read(file)
                && text.trim() != unlimited
            {
                let text = text.trim().replace('\n', ", ");
                return Err(format!("the job would leave a limit: {file} of group {name} is {text}"));
            }
        }
        if attached_programs(group) > 0 {
            return Err(format!("the job would leave the BPF programs that are attached to group {name}"));
        }
        let tasks = read("pids.max").and_then(|text| text.trim().parse().ok());
        most_tasks = most_tasks.into_iter().chain(tasks).min();
    }
    Ok(most_tasks)
}

/// `union bpf_attr` for BPF_PROG_QUERY. To its end: Linux 6.17 to 7.1 write the revision whatever size is given.
#[repr(C)]
#[derive(Default)]
struct QueryAttr {
    target_fd: u32,
    attach_type: u32,
    query_flags: u32,
    attach_flags: u32,
    prog_ids: u64,
    prog_cnt: u32,
    reserved: u32,
    prog_attach_flags: u64,
    link_ids: u64,
    link_attach_flags: u64,
    revision: u64,
}
const _: () = assert!(size_of::<QueryAttr>() == 64, "as in linux/bpf.h");

const BPF_PROG_QUERY: libc::c_long = 16;
/// Attach types of control groups; others would take the descriptor for something else. From `linux/bpf.h`.
const ATTACH_TYPES: [u32; 29] = [
    0, 1, 2, 3, 6, 8, 9, 10, 11, 12, 13, 14, 15, 18, 19, 20, 21, 22, 29, 30, 31, 32, 34, 43, 49, 50, 51, 52,
    53,
];

/// How many BPF programs are attached to this very group, as far as the kernel tells.
fn attached_programs(group: &Path) -> u32 {
    let Ok(directory) = fs::File::open(group) else { return 0 };
    let Ok(target_fd) = u32::try_from(directory.as_raw_fd()) else { return 0 };
    let count = |attach_type| {
        let mut attr = QueryAttr { target_fd, attach_type, ..QueryAttr::default() };
        // SAFETY: `attr` is all of bpf_attr that kernels read or write for this command, and it names no other memory.
        let asked = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                BPF_PROG_QUERY,
                std::ptr::from_mut(&mut attr),
                size_of::<QueryAttr>(),
            )
        };
        if asked == 0 { attr.prog_cnt } else { 0 }
    };
    ATTACH_TYPES.into_iter().map(count).sum()
}

#[cfg(test)]
mod tests;
