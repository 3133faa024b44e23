//! One tree of reservations as groups in several hierarchies: weights in one, counts or bounds in others.
//!
//! ```text
//!   cpu/lull-…-1/r0/q0       cpu.shares
//!   unified/lull-…-1/r0/q0   cpu.stat           the same path below each top
//!   pids/lull-…-1/r0/q0      pids.max
//! ```
//!
//! A process that enters leaves another group; where it was is kept per queue, so that it, and what it started, can go back there.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cgroup::put;
use crate::probe::Hierarchy;

use super::sweep::dissolve;

/// Where the tree stands in one hierarchy.
#[derive(Clone, Debug)]
struct Top {
    path: PathBuf,
    mount: PathBuf,
    is_v2: bool,
}

/// The groups of one tree.
#[derive(Debug)]
pub(super) struct Groups {
    /// The name of every top.
    name: String,
    tops: Vec<Top>,
    /// Where the last process that entered a queue came from, per top.
    origins: HashMap<String, Vec<Option<PathBuf>>>,
}

/// Controllers that v2 hands down in the tree, as far as it has them.
const HANDED_DOWN: [&str; 3] = ["+cpu", "+memory", "+pids"];

impl Groups {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), tops: Vec::new(), origins: HashMap::new() }
    }

    /// Adds a hierarchy, at the highest place where the new group has one of these files. Its number; an error says why there is none.
    pub(super) fn add(&mut self, hierarchy: &Hierarchy, files: &[&str]) -> Result<usize, String> {
        if let Some(index) = self.tops.iter().position(|top| top.mount == hierarchy.mount) {
            return Ok(index);
        }
        let mut why = "no group of it is shown here".to_owned();
        for place in hierarchy.place().into_iter().chain([hierarchy.mount.as_path()]) {
            let path = place.join(&self.name);
            if let Err(error) = fs::create_dir(&path) {
                why = format!("no group may be made in {}: {error}", place.display());
                continue;
            }
            if files.is_empty() || files.iter().any(|file| path.join(file).exists()) {
                let top = Top { path, mount: hierarchy.mount.clone(), is_v2: hierarchy.version == 2 };
                hand_down(&top, &top.path);
                self.tops.push(top);
                return Ok(self.tops.len() - 1);
            }
            why = format!("groups in {} have no {}", place.display(), files.join(" or "));
            // It has no process.
            let _swept_later = fs::remove_dir(&path);
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

    /// Makes the groups of a reservation, in all hierarchies or in none.
    pub(super) fn make(&mut self, path: &str, is_queue: bool) -> io::Result<()> {
        for (done, top) in self.tops.iter().enumerate() {
            let directory = top.path.join(path);
            if let Err(error) = fs::create_dir(&directory) {
                for undone in &self.tops[..done] {
                    let _is_empty = fs::remove_dir(undone.path.join(path));
                }
                return Err(error);
            }
            if !is_queue {
                hand_down(top, &directory);
            }
        }
        Ok(())
    }

    /// Removes the groups of a reservation; processes in any keep all.
    pub(super) fn remove(&mut self, path: &str) -> io::Result<()> {
        for (done, top) in self.tops.iter().enumerate() {
            let removed = crate::cgroup::remove_patiently(&top.path.join(path));
            if let Err(error) = removed {
                for again in &self.tops[..done] {
                    let _best_effort = fs::create_dir(again.path.join(path));
                }
                return Err(error);
            }
        }
        self.origins.remove(path);
        Ok(())
    }

    /// Moves a process in.
    pub(super) fn enter(&mut self, path: &str, pid: i32) -> io::Result<()> {
        if self.queue_of(pid).is_none() {
            let origins = self.tops.iter().map(|top| origin(top, pid)).collect();
            self.origins.insert(path.to_owned(), origins);
        } else if let Some(origins) = self.queue_of(pid).and_then(|from| self.origins.get(&from).cloned()) {
            self.origins.entry(path.to_owned()).or_insert(origins);
        }
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
            let origins = self.tops.iter().map(|top| origin(top, tid)).collect();
            self.origins.entry(path.to_owned()).or_insert(origins);
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
        let text = fs::read_to_string(top.path.join(path).join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
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
        for (index, top) in self.tops.iter().enumerate() {
            for (queue, origins) in &self.origins {
                let Some(Some(origin)) = origins.get(index) else { continue };
                move_all(&top.path.join(queue), origin);
            }
            let gone = dissolve(&top.path);
            first = first.and(gone);
        }
        self.tops.clear();
        self.origins.clear();
        first
    }
}

/// Moves the processes of one group to another, as far as that takes them.
fn move_all(from: &Path, to: &Path) {
    // Who forks meanwhile leaves a child behind for the next round; what is left goes to the group above.
    for _ in 0..3 {
        let text = fs::read_to_string(from.join("cgroup.procs")).unwrap_or_default();
        if text.is_empty() {
            return;
        }
        for pid in text.lines() {
            let _gone_or_next_round = put(&to.join("cgroup.procs"), pid);
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

fn hand_down(top: &Top, directory: &Path) {
    if top.is_v2 {
        for controller in HANDED_DOWN {
            // What is not there cannot be handed down, and is not needed.
            let _ = put(&directory.join("cgroup.subtree_control"), controller);
        }
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
