//! Mounts of reservations on this machine.
//!
//! The mount table names the serving process: `lull-reserve:PID:START`. The start time tells it from another one that was given its number.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use lull_linux::proc::StatLine;
use lull_linux::root::Root;
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

/// A path as the mount table writes it: absolute, without symbolic links. A dead mount cannot be looked at, but what is above it can.
pub(super) fn place(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let resolved = whole.ancestors().find_map(|above| {
        let below = whole.strip_prefix(above).ok()?;
        let above = above.canonicalize().ok()?;
        // An empty rest would leave a slash at the end.
        Some(if below.as_os_str().is_empty() { above } else { above.join(below) })
    });
    resolved.unwrap_or(whole)
}

/// The one at this point; of several on each other the last.
pub(super) fn at(point: &Path) -> Option<Mounted> {
    let place = place(point);
    all().into_iter().rev().find(|found| found.point == place)
}

/// What to do about a mount whose process is gone.
fn dead(mounted: &Mounted) -> anyhow::Error {
    let point = mounted.point.display();
    anyhow!(
        "{point}: the process that served it is gone; `lull reserve mount {point}` begins anew, \
         `lull reserve unmount {point}` clears it away (root)"
    )
}

/// The one on which a path lies.
pub(super) fn holding(path: &Path) -> anyhow::Result<Mounted> {
    let place = place(path);
    let found = all().into_iter().rev().filter(|mounted| place.starts_with(&mounted.point));
    match found.max_by_key(|mounted| mounted.point.components().count()) {
        Some(mounted) if mounted.is_served() => Ok(mounted),
        Some(mounted) => Err(dead(&mounted)),
        None => bail!(
            "no reservations are mounted at {}; `lull reserve mount /reserv` mounts them (root)",
            path.display()
        ),
    }
}

/// The one that is asked for, or the only one. `naming` is how the command asks for one.
pub(super) fn one(point: Option<&Path>, naming: &str) -> anyhow::Result<Mounted> {
    point.map_or_else(|| only(all(), naming), holding)
}

/// The only one that is served.
fn only(all: Vec<Mounted>, naming: &str) -> anyhow::Result<Mounted> {
    let (mut served, mut dead_ones): (Vec<_>, Vec<_>) = all.into_iter().partition(Mounted::is_served);
    match (served.pop(), dead_ones.pop()) {
        (Some(mounted), _) if served.is_empty() => Ok(mounted),
        (Some(last), _) => {
            served.push(last);
            let places: Vec<_> = served.iter().map(|found| found.point.display().to_string()).collect();
            bail!("reservations are mounted at {}: name one, by {naming}", places.join(" and "))
        }
        (None, Some(mounted)) => Err(dead(&mounted)),
        (None, None) => bail!("no reservations are mounted; `lull reserve mount /reserv` mounts them (root)"),
    }
}

#[cfg(test)]
mod tests;
