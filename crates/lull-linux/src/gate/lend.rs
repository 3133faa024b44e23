//! Lending the job some of the CPUs.
//!
//! Problem: with more CPUs than the foreground uses, a job need not stop when the foreground comes, if it keeps to the CPUs
//! whose use does no harm. Approach: policy says how many CPUs to lend; [`choose`] says which: those that the foreground
//! uses least, whole cores before parts of one, since a sibling's work slows the foreground's core, and node by node, since memory and the
//! outermost cache are shared there. [`Lender`] confines the job to them, through its group's cpuset where there is one, else by the affinity of each of its threads.
//!
//! ```text
//!            lend(some)                     lend(some)
//!   all ───────────────▶ confined ────────────────────▶ confined to others
//!    ▲                      │                               │
//!    └──────────────────────┴──────── restore(), drop ──────┘
//! ```
//!
//! *By affinity.* Threads come and go, so the job is gone through until a round finds no new thread. What a thread had
//! before is kept and given back; a choice that the job makes meanwhile replaces it. A thread that chose CPUs of its own
//! keeps to those of them that are lent; if none is, it is left alone. A new thread inherits its parent's confined affinity:
//! what it would have had is what its process, or its parent process, had.
//!
//! *Asking and choosing.* `sched_getaffinity` would tell of the moment's CPUs, and `sched_setaffinity` refuses CPUs that are not lent.
//! So these calls are made while the job has everything ([`Lender::widen`], [`Lender::narrow`]): the kernel answers as without lull, keeps the
//! thread's choice, and follows it within what is lent, where that is possible.
//!
//! Edge cases: after kill -9 of the owner, a cpuset is widened by whoever opens the group next
//! ([`sweep_leftovers`](crate::leftovers::sweep), or [`JobGroup::confinement`](crate::cgroup::JobGroup::confinement)
//! in a guardian), and affinities by [`release`]. A CPU that is switched off meanwhile leaves a cpuset by itself.
//!
//! Source: sched_setaffinity(2), cpusets.rst.

use std::collections::{BTreeSet, HashMap};
use std::io;

use crate::cgroup::{Confinement, JobGroup};
use crate::proc::{parent_of, threads};
use crate::root::Root;
use crate::topology::cpus::{CpuSet, cores, nodes};

/// Rounds in search of new threads. Each catches the children of the one before; a job that forks faster is caught next time.
const ROUNDS: usize = 16;
/// Words of an affinity: room for 8192 CPUs.
const MASK_WORDS: usize = 128;

/// A core of which the foreground uses more than this share is lent after all others, wherever it is.
const BUSY: f64 = 0.5;

/// Which `count` of the CPUs in `cores` to lend, first those of the one of `nodes` that the foreground uses least: `used` is what share of a CPU the foreground uses, from 0 to 1. CPUs that
/// are lent already stay so unless others are used less by more than `margin`, so that the job is not moved about for
/// nothing. Among equals those with higher numbers are lent, as interrupts and old habits favour the lower ones.
pub fn choose(
    nodes: &[CpuSet],
    cores: &[CpuSet],
    count: usize,
    used: impl Fn(u32) -> f64,
    lent: &CpuSet,
    margin: f64,
) -> CpuSet {
    let burden = |cpu: u32| used(cpu) - if lent.contains(cpu) { margin } else { 0.0 };
    let mean = |cpus: &CpuSet| cpus.iter().map(burden).sum::<f64>() / cpus.len().max(1) as f64;
    let node_of = |core: &CpuSet| nodes.iter().find(|node| core.iter().any(|cpu| node.contains(cpu)));
    let mut ranked: Vec<(bool, f64, f64, Vec<u32>)> = cores
        .iter()
        .filter(|core| !core.is_empty())
        .map(|core| {
            let mut cpus: Vec<u32> = core.iter().collect();
            cpus.sort_by(|a, b| burden(*a).total_cmp(&burden(*b)).then(b.cmp(a)));
            (mean(core) > BUSY, node_of(core).map_or(0.0, mean), core.iter().map(burden).sum(), cpus)
        })
        .collect();
    ranked.sort_by(|a, b| {
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2)).then(b.3.cmp(&a.3))
    });
    ranked.into_iter().flat_map(|(.., cpus)| cpus).take(count).collect()
}

/// Finds the job's processes.
pub type Pids = Box<dyn FnMut() -> Vec<i32> + Send>;

