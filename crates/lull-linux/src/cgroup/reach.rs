//! How far a job's idle class counts.
//!
//! A group's class is compared with its siblings'. So what decides is the highest group, on the way from the top to the job's, that has the idle
//! class or the least weight: everybody below its parent comes first. This is the rule; whether the kernel does so here is found by
//! experiment ([`crate::marks::force`]).
//!
//! Edge case: a container's mount may show a part of the tree only; the top is then that of what it shows.

use std::fs;
use std::path::{Path, PathBuf};

use super::CgroupFacts;
use super::JobGroup;

/// Who comes before the job on the CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// All others.
    Everybody,
    /// Those below this group, as part of the tree; outside of it the job weighs as much as that group.
    Within(PathBuf),
    /// Those in the same group or session; by the class of the job's tasks alone.
    Session,
}

impl JobGroup {
    /// How far the class of these groups counts.
    pub fn reach(&self, facts: &CgroupFacts) -> Reach {
        let mount = facts.v1_of("cpu").or(facts.v2.as_ref()).map(|hierarchy| hierarchy.mount.as_path());
        let group = self.idle.and_then(|index| self.groups.get(index)).map(|group| group.path());
        match (mount, group) {
            (Some(mount), Some(group)) => reach_of(mount, group),
            _ => Reach::Session,
        }
    }
}

pub(crate) fn reach_of(mount: &Path, group: &Path) -> Reach {
    let above = group.ancestors().take_while(|dir| *dir != mount && dir.starts_with(mount));
    let Some(highest) = above.filter(|dir| is_lowest(dir)).last() else { return Reach::Session };
    match highest.parent().and_then(|parent| parent.strip_prefix(mount).ok()) {
        Some(parent) if !parent.as_os_str().is_empty() => Reach::Within(parent.to_owned()),
        _ => Reach::Everybody,
    }
}

fn is_lowest(group: &Path) -> bool {
    [("cpu.idle", "1"), ("cpu.weight", "1"), ("cpu.shares", "2")]
        .iter()
        .any(|(file, least)| fs::read_to_string(group.join(file)).is_ok_and(|text| text.trim() == *least))
}

#[cfg(test)]
mod tests;
