//! Keeping processes of a batch system's guests below everybody on the CPUs.
//!
//! Problem: the idle class of a task counts in its control group only, and the groups in which a batch system runs its guests weigh as much as
//! any other: against a user's session a guest of the idle class gets half of a CPU. Approach: somebody with root's rights looks at where
//! each guest is.
//!
//! ```text
//!   where the guest is                                        what is done
//!   ───────────────────────────────────────────────────────   ──────────────────────────────────────────────────────────────
//!   in its starter's own group                                it is moved to a group at the top that has the idle class
//!   in a group of its own, which the batch system counts by   it stays; the highest group that is not also its starter's gets the class
//! ```
//!
//! The second leaves what the batch system counts and limits as it is. How far the class then counts is told by [`Reach`]: against everybody where that
//! group is at the top, as HTCondor's is on v1.
//!
//! Edge cases: a group at the top is made as for any job ([`Hierarchy::place`](crate::cgroup::Hierarchy::place)), on v2 by systemd. It has a fixed name, so that whoever comes
//! after one that was killed finds the guests in it. All is put back by [`Below::restore`]; guests that still run go back to the group of this process.
//!
//! Source: `Documentation/admin-guide/cgroup-v2.rst` ("CPU"), sched(7).

use std::fs;
use std::path::{Path, PathBuf};

use crate::cgroup::least::CPU;
use crate::cgroup::reach::reach_of;
use crate::cgroup::{CgroupFacts, REMOVE_PAUSE, REMOVE_TRIES, Reach, procs_in, put};
use crate::root::Root;
use crate::systemd::Scope;

/// The group at the top.
const NAME: &str = "lull-guests";

/// The tree of the cpu controller.
#[derive(Clone, Debug)]
pub struct CpuTree {
    mount: PathBuf,
    version: u8,
    own: Option<PathBuf>,
    place: PathBuf,
}

impl CpuTree {
    /// As this process sees it; `None` where none is mounted.
    pub fn find(facts: &CgroupFacts) -> Option<Self> {
        let hierarchy = facts.v1_of("cpu").or(facts.v2.as_ref())?;
        let place = hierarchy.place()?.to_owned();
        Some(Self {
            mount: hierarchy.mount.clone(),
            version: hierarchy.version,
            own: hierarchy.own.clone(),
            place,
        })
    }

    /// The group in which a process is; `None` if it is gone, or if its group is outside of what the mount shows.
    pub fn group_of(&self, root: &Root, pid: i32) -> Option<PathBuf> {
        let memberships = root.read(format!("/proc/{pid}/cgroup"))?;
        let path = memberships.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let is_it = match self.version {
                2 => controllers.is_empty(),
                _ => controllers.split(',').any(|name| name == "cpu"),
            };
            is_it.then_some(path)
        })?;
        let group = self.mount.join(path.trim_start_matches('/'));
        group.is_dir().then_some(group)
    }

    /// Who comes before a process of the idle class in this group.
    pub fn reach(&self, group: &Path) -> Reach {
        reach_of(&self.mount, group)
    }

    /// The highest group above or at `guest` that is not above or at `starter`.
    fn own_of_guests(&self, starter: &Path, guest: &Path) -> Option<PathBuf> {
        let above = guest.ancestors().take_while(|dir| *dir != self.mount && dir.starts_with(&self.mount));
        above.take_while(|dir| !starter.starts_with(dir)).last().map(Path::to_owned)
    }
}

/// A file that was written, and what it said before.
#[derive(Debug)]
struct Changed {
    file: PathBuf,
    before: String,
}

/// Keeps guests below everybody, until it is told to put all back.
#[derive(Debug)]
pub struct Below {
    tree: CpuTree,
    top: Option<PathBuf>,
    changed: Vec<Changed>,
    // Its group goes when the last guest has left it.
    _scope: Option<Scope>,
}

impl Below {
    /// `None` where no cpu controller is mounted.
    pub fn new(root: &Root) -> Option<Self> {
        let mut facts = CgroupFacts::read(root, true);
        // Without systemd's scope the place is where the facts say.
        let scope = facts.ask_systemd(root).ok().flatten();
        let tree = CpuTree::find(&facts)?;
        let top = Some(tree.place.join(NAME)).filter(|top| top.is_dir());
        Some(Self { tree, top, changed: Vec::new(), _scope: scope })
    }

    /// What one that was killed has left; `None` if nothing.
    pub fn left(root: &Root) -> Option<Self> {
        let tree = CpuTree::find(&CgroupFacts::read(root, true))?;
        let top = Some(tree.place.join(NAME)).filter(|top| top.is_dir())?;
        Some(Self { tree, top: Some(top), changed: Vec::new(), _scope: None })
    }

    /// Sees to one process of a guest that this starter started.
    ///
    /// # Errors
    /// When the kernel refuses; not for processes that are gone.
    pub fn keep(&mut self, root: &Root, pid: i32, starter: i32) -> std::io::Result<()> {
        let (Some(group), Some(starter)) = (self.tree.group_of(root, pid), self.tree.group_of(root, starter))
        else {
            return Ok(());
        };
        self.see(pid, &group, &starter)
    }

    fn see(&mut self, pid: i32, group: &Path, starter: &Path) -> std::io::Result<()> {
        if self.top.as_ref().is_some_and(|top| group.starts_with(top)) {
            return Ok(());
        }
        if let Some(own) = self.tree.own_of_guests(starter, group) {
            return self.lower(&own);
        }
        let procs = self.top()?.join("cgroup.procs");
        match put(&procs, &pid.to_string()) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            other => other,
        }
    }

    /// The group at the top, which is made, or taken over.
    fn top(&mut self) -> std::io::Result<&Path> {
        let top = self.tree.place.join(NAME);
        match fs::create_dir(&top) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        lowest(&top)?;
        Ok(self.top.insert(top))
    }

    /// Gives a group that is the batch system's the idle class.
    fn lower(&mut self, group: &Path) -> std::io::Result<()> {
        if !matches!(self.tree.reach(group), Reach::Session) {
            return Ok(());
        }
        let changed = lowest(group)?;
        self.changed.extend(changed);
        Ok(())
    }

    /// Puts all back; guests go on where this process is.
    pub fn restore(self) {
        for Changed { file, before } in self.changed.iter().rev() {
            // Gone with its last guest, most often.
            let _gone = put(file, before);
        }
        let Some(top) = self.top else { return };
        let home = self.tree.own.unwrap_or(self.tree.place);
        for _ in 0..REMOVE_TRIES {
            for pid in procs_in(&top).unwrap_or_default() {
                let _next_round = put(&home.join("cgroup.procs"), &pid.to_string());
            }
            if fs::remove_dir(&top).is_ok() {
                return;
            }
            std::thread::sleep(REMOVE_PAUSE);
        }
    }
}

/// Writes the first of the files that is there; what it said before, if anything changed.
fn lowest(group: &Path) -> std::io::Result<Option<Changed>> {
    let there = CPU.iter().map(|(file, least)| (group.join(file), *least)).find(|(file, _)| file.exists());
    let Some((file, least)) = there else {
        let why = format!("{} has no weight: its parent hands the cpu controller not down", group.display());
        return Err(std::io::Error::new(std::io::ErrorKind::Unsupported, why));
    };
    let before = fs::read_to_string(&file)?.trim().to_owned();
    put(&file, least)?;
    Ok((before != least).then_some(Changed { file, before }))
}

#[cfg(test)]
mod tests;
