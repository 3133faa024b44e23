//! Memory by limits.
//!
//! A minimum of memory is kept by keeping the others out of it: a reservation may have what its parent may have, less the minima of its
//! siblings. So a minimum is there at once when its owner wants it, at the price that nobody borrows it meanwhile. Memory cannot be
//! taken back in an instant, as a CPU can; and v1's soft limits act only when the whole machine is short of memory, and late.
//!
//! ```text
//!   limit(root) = V        limit(child) = limit(parent) − Σ minima of its siblings
//! ```
//!
//! Weights do nothing here. *Requests* are the processes that were moved in, *service* the bytes held now, refused are allocations that met
//! the limit (`memory.failcnt`); beyond it the kernel reclaims, then kills in the group. A bound on waiting service is a limit of the
//! queue's own. Memory that a process had before it entered stays with the group that it left.
//!
//! Edge cases: v1 refuses a limit below what cannot be reclaimed (`EBUSY`): then the share is refused, and all stays as it was. On v2: [`unified`].
//!
//! Source: `Documentation/admin-guide/cgroup-v1/memory.rst`.

use std::collections::HashMap;
use std::io;

use lull_core::reserve::{Backlog, Bound, Id, Kind, ROOT, Tree, Unit, Whole};

use super::groups::{Groups, Joint};
use super::{Enforcer, ServiceUnit, Usage};
use crate::cgroup::put;
use crate::probe::{Facts, Hierarchy};

mod unified;

const LIMIT: &str = "memory.limit_in_bytes";
/// How v1 writes "no limit".
const NO_LIMIT: &str = "-1";

struct Memory {
    groups: Groups,
    whole: Whole,
    top: usize,
    written: HashMap<String, u64>,
    bounds: HashMap<String, u64>,
    /// Refusals when the counts were cleared.
    cleared: HashMap<String, u64>,
    entered: HashMap<String, u64>,
}

/// Memory by what this host has: limits on v1, protection on v2.
pub(super) fn start(
    facts: &Facts,
    name: &str,
    joint: &Joint,
    threads: bool,
) -> Result<Box<dyn Enforcer>, String> {
    match (facts.cgroups.v1_of("memory"), &facts.cgroups.v2) {
        (Some(hierarchy), _) => Memory::start(facts, hierarchy, name).map(super::boxed),
        (None, Some(_)) if threads => {
            Err("threaded groups cannot keep memory: mount without --threads".to_owned())
        }
        (None, Some(hierarchy)) => unified::Unified::start(facts, hierarchy, name, joint).map(super::boxed),
        (None, None) => Err("no control groups with the memory controller are mounted".to_owned()),
    }
}

impl Memory {
    fn start(facts: &Facts, hierarchy: &Hierarchy, name: &str) -> Result<Self, String> {
        let mut groups = Groups::new(name);
        let top = groups.add(hierarchy, &[LIMIT])?;
        Ok(Self {
            groups,
            whole: Whole { amount: facts.cpu.memory_bytes, unit: Unit::Bytes },
            top,
            written: HashMap::new(),
            bounds: HashMap::new(),
            cleared: HashMap::new(),
            entered: HashMap::new(),
        })
    }

    fn limit(&mut self, path: &str, bytes: u64) -> io::Result<()> {
        let bytes = self.bounds.get(path).map_or(bytes, |bound| bytes.min(*bound));
        let before = self.written.get(path).copied().unwrap_or(self.whole.amount);
        if before == bytes {
            return Ok(());
        }
        let text = if bytes >= self.whole.amount { NO_LIMIT.to_owned() } else { bytes.to_string() };
        put(&self.groups.directory(self.top, path).join(LIMIT), &text)?;
        self.written.insert(path.to_owned(), bytes);
        Ok(())
    }

    fn failures(&self, path: &str) -> u64 {
        self.groups.number(self.top, path, "memory.failcnt", None).unwrap_or(0)
    }
}

