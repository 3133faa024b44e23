//! One tree of reservations as groups in several hierarchies: weights in one, counts or bounds in others.
//!
//! ```text
//!   cpu/lull-…-1/r0/q0       cpu.shares
//!   unified/lull-…-1/r0/q0   cpu.stat           the same path below each top
//!   pids/lull-…-1/r0/q0      pids.max
//! ```
//!
//! v2 has one tree for all resources. There the CPU's and the memory's reservations of the same path are one group ([`Joint`]), which goes
//! when neither has it any more; a process is in both, or in neither.
//!
//! A process that enters leaves another group; where it was is kept per queue, so that it, and what it started, can go back there.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cgroup::put;
use crate::probe::Hierarchy;

use super::sweep::{dissolve, members};

/// Where the tree stands in one hierarchy.
#[derive(Clone, Debug)]
struct Top {
    path: PathBuf,
    mount: PathBuf,
    is_v2: bool,
}

/// What several resources have in common.
#[derive(Debug, Default)]
struct Common {
    /// Whose reservations a path of v2 has.
    users: HashMap<String, BTreeSet<&'static str>>,
    /// Where the last process that entered a queue came from, per top.
    origins: HashMap<String, Vec<Option<PathBuf>>>,
}

/// Resources whose trees stand in one hierarchy of v2.
#[derive(Clone, Debug, Default)]
pub(super) struct Joint(Arc<Mutex<Common>>);

impl Joint {
    fn lock(&self) -> MutexGuard<'_, Common> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The groups of one tree.
#[derive(Debug)]
pub(super) struct Groups {
    /// The name of every top.
    name: String,
    tops: Vec<Top>,
    /// Of the resources that are in the same groups on v2.
    joint: Joint,
    resource: &'static str,
    /// Groups of v2 take single threads.
    threads: bool,
    /// Where the last process that entered a queue came from, per top, unless that is in common.
    origins: HashMap<String, Vec<Option<PathBuf>>>,
}

/// Controllers that v2 hands down in the tree, as far as it has them.
const HANDED_DOWN: [&str; 3] = ["+cpu", MEMORY, "+pids"];
const MEMORY: &str = "+memory";

impl Groups {
    pub(super) fn new(name: &str) -> Self {
        Self::joint(name, &Joint::default(), "")
    }

    /// Groups that are those of another resource as well, where both are on v2.
    pub(super) fn joint(name: &str, joint: &Joint, resource: &'static str) -> Self {
        let (name, joint) = (name.to_owned(), joint.clone());
        Self { name, tops: Vec::new(), joint, resource, threads: false, origins: HashMap::new() }
    }

    /// In a directory that stands for v2.
    #[cfg(test)]
    pub(super) fn in_directory(directory: &Path, name: &str) -> Self {
        let mut groups = Self::new(name);
        groups.tops.push(Top { path: directory.join(name), mount: directory.to_owned(), is_v2: true });
        groups
    }

    /// Whether groups of v2 are to take single threads.
    pub(super) const fn take_threads(&mut self, threads: bool) {
        self.threads = threads;
    }

    fn is_joint(&self) -> bool {
        self.tops.iter().all(|top| top.is_v2)
    }

    /// Adds a hierarchy, at the highest place where the new group has one of these files. Its number; an error says why there is none.
    pub(super) fn add(&mut self, hierarchy: &Hierarchy, files: &[&str]) -> Result<usize, String> {
        if let Some(index) = self.tops.iter().position(|top| top.mount == hierarchy.mount) {
            return Ok(index);
        }
        let mut why = "no group of it is shown here".to_owned();
        for place in hierarchy.place().into_iter().chain([hierarchy.mount.as_path()]) {
            let path = place.join(&self.name);
            let is_there = hierarchy.version == 2 && path.exists();
            if let Err(error) = fs::create_dir(&path)
                && !is_there
            {
                why = format!("no group may be made in {}: {error}", place.display());
                continue;
            }
            if files.is_empty() || files.iter().any(|file| path.join(file).exists()) {
                let top = Top { path, mount: hierarchy.mount.clone(), is_v2: hierarchy.version == 2 };
                self.hand_down(&top, &top.path);
                self.tops.push(top);
                return Ok(self.tops.len() - 1);
            }
            why = format!("groups in {} have no {}", place.display(), files.join(" or "));
            if !is_there {
                // It has no process.
                let _swept_later = fs::remove_dir(&path);
            }
        }
        Err(why)
    }

