//! Looking at a path: which file system it is on, and which device it names.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::DevT;

/// The two questions that the topology asks stat(2).
pub trait StatDev {
    /// The file system that holds `path` (links followed).
    fn dev(&self, path: &Path) -> io::Result<DevT>;
    /// The block device that the special file `path` names; `None` if it is anything else.
    fn rdev(&self, path: &Path) -> Option<DevT>;
}

/// The host's own stat(2).
#[derive(Clone, Copy, Debug, Default)]
pub struct HostStat;

impl StatDev for HostStat {
    fn dev(&self, path: &Path) -> io::Result<DevT> {
        std::fs::metadata(path).map(|found| DevT::from_stat(found.dev()))
    }

    fn rdev(&self, path: &Path) -> Option<DevT> {
        let found = std::fs::metadata(path).ok()?;
        found.file_type().is_block_device().then(|| DevT::from_stat(found.rdev()))
    }
}
