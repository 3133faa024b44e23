//! Control groups that are mounted, but not in this mount namespace.
//!
//! Problem: `ip netns exec` gives its program a mount namespace with a new sysfs over `/sys`: the hierarchies are there and the
//! program is in their groups, but no path leads to them. Mounting the v2 tree once more could change the options that all
//! its mounts share (`nsdelegate` and others), so nothing is mounted.
//!
//! Approach: the mount namespaces of process 1 and of this process's ancestors are looked into, through `/proc/PID/root`. The kernel
//! allows that where this process could trace the other one. What is found is held by one descriptor for as long as this
//! process lives, since the other one may end; paths lead through it (`/proc/self/fd/N/…`), also in forked processes that
//! keep it ([`descriptor`]). A program that is executed does not get it.
//!
//! Edge case: the mount namespace itself goes with its last process; the paths then lead nowhere, as after an unmount.
//!
//! Source: proc_pid_root(5), ip-netns(8), cgroup-v2.rst "Mounting".

use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::proc::StatLine;
use crate::root::Root;
use crate::topology::mounts::{Mount, MountTable};

/// Where this process's descriptors are.
const OWN_FILES: &str = "/proc/self/fd";
/// More ancestors are not asked.
const MOST_ANCESTORS: usize = 16;

/// The root directory that paths go through; `None` inside if there is none to be had.
static HELD: OnceLock<Option<(File, MountTable)>> = OnceLock::new();

/// The oldest mount that is wanted, in the first namespace that shows control groups at all; its point leads there from here.
pub(super) fn find(root: &Root, wanted: impl Fn(&&Mount) -> bool) -> Option<Mount> {
    if !root.is_real() {
        let (directory, mounts) = look(root)?;
        return led_through(&directory, &mounts, wanted);
    }
    let held = HELD.get_or_init(|| {
        let (directory, mounts) = look(root)?;
        let flags = libc::O_PATH | libc::O_DIRECTORY;
        Some((File::options().read(true).custom_flags(flags).open(root.path(directory)).ok()?, mounts))
    });
    let (directory, mounts) = held.as_ref()?;
    led_through(&Path::new(OWN_FILES).join(directory.as_raw_fd().to_string()), mounts, wanted)
}

/// What a forked process has to keep open, if it uses such paths.
pub fn descriptor() -> Option<RawFd> {
    HELD.get().and_then(Option::as_ref).map(|(directory, _)| directory.as_raw_fd())
}

/// Whether a path leads through the held descriptor, so that no other program can follow it.
pub fn is_private(path: &Path) -> bool {
    path.starts_with(OWN_FILES)
}

/// The first of the other processes whose mounts have control groups and may be looked at.
fn look(root: &Root) -> Option<(PathBuf, MountTable)> {
    let ancestors = std::iter::successors(parent(root, "self"), |pid| parent(root, pid));
    std::iter::once("1".to_owned()).chain(ancestors.take(MOST_ANCESTORS)).find_map(|pid| {
        let directory = PathBuf::from(format!("/proc/{pid}/root"));
        let mounts = MountTable::parse(&root.read(format!("/proc/{pid}/mountinfo"))?);
        let has_groups = mounts.iter().any(|mount| mount.fs == "cgroup2" || mount.fs == "cgroup");
        // A link that may not be followed is no directory.
        (has_groups && root.path(&directory).is_dir()).then_some((directory, mounts))
    })
}

fn led_through(directory: &Path, mounts: &MountTable, wanted: impl Fn(&&Mount) -> bool) -> Option<Mount> {
    let mut mount = mounts.iter().find(wanted)?.clone();
    mount.point = directory.join(mount.point.strip_prefix("/").ok()?);
    Some(mount)
}

/// `None` when it is not in this PID namespace.
fn parent(root: &Root, pid: &str) -> Option<String> {
    let parent = StatLine::read(root, pid)?.parent()?;
    (parent != 0).then(|| parent.to_string())
}