    /// The group of a reservation in one hierarchy.
    pub(super) fn directory(&self, top: usize, path: &str) -> PathBuf {
        self.tops.get(top).map_or_else(PathBuf::new, |top| top.path.join(path))
    }

    pub(super) fn is_v2(&self, top: usize) -> bool {
        self.tops.get(top).is_some_and(|top| top.is_v2)
    }

    fn hand_down(&self, top: &Top, directory: &Path) {
        // With it no group below could take threads.
        let handed = HANDED_DOWN.iter().filter(|name| top.is_v2 && !(self.threads && **name == MEMORY));
        for controller in handed {
            // What is not there cannot be handed down, and is not needed.
            let _ = put(&directory.join("cgroup.subtree_control"), controller);
        }
    }

    /// Makes the groups of a reservation, in all hierarchies or in none.
    pub(super) fn make(&mut self, path: &str, is_queue: bool) -> io::Result<()> {
        if self.is_joint() && self.joint.lock().users.get(path).is_some_and(|users| !users.is_empty()) {
            self.joint.lock().users.entry(path.to_owned()).or_default().insert(self.resource);
            return Ok(());
        }
        for (done, top) in self.tops.iter().enumerate() {
            let directory = top.path.join(path);
            if let Err(error) = fs::create_dir(&directory) {
                for undone in &self.tops[..done] {
                    let _is_empty = fs::remove_dir(undone.path.join(path));
                }
                return Err(error);
            }
            if self.threads && top.is_v2 {
                put(&directory.join("cgroup.type"), "threaded")?;
            }
            if !is_queue {
                self.hand_down(top, &directory);
            }
        }
        if self.is_joint() {
            self.joint.lock().users.entry(path.to_owned()).or_default().insert(self.resource);
        }
        Ok(())
    }

    /// Removes the groups of a reservation; processes in any keep all.
    pub(super) fn remove(&mut self, path: &str) -> io::Result<()> {
        if self.is_joint() {
            let mut common = self.joint.lock();
            let users = common.users.entry(path.to_owned()).or_default();
            if users.iter().any(|user| *user != self.resource) {
                users.remove(self.resource);
                return Ok(());
            }
        }
        for (done, top) in self.tops.iter().enumerate() {
            let removed = crate::cgroup::remove_patiently(&top.path.join(path));
            if let Err(error) = removed {
                for again in &self.tops[..done] {
                    let _best_effort = fs::create_dir(again.path.join(path));
                }
                return Err(error);
            }
        }
        if self.is_joint() {
            let mut common = self.joint.lock();
            common.users.remove(path);
            common.origins.remove(path);
        }
        self.origins.remove(path);
        Ok(())
    }

    /// Remembers where queues were entered from.
    fn with_origins<T>(&mut self, work: impl FnOnce(&mut HashMap<String, Vec<Option<PathBuf>>>) -> T) -> T {
        if self.is_joint() { work(&mut self.joint.lock().origins) } else { work(&mut self.origins) }
    }

    /// Whether a process may go from one queue to another without leaving that of another resource.
    fn stays_with_others(&self, from: &str, to: &str) -> bool {
        let common = self.joint.lock();
        let others = |path: &str| {
            common
                .users
                .get(path)
                .into_iter()
                .flatten()
                .copied()
                .filter(|user| *user != self.resource)
                .collect::<BTreeSet<_>>()
        };
        !self.is_joint() || from == to || others(from).is_subset(&others(to))
    }

