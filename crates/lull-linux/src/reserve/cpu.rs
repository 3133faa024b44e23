//! CPU time by weight.
//!
//! The weights of siblings are those of [`lull_core::reserve::Tree::standing`]: each gets its minimum whoever of them is busy, and the rest by
//! weight. The kernel's scheduler divides among who is runnable, so an idle reservation's part goes to its siblings at once.
//!
//! | | v1 | v2 |
//! |---|---|---|
//! | weight | `cpu.shares`, 2 to 262144 | `cpu.weight`, 1 to 10000 |
//! | CPU time | `cpuacct.usage`, or `cpu.stat` of v2 | `cpu.stat` |
//! | most tasks | `pids.max` | `pids.max` |
//! | a single thread | `tasks` | `cgroup.threads`, in threaded groups |
//!
//! *Against the rest of the machine.* Processes outside of the tree stay in their groups. The top of the tree stands beside those, with
//! a weight that keeps what has been reserved: if the children of the root have the minima Σm of V, the tree weighs Σm / (V − Σm) of what the
//! rest weighs: on v2 the groups beside it, on v1 [`REST_TASKS`] tasks of the usual weight per CPU, since there tasks (sessions, where
//! autogroup is on) stand beside groups and each counts. More of them take from what is reserved; with a larger number a single shell
//! would get next to nothing beside a busy tree. With nothing reserved the tree is a group like any other.
//!
//! *Requests* of the CPU are processes: served are those that were moved into the queue, refused are forks beyond the bound (`EAGAIN`). How
//! much work a process will ask for is not known, so a bound on waiting service is refused.

use std::collections::HashMap;
use std::fs;
use std::io;

use lull_core::reserve::unit::CPU;
use lull_core::reserve::{Backlog, Bound, Id, Kind, ROOT, Tree, Unit, Whole};

use super::groups::{Groups, Joint};
use super::{Enforcer, ServiceUnit, Usage};
use crate::cgroup::put;
use crate::probe::Facts;

/// Runnable tasks outside of the tree, per CPU, against which v1 keeps what is reserved.
const REST_TASKS: u64 = 4;

/// Why a thread stays where its process is.
const NO_THREADS: &str = "on cgroup v2 a thread moves alone in threaded groups only, which cannot keep memory: \
                          `lull reserve mount --threads` makes such";

/// What a kernel takes as weights.
struct Range {
    file: &'static str,
    least: u64,
    most: u64,
    /// What a group has that nobody weighs.
    usual: u64,
}

const V1: Range = Range { file: "cpu.shares", least: 2, most: 262_144, usual: 1024 };
const V2: Range = Range { file: "cpu.weight", least: 1, most: 10_000, usual: 100 };

/// What a queue had when its counts were cleared.
#[derive(Clone, Copy, Debug, Default)]
struct Cleared {
    service: u64,
    refused: u64,
    entered: u64,
}

pub(super) struct Cpu {
    groups: Groups,
    whole: Whole,
    weights: usize,
    counts: usize,
    bounds: Option<usize>,
    /// What was written last.
    written: HashMap<Id, u64>,
    cleared: HashMap<String, Cleared>,
}

impl Cpu {
    pub(super) fn start(facts: &Facts, name: &str, joint: &Joint, threads: bool) -> Result<Self, String> {
        let mut groups = Groups::joint(name, joint, "cpu");
        groups.take_threads(threads);
        let cgroups = &facts.cgroups;
        let (v2, v1) = (cgroups.v2.as_ref(), cgroups.v1_of("cpu"));
        let mut why = "no control groups with the cpu controller are mounted".to_owned();
        let mut weights = None;
        for (hierarchy, range) in [(v2, &V2), (v1, &V1)] {
            let Some(hierarchy) = hierarchy else { continue };
            match groups.add(hierarchy, &[range.file]) {
                Ok(top) => {
                    weights = Some(top);
                    break;
                }
                Err(error) => why = error,
            }
        }
        let Some(weights) = weights else { return Err(why) };
        let counts = if groups.is_v2(weights) {
            Ok(weights)
        } else {
            // It counts threads, too, where v2 counts processes.
            let by_v1 = cgroups.v1_of("cpuacct").ok_or_else(String::new);
            by_v1.and_then(|cpuacct| groups.add(cpuacct, &["cpuacct.usage"])).or_else(|_| {
                v2.map_or_else(
                    || Err("CPU time is not counted by group here".to_owned()),
                    |v2| groups.add(v2, &["cpu.stat"]),
                )
            })
        };
        let counts = counts.inspect_err(|_| {
            let _has_no_process = groups.restore();
        })?;
        let bounds = if groups.is_v2(weights) {
            groups.directory(weights, "pids.max").exists().then_some(weights)
        } else {
            cgroups.v1_of("pids").and_then(|pids| groups.add(pids, &["pids.max"]).ok())
        };
        let whole = Whole { amount: facts.cpu.cpus as u64 * CPU, unit: Unit::Cpu };
        let (written, cleared) = (HashMap::new(), HashMap::new());
        Ok(Self { groups, whole, weights, counts, bounds, written, cleared })
    }

