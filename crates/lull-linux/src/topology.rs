//! Which disks really serve a request.
//!
//! Problem: a file's `st_dev` names a partition, a loop device, a logical volume, or nothing at all (btrfs and overlay
//! give every subvolume and mount an anonymous number). Background requests must be held for the disk on which the
//! foreground's requests wait, so the policy needs the disks at the bottom, and those in between.
//!
//! Approach: only reading. Block devices are followed through sysfs, anonymous numbers through the mount table:
//!
//! ```text
//!  st_dev ─▶ major 0? ──yes──▶ mountinfo entry ─▶ btrfs: members in /sys/fs/btrfs
//!              │no                               overlay: st_dev of its upper and lower directories
//!              ▼                                 any other with a /dev source: that device; else nothing below
//!        /sys/dev/block/M:m
//!         ├─ partition   ─▶ its parent
//!         ├─ loop        ─▶ itself, then the st_dev of the backing file
//!         ├─ dm, md, bcache, drbd (slaves/) ─▶ itself, then each slave
//!         └─ else        ─▶ itself: the bottom
//! ```
//!
//! The result is a list in the order in which a request meets the queues: a loop device first, what is below it next.
//! Each disk appears once. Memory and network file systems give an empty list; a file system that hides its disks
//! (zfs, an overlay whose layers lie outside this container) gives an error, because "no disk" would be a wrong answer.
//!
//! Edge cases: a loop device without backing file ends the chain; a loop file that was unlinked is looked for by its
//! mount; chains deeper than 16 (possible only in a damaged tree) end with an error instead of a stack overflow. The paths
//! of an NVMe disk (`nvme0c0n1`) are hidden and have no number here: the block observer finds them.
//!
//! Source: `Documentation/ABI/stable/sysfs-block`, `Documentation/filesystems/overlayfs.rst`, proc_pid_mountinfo(5).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::root::Root;

pub mod cpus;
pub mod dev;
pub mod mounts;
mod stat;

pub use dev::DevT;
use mounts::{Mount, MountTable};
pub use stat::{HostStat, StatDev};

const MAX_DEPTH: u32 = 16;

/// What kind of block device a disk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskKind {
    /// A device with hardware (real or virtual) behind it.
    Disk,
    /// A file as a disk.
    Loop,
    /// Device mapper: LVM, dm-crypt, multipath.
    DeviceMapper,
    /// Software RAID.
    Raid,
    /// Compressed memory.
    Zram,
    /// A disk on another machine (nbd, rbd).
    Network,
    /// Another driver that works on top of other disks (bcache, drbd).
    Stacked,
}

impl DiskKind {
    /// The kind in a few words.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Disk => "disk",
            Self::Loop => "loop device",
            Self::DeviceMapper => "device-mapper volume",
            Self::Raid => "software RAID",
            Self::Zram => "compressed memory",
            Self::Network => "network disk",
            Self::Stacked => "stacked device",
        }
    }
}

/// One whole disk: a thing with a request queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Disk {
    /// The kernel's name, as in `/sys/block`.
    pub name: String,
    /// Its number.
    pub dev: DevT,
    /// What it is.
    pub kind: DiskKind,
}

/// Why it can't be told which disks serve something.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    /// The path can't be looked at.
    #[error("cannot look at '{path}': {cause}; check the path and its permissions")]
    Stat {
        /// The path as given.
        path: PathBuf,
        /// The system's answer; part of the message, so not a source that a report would print again.
        cause: std::io::Error,
    },
    /// sysfs does not know the device.
    #[error("block device {dev} is not in /sys/dev/block; is sysfs mounted, and the device still there?")]
    UnknownDevice {
        /// The number.
        dev: DevT,
    },
    /// sysfs does not know the name.
    #[error("no block device is called '{name}'; `ls /sys/class/block` lists them")]
    UnknownName {
        /// The name as given.
        name: String,
    },
    /// The file system does not tell which disks it is on.
    #[error("file system {fs} on '{mount}' does not tell its disks; name them with --disk")]
    Hidden {
        /// File-system type.
        fs: String,
        /// Where it is mounted.
        mount: PathBuf,
    },
    /// The chain of devices does not end.
    #[error("the chain of devices below {dev} does not end after {MAX_DEPTH} steps")]
    Endless {
        /// Where it was cut.
        dev: DevT,
    },
}

/// A reader of the host's block devices and mounts.
pub struct Topology<'a> {
    root: Root,
    stat: &'a dyn StatDev,
    mounts: MountTable,
}

impl Topology<'static> {
    /// The host's own. Reads the mount table once: make a new one after a mount.
    pub fn host() -> Self {
        Self::new(Root::real(), &HostStat)
    }
}