/// What a reservation may have: all that nobody beside it, or beside one above it, has been promised.
fn allowed(tree: &Tree, id: Id) -> u64 {
    let beside: u64 = tree
        .upwards(id)
        .filter_map(|id| tree.get(id))
        .filter_map(|found| {
            let parent = found.parent?;
            let promised = tree.get(parent)?.terms.minimum - tree.unpromised(parent);
            Some(promised - found.terms.minimum)
        })
        .sum();
    tree.whole().amount.saturating_sub(beside)
}

impl Enforcer for Memory {
    fn name(&self) -> &'static str {
        "mem"
    }

    fn whole(&self) -> Whole {
        self.whole
    }

    fn means(&self) -> String {
        let top = self.groups.directory(self.top, "");
        let place = top.parent().unwrap_or(&top);
        format!(
            "{LIMIT} of groups in {} (v1): nobody may have what others have been promised",
            place.display()
        )
    }

    fn service_unit(&self) -> ServiceUnit {
        ServiceUnit::BytesHeld
    }

    fn make(&mut self, tree: &Tree, id: Id) -> io::Result<()> {
        let is_queue = tree.get(id).is_some_and(|found| found.kind == Kind::Queue);
        self.groups.make(&tree.path(id), is_queue)
    }

    fn remove(&mut self, tree: &Tree, id: Id) -> io::Result<()> {
        let path = &tree.path(id);
        self.groups.remove(path)?;
        self.written.remove(path);
        self.bounds.remove(path);
        self.cleared.remove(path);
        self.entered.remove(path);
        Ok(())
    }

    fn apply(&mut self, tree: &Tree, parent: Id) -> io::Result<()> {
        let children = tree.get(parent).map(|found| found.children.clone()).unwrap_or_default();
        for child in children {
            let bytes = allowed(tree, child);
            if self.written.get(&tree.path(child)).copied().unwrap_or(self.whole.amount) == bytes {
                continue;
            }
            self.limit(&tree.path(child), bytes)?;
            self.apply(tree, child)?;
        }
        debug_assert!(parent != ROOT || allowed(tree, ROOT) == self.whole.amount);
        Ok(())
    }

    fn bound(&mut self, path: &str, backlog: &Backlog) -> io::Result<()> {
        if backlog.requests != Bound::None {
            let why = "memory is not asked for in requests: write max for them";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        let before = self.bounds.get(path).copied();
        let unbounded = self.written.get(path).copied().unwrap_or(self.whole.amount);
        match backlog.service {
            Bound::None => self.bounds.remove(path),
            Bound::Most(bytes) => self.bounds.insert(path.to_owned(), bytes),
        };
        let outcome = self.limit(path, unbounded);
        if outcome.is_err() {
            match before {
                None => self.bounds.remove(path),
                Some(bytes) => self.bounds.insert(path.to_owned(), bytes),
            };
        } else {
            self.cleared.insert(path.to_owned(), self.failures(path));
            self.entered.remove(path);
        }
        outcome
    }

    fn enter(&mut self, path: &str, pid: i32) -> io::Result<()> {
        self.groups.enter(path, pid)?;
        *self.entered.entry(path.to_owned()).or_default() += 1;
        Ok(())
    }

    fn queue_of(&self, pid: i32) -> Option<String> {
        self.groups.queue_of(pid)
    }

    fn is_used(&self, path: &str) -> bool {
        !self.groups.processes(path).is_empty()
    }

    fn usage(&self, path: &str) -> Usage {
        let held = self.groups.number(self.top, path, "memory.usage_in_bytes", None).unwrap_or(0);
        let refused = self.failures(path).saturating_sub(self.cleared.get(path).copied().unwrap_or(0));
        Usage {
            requests: self.entered.get(path).copied().unwrap_or(0),
            service: held,
            refused,
            asked: held,
            processes: self.groups.processes(path).len() as u64,
        }
    }

    fn restore(&mut self) -> io::Result<()> {
        self.groups.restore()
    }
}
