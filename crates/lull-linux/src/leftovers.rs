//! Leftovers of a lull that was killed.
//!
//! A group whose owner is gone may hold a job that still runs (fail open: it goes on, but must never stay frozen) or
//! nothing. So every such group is thawed, given all CPUs, their time and its memory back, its connections their windows, and removed if it is empty. Groups of living owners and of other PID
//! namespaces are not touched. The search covers each hierarchy down to a bounded depth and number of directories, so
//! that start-up stays short on hosts with thousands of groups.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cgroup::{CgroupFacts, GroupName, JobGroup};
use crate::gate::receive::open_windows;
use crate::root::Root;

const MAX_DEPTH: u32 = 8;
const MAX_DIRECTORIES: u32 = 4096;

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Empty leftovers, removed.
    pub removed: Vec<PathBuf>,
    /// Leftovers in which processes still run, now free.
    pub kept: Vec<PathBuf>,
}

/// Finds the groups of owners that are gone, thaws all of them and removes the empty ones.
pub fn sweep(root: &Root, facts: &CgroupFacts) -> Swept {
    let mut swept = Swept::default();
    let useful = |name: &String| ["cpu", "freezer", "cpuset", "memory", "blkio"].contains(&name.as_str());
    let v1 = facts.v1.iter().filter(|hierarchy| hierarchy.controllers.iter().any(useful));
    for hierarchy in facts.v2.iter().chain(v1) {
        let mut budget = MAX_DIRECTORIES;
        // Where jobs' groups are made comes first: leftovers most often lie beside us.
        for place in [hierarchy.own.as_deref(), hierarchy.place()].into_iter().flatten() {
            visit(root, place, 0, &mut budget, &mut swept);
        }
        visit(root, &hierarchy.mount, MAX_DEPTH, &mut budget, &mut swept);
    }
    swept
}

fn visit(root: &Root, directory: &Path, depth: u32, budget: &mut u32, swept: &mut Swept) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        if *budget == 0 {
            return;
        }
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        *budget -= 1;
        let path = entry.path();
        if depth > 0 {
            visit(root, &path, depth - 1, budget, swept);
        }
        let name = entry.file_name().to_str().and_then(|name| name.parse::<GroupName>().ok());
        if name.is_some_and(|name| name.owner_is_gone(root)) && !swept.kept.contains(&path) {
            release(path, swept);
        }
    }
}

fn release(path: PathBuf, swept: &mut Swept) {
    // What is refused is another user's, and theirs to free.
    let group = JobGroup::open(std::slice::from_ref(&path)).ok();
    if let Some(group) = &group {
        let _theirs = group.relieve();
    }
    match fs::remove_dir(&path) {
        Ok(()) => swept.removed.push(path),
        Err(_) => {
            open_windows(group.and_then(|group| group.procs().ok()).unwrap_or_default());
            swept.kept.push(path);
        }
    }
}
