//! Yet another fair queueing (YFQ): a disk among queues, in batches.
//!
//! Problem: a disk serves one request after the other, none can be stopped, and it is fastest when it may choose the order itself. Approach:
//! each queue is first in, first out. Its first request has a *start tag* `S` and a *finish tag* `F = S + length / weight`. The smallest `F` is
//! selected. Up to `b` selected requests, a *batch*, are in the *sort queue* at once, where the disk may reorder them.
//!
//! ```text
//!   q0 ─▶ ▭▭▭▭ ─┐                          sort queue, b at most
//!   q1 ─▶ ▭     ├─ smallest F ─▶ select ─▶ [ ▭ ▭ ▭ ▭ ] ─▶ disk ─▶ complete
//!   q2 ─▶ ▭▭    ┘
//! ```
//!
//! *Virtual work* `v` is 0 at first; while requests wait it is the smallest start tag of their queues, while all are in service that of the
//! last one selected, and when the disk becomes idle the largest finish tag. It never goes back. A request that comes to a queue where none
//! waits gets `S = max(v, F)`, one that becomes the first of its queue `S = F`. (The paper moves a queue's tags when its request
//! completes, here they move when it is selected: so a batch can take several requests of one queue, and one that the disk leaves for
//! last holds no virtual work back.)
//!
//! *Fairness.* With `D = max L / w`, the longest request per weight of all queues: start tags of queues where requests wait differ by `D` at
//! most. For `i` is selected with `F_i <= F_j = S_j + l_j / w_j`, and `F_i` is its next start tag; whoever comes later comes at `v`, the
//! smallest of them, or at its own `F`, which was no later than those of the others. Start tags count what a queue got per weight. Hence, over
//! any span in which requests of both wait,
//!
//! ```text
//!   | W_i / w_i  -  W_j / w_j |  <=  2 D                    W: service selected
//!   W_i  >=  W w_i / w  -  2 D w_i                          W: for all, w: all weights; cumulative service
//! ```
//!
//! the second because every other queue, busy all the time or not, got `w_j (W_i / w_i + 2 D)` at most. So a queue whose weight is what it was
//! promised is never behind by more than two requests, and none starves. Completed service is behind by what is in the sort queue, `b - 1`
//! requests more.
//!
//! Two ways to fill the sort queue: [`Batching::Whole`] is the paper's (the next batch when the last is done, so that no request is passed over by
//! the disk for longer than a batch), [`Batching::Rolling`] selects the next as soon as one is done, which keeps a parallel device busy.
//!
//! Edge cases: a queue that is removed takes what waits in it with it, and what is in service counts until it completes; a weight that changes
//! counts from the next request on. Units: bytes. Source: R-11; Eclipse/BSD, section 3.2; Bruno and others, *Disk Scheduling with Quality of
//! Service Guarantees*, ICMCS 1999.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZero;

use super::{QueueId, Virtual, Weight};

/// When the sort queue is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Batching {
    /// When it is empty.
    #[default]
    Whole,
    /// Whenever there is room.
    Rolling,
}

/// Names a request in service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceId(u64);

/// A request that was selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected<T> {
    /// For [`Yfq::complete`].
    pub service: ServiceId,
    /// Where it waited.
    pub queue: QueueId,
    /// How long it is.
    pub bytes: u64,
    /// What it is.
    pub request: T,
}

#[derive(Clone, Debug)]
struct Queue<T> {
    weight: Weight,
    /// Tags of the first that waits; of the last that was served where none does.
    start: Virtual,
    finish: Virtual,
    waiting: VecDeque<(u64, T)>,
    in_service: u32,
    /// Requests and bytes selected so far.
    served: (u64, u64),
}

/// The scheduler of one disk.
#[derive(Clone, Debug)]
pub struct Yfq<T> {
    batch: NonZero<u32>,
    batching: Batching,
    queues: BTreeMap<QueueId, Queue<T>>,
    /// Whose requests are in service.
    sort: BTreeMap<ServiceId, QueueId>,
    /// Whether the batch is still being filled.
    filling: bool,
    /// The virtual work if no request waits.
    rest: Virtual,
    next: u64,
}

impl<T> Yfq<T> {
    /// No queue yet.
    pub fn new(batch: NonZero<u32>, batching: Batching) -> Self {
        Self {
            batch,
            batching,
            queues: BTreeMap::new(),
            sort: BTreeMap::new(),
            filling: true,
            rest: Virtual::ZERO,
            next: 0,
        }
    }

    /// A queue with this weight; one that is there gets another.
    pub fn set(&mut self, queue: QueueId, weight: Weight) {
        match self.queues.get_mut(&queue) {
            Some(found) => found.weight = weight,
            None => {
                let (start, finish) = (Virtual::ZERO, Virtual::ZERO);
                let waiting = VecDeque::new();
                let queue_of = Queue { weight, start, finish, waiting, in_service: 0, served: (0, 0) };
                self.queues.insert(queue, queue_of);
            }
        }
    }

    /// Removes a queue. Returns what waited in it.
    pub fn remove(&mut self, queue: QueueId) -> Vec<T> {
        let Some(removed) = self.queues.remove(&queue) else { return Vec::new() };
        self.settle();
        removed.waiting.into_iter().map(|(_, request)| request).collect()
    }

