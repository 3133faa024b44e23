//! Where pages go that are swapped out: whether writing them ahead of need pays, and whose gaps it takes.
//!
//! The kernel fills the swap areas of the highest priority first. On a disk, or in a file on one, a page that is paged out by
//! process_madvise(MADV_PAGEOUT) is written and stays in memory, in the swap cache, until memory is wanted: it is clean. In compressed
//! memory (zram, and any area behind zswap) it is compressed and freed at once: that is paging out, not cleaning. So there is an
//! answer only if all areas of the highest priority are on one disk and zswap is off.
//!
//! Source: `/proc/swaps`, swapon(8), `Documentation/admin-guide/mm/zswap.rst`.

use std::os::unix::fs::MetadataExt;

use crate::root::Root;
use crate::topology::DevT;

const ZSWAP: &str = "/sys/module/zswap/parameters/enabled";

/// A line of `/proc/swaps`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Area {
    path: String,
    is_file: bool,
    priority: i64,
}

/// The areas of `/proc/swaps`; spaces in names are written as `\040`.
fn areas(text: &str) -> Vec<Area> {
    let area = |line: &str| {
        let mut words = line.split_whitespace();
        let (path, kind) = (words.next()?, words.next()?);
        let priority = words.next_back()?.parse().ok()?;
        Some(Area { path: path.replace("\\040", " "), is_file: kind == "file", priority })
    };
    text.lines().skip(1).filter_map(area).collect()
}

/// The device that swapped pages are written to; none if there is none, or not one, or if they stay in memory.
pub fn device(root: &Root) -> Option<DevT> {
    if root.read(ZSWAP).is_some_and(|on| on == "Y") {
        return None;
    }
    let mut areas = areas(&root.read("/proc/swaps")?);
    let highest = areas.iter().map(|area| area.priority).max()?;
    areas.retain(|area| area.priority == highest);
    let mut devices = areas.iter().map(|area| {
        let is_memory = area.path.starts_with("/dev/zram") || area.path.starts_with("/dev/ram");
        let metadata = std::fs::metadata(root.path(&area.path)).ok().filter(|_| !is_memory)?;
        Some(if area.is_file { metadata.dev() } else { metadata.rdev() })
    });
    let first = devices.next()??;
    devices
        .all(|device| device == Some(first))
        .then(|| DevT { major: libc::major(first), minor: libc::minor(first) })
}

#[cfg(test)]
mod tests;
