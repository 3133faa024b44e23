//! Who uses a node's CPUs: its owner, a batch system's guests, or the batch system itself.
//!
//! Problem: a publisher without any rights is to say what the owner of a node uses, what guests get, and what they cost him. Approach: every
//! process is told by its descent. What descends from a *starter* (the daemon that starts one guest) is a guest's; what else descends from
//! the batch system's *master* is the batch system's; all the rest that is no kernel thread is the owner's. Two countings are compared:
//!
//! - processor time, of `/proc/PID/stat` with the children that a process has waited for, so that what short programs did is not lost;
//! - of threads that live in both, the time that they ran and the time that they could have run and waited for a CPU
//!   (`/proc/PID/task/TID/schedstat`).
//!
//! Waiting over waiting and running is the share of a CPU that somebody wanted and did not get. For the owner it is an upper bound of what guests
//! cost him: his own programs wait for each other, too.
//!
//! What was a guest's once stays a guest's: helpers of a guest that has ended outlive its starter, and what they use and have used is not the owner's. For the same
//! reason the first process is nobody's: it waits for them, and what it has waited for adds up in it.
//!
//! Units: nanoseconds. Edge cases: where a process dies that nobody waits for, the sum of its class steps back, and counts as nothing for that span.
//! Without schedstat nobody waits. In a PID namespace only what is in there is counted.
//!
//! Source: proc_pid_stat(5); `Documentation/scheduler/sched-stats.rst`.

use std::collections::HashMap;

use lull_core::Nanos;

use crate::proc::{self, StatLine, all, ticks};
use crate::root::Root;

/// The names of a batch system's daemons, as `/proc/PID/comm` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Daemons {
    /// From which all others descend.
    pub master: &'static str,
    /// Whose children are a guest's.
    pub starter: &'static str,
}

/// What one of the three used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Processor time.
    pub cpu: Nanos,
    /// Time that threads ran.
    pub ran: Nanos,
    /// Time that threads waited for a CPU.
    pub waited: Nanos,
}

impl Use {
    /// The share of a CPU that was wanted and not had; `None` where nothing was wanted.
    pub fn missed(&self) -> Option<f64> {
        let wanted_s = self.ran.plus(self.waited).as_secs_f64();
        (wanted_s > 0.0).then(|| self.waited.as_secs_f64() / wanted_s)
    }
}

/// What was used between two countings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tenants {
    /// By the owner.
    pub owner: Use,
    /// By guests.
    pub guests: Use,
    /// How many guests there are now.
    pub guest_count: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Owner,
    /// Of this starter.
    Guest(i32),
    Neither,
}

/// A thread for as long as it lives: its ids, and when it started.
type Thread = (i32, i32);

/// A process for as long as it lives: its id, and when it started.
type Life = (i32, u64);

/// All processes at a moment.
#[derive(Clone, Debug, Default)]
pub struct Count {
    processes: HashMap<Life, (Whose, Nanos)>,
    guest_count: usize,
    threads: HashMap<Thread, (Whose, Nanos, Nanos)>,
}

#[derive(Debug)]
struct Process {
    name: String,
    stat: StatLine,
}

impl Process {
    fn of(root: &Root, pid: i32) -> Option<Self> {
        Some(Self { name: root.read(format!("/proc/{pid}/comm"))?, stat: StatLine::read(root, pid)? })
    }
}

/// The process that waits for those that have lost their parents.
const INIT: i32 = 1;

/// `comm` holds no more of a name.
const COMM_BYTES: usize = 15;

fn is(process: &Process, daemon: &str) -> bool {
    process.name == daemon.get(..COMM_BYTES).unwrap_or(daemon)
}

/// A process of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestProcess {
    /// The process.
    pub pid: i32,
    /// The starter from which it descends.
    pub starter: i32,
}

/// All processes of guests now.
pub fn guests(root: &Root, daemons: Daemons) -> Vec<GuestProcess> {
    let processes = processes(root);
    let of = |pid: &i32| match whose(&processes, *pid, daemons, &HashMap::new()) {
        Whose::Guest(starter) => Some(GuestProcess { pid: *pid, starter }),
        _ => None,
    };
    processes.keys().filter_map(of).collect()
}

fn processes(root: &Root) -> HashMap<i32, Process> {
    all().into_iter().filter_map(|pid| Some((pid, Process::of(root, pid)?))).collect()
}

