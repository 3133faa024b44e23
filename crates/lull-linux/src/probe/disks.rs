//! What each disk is, and whether I/O classes mean anything to it.
//!
//! `ioprio` reaches a disk only through the scheduler of its queue. `none` and `kyber` do not look at classes.
//! `mq-deadline` orders what waits in its own queue by class, which helps only while more waits there than the device
//! takes. `bfq` serves class idle only when nobody else asks, and waits for the next request of a reader ("full").
//! A stacked device (dm, md) usually has no scheduler: the disks below decide, and keep the request's class.
//! A loop device without direct I/O loses the class: below it, the page cache is filled by a kernel thread.
//!
//! Edge cases: devices of size zero (unused loop devices) are left out. Files missing on old kernels are `None`.
//!
//! Units: bytes, microseconds and KiB, as names say. Source: `Documentation/block/`, `ABI/stable/sysfs-block`.

use std::path::PathBuf;

use serde::Serialize;

use crate::root::Root;
use crate::topology::{Disk, DiskKind, Topology};

/// How far a disk honours I/O classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IoprioLevel {
    /// Not at all.
    None,
    /// Only in the order of what waits in the scheduler.
    Order,
    /// Idle requests run when no other asks.
    Full,
}

/// How far a disk honours I/O classes, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IoprioEffect {
    /// How far.
    pub level: IoprioLevel,
    /// Why.
    pub why: String,
}

/// One disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiskFacts {
    /// The kernel's name.
    pub name: String,
    /// Its number, `major:minor`.
    pub dev: crate::topology::DevT,
    /// What it is.
    pub kind: DiskKind,
    /// The maker's name for it.
    pub model: Option<String>,
    /// Size.
    pub size_bytes: u64,
    /// Does it say that it spins? Virtual disks often say so without reason.
    pub rotational: Option<bool>,
    /// The selected scheduler.
    pub scheduler: Option<String>,
    /// All that could be selected now; those in modules appear once loaded.
    pub schedulers: Vec<String>,
    /// Requests that the queue holds.
    pub nr_requests: Option<u32>,
    /// Write-back throttling's latency target in microseconds; 0 is off.
    pub wbt_us: Option<i64>,
    /// Read-ahead.
    pub read_ahead_kib: Option<u64>,
    /// What is directly below: devices, or the file of a loop device.
    pub below: Vec<String>,
    /// For a loop device: does it bypass the page cache of the file?
    pub loop_direct_io: Option<bool>,
    /// Where its file systems are mounted.
    pub mounts: Vec<PathBuf>,
    /// How far it honours I/O classes.
    pub ioprio: IoprioEffect,
}

/// All disks that have a size.
pub(super) fn read_all(root: &Root, topology: &Topology<'_>) -> Vec<DiskFacts> {
    let mut mounts = topology.mount_points();
    let all = topology.disks().into_iter().map(|disk| {
        let mounts = mounts.remove(&disk.dev).unwrap_or_default();
        read_one(root, topology, &disk, mounts)
    });
    all.filter(|disk| disk.size_bytes > 0).collect()
}

/// The facts of one disk.
fn read_one(root: &Root, topology: &Topology<'_>, disk: &Disk, mounts: Vec<PathBuf>) -> DiskFacts {
    let dir = format!("/sys/block/{}", disk.name);
    let queue = |name: &str| root.read(format!("{dir}/queue/{name}"));
    let (scheduler, schedulers) = parse_schedulers(&queue("scheduler").unwrap_or_default());
    let loop_direct_io = root.number::<u8>(format!("{dir}/loop/dio")).map(|dio| dio == 1);
    let mut below = topology.slaves(&disk.name);
    below.extend(topology.backing_file(&disk.name));
    let ioprio = ioprio_effect(disk.kind, scheduler.as_deref(), loop_direct_io);
    DiskFacts {
        name: disk.name.clone(),
        dev: disk.dev,
        kind: disk.kind,
        model: root.read(format!("{dir}/device/model")).filter(|model| !model.is_empty()),
        size_bytes: root.number::<u64>(format!("{dir}/size")).unwrap_or(0).saturating_mul(512),
        rotational: queue("rotational").map(|text| text == "1"),
        scheduler,
        schedulers,
        nr_requests: queue("nr_requests").and_then(|text| text.parse().ok()),
        wbt_us: queue("wbt_lat_usec").and_then(|text| text.parse().ok()),
        read_ahead_kib: queue("read_ahead_kb").and_then(|text| text.parse().ok()),
        below,
        loop_direct_io,
        mounts,
        ioprio,
    }
}

/// Parses `none [mq-deadline] bfq`: the selected one, and all.
fn parse_schedulers(text: &str) -> (Option<String>, Vec<String>) {
    let bare = |word: &str| word.trim_matches(['[', ']']).to_owned();
    let selected = text.split_whitespace().find(|word| word.starts_with('[')).map(bare);
    // A queue that knows no scheduler at all writes its only choice without brackets.
    let selected = selected.or_else(|| (text.trim() == "none").then(|| "none".to_owned()));
    (selected, text.split_whitespace().map(bare).collect())
}

/// How far a queue honours I/O classes.
fn ioprio_effect(kind: DiskKind, scheduler: Option<&str>, loop_direct_io: Option<bool>) -> IoprioEffect {
    use IoprioLevel::{Full, None, Order};
    let (level, why) = match (scheduler, kind) {
        (Some("bfq"), DiskKind::Loop) if loop_direct_io == Some(false) => (
            Full,
            "bfq serves class idle only when nobody else asks; below, without direct I/O, the class is lost",
        ),
        (Some("bfq"), _) => (Full, "bfq serves class idle only when nobody else asks"),
        (Some("mq-deadline"), _) => (
            Order,
            "mq-deadline only orders its own queue by class: requests the device takes at once are not held",
        ),
        (Some("none") | Option::None, DiskKind::DeviceMapper | DiskKind::Raid | DiskKind::Stacked) => {
            (None, "it has no scheduler of its own: the disks below decide")
        }
        (Some("none"), _) => (None, "scheduler none passes requests on without looking at their class"),
        (Some("kyber"), _) => (None, "kyber tells reads from writes, but not classes"),
        (Some(_), _) => (None, "this scheduler is not known to look at classes"),
        (Option::None, _) => (None, "it has no scheduler"),
    };
    IoprioEffect { level, why: why.to_owned() }
}

#[cfg(test)]
mod tests;
