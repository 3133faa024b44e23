//! Memory on cgroup v2: protection instead of limits.
//!
//! v2 can keep what was promised while others borrow it: `memory.min` is what reclaim does not take, `memory.low` what it takes last. So a
//! minimum is `memory.min`, and `memory.low` is what the weights give of the whole: a claim on what the protection of the reservation above
//! leaves, in proportion. What nobody in the tree uses, all may use; it comes back as the kernel reclaims it.
//!
//! ```text
//!   tree        min = low = Σ minima of its children      nothing more is kept from the rest of the machine
//!   r0          min = its minimum, low = its standing part
//! ```
//!
//! One tree for all resources: the groups are those of the CPU's reservations, `cpu/r0` and `mem/r0` are one place ([`super::super::groups`]).
//! A bound of a queue is its `memory.max`; refused are allocations that met it.
//!
//! Edge cases: memory that nothing can be done with without swap cannot be taken back from who has borrowed it; then the kernel kills, and
//! not the one that was promised it first. Minima are kept as far as the groups above the tree are protected.
//!
//! Source: `Documentation/admin-guide/cgroup-v2.rst`, "Memory Interface Files".

use std::collections::HashMap;
use std::io;

use lull_core::reserve::{Backlog, Bound, Id, Kind, ROOT, Tree, Unit, Whole};

use super::super::groups::{Groups, Joint};
use super::super::{Enforcer, ServiceUnit, Usage};
use crate::cgroup::put;
use crate::probe::{Facts, Hierarchy};

const MIN: &str = "memory.min";
const LOW: &str = "memory.low";
const MAX: &str = "memory.max";

pub(in super::super) struct Unified {
    groups: Groups,
    whole: Whole,
    top: usize,
    /// What was written last, of each file.
    written: HashMap<(String, &'static str), u64>,
    cleared: HashMap<String, u64>,
    entered: HashMap<String, u64>,
}

/// What to write for a reservation's children, and for the tree itself where those are the root's.
fn plan(tree: &Tree, parent: Id) -> Vec<(String, &'static str, u64)> {
    let mut all = Vec::new();
    if parent == ROOT {
        let promised = tree.whole().amount - tree.unpromised(ROOT);
        all.extend([(String::new(), MIN, promised), (String::new(), LOW, promised)]);
    }
    let standing = tree.standing(parent);
    let sum = standing.iter().map(|(_, amount)| u128::from(*amount)).sum::<u128>().max(1);
    let above = tree.get(parent).map_or(0, |found| found.terms.minimum);
    let above = if above == 0 { tree.whole().amount } else { above };
    for (id, amount) in standing {
        let minimum = tree.get(id).map_or(0, |found| found.terms.minimum);
        let part = u64::try_from(u128::from(above) * u128::from(amount) / sum).unwrap_or(above);
        all.push((tree.path(id), MIN, minimum));
        all.push((tree.path(id), LOW, part.max(minimum)));
    }
    all
}

impl Unified {
    pub(in super::super) fn start(
        facts: &Facts,
        hierarchy: &Hierarchy,
        name: &str,
        joint: &Joint,
    ) -> Result<Self, String> {
        let mut groups = Groups::joint(name, joint, "mem");
        let top = groups.add(hierarchy, &[MIN])?;
        let whole = Whole { amount: facts.cpu.memory_bytes, unit: Unit::Bytes };
        Ok(Self::of(groups, top, whole))
    }

    fn of(groups: Groups, top: usize, whole: Whole) -> Self {
        let (written, cleared, entered) = (HashMap::new(), HashMap::new(), HashMap::new());
        Self { groups, whole, top, written, cleared, entered }
    }

    fn write(&mut self, path: &str, file: &'static str, bytes: u64) -> io::Result<()> {
        let key = (path.to_owned(), file);
        if self.written.get(&key).copied().unwrap_or(0) == bytes {
            return Ok(());
        }
        put(&self.groups.directory(self.top, path).join(file), &bytes.to_string())?;
        self.written.insert(key, bytes);
        Ok(())
    }

    fn refusals(&self, path: &str) -> u64 {
        self.groups.number(self.top, path, "memory.events", Some("max")).unwrap_or(0)
    }
}

impl Enforcer for Unified {
    fn name(&self) -> &'static str {
        "mem"
    }

    fn whole(&self) -> Whole {
        self.whole
    }

    fn means(&self) -> String {
        let top = self.groups.directory(self.top, "");
        let place = top.parent().unwrap_or(&top).display();
        format!("{MIN} and {LOW} of groups in {place} (v2): `cpu/r0` and `mem/r0` are one group")
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
        for file in [MIN, LOW] {
            // The group may stay as that of another resource.
            self.write(path, file, 0)?;
        }
        if self.written.contains_key(&(path.clone(), MAX)) {
            put(&self.groups.directory(self.top, path).join(MAX), "max")?;
        }
        self.groups.remove(path)?;
        self.written.retain(|(of, _), _| of != path);
        self.cleared.remove(path);
        self.entered.remove(path);
        Ok(())
    }

    fn apply(&mut self, tree: &Tree, parent: Id) -> io::Result<()> {
        for (path, file, bytes) in plan(tree, parent) {
            self.write(&path, file, bytes)?;
        }
        Ok(())
    }

    fn bound(&mut self, path: &str, backlog: &Backlog) -> io::Result<()> {
        if backlog.requests != Bound::None {
            let why = "memory is not asked for in requests: write max for them";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        match backlog.service {
            Bound::None => {
                put(&self.groups.directory(self.top, path).join(MAX), "max")?;
                self.written.remove(&(path.to_owned(), MAX));
            }
            Bound::Most(bytes) => self.write(path, MAX, bytes)?,
        }
        self.cleared.insert(path.to_owned(), self.refusals(path));
        self.entered.remove(path);
        Ok(())
    }

    fn enter(&mut self, path: &str, pid: i32) -> io::Result<()> {
        self.groups.enter(path, pid)?;
        *self.entered.entry(path.to_owned()).or_default() += 1;
        Ok(())
    }

    fn queue_of(&self, pid: i32) -> Option<String> {
        self.groups.queue_of(pid)
    }

    fn shares_groups(&self) -> bool {
        true
    }

    fn is_used(&self, path: &str) -> bool {
        !self.groups.processes(path).is_empty()
    }

    fn usage(&self, path: &str) -> Usage {
        let held = self.groups.number(self.top, path, "memory.current", None).unwrap_or(0);
        let refused = self.refusals(path).saturating_sub(self.cleared.get(path).copied().unwrap_or(0));
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

#[cfg(test)]
mod tests;