impl Count {
    /// Counts now, for the first time.
    pub fn now(root: &Root, daemons: Daemons) -> Self {
        Self::default().next(root, daemons)
    }

    /// Counts now. What was a guest's at this count still is, with all that descends from it.
    #[must_use]
    pub fn next(&self, root: &Root, daemons: Daemons) -> Self {
        let processes = processes(root);
        let mut count = Self::default();
        for (pid, process) in &processes {
            // The first process waits for whoever has lost a parent: helpers of a guest that has just ended, too.
            if process.stat.is_kernel_thread() || *pid == INIT {
                continue;
            }
            let mut whose = whose(&processes, *pid, daemons, &self.processes);
            let children = process.stat.childrens_ticks().unwrap_or(0);
            let mut used = process.stat.own_ticks().unwrap_or(0) + children;
            // What a starter waited for was a guest's.
            if is(process, daemons.starter) {
                whose = Whose::Guest(*pid);
                count.guest_count +=
                    usize::from(processes.values().any(|child| child.stat.parent() == Some(*pid)));
                used = children;
            } else {
                for (thread, ran, waited) in threads(*pid).filter(|_| whose != Whose::Neither) {
                    count.threads.insert((*pid, thread), (whose, ran, waited));
                }
            }
            count.processes.insert(life(*pid, process), (whose, ticks(used)));
        }
        count
    }

    /// The processor time of all of a class.
    fn cpu(&self, is_it: impl Fn(Whose) -> bool) -> Nanos {
        let times = self.processes.values().filter(|(whose, _)| is_it(*whose));
        times.fold(Nanos::ZERO, |sum, (_, cpu)| sum.plus(*cpu))
    }

    /// What was used since `earlier`.
    pub fn since(&self, earlier: &Self) -> Tenants {
        let is_owner = |whose| whose == Whose::Owner;
        let is_guest = |whose| matches!(whose, Whose::Guest(_));
        let mut tenants = Tenants { guest_count: self.guest_count, ..Tenants::default() };
        tenants.owner.cpu = self.cpu(is_owner).since(earlier.cpu(is_owner));
        tenants.guests.cpu = self.cpu(is_guest).since(earlier.cpu(is_guest));
        for (thread, (whose, ran, waited)) in &self.threads {
            let used = match whose {
                Whose::Owner => &mut tenants.owner,
                Whose::Guest(_) => &mut tenants.guests,
                Whose::Neither => continue,
            };
            // An id that was given again has counted less before.
            let before = earlier.threads.get(thread).filter(|(was, before, _)| was == whose && before <= ran);
            let (_, ran_before, waited_before) =
                before.copied().unwrap_or((*whose, Nanos::ZERO, Nanos::ZERO));
            used.ran = used.ran.plus(ran.since(ran_before));
            used.waited = used.waited.plus(waited.since(waited_before));
        }
        tenants
    }
}

fn life(pid: i32, process: &Process) -> Life {
    (pid, process.stat.start_ticks().unwrap_or(0))
}

/// By its nearest ancestor that says so, itself included where it was a guest's before.
fn whose(
    processes: &HashMap<i32, Process>,
    pid: i32,
    daemons: Daemons,
    earlier: &HashMap<Life, (Whose, Nanos)>,
) -> Whose {
    let mut at = pid;
    // Parents may change while they are read: a circle ends.
    for _ in 0..processes.len() {
        let Some(process) = processes.get(&at) else { return Whose::Owner };
        if at != pid && is(process, daemons.starter) {
            return Whose::Guest(at);
        }
        if is(process, daemons.master) {
            return Whose::Neither;
        }
        if let Some((whose @ Whose::Guest(_), _)) = earlier.get(&life(at, process)) {
            return *whose;
        }
        let Some(parent) = process.stat.parent() else { return Whose::Owner };
        at = parent;
    }
    Whose::Owner
}

/// Its threads, with the time that each ran and waited.
fn threads(pid: i32) -> impl Iterator<Item = (i32, Nanos, Nanos)> {
    proc::threads(pid).into_iter().filter_map(move |tid| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
        let (ran, waited) = schedstat(&text)?;
        Some((tid, ran, waited))
    })
}

fn schedstat(text: &str) -> Option<(Nanos, Nanos)> {
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((Nanos(numbers.next()?.ok()?), Nanos(numbers.next()?.ok()?)))
}

#[cfg(test)]
mod tests;
