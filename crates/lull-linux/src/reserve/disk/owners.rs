//! In whose queue a thread's requests are: that of its process, or of the nearest ancestor that entered one.
//!
//! Problem: processes fork, and a queue is entered once. Approach: who entered is written down; others are looked up along their parents, and
//! remembered for a second. A process whose parents are gone belongs to what its filter was started for.
//!
//! Process ids are used again: each is kept with its start time.

use std::collections::HashMap;

use lull_core::Nanos;
use lull_core::reserve::Id;

use crate::proc::{StatLine, process_of};
use crate::root::Root;

/// How long a thread's queue is remembered.
const REMEMBERED: Nanos = Nanos::from_secs(1);
/// No line of ancestors is longer.
const MOST_ANCESTORS: usize = 64;

#[derive(Default)]
pub(super) struct Owners {
    /// Who entered, with its start time and queue.
    entered: HashMap<i32, (u64, Id)>,
    known: HashMap<u32, Option<Id>>,
    since: Nanos,
}

fn start_of(pid: i32) -> Option<u64> {
    StatLine::read(&Root::real(), pid).filter(|line| line.state() != Some('Z'))?.start_ticks()
}

impl Owners {
    /// Puts a process into a queue; false if there is no such process.
    pub(super) fn enter(&mut self, pid: i32, queue: Id) -> bool {
        self.known.clear();
        let start = start_of(pid);
        start.map(|start| self.entered.insert(pid, (start, queue))).is_some()
    }

    /// The queue that a process has entered itself.
    fn entered(&self, pid: i32) -> Option<Id> {
        let (start, queue) = self.entered.get(&pid)?;
        (start_of(pid) == Some(*start)).then_some(*queue)
    }

    /// The queue of a process, by its ancestors.
    pub(super) fn of_process(&self, pid: i32) -> Option<Id> {
        let line = std::iter::successors(Some(pid), |pid| {
            StatLine::read(&Root::real(), *pid)?.parent().filter(|parent| *parent > 0)
        });
        line.take(MOST_ANCESTORS).find_map(|pid| self.entered(pid))
    }

    /// The queue of a thread under the filter that `root` was started with.
    pub(super) fn of_thread(&mut self, now: Nanos, tid: u32, root: i32) -> Option<Id> {
        if now.since(self.since) > REMEMBERED {
            (self.since, _) = (now, self.known.clear());
        }
        if let Some(known) = self.known.get(&tid) {
            return *known;
        }
        let found = process_of(tid).and_then(|pid| self.of_process(pid));
        // The first process may have ended since: what it entered stays for its children.
        let found = found.or_else(|| Some(self.entered.get(&root)?.1));
        self.known.insert(tid, found);
        found
    }

    /// Processes in a queue that entered it themselves.
    pub(super) fn count(&self, queue: Id) -> u64 {
        let here = self.entered.iter().filter(|(pid, (_, of))| *of == queue && self.entered(**pid).is_some());
        here.count() as u64
    }

    /// Nobody is in this queue any more.
    pub(super) fn remove(&mut self, queue: Id) {
        self.known.clear();
        self.entered.retain(|_, (_, of)| *of != queue);
    }
}

#[cfg(test)]
mod tests;
