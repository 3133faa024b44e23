//! Move-to-rear list scheduling (MTR-LS): a CPU among processes that block when they like.
//!
//! Problem: how long a process will run is not known, and one that waits for a disk now and then gets less than its share where it
//! loses its turn each time it blocks (as under round robin). Approach: all processes, those that are blocked too, stand in one list. Each has a
//! *quantum*, its share of a round `T`. The first in the list that can run does, until its quantum is used up: only then it moves to
//! the rear, with a new one. One that blocks keeps its place and what is left of its quantum; when it wakes it preempts
//! whoever stands behind it.
//!
//! ```text
//!   list:  A (blocked, 2 ms left) ── B (runs, 6 ms left) ── C (can run, 10 ms)
//!          A wakes: A runs ─ its 2 ms are over: B ── C ── A (10 ms)
//! ```
//!
//! *Cumulative service.* Let the shares add up to at most 1, and look at process `i` with share `a` (quantum `aT`), from the moment it
//! joined, at the rear. Whoever stands before it runs for at most what is left of one quantum and is then behind it; nobody ever gets
//! before it. So for each quantum of its own it waits, able to run, for at most `(1 - a) T`. With `x` the service it got and `R` the
//! time in which it could run: `R <= x + (1 - a) T · ceil(x / aT)`, one more at the start of the next quantum. Hence
//!
//! ```text
//!   x  >=  a R  -  a (1 - a) T
//! ```
//!
//! whenever and however often it blocks. `a (1 - a)` is a quarter at most: never more than a quarter of a round is missing. No
//! scheduler that does not know lengths does better by more than a constant (the paper's *optimal cumulative service*).
//!
//! *Fairness.* Of two processes that both can run all the time, exhausted quanta alternate, so what they got per share differs by less
//! than `2T` over any span.
//!
//! Edge cases: shares may be lent beyond 1 (weights among more processes): a round then takes longer, in proportion. A process that
//! leaves takes its quantum with it. A share of nothing gives a quantum of a nanosecond. Units: nanoseconds of CPU.
//!
//! Source: R-10; Bruno, Gabber, Özden and Silberschatz, *The Eclipse Operating System*, USENIX 1998, and Eclipse/BSD, section 3.1.

use super::QueueId;
use crate::base::share::Share;
use crate::base::time::Nanos;

#[derive(Clone, Debug)]
struct Entry {
    id: QueueId,
    quantum: Nanos,
    left: Nanos,
    can_run: bool,
}

/// The list.
#[derive(Clone, Debug)]
pub struct MtrLs {
    round: Nanos,
    list: Vec<Entry>,
}

impl MtrLs {
    /// Nobody yet; a share of everything is a quantum of `round`.
    pub fn new(round: Nanos) -> Self {
        Self { round, list: Vec::new() }
    }

    fn quantum(&self, share: Share) -> Nanos {
        share.of(self.round).max(Nanos(1))
    }

    /// A process joins, blocked, at the rear; one that is there gets another share, which counts from its next quantum on (and at once if
    /// it is smaller than what is left).
    pub fn set(&mut self, id: QueueId, share: Share) {
        let quantum = self.quantum(share);
        match self.list.iter_mut().find(|entry| entry.id == id) {
            Some(entry) => (entry.quantum, entry.left) = (quantum, entry.left.min(quantum)),
            None => self.list.push(Entry { id, quantum, left: quantum, can_run: false }),
        }
    }

    /// A process leaves.
    pub fn remove(&mut self, id: QueueId) {
        self.list.retain(|entry| entry.id != id);
    }

    /// A process can run.
    pub fn wake(&mut self, id: QueueId) {
        self.set_can_run(id, true);
    }

    /// A process blocks; its place and what is left of its quantum stay.
    pub fn block(&mut self, id: QueueId) {
        self.set_can_run(id, false);
    }

    fn set_can_run(&mut self, id: QueueId, can_run: bool) {
        if let Some(entry) = self.list.iter_mut().find(|entry| entry.id == id) {
            entry.can_run = can_run;
        }
    }

    /// Who runs now, and for how long at most unless someone wakes.
    pub fn next(&self) -> Option<(QueueId, Nanos)> {
        self.list.iter().find(|entry| entry.can_run).map(|entry| (entry.id, entry.left))
    }

    /// A process has run for `span`.
    pub fn ran(&mut self, id: QueueId, span: Nanos) {
        let Some(at) = self.list.iter().position(|entry| entry.id == id) else { return };
        let entry = &mut self.list[at];
        entry.left = entry.left.since(span);
        if entry.left == Nanos::ZERO {
            let mut entry = self.list.remove(at);
            entry.left = entry.quantum;
            self.list.push(entry);
        }
    }

    /// Panics unless all that must hold does hold.
    ///
    /// # Panics
    /// When an invariant is broken: that is a bug in this crate.
    pub fn check_invariants(&self) {
        for (at, entry) in self.list.iter().enumerate() {
            assert!(entry.left > Nanos::ZERO, "who has used up a quantum has got another");
            assert!(entry.left <= entry.quantum, "no more is left than a quantum");
            assert!(self.list.iter().skip(at + 1).all(|other| other.id != entry.id), "each stands once");
        }
        let can_run = self.list.iter().any(|entry| entry.can_run);
        assert_eq!(self.next().is_some(), can_run, "somebody runs exactly if somebody can");
    }
}

#[cfg(test)]
mod tests;