    fn range(&self) -> &'static Range {
        if self.groups.is_v2(self.weights) { &V2 } else { &V1 }
    }

    fn weigh(&mut self, tree: &Tree, id: Id, weight: u64) -> io::Result<()> {
        if self.written.get(&id) == Some(&weight) {
            return Ok(());
        }
        let file = self.groups.directory(self.weights, &tree.path(id)).join(self.range().file);
        put(&file, &weight.to_string())?;
        self.written.insert(id, weight);
        Ok(())
    }

    /// What the groups beside the tree weigh together.
    fn rest(&self) -> u64 {
        let top = self.groups.directory(self.weights, "");
        if !self.groups.is_v2(self.weights) {
            return REST_TASKS * V1.usual * (self.whole.amount / CPU).max(1);
        }
        let beside = top.parent().and_then(|above| fs::read_dir(above).ok()).into_iter().flatten().flatten();
        let weights = beside
            .map(|entry| entry.path())
            .filter(|path| *path != top)
            .filter_map(|path| fs::read_to_string(path.join(V2.file)).ok()?.trim().parse::<u64>().ok());
        weights.sum::<u64>().max(V2.usual)
    }

    /// CPU time and refused forks so far.
    fn counted(&self, path: &str) -> Cleared {
        let number = |file, key| self.groups.number(self.counts, path, file, key);
        let service = match number("cpu.stat", Some("usage_usec")) {
            Some(micros) => micros.saturating_mul(1_000),
            None => number("cpuacct.usage", None).unwrap_or(0),
        };
        let refused =
            self.bounds.and_then(|bounds| self.groups.number(bounds, path, "pids.events", Some("max")));
        Cleared { service, refused: refused.unwrap_or(0), entered: 0 }
    }
}

impl Enforcer for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn whole(&self) -> Whole {
        self.whole
    }

    fn means(&self) -> String {
        let version = if self.groups.is_v2(self.weights) { 2 } else { 1 };
        let top = self.groups.directory(self.weights, "");
        let place = top.parent().unwrap_or(&top);
        format!("{} of groups in {} (v{version})", self.range().file, place.display())
    }

    fn service_unit(&self) -> ServiceUnit {
        ServiceUnit::CpuNanos
    }

    fn make(&mut self, tree: &Tree, id: Id) -> io::Result<()> {
        let is_queue = tree.get(id).is_some_and(|found| found.kind == Kind::Queue);
        self.groups.make(&tree.path(id), is_queue)
    }

    fn remove(&mut self, tree: &Tree, id: Id) -> io::Result<()> {
        let path = &tree.path(id);
        self.groups.remove(path)?;
        self.written.remove(&id);
        self.cleared.remove(path);
        Ok(())
    }

    fn apply(&mut self, tree: &Tree, parent: Id) -> io::Result<()> {
        let range = self.range();
        let standing = tree.standing(parent);
        let largest = standing.iter().map(|(_, amount)| *amount).max().unwrap_or(0).max(1);
        for (id, amount) in standing {
            let weight = (u128::from(amount) * u128::from(range.most))
                .saturating_add(u128::from(largest / 2))
                / u128::from(largest);
            let weight = u64::try_from(weight).unwrap_or(range.most).clamp(range.least, range.most);
            self.weigh(tree, id, weight)?;
        }
        if parent == ROOT {
            let free = tree.unpromised(ROOT);
            let reserved = self.whole.amount - free;
            let weight = u128::from(self.rest()) * u128::from(reserved) / u128::from(free.max(1));
            let weight = u64::try_from(weight).unwrap_or(range.most).clamp(range.usual, range.most);
            self.weigh(tree, ROOT, weight)?;
        }
        Ok(())
    }

    fn bound(&mut self, path: &str, backlog: &Backlog) -> io::Result<()> {
        let unsupported = |why: &str| io::Error::new(io::ErrorKind::Unsupported, why.to_owned());
        if backlog.service != Bound::None {
            return Err(unsupported(
                "how much CPU time a process will ask for is not known: write max for it",
            ));
        }
        match (self.bounds, backlog.requests) {
            (Some(bounds), requests) => {
                let most = match requests {
                    Bound::None => "max".to_owned(),
                    Bound::Most(most) => most.to_string(),
                };
                put(&self.groups.directory(bounds, path).join("pids.max"), &most)?;
            }
            (None, Bound::None) => {}
            (None, Bound::Most(_)) => {
                return Err(unsupported("the pids controller is missing here: write max for the requests"));
            }
        }
        self.cleared.insert(path.to_owned(), self.counted(path));
        Ok(())
    }

    fn enter(&mut self, path: &str, pid: i32) -> io::Result<()> {
        self.groups.enter(path, pid)?;
        self.cleared.entry(path.to_owned()).or_default().entered += 1;
        Ok(())
    }

    fn enter_thread(&mut self, path: &str, pid: i32, tid: i32) -> io::Result<()> {
        if crate::proc::process_of(tid.cast_unsigned()) != Some(pid) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        self.groups.enter_thread(path, tid, self.weights).map_err(|error| match error.kind() {
            io::ErrorKind::Unsupported => io::Error::new(error.kind(), NO_THREADS),
            _ => error,
        })?;
        self.cleared.entry(path.to_owned()).or_default().entered += 1;
        Ok(())
    }

    fn queue_of_thread(&self, tid: i32) -> Option<String> {
        self.groups.queue_of(tid)
    }

    fn queue_of(&self, pid: i32) -> Option<String> {
        self.groups.queue_of(pid)
    }

    fn shares_groups(&self) -> bool {
        self.groups.is_v2(self.weights)
    }

    fn is_used(&self, path: &str) -> bool {
        !self.groups.processes(path).is_empty()
    }

    fn usage(&self, path: &str) -> Usage {
        let (now, then) = (self.counted(path), self.cleared.get(path).copied().unwrap_or_default());
        Usage {
            requests: then.entered,
            service: now.service.saturating_sub(then.service),
            refused: now.refused.saturating_sub(then.refused),
            asked: self.groups.runnable(path) * CPU,
            processes: self.groups.processes(path).len() as u64,
        }
    }

    fn restore(&mut self) -> io::Result<()> {
        self.groups.restore()
    }
}
