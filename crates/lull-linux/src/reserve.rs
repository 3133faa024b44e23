//! What makes reservations hold: the kernel's control groups.
//!
//! Problem: [`lull_core::reserve`] says who gets what; something must see to it. Approach: one [`Enforcer`] per resource, behind one trait, so
//! that a resource is added by one line in [`Enforcement::find`].
//!
//! | resource | v1 | v2 |
//! |---|---|---|
//! | CPU | `cpu.shares`, counted by `cpuacct` or v2, bounded by `pids.max` | `cpu.weight`, `pids.max` |
//! | memory | `memory.limit_in_bytes` | `memory.min`, `memory.low` |
//!
//! Disks are kept by lull itself ([`disk`]), interfaces by HTB ([`net`]), as one more enforcer each.
//!
//! A reservation is a group, a queue is one that takes processes. Each enforcer has a tree of groups of its own, whose top is named like a
//! job's group (`lull-PID-START-NS-N`): whoever finds it knows whose it is, and `lull run` in a reservation stays inside.
//!
//! *No trace.* [`Enforcer::restore`] moves what still runs to where it came from and removes the groups. After a crash processes go on with
//! the weights that they had, until [`sweep()`] does the same for the dead owner's groups; it moves processes to the group above.

use std::io;

use lull_core::reserve::{Backlog, Id, Tree, Whole};
use serde::Serialize;

use crate::cgroup::GroupName;
use crate::probe::Facts;
use crate::root::Root;

mod cpu;
pub mod disk;
mod groups;
mod memory;
pub mod net;
pub mod sweep;

pub use sweep::sweep;

/// What a queue has had, and has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Requests served since the counts were cleared.
    pub requests: u64,
    /// Service provided since then, in [`Enforcer::service_unit`].
    pub service: u64,
    /// Requests that were refused because the backlog was full.
    pub refused: u64,
    /// What is asked for now, in the resource's unit.
    pub asked: u64,
    /// Processes in it.
    pub processes: u64,
}

/// What came for a queue since that was last bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Input {
    /// Packets that were let through.
    pub packets: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// Packets that were dropped because too much waited.
    pub refused: u64,
}

/// What service is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServiceUnit {
    /// Nanoseconds of CPU time: grows.
    CpuNanos,
    /// Bytes held now: goes up and down.
    BytesHeld,
    /// Bytes read and written: grows.
    BytesMoved,
    /// Bytes that left: grows.
    BytesSent,
}