impl<'a> Topology<'a> {
    /// Another tree, with another way to look at paths.
    pub fn new(root: Root, stat: &'a dyn StatDev) -> Self {
        let mounts = MountTable::parse(&root.read("/proc/self/mountinfo").unwrap_or_default());
        Self { root, stat, mounts }
    }

    /// The disks that serve block device or file system number `dev`, in the order a request meets them.
    pub fn serving_disks(&self, dev: DevT) -> Result<Vec<Disk>, TopologyError> {
        let mut chain = Vec::new();
        self.follow(dev, 0, &mut chain)?;
        Ok(chain)
    }

    /// The disks that serve a file or directory; for a block special file, those of the device it names.
    pub fn disks_of_file(&self, path: &Path) -> Result<Vec<Disk>, TopologyError> {
        let found = match self.stat.rdev(path) {
            Some(rdev) => Ok(rdev),
            None => self.stat.dev(path),
        };
        let dev = found.map_err(|cause| TopologyError::Stat { path: path.to_owned(), cause })?;
        self.serving_disks(dev)
    }

    /// The number of a whole disk or partition, by its kernel name (`sda1`) or its path (`/dev/sda1`).
    pub fn dev_of_name(&self, name: &str) -> Result<DevT, TopologyError> {
        let unknown = || TopologyError::UnknownName { name: name.to_owned() };
        if name.starts_with('/') {
            return self.device_at(Path::new(name)).ok_or_else(unknown);
        }
        let plain = !name.is_empty() && name != "." && name != ".." && !name.contains('/');
        let text = plain.then(|| self.root.read(format!("/sys/class/block/{name}/dev"))).flatten();
        text.and_then(|text| text.parse().ok()).ok_or_else(unknown)
    }

    /// The kernel name of a disk or partition.
    pub fn name_of_dev(&self, dev: DevT) -> Result<String, TopologyError> {
        self.sys_dir(dev).map(|dir| name_of_dir(&dir))
    }

    /// All whole disks, in the order of their names.
    pub fn disks(&self) -> Vec<Disk> {
        let names = self.root.names("/sys/block");
        names
            .into_iter()
            .filter_map(|name| self.disk_in(&self.root.path("/sys/block").join(name)).ok())
            .collect()
    }

    /// Where file systems are mounted, by the disks that serve them. A file system on several disks is with each.
    pub fn mount_points(&self) -> BTreeMap<DevT, Vec<PathBuf>> {
        let mut points: BTreeMap<DevT, Vec<PathBuf>> = BTreeMap::new();
        let mut chains: BTreeMap<DevT, Vec<Disk>> = BTreeMap::new();
        for mount in self.mounts.iter() {
            let chain =
                chains.entry(mount.dev).or_insert_with(|| self.serving_disks(mount.dev).unwrap_or_default());
            for disk in chain.iter() {
                points.entry(disk.dev).or_default().push(mount.point.clone());
            }
        }
        points
    }

    /// The file behind a loop device.
    pub fn backing_file(&self, name: &str) -> Option<String> {
        self.root.read(format!("/sys/block/{name}/loop/backing_file")).filter(|file| !file.is_empty())
    }

    /// The devices directly below a disk, by name: what `slaves/` lists.
    pub fn slaves(&self, name: &str) -> Vec<String> {
        self.root.names(format!("/sys/block/{name}/slaves"))
    }

    fn follow(&self, dev: DevT, depth: u32, chain: &mut Vec<Disk>) -> Result<(), TopologyError> {
        if depth > MAX_DEPTH {
            return Err(TopologyError::Endless { dev });
        }
        if dev.major == 0 {
            return self.follow_mount(dev, depth, chain);
        }
        let dir = self.sys_dir(dev)?;
        let whole = if dir.join("partition").exists() { dir.parent() } else { None };
        let disk = self.disk_in(whole.unwrap_or(&dir))?;
        if chain.iter().any(|known| known.dev == disk.dev) {
            return Ok(());
        }
        let name = disk.name.clone();
        let kind = disk.kind;
        chain.push(disk);
        if kind == DiskKind::Loop {
            return match self.backing_file(&name).and_then(|file| self.dev_of_backing_file(&file)) {
                Some(below) => self.follow(below, depth + 1, chain),
                None => Ok(()),
            };
        }
        for slave in self.slaves(&name) {
            let below = self.dev_of_name(&slave)?;
            self.follow(below, depth + 1, chain)?;
        }
        Ok(())
    }