/// Confines a job to the CPUs that it is lent. Gives all back when dropped.
pub struct Lender {
    how: How,
    all: CpuSet,
    nodes: Vec<CpuSet>,
    cores: Vec<CpuSet>,
    lent: CpuSet,
    /// For the moment the job has all CPUs.
    is_wide: bool,
}

enum How {
    Group(Confinement),
    Threads { pids: Pids, affinities: Affinities },
}

impl How {
    /// Confines the job, or gives it everything.
    fn set(&mut self, cpus: Option<&CpuSet>) -> io::Result<()> {
        match self {
            Self::Group(group) => group.set(cpus),
            Self::Threads { pids, affinities } => {
                affinities.apply(&mut **pids, cpus);
                Ok(())
            }
        }
    }
}

impl std::fmt::Debug for Lender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lender").field("all", &self.all).field("lent", &self.lent).finish_non_exhaustive()
    }
}

impl Lender {
    /// For a job in `group`, or without one, or in one without a cpuset, for the processes that `pids` finds.
    pub fn new(root: &Root, group: Option<&JobGroup>, pids: Pids) -> Self {
        let all = CpuSet::online(root);
        let how = match group.and_then(JobGroup::confinement) {
            Some(confinement) => How::Group(confinement),
            None => How::Threads { pids, affinities: Affinities::default() },
        };
        let (nodes, cores) = (nodes(root, &all), cores(root, &all));
        Self { how, nodes, cores, lent: all.clone(), all, is_wide: false }
    }

    /// The CPUs that there are to lend.
    pub const fn all(&self) -> &CpuSet {
        &self.all
    }

    /// The CPUs that are lent.
    pub const fn lent(&self) -> &CpuSet {
        &self.lent
    }

    /// Whether the job has fewer CPUs than there are.
    pub fn is_confined(&self) -> bool {
        self.lent != self.all
    }

    /// Gives the job all CPUs until [`Self::narrow`]; what is lent meanwhile counts from then on.
    pub fn widen(&mut self) {
        self.is_wide = self.is_wide || (self.is_confined() && self.how.set(None).is_ok());
    }

    /// Confines the job again to what is lent.
    pub fn narrow(&mut self) {
        if std::mem::take(&mut self.is_wide) && self.is_confined() && self.how.set(Some(&self.lent)).is_err()
        {
            self.lent = self.all.clone();
        }
    }

    /// Does one write confine the job, now and in the future? Else new threads of a job that forks have to be caught by
    /// lending again.
    pub const fn is_by_group(&self) -> bool {
        matches!(self.how, How::Group(_))
    }

    /// Lends `count` CPUs, at least one: those that the foreground uses least.
    ///
    /// # Errors
    /// When the kernel refuses; the job then keeps what it had.
    pub fn lend(&mut self, count: usize, used: impl Fn(u32) -> f64, margin: f64) -> io::Result<&CpuSet> {
        if count >= self.all.len() {
            self.restore()?;
        } else {
            // What is lent in full binds nobody to its CPUs.
            let none = CpuSet::default();
            let lent = if self.lent == self.all { &none } else { &self.lent };
            let chosen = choose(&self.nodes, &self.cores, count.max(1), used, lent, margin);
            self.confine(&chosen)?;
        }
        Ok(&self.lent)
    }

    /// Lends exactly these.
    ///
    /// # Errors
    /// As for [`Self::lend`].
    pub fn confine(&mut self, cpus: &CpuSet) -> io::Result<()> {
        // A new thread is in the group from its beginning.
        let stands = self.is_wide || (self.is_by_group() && self.lent == *cpus);
        if !stands {
            self.how.set(Some(cpus))?;
        }
        self.lent = cpus.clone();
        Ok(())
    }

    /// Lends all CPUs again, and gives threads the affinities that they had or chose.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn restore(&mut self) -> io::Result<()> {
        if self.is_confined() && !self.is_wide {
            self.how.set(None)?;
        }
        self.lent = self.all.clone();
        Ok(())
    }
}

impl Drop for Lender {
    fn drop(&mut self) {
        // The group may be gone with the job.
        let _ = self.restore();
    }
}

/// Has the threads of this process run on these CPUs only: what works for the job need not take a CPU from the foreground, and comes
/// before the job on the CPUs that the job has.
pub fn follow(cpus: &CpuSet) {
    for tid in std::process::id().try_into().map(threads).unwrap_or_default() {
        let _ended = set_affinity(tid, cpus);
    }
}

