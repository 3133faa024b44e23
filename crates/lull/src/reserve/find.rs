//! Mounts of reservations on this machine.
//!
//! The mount table names the serving process: `lull-reserve:PID:START`. The start time tells it from another one that was given its number.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use lull_linux::root::Root;
use lull_linux::stat_line::StatLine;
use lull_linux::topology::mounts::MountTable;

/// What the source of a mount begins with.
const SOURCE: &str = "lull-reserve:";
/// The type of the file system.
pub(super) const TYPE: &str = "fuse.lull-reserve";

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mounted {
    pub(super) point: PathBuf,
    pub(super) pid: u32,
    start_ticks: u64,
}

/// How this process's mount names it.
pub(super) fn source() -> String {
    let pid = std::process::id();
    format!("{SOURCE}{pid}:{}", start_ticks(pid).unwrap_or(0))
}

fn start_ticks(pid: u32) -> Option<u64> {
    StatLine::read(&Root::real(), pid).filter(|line| line.state() != Some('Z'))?.start_ticks()
}

impl Mounted {
    fn parse(point: &Path, source: &str) -> Option<Self> {
        let (pid, start) = source.strip_prefix(SOURCE)?.split_once(':')?;
        Some(Self { point: point.to_owned(), pid: pid.parse().ok()?, start_ticks: start.parse().ok()? })
    }

    /// Whether its process serves it.
    pub(super) fn is_served(&self) -> bool {
        start_ticks(self.pid) == Some(self.start_ticks)
    }
}

/// All of them, the oldest first.
pub(super) fn all() -> Vec<Mounted> {
    let table = MountTable::parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default());
    let ours = table.iter().filter(|mount| mount.fs == TYPE);
    ours.filter_map(|mount| Mounted::parse(&mount.point, &mount.source)).collect()
}

/// The one at this point; of several on each other the last.
pub(super) fn at(point: &Path) -> Option<Mounted> {
    // A dead mount cannot be looked at, but its parent can.
    let parent = point.parent().and_then(|parent| parent.canonicalize().ok());
    let resolved = parent.zip(point.file_name()).map(|(parent, name)| parent.join(name));
    let is_it = |found: &Mounted| found.point == point || Some(&found.point) == resolved.as_ref();
    all().into_iter().rev().find(is_it)
}

/// The one on which a path lies.
pub(super) fn holding(path: &Path) -> anyhow::Result<Mounted> {
    let found = all().into_iter().rev().filter(|mounted| path.starts_with(&mounted.point));
    match found.max_by_key(|mounted| mounted.point.components().count()) {
        Some(mounted) if mounted.is_served() => Ok(mounted),
        Some(mounted) => bail!(
            "{}: the process that served it is gone; `lull reserve mount {}` begins anew",
            mounted.point.display(),
            mounted.point.display()
        ),
        None => bail!(
            "no reservations are mounted at {}; `lull reserve mount /reserv` mounts them (root)",
            path.display()
        ),
    }
}

/// The one that is asked for, or the only one.
pub(super) fn one(point: Option<&Path>) -> anyhow::Result<Mounted> {
    if let Some(point) = point {
        let place = point.canonicalize().unwrap_or_else(|_| point.to_owned());
        return holding(&place);
    }
    let mut served: Vec<_> = all().into_iter().filter(Mounted::is_served).collect();
    match (served.pop(), served.is_empty()) {
        (Some(mounted), true) => Ok(mounted),
        (Some(_), false) => bail!("reservations are mounted at several places: name one"),
        (None, _) => bail!("no reservations are mounted; `lull reserve mount /reserv` mounts them (root)"),
    }
}

#[cfg(test)]
mod tests;