/// Makes the reservations of one resource hold.
pub trait Enforcer: Send {
    /// The resource's name: its directory.
    fn name(&self) -> &str;
    /// How much there is.
    fn whole(&self) -> Whole;
    /// By what it is enforced, for people.
    fn means(&self) -> String;
    /// What [`Usage::service`] counts.
    fn service_unit(&self) -> ServiceUnit;
    /// A reservation came to be.
    ///
    /// # Errors
    /// The kernel's; then it must not come to be.
    fn make(&mut self, tree: &Tree, id: Id) -> io::Result<()>;
    /// A reservation without children, in which nothing runs, goes.
    ///
    /// # Errors
    /// The kernel's; then it stays.
    fn remove(&mut self, tree: &Tree, id: Id) -> io::Result<()>;
    /// The terms of this one's children changed, or which children it has.
    ///
    /// # Errors
    /// The kernel's.
    fn apply(&mut self, tree: &Tree, parent: Id) -> io::Result<()>;
    /// Bounds what may wait in a queue and clears its counts.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] for a bound that this resource cannot have, with the reason; else the kernel's.
    fn bound(&mut self, path: &str, backlog: &Backlog) -> io::Result<()>;
    /// Bounds what may wait at each socket of a queue of what comes, and clears the counts of that.
    ///
    /// # Errors
    /// As [`Self::bound`].
    fn bound_input(&mut self, _path: &str, _most: &Backlog) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// What came for a queue; `None` for a resource of which nothing comes.
    fn input(&self, _path: &str) -> Option<Input> {
        None
    }
    /// Moves a process, with all its threads, to a queue.
    ///
    /// # Errors
    /// The kernel's.
    fn enter(&mut self, path: &str, pid: i32) -> io::Result<()>;
    /// Moves one thread of a process to a queue.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where a process moves as a whole, with the reason; else the kernel's.
    fn enter_thread(&mut self, _path: &str, _pid: i32, _tid: i32) -> io::Result<()> {
        let why = "a thread has no queue of its own here: its requests are told by process, or by descriptor";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }
    /// The queue in which a thread is, where threads have queues of their own.
    fn queue_of_thread(&self, _tid: i32) -> Option<String> {
        None
    }
    /// Switches the queue of one descriptor of a process; `None` gives it that of its process again.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] where requests are not told by descriptors, with the reason; else the kernel's.
    fn tag(&mut self, _path: Option<&str>, _pid: i32, _fd: i32) -> io::Result<()> {
        let why = "requests of this resource do not come through descriptors: name a queue of a disk or of an interface";
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }
    /// The queue that requests through a descriptor are in; `None` if it is of another resource, or in no queue.
    fn queue_of_descriptor(&self, _pid: i32, _fd: i32) -> Option<String> {
        None
    }
    /// The queue in which a process is; `None` outside of the tree.
    fn queue_of(&self, pid: i32) -> Option<String>;
    /// Whether a process in one of its queues is in that of the same path of another resource, too.
    fn shares_groups(&self) -> bool {
        false
    }
    /// Whether a process uses this queue.
    fn is_used(&self, path: &str) -> bool;
    /// What a queue has had and has.
    fn usage(&self, path: &str) -> Usage;
    /// Moves what still runs out, and removes everything.
    ///
    /// # Errors
    /// The first of the kernel's, after everything had its turn.
    fn restore(&mut self) -> io::Result<()>;
}

/// A resource that can be reserved here, or why it cannot.
pub struct Choice {
    /// The resource.
    pub name: String,
    /// Who enforces it.
    pub enforcer: Result<Box<dyn Enforcer>, String>,
}

/// What [`Choice`] says, without the groups.
#[derive(Clone, Debug, Serialize)]
pub struct Told {
    /// The resource.
    pub name: String,
    /// Whether its reservations hold here.
    pub enforced: bool,
    /// By what, or why not.
    pub means: String,
}

/// Enforcers for everything that can be reserved here.
pub struct Enforcement;

impl Enforcement {
    /// Tries each resource. Groups are made, with nothing in them; [`Enforcer::restore`] removes them. With `threads` those of v2 take single
    /// threads, and no memory is kept.
    pub fn find(facts: &Facts, interfaces: Vec<net::Plan>, threads: bool) -> Vec<Choice> {
        let name = GroupName::next(&Root::real()).to_string();
        let joint = groups::Joint::default();
        let cpu = cpu::Cpu::start(facts, &name, &joint, threads).map(boxed);
        let mut all = vec![
            Choice { name: "cpu".to_owned(), enforcer: cpu },
            Choice { name: "mem".to_owned(), enforcer: memory::start(facts, &name, &joint, threads) },
        ];
        all.extend(disk::find(facts, &name));
        all.extend(net::find(interfaces));
        all
    }

    /// The same in words; nothing is left.
    pub fn tell(facts: &Facts) -> Vec<Told> {
        let tell = |choice: Choice| match choice.enforcer {
            Ok(mut enforcer) => {
                let means = enforcer.means();
                // What cannot be removed has no process and no effect; the next sweep removes it.
                let _swept_later = enforcer.restore();
                Told { name: choice.name, enforced: true, means }
            }
            Err(why) => Told { name: choice.name, enforced: false, means: why },
        };
        Self::find(facts, Vec::new(), false).into_iter().map(tell).collect()
    }
}

fn boxed<E: Enforcer + 'static>(enforcer: E) -> Box<dyn Enforcer> {
    Box::new(enforcer)
}

#[cfg(test)]
mod tests;
