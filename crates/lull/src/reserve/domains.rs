//! Reservation domains of processes.
//!
//! A process's root reservation (`rdom`) is the internal reservation above the queue in which it is: the kernel keeps it, and children
//! inherit it. What its children are to have instead (`crdom`) is kept here, for those processes that were given one, until they end. While
//! there is any, a thread listens to the kernel's forks and moves each child to the default queues of its domain; so a child may run for a
//! moment in its parent's queue. Without any, nothing listens.

use std::collections::HashMap;
use std::fs;

use lull_core::reserve::Id;
use lull_linux::proc::{self, StatLine, parent_of};
use lull_linux::root::Root;

/// What the children of one process get, by resource.
#[derive(Clone, Debug)]
pub(super) struct Children {
    /// When the process started: its number may be another's by now.
    start_ticks: Option<u64>,
    pub(super) roots: Vec<(u8, Id)>,
}

/// Processes whose children get something else.
#[derive(Debug, Default)]
pub(super) struct Domains {
    children: HashMap<i32, Children>,
}

fn start_ticks(pid: i32) -> Option<u64> {
    StatLine::read(&Root::real(), pid)?.start_ticks()
}

impl Domains {
    /// What the children of a process get, where that is not what it has itself.
    pub(super) fn of(&self, pid: i32) -> Option<&Children> {
        self.children
            .get(&pid)
            .filter(|found| found.start_ticks.is_some() && found.start_ticks == start_ticks(pid))
    }

    /// Sets it; nothing for what the process has itself. What was set before.
    pub(super) fn set(&mut self, pid: i32, roots: Vec<(u8, Id)>) -> Vec<(u8, Id)> {
        let before = self.children.remove(&pid).map(|found| found.roots).unwrap_or_default();
        if !roots.is_empty() {
            self.children.insert(pid, Children { start_ticks: start_ticks(pid), roots });
        }
        before
    }

    /// Whether it was given anything, also if it has ended.
    pub(super) fn knows(&self, pid: i32) -> bool {
        self.children.contains_key(&pid)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.children.is_empty()
    }

    /// Processes that have ended.
    pub(super) fn ended(&self) -> Vec<i32> {
        self.children.keys().copied().filter(|pid| self.of(*pid).is_none()).collect()
    }

    /// Children of such processes that were not told of.
    pub(super) fn missed(&self) -> Vec<(i32, i32)> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| !self.children.contains_key(pid))
            .filter_map(|pid| Some((parent_of(pid)?, pid)))
            .filter(|(parent, _)| self.of(*parent).is_some())
            .collect()
    }
}

/// The process of a thread.
pub(super) fn process_of(tid: u32) -> Option<u32> {
    proc::process_of(tid)?.try_into().ok()
}

/// The effective user of a process.
pub(super) fn user_of(pid: u32) -> Option<u32> {
    field(pid, "Uid:")?.get(1).copied()
}

fn field(pid: u32, name: &str) -> Option<Vec<u32>> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().map(|word| word.parse().ok()).collect()
}