    /// What is below an anonymous device number: only the mount table knows.
    fn follow_mount(&self, dev: DevT, depth: u32, chain: &mut Vec<Disk>) -> Result<(), TopologyError> {
        let Some(mount) = self.mounts.by_dev(dev) else {
            return self.follow_subvolume(depth, chain);
        };
        match mount.fs.as_str() {
            "overlay" => {
                let layers: Vec<_> =
                    mount.layers().iter().filter_map(|dir| self.stat.dev(dir).ok()).collect();
                if layers.is_empty() {
                    // In a container the layers are paths of the host, which can't be seen from here.
                    return Err(TopologyError::Hidden { fs: mount.fs.clone(), mount: mount.point.clone() });
                }
                for below in layers.into_iter().filter(|below| *below != dev) {
                    self.follow(below, depth + 1, chain)?;
                }
                Ok(())
            }
            "btrfs" => self.follow_btrfs(mount, depth, chain),
            "zfs" => Err(TopologyError::Hidden { fs: mount.fs.clone(), mount: mount.point.clone() }),
            _ => {
                // bcachefs names all its members, separated by colons.
                for source in mount.source.split(':').filter(|source| source.starts_with("/dev/")) {
                    if let Some(below) = self.device_at(Path::new(source)) {
                        self.follow(below, depth + 1, chain)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// A btrfs subvolume that is not a mount of its own has a number that no table lists. If btrfs is the only such
    /// file system here, its members serve it; otherwise the number is of a file system without disks.
    fn follow_subvolume(&self, depth: u32, chain: &mut Vec<Disk>) -> Result<(), TopologyError> {
        let Some(mount) = self.mounts.iter().find(|mount| mount.fs == "btrfs") else { return Ok(()) };
        self.follow_btrfs(mount, depth, chain)
    }

    fn follow_btrfs(&self, mount: &Mount, depth: u32, chain: &mut Vec<Disk>) -> Result<(), TopologyError> {
        let source = self.device_at(Path::new(&mount.source));
        let source_name = source.and_then(|dev| self.name_of_dev(dev).ok());
        let volumes: Vec<Vec<String>> = self
            .root
            .names("/sys/fs/btrfs")
            .iter()
            .map(|id| self.root.names(format!("/sys/fs/btrfs/{id}/devices")))
            .filter(|members| !members.is_empty())
            .collect();
        let members = match source_name {
            Some(name) => {
                volumes.into_iter().find(|members| members.contains(&name)).unwrap_or_else(|| vec![name])
            }
            // The source may be a name of early boot, like /dev/root; one volume leaves no doubt.
            None if volumes.len() == 1 => volumes.into_iter().flatten().collect(),
            None => return Err(TopologyError::Hidden { fs: mount.fs.clone(), mount: mount.point.clone() }),
        };
        for member in members {
            let below = self.dev_of_name(&member)?;
            self.follow(below, depth + 1, chain)?;
        }
        Ok(())
    }

    /// The file system a loop file is on. The file may be unlinked by now, or in another mount namespace's path.
    fn dev_of_backing_file(&self, file: &str) -> Option<DevT> {
        let path = Path::new(file.strip_suffix(" (deleted)").unwrap_or(file));
        if let Ok(dev) = self.stat.dev(path) {
            return Some(dev);
        }
        self.mounts.containing(path).map(|mount| mount.dev)
    }

    /// The block device that a device file names.
    fn device_at(&self, path: &Path) -> Option<DevT> {
        self.stat.rdev(path).or_else(|| {
            let name = path.strip_prefix("/dev").ok()?.to_str()?;
            // In sysfs, a slash in a device's name is an exclamation mark (cciss!c0d0).
            self.root.read(format!("/sys/class/block/{}/dev", name.replace('/', "!")))?.parse().ok()
        })
    }

    /// The real sysfs directory of a device: partitions lie in the directory of their disk.
    fn sys_dir(&self, dev: DevT) -> Result<PathBuf, TopologyError> {
        let link = self.root.path(format!("/sys/dev/block/{dev}"));
        std::fs::canonicalize(link).map_err(|_| TopologyError::UnknownDevice { dev })
    }

    fn disk_in(&self, dir: &Path) -> Result<Disk, TopologyError> {
        let name = name_of_dir(dir);
        let dev = self.dev_of_name(&name)?;
        let kind = kind_of(dir, &name);
        Ok(Disk { name, dev, kind })
    }
}

fn name_of_dir(dir: &Path) -> String {
    dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn kind_of(dir: &Path, name: &str) -> DiskKind {
    let numbered = |prefix: &str| {
        name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    let has_slaves =
        || std::fs::read_dir(dir.join("slaves")).is_ok_and(|mut entries| entries.next().is_some());
    if dir.join("dm").is_dir() || numbered("dm-") {
        DiskKind::DeviceMapper
    } else if dir.join("md").is_dir() {
        DiskKind::Raid
    } else if dir.join("loop").is_dir() || numbered("loop") {
        DiskKind::Loop
    } else if numbered("zram") {
        DiskKind::Zram
    } else if numbered("nbd") || numbered("rbd") {
        DiskKind::Network
    } else if has_slaves() {
        DiskKind::Stacked
    } else {
        DiskKind::Disk
    }
}

#[cfg(test)]
mod tests;
