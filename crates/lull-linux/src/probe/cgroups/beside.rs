//! A v2 group for the job beside the own group, where none below it can have the memory controller.
//!
//! Problem: v2 lets a group that holds processes hand no controller down. A login session, a systemd scope and most containers hold
//! lull's caller and lull itself; a child made there can be frozen and nothing else. Their parent, a slice, holds no processes and hands
//! memory down. Approach: where nothing else gives the job a memory group, its group is made in the own group's parent, as the own
//! group's sibling. It has the same controllers as the own group, since both have them from the same parent.
//!
//! What leaves a group leaves its limits: so the own group must be as the kernel makes groups. `pids.max` alone may be set, as systemd
//! does for everything it starts, and is copied ([`crate::cgroup`]). A BPF program attached to the own group (address filters, device rules)
//! is a limit, too. A service is left as it is: its manager ends what runs in it, and would not find the job. In another lull's job a
//! sibling would run while that job is held.
//!
//! Source: `Documentation/admin-guide/cgroup-v2.rst` ("No Internal Process Constraint"), bpf(2), systemd.resource-control(5).

use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use super::{Hierarchy, offers, words};
use crate::cgroup::GroupName;
use crate::probe::{Kernel, Trial};
use crate::root::Root;

/// What a group's file says where nobody has set anything. Files that a kernel or a group does not have say nothing.
const DEFAULTS: [(&str, &str); 22] = [
    ("cpu.idle", "0"),
    ("cpu.max", "max 100000"),
    ("cpu.uclamp.max", "max"),
    ("cpu.uclamp.min", "0.00"),
    ("cpu.weight", "100"),
    ("cpuset.cpus", ""),
    ("cpuset.cpus.partition", "member"),
    ("cpuset.mems", ""),
    ("io.bfq.weight", "default 100"),
    ("io.latency", ""),
    ("io.max", ""),
    ("io.prio.class", "no-change"),
    ("io.weight", "default 100"),
    ("memory.high", "max"),
    ("memory.low", "0"),
    ("memory.max", "max"),
    ("memory.min", "0"),
    ("memory.oom.group", "0"),
    ("memory.swap.high", "max"),
    ("memory.swap.max", "max"),
    ("memory.zswap.max", "max"),
    ("memory.zswap.writeback", "1"),
];

/// Makes the sibling the job's place where it gives a memory group, or says why it does not.
pub(super) fn try_beside(root: &Root, hierarchy: &mut Hierarchy) {
    let tried = place(hierarchy).map_err(Trial::fails).and_then(|parent| {
        let path = parent.join(GroupName::next(root).to_string());
        let made = fs::create_dir(&path);
        if made.is_err() {
            return Err(Trial::from_io(&made));
        }
        let found = usable(&parent, &path);
        if found.is_ok() {
            offers(&path, Kernel::read(root).at_least(6, 2), hierarchy);
        }
        // A group that can't be removed has no process and no effect; the next start sweeps it.
        let _swept_later = fs::remove_dir(&path);
        found
    });
    hierarchy.beside = Some(tried.err().unwrap_or(Trial::Works));
}

/// Whether the group takes this process, and has memory.
fn usable(parent: &Path, path: &Path) -> Result<(), Trial> {
    if !path.join("memory.max").exists() {
        return Err(Trial::fails("a group there has no memory controller"));
    }
    // Who moves a process must be allowed to write to the nearest common group, too.
    for directory in [parent, path] {
        let opened = fs::OpenOptions::new().write(true).open(directory.join("cgroup.procs"));
        if opened.is_err() {
            return Err(Trial::from_io(&opened));
        }
    }
    Ok(())
}

/// The own group's parent, if the job may go there.
fn place(hierarchy: &Hierarchy) -> Result<PathBuf, String> {
    let own = hierarchy.own.as_deref().ok_or("the own group is not shown here")?;
    let parent = own.parent().filter(|parent| parent.starts_with(&hierarchy.mount) && !hierarchy.at_root);
    let parent = parent.ok_or("the own group is the topmost that is shown here")?;
    let is_job = |part: std::path::Component| {
        part.as_os_str().to_str().is_some_and(|name| name.parse::<GroupName>().is_ok())
    };
    if own.strip_prefix(&hierarchy.mount).is_ok_and(|below| below.components().any(is_job)) {
        return Err("lull runs in the job of another lull".to_owned());
    }
    let read = |file: &str| fs::read_to_string(own.join(file)).ok();
    if !words(fs::read_to_string(parent.join("cgroup.subtree_control")).ok())
        .iter()
        .any(|name| name == "memory")
    {
        return Err(format!("{} hands no memory controller down", parent.display()));
    }
    if own.extension().is_some_and(|kind| kind == "service") {
        return Err("lull runs in a service, and the job would not end with it".to_owned());
    }
    if let Some(kind) = read("cgroup.type").filter(|kind| kind.trim() != "domain") {
        return Err(format!("the own group is of the type '{}'", kind.trim()));
    }
    for (file, default) in DEFAULTS {
        if let Some(text) = read(file)
            && text.trim() != default
        {
            return Err(format!(
                "the job would leave the own group's {file}: {}",
                text.trim().replace('\n', ", ")
            ));
        }
    }
    match attached_programs(own) {
        0 => Ok(parent.to_owned()),
        _ => Err("the job would leave the BPF programs that are attached to the own group".to_owned()),
    }
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
