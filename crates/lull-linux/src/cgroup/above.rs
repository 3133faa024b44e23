//! Groups that stand higher up in the v2 tree than the own one.

use std::io;
use std::path::{Path, PathBuf};

use super::{least, put};

/// Gives a new group that stands higher up than the own one the limit that it may not leave behind: so many tasks, and no more than that. And
/// the least weight: beside whole sessions one job would weigh as much.
pub(super) fn prepare(path: &Path, most_tasks: Option<u64>) -> io::Result<()> {
    for (file, least) in least::WEIGHTS_V2 {
        // Where the parent does not hand the controller down there is nothing to weigh.
        let _ = put(&path.join(file), least);
    }
    most_tasks.map_or(Ok(()), |most| put(&path.join("pids.max"), &most.to_string()))
}

/// The group of this process, if it is below the parent of the group `path`, and that takes no processes.
pub(super) fn home(path: &Path) -> Option<PathBuf> {
    home_of(path, &std::fs::read_to_string("/proc/self/cgroup").ok()?)
}

fn home_of(path: &Path, memberships: &str) -> Option<PathBuf> {
    let parent = path.parent()?;
    let hands_down = std::fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
    let own = Path::new(memberships.lines().find_map(|line| line.strip_prefix("0::/"))?);
    // A mount may show a part of the tree only, but the last names are the same.
    let parts: Vec<_> = own.components().collect();
    let mut ends = (0..parts.len()).map(|from| parent.join(parts[from..].iter().collect::<PathBuf>()));
    // The top takes processes whatever it hands down; it has no type.
    let is_full = !hands_down.trim().is_empty() && parent.join("cgroup.type").exists();
    ends.find(|end| end.join("cgroup.procs").exists()).filter(|_| is_full)
}

#[cfg(test)]
mod tests;
