//! BFQ weights, for what the gate does not see.
//!
//! Problem: page faults of mapped files, directories and the kernel's own writing pass the gate by. Approach: where somebody has selected BFQ for a
//! disk, the processes of its reservations are in control groups whose weights for this disk are their queues' parts of it. BFQ is not
//! selected here: whoever chose another scheduler keeps it.
//!
//! v1's hierarchy of disks is one for all of them, while a process may be in a reservation of each. So there is a flat group per
//! *combination* of queues, in which each disk has a weight of its own:
//!
//! ```text
//!   blkio/lull-…-1/q0   blkio.bfq.weight_device   7:0 500
//!                                                 8:0 20        in loop0/r0/q0 and in sda/r3/q0
//! ```
//! A flat weight is what a queue would have of its disk if all were busy. Against the rest of the machine the tree weighs as much as
//! is reserved of the disk.
//!
//! Edge cases: v2 has one tree for all resources, and the CPU's reservations are in it: nothing is done there. What is written late is
//! nobody's on v1.
//!
//! Source: `Documentation/block/bfq-iosched.rst`, section 4.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;

use lull_core::reserve::{Id, ROOT, Tree};

use super::super::groups::Groups;
use crate::cgroup::put;
use crate::probe::Facts;

const FILE: &str = "blkio.bfq.weight_device";
/// What BFQ takes, and what a group has that nobody weighs.
const LEAST: u64 = 1;
const MOST: u64 = 1_000;
const USUAL: u64 = 100;

/// The disks' queues in which a process is.
type Queues = BTreeMap<usize, Id>;

pub(super) struct Bfq {
    groups: Groups,
    top: usize,
    /// Name and number of each disk for which BFQ is selected, by the gate's number.
    disks: BTreeMap<usize, String>,
    trees: BTreeMap<usize, Tree>,
    combinations: BTreeMap<String, Queues>,
    next: u32,
    written: HashMap<(String, usize), u64>,
}

/// The number of a disk for which BFQ is selected.
fn device_with_bfq(name: &str) -> Option<String> {
    let read = |file: &str| fs::read_to_string(format!("/sys/block/{name}/{file}")).ok();
    let selected = read("queue/scheduler")?.contains("[bfq]");
    selected.then(|| read("dev").map(|text| text.trim().to_owned()))?
}

/// A queue's part of the whole if all were busy, in parts of [`MOST`].
fn weight(tree: &Tree, id: Id) -> u64 {
    let mut line: Vec<Id> = tree.upwards(id).collect();
    line.reverse();
    let part = line.windows(2).fold(1.0, |part, pair| {
        let standing = tree.standing(pair[0]);
        let sum = standing.iter().map(|(_, amount)| *amount as f64).sum::<f64>().max(1.0);
        let own = standing.iter().find(|(one, _)| *one == pair[1]).map_or(0.0, |(_, amount)| *amount as f64);
        part * own / sum
    });
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of one, of a small number"
    )]
    let weight = (part * MOST as f64).round() as u64;
    weight.clamp(LEAST, MOST)
}

/// What the tree weighs against the rest of the machine.
fn weight_of_tree(tree: &Tree) -> u64 {
    let free = tree.unpromised(ROOT);
    let reserved = tree.whole().amount - free;
    (USUAL * reserved / free.max(1)).clamp(USUAL, MOST)
}

impl Bfq {
    /// `None` where no disk uses BFQ, or there are no groups for it.
    pub(super) fn start(facts: &Facts, name: &str, disks: &[String]) -> Option<Self> {
        let numbered = disks.iter().enumerate();
        let disks: BTreeMap<_, _> =
            numbered.filter_map(|(index, disk)| Some((index, device_with_bfq(disk)?))).collect();
        let hierarchy = facts.cgroups.v1_of("blkio").filter(|_| !disks.is_empty())?;
        let mut groups = Groups::new(name);
        let top = groups.add(hierarchy, &[FILE]).ok()?;
        let (trees, combinations, written) = (BTreeMap::new(), BTreeMap::new(), HashMap::new());
        Some(Self { groups, top, disks, trees, combinations, next: 0, written })
    }

    pub(super) fn serves(&self, disk: usize) -> bool {
        self.disks.contains_key(&disk)
    }

    fn write(&mut self, path: &str, disk: usize, weight: u64) -> io::Result<()> {
        let Some(device) = self.disks.get(&disk) else { return Ok(()) };
        let key = (path.to_owned(), disk);
        if self.written.get(&key) != Some(&weight) {
            put(&self.groups.directory(self.top, path).join(FILE), &format!("{device} {weight}"))?;
            self.written.insert(key, weight);
        }
        Ok(())
    }

    fn weigh(&mut self, path: &str) -> io::Result<()> {
        let queues = self.combinations.get(path).cloned().unwrap_or_default();
        for (disk, id) in queues {
            if let Some(weight) = self.trees.get(&disk).map(|tree| weight(tree, id)) {
                self.write(path, disk, weight)?;
            }
        }
        Ok(())
    }

    /// A disk's tree has changed.
    pub(super) fn set_tree(&mut self, disk: usize, tree: &Tree) -> io::Result<()> {
        self.trees.insert(disk, tree.clone());
        self.write("", disk, weight_of_tree(tree))?;
        let paths: Vec<String> = self.combinations.keys().cloned().collect();
        for path in paths {
            // Its processes have ended, or gone to another combination.
            if self.groups.processes(&path).is_empty() && self.groups.remove(&path).is_ok() {
                self.combinations.remove(&path);
                self.written.retain(|(of, _), _| *of != path);
            } else {
                self.weigh(&path)?;
            }
        }
        Ok(())
    }

    /// A process enters a queue of a disk.
    pub(super) fn enter(&mut self, disk: usize, id: Id, pid: i32) -> io::Result<()> {
        let before = self.groups.queue_of(pid).and_then(|path| self.combinations.get(&path));
        let mut queues = before.cloned().unwrap_or_default();
        queues.insert(disk, id);
        let found = self.combinations.iter().find(|(_, of)| **of == queues).map(|(path, _)| path.clone());
        let path = match found {
            Some(path) => path,
            None => {
                let path = format!("q{}", self.next);
                self.next += 1;
                self.groups.make(&path, true)?;
                self.combinations.insert(path.clone(), queues);
                path
            }
        };
        self.weigh(&path)?;
        self.groups.enter(&path, pid)
    }

    pub(super) fn restore(&mut self) -> io::Result<()> {
        self.combinations.clear();
        self.written.clear();
        self.groups.restore()
    }
}