/// Gives all threads of `pids` all CPUs of `all`: for a guardian, which does not know what they had before.
pub fn release(pids: &[i32], all: &CpuSet) {
    for tid in pids.iter().flat_map(|pid| threads(*pid)) {
        let _ended = set_affinity(tid, all);
    }
}

#[derive(Clone, Debug)]
struct Thread {
    pid: i32,
    /// As the job has it.
    own: CpuSet,
    /// As set here.
    confined: CpuSet,
}

/// The affinities of a job's threads, as they were and as they are.
#[derive(Debug, Default)]
struct Affinities {
    threads: HashMap<i32, Thread>,
}

impl Affinities {
    /// Confines all threads to `cpus`, or gives all back what they had.
    fn apply(&mut self, pids: &mut dyn FnMut() -> Vec<i32>, cpus: Option<&CpuSet>) {
        let mut seen = BTreeSet::new();
        for _ in 0..ROUNDS {
            let mut found = Vec::new();
            for pid in pids() {
                let new = threads(pid).into_iter().filter(|tid| seen.insert(*tid));
                // All are looked at before any is confined: who is confined then inherited it. One that has ended needs
                // nothing.
                found.extend(new.filter_map(|tid| Some((pid, tid, affinity(tid).ok()?))));
            }
            if found.is_empty() {
                break;
            }
            let own: Vec<CpuSet> =
                found.iter().map(|(pid, tid, current)| self.own(*pid, *tid, current)).collect();
            for ((pid, tid, current), own) in found.into_iter().zip(own) {
                self.set(pid, tid, &current, own, cpus);
            }
        }
        self.threads.retain(|tid, _| seen.contains(tid));
    }

    /// What the thread has, or would have, if it were not confined.
    fn own(&self, pid: i32, tid: i32, current: &CpuSet) -> CpuSet {
        match self.threads.get(&tid) {
            Some(known) if known.confined == *current => known.own.clone(),
            Some(_) => current.clone(),
            None => self.inherited(pid, current),
        }
    }

    fn set(&mut self, pid: i32, tid: i32, current: &CpuSet, own: CpuSet, cpus: Option<&CpuSet>) {
        let lent = cpus.map_or_else(|| own.clone(), |cpus| own.and(cpus));
        let wanted = if lent.is_empty() { own.clone() } else { lent };
        if wanted == *current || set_affinity(tid, &wanted).is_ok() {
            self.threads.insert(tid, Thread { pid, own, confined: wanted });
        }
    }

    /// What a thread that is seen for the first time would have had, if nobody had confined its parent.
    fn inherited(&self, pid: i32, current: &CpuSet) -> CpuSet {
        let of = |process: i32| {
            self.threads.values().find(|known| known.pid == process && known.confined == *current)
        };
        let ancestor = of(pid).or_else(|| of(parent_of(pid)?));
        // A parent that has ended leaves its children to init: any thread that is confined alike tells.
        let alike = || self.threads.values().find(|known| known.confined == *current);
        ancestor.or_else(alike).map_or_else(|| current.clone(), |known| known.own.clone())
    }
}

/// The CPUs that a thread may use.
///
/// # Errors
/// When there is no such thread.
pub fn affinity(tid: i32) -> io::Result<CpuSet> {
    let mut mask = [0_u64; MASK_WORDS];
    // SAFETY: the kernel fills at most the given number of bytes.
    let bytes =
        unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid, size_of_val(&mask), mask.as_mut_ptr()) };
    if bytes < 0 {
        return Err(io::Error::last_os_error());
    }
    let is_set = |cpu: &u32| mask[*cpu as usize / 64] >> (cpu % 64) & 1 == 1;
    Ok((0..u32::try_from(MASK_WORDS * 64).unwrap_or(0)).filter(is_set).collect())
}

/// Lets a thread use these CPUs only.
///
/// # Errors
/// When there is no such thread, it is another user's, or none of the CPUs is switched on.
pub fn set_affinity(tid: i32, cpus: &CpuSet) -> io::Result<()> {
    let mut mask = [0_u64; MASK_WORDS];
    for cpu in cpus.iter() {
        if let Some(word) = mask.get_mut(cpu as usize / 64) {
            *word |= 1 << (cpu % 64);
        }
    }
    // SAFETY: the kernel reads the given number of bytes.
    let set = unsafe { libc::syscall(libc::SYS_sched_setaffinity, tid, size_of_val(&mask), mask.as_ptr()) };
    if set < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
