//! Groups of a mount that was killed.
//!
//! Its reservations are gone with it, so the groups are dissolved rather than adopted: what runs in them goes to the group above the
//! tree, and is an ordinary process again. Found by their names, whose owner is gone, and by what stands below: reservations.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lull_core::reserve::Kind;

use crate::cgroup::{GroupName, put, remove_patiently};
use crate::probe::{CgroupFacts, Hierarchy};
use crate::proc::StatLine;
use crate::root::Root;

/// Dissolves the trees of owners that are gone; their tops.
pub fn sweep(root: &Root, facts: &CgroupFacts) -> Vec<PathBuf> {
    super::net::sweep();
    left(root, facts).into_iter().filter(|top| dissolve(top).is_ok()).collect()
}

/// The tops of trees whose owners are gone.
pub fn left(root: &Root, facts: &CgroupFacts) -> Vec<PathBuf> {
    let places = facts.v2.iter().chain(&facts.v1).flat_map(|hierarchy| {
        let places = hierarchy.place().into_iter().chain([hierarchy.mount.as_path()]);
        places.chain(hierarchy_own(hierarchy))
    });
    let places: BTreeSet<&Path> = places.collect();
    places.into_iter().flat_map(|place| tops_in(root, place)).collect()
}

fn hierarchy_own(hierarchy: &Hierarchy) -> Option<&Path> {
    hierarchy.own.as_deref()
}

fn tops_in(root: &Root, place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let is_left = |path: &PathBuf| {
        let name =
            path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<GroupName>().ok());
        name.is_some_and(|name| name.owner_is_gone(root) || is_zombie(root, name.pid))
            && is_of_reservations(path)
    };
    entries.map(|entry| entry.path()).filter(is_left).collect()
}

/// One that has ended, and whose parent has not asked how.
fn is_zombie(root: &Root, pid: u32) -> bool {
    StatLine::read(root, pid).and_then(|line| line.state()) == Some('Z')
}

/// Whether nothing but reservations stands below; nothing at all where none was made.
fn is_of_reservations(path: &Path) -> bool {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let groups: Vec<_> = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).collect();
    let is_named =
        |entry: &fs::DirEntry| entry.file_name().to_str().is_some_and(|name| Kind::of_name(name).is_some());
    let is_unused = || fs::read_to_string(path.join("cgroup.procs")).is_ok_and(|text| text.is_empty());
    if groups.is_empty() { is_unused() } else { groups.iter().all(is_named) }
}

/// Processes in a group, of which a threaded one tells the threads only.
pub(super) fn members(group: &Path) -> Vec<i32> {
    let numbers = |file: &str| {
        let text = fs::read_to_string(group.join(file)).ok()?;
        Some(text.lines().filter_map(|line| line.parse().ok()).collect::<Vec<i32>>())
    };
    numbers("cgroup.procs").unwrap_or_else(|| {
        let threads = numbers("cgroup.threads").unwrap_or_default();
        let pids: BTreeSet<i32> =
            threads.into_iter().filter_map(|tid| crate::proc::process_of(tid.cast_unsigned())).collect();
        pids.into_iter().collect()
    })
}

/// Moves what runs below a top to the group above it, and removes all of it, the lowest first.
pub(super) fn dissolve(top: &Path) -> io::Result<()> {
    let home = top.parent().unwrap_or(top);
    let mut first = Ok(());
    let mut order = vec![top.to_owned()];
    let mut next = 0;
    while let Some(directory) = order.get(next).cloned() {
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        order.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
        next += 1;
    }
    for directory in order.iter().rev() {
        for pid in members(directory) {
            // A process may end meanwhile; one that does not fit keeps the group, which is told.
            let _ends_or_told = put(&home.join("cgroup.procs"), &pid.to_string());
        }
        let gone = remove_patiently(directory);
        first = first.and(gone);
    }
    first
}