    /// A request comes to a queue. Given back if there is no such queue.
    ///
    /// # Errors
    /// The request.
    pub fn arrive(&mut self, queue: QueueId, bytes: u64, request: T) -> Result<(), T> {
        let now = self.virtual_work();
        let Some(queue) = self.queues.get_mut(&queue) else { return Err(request) };
        if queue.waiting.is_empty() {
            queue.start = now.max(queue.finish);
            queue.finish = queue.start.plus(Virtual::of(bytes, queue.weight));
        }
        queue.waiting.push_back((bytes, request));
        Ok(())
    }

    /// The virtual work now.
    pub fn virtual_work(&self) -> Virtual {
        let waiting = self.queues.values().filter(|queue| !queue.waiting.is_empty());
        waiting.map(|queue| queue.start).min().unwrap_or(self.rest)
    }

    /// If the disk has become idle, whoever comes next comes after all that was given.
    fn settle(&mut self) {
        if self.sort.is_empty() && self.queues.values().all(|queue| queue.waiting.is_empty()) {
            let last = self.queues.values().map(|queue| queue.finish).max();
            self.rest = self.rest.max(last.unwrap_or(Virtual::ZERO));
        }
    }

    /// The next request for the sort queue, if there is room and one waits.
    pub fn select(&mut self) -> Option<Selected<T>> {
        let room = self.sort.len() < self.batch.get() as usize;
        self.filling = room && (self.filling || self.sort.is_empty() || self.batching == Batching::Rolling);
        if !self.filling {
            return None;
        }
        let waiting = self.queues.iter().filter(|(_, queue)| !queue.waiting.is_empty());
        let Some((&id, _)) = waiting.min_by_key(|(_, queue)| queue.finish) else {
            // A batch that found nobody is what it is; the next one begins when it is done.
            self.filling = self.sort.is_empty();
            return None;
        };
        let queue = self.queues.get_mut(&id)?;
        let (bytes, request) = queue.waiting.pop_front()?;
        let service = ServiceId(self.next);
        self.next += 1;
        self.sort.insert(service, id);
        self.rest = self.rest.max(queue.start);
        queue.in_service += 1;
        queue.served = (queue.served.0 + 1, queue.served.1.saturating_add(bytes));
        if let Some((following, _)) = queue.waiting.front() {
            queue.start = queue.finish;
            queue.finish = queue.start.plus(Virtual::of(*following, queue.weight));
        }
        Some(Selected { service, queue: id, bytes, request })
    }

    /// A selected request is done. False if it was already.
    pub fn complete(&mut self, service: ServiceId) -> bool {
        let Some(queue) = self.sort.remove(&service) else { return false };
        if let Some(queue) = self.queues.get_mut(&queue) {
            queue.in_service = queue.in_service.saturating_sub(1);
        }
        self.settle();
        true
    }

    /// How many requests wait in a queue, and how many are in service.
    pub fn backlog(&self, queue: QueueId) -> (usize, u32) {
        self.queues.get(&queue).map_or((0, 0), |queue| (queue.waiting.len(), queue.in_service))
    }

    /// Requests and bytes of a queue that were selected so far.
    pub fn served(&self, queue: QueueId) -> (u64, u64) {
        self.queues.get(&queue).map_or((0, 0), |queue| queue.served)
    }

    /// The queues of which a request waits or is in service.
    pub fn busy(&self) -> impl Iterator<Item = QueueId> + '_ {
        let busy = |queue: &Queue<T>| !queue.waiting.is_empty() || queue.in_service > 0;
        self.queues.iter().filter(move |(_, queue)| busy(queue)).map(|(id, _)| *id)
    }

    /// Requests in service.
    pub fn in_service(&self) -> usize {
        self.sort.len()
    }

    /// Takes out the requests for which `is_gone` holds: whoever made them does not wait any more.
    pub fn forget(&mut self, is_gone: impl Fn(&T) -> bool) {
        for queue in self.queues.values_mut() {
            // The first one keeps its tags, which a shorter one can only make too late, by one request.
            queue.waiting.retain(|(_, request)| !is_gone(request));
        }
        self.settle();
    }

    /// Panics unless all that must hold does hold, for requests of `longest_bytes` at most and weights that did not change.
    ///
    /// # Panics
    /// When an invariant is broken: that is a bug in this crate.
    pub fn check_invariants(&self, longest_bytes: u64) {
        assert!(self.sort.len() <= self.batch.get() as usize, "no batch is larger than it may be");
        let now = self.virtual_work();
        let waiting = || self.queues.iter().filter(|(_, queue)| !queue.waiting.is_empty());
        let longest = self.queues.values().map(|queue| Virtual::of(longest_bytes, queue.weight)).max();
        for (id, queue) in waiting() {
            assert!(queue.start >= now, "the virtual work is not ahead of {id}");
            assert!(queue.finish >= queue.start, "{id} finishes after it starts");
            let limit = now.plus(longest.unwrap_or_default());
            assert!(queue.start <= limit, "{id} is not ahead by more than the longest request");
        }
        for (id, queue) in &self.queues {
            let here = self.sort.values().filter(|owner| *owner == id).count();
            assert!(here >= queue.in_service as usize, "what is in service of {id} is in the sort queue");
        }
    }
}

#[cfg(test)]
mod tests;