    /// Moves a process in.
    pub(super) fn enter(&mut self, path: &str, pid: i32) -> io::Result<()> {
        let from = self.queue_of(pid);
        if from.as_deref().is_some_and(|from| !self.stays_with_others(from, path)) {
            let why = "on cgroup v2 one group keeps the CPU and memory: name reservations of the same path, like cpu/r0 and mem/r0";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let here: Vec<_> = self.tops.iter().map(|top| origin(top, pid)).collect();
        self.with_origins(|origins| match from {
            None => drop(origins.insert(path.to_owned(), here)),
            Some(from) => {
                if let Some(before) = origins.get(&from).cloned() {
                    origins.entry(path.to_owned()).or_insert(before);
                }
            }
        });
        for top in &self.tops {
            put(&top.path.join(path).join("cgroup.procs"), &pid.to_string())?;
        }
        Ok(())
    }

    /// Moves one thread in, as far as a hierarchy takes threads: all of v1, threaded groups of v2.
    ///
    /// # Errors
    /// The kernel's; where a hierarchy whose number is in `needed` takes none, `Unsupported`.
    pub(super) fn enter_thread(&mut self, path: &str, tid: i32, needed: usize) -> io::Result<()> {
        if self.queue_of(tid).is_none() {
            let here = self.tops.iter().map(|top| origin(top, tid)).collect();
            self.with_origins(|origins| {
                origins.entry(path.to_owned()).or_insert(here);
            });
        }
        for (index, top) in self.tops.iter().enumerate() {
            let group = top.path.join(path);
            match threads_file(top, &group) {
                Some(file) => put(&group.join(file), &tid.to_string())?,
                None if index == needed => return Err(io::ErrorKind::Unsupported.into()),
                // It counts as its process there.
                None => {}
            }
        }
        Ok(())
    }

    /// The path of the queue in which a process is, or a thread.
    pub(super) fn queue_of(&self, pid: i32) -> Option<String> {
        let memberships = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        below(&memberships, &self.name)
    }

    /// Processes in this group itself.
    pub(super) fn processes(&self, path: &str) -> Vec<i32> {
        let Some(top) = self.tops.first() else { return Vec::new() };
        members(&top.path.join(path))
    }

    /// How many threads in this group want a CPU now.
    pub(super) fn runnable(&self, path: &str) -> u64 {
        let Some(top) = self.tops.first() else { return 0 };
        let list = if top.is_v2 { "cgroup.threads" } else { "tasks" };
        let text = fs::read_to_string(top.path.join(path).join(list)).unwrap_or_default();
        let runs = |tid: &&str| crate::proc::StatLine::of(tid).and_then(|line| line.state()) == Some('R');
        text.lines().filter(runs).count() as u64
    }

    /// A number in a file of a group: the whole file, or the value after `key`.
    pub(super) fn number(&self, top: usize, path: &str, file: &str, key: Option<&str>) -> Option<u64> {
        let text = fs::read_to_string(self.directory(top, path).join(file)).ok()?;
        match key {
            None => text.trim().parse().ok(),
            Some(key) => {
                text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
            }
        }
    }

    /// Moves everything back and removes all of it.
    pub(super) fn restore(&mut self) -> io::Result<()> {
        let mut first = Ok(());
        let all = self.with_origins(std::mem::take);
        for (index, top) in self.tops.iter().enumerate().filter(|(_, top)| top.path.exists()) {
            for (queue, origins) in &all {
                let Some(Some(origin)) = origins.get(index) else { continue };
                move_all(&top.path.join(queue), origin);
            }
            let gone = dissolve(&top.path);
            first = first.and(gone);
        }
        self.tops.clear();
        first
    }
}

/// Moves the processes of one group to another, as far as that takes them.
fn move_all(from: &Path, to: &Path) {
    // Who forks meanwhile leaves a child behind for the next round; what is left goes to the group above.
    for _ in 0..3 {
        let pids = members(from);
        if pids.is_empty() {
            return;
        }
        for pid in pids {
            let _gone_or_next_round = put(&to.join("cgroup.procs"), &pid.to_string());
        }
    }
}

/// The file that takes a single thread, if the group takes one.
fn threads_file(top: &Top, group: &Path) -> Option<&'static str> {
    let is_threaded =
        || fs::read_to_string(group.join("cgroup.type")).is_ok_and(|kind| kind.trim() == "threaded");
    match top.is_v2 {
        false => Some("tasks"),
        true => is_threaded().then_some("cgroup.threads"),
    }
}

/// The group in which a process is, in the hierarchy of `top`.
fn origin(top: &Top, pid: i32) -> Option<PathBuf> {
    let memberships = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let mine = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mounts = crate::topology::mounts::MountTable::parse(&mine);
    let mount = mounts.iter().find(|mount| mount.point == top.mount)?;
    memberships.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let is_it = if top.is_v2 {
            controllers.is_empty()
        } else {
            !controllers.is_empty() && controllers.split(',').all(|name| mount.has_option(name))
        };
        if !is_it {
            return None;
        }
        let below = Path::new(path).strip_prefix(&mount.fs_root).ok()?;
        Some(top.mount.join(below))
    })
}

/// What stands below a group of this name in `/proc/PID/cgroup`.
fn below(memberships: &str, name: &str) -> Option<String> {
    memberships.lines().find_map(|line| {
        let path = line.splitn(3, ':').nth(2)?;
        let (_, rest) = path.split_once(&format!("/{name}"))?;
        // The top itself holds no process, but a name may begin like another.
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/').to_owned())
    })
}

#[cfg(test)]
mod tests;
