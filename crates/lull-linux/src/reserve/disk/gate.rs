//! One disk: its queues, and the workers that do what is selected.
//!
//! ```text
//!   arrive ─▶ YFQ ─▶ worker: select ─▶ work (the lock is free) ─▶ complete ─▶ more of it? arrive again : the call goes on
//! ```
//! There are as many workers as requests may be at the disk, so that whoever is free selects. They start with the first process that enters.
//! Weights are what the tree apportions among the queues that are busy, so they are set again when that changes.
//!
//! Edge cases: a caller that is gone is passed over; a queue that is removed lets its calls go; an open gate lets everything go.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use lull_core::proportional::yfq::{Batching, Selected, Yfq};
use lull_core::proportional::{QueueId, Weight};
use lull_core::reserve::{Id, Kind, Tree};

use super::super::Usage;
use super::WHOLE;
use super::owners::Owners;
use super::request::{Job, PIECE_BYTES};
use crate::clock;

pub(super) struct Gate {
    name: String,
    batch: NonZero<u32>,
    inner: Mutex<Inner>,
    work: Condvar,
}

struct Inner {
    yfq: Yfq<Job>,
    tree: Option<Tree>,
    owners: Owners,
    /// The queues that weights were set for.
    busy: BTreeSet<QueueId>,
    /// Requests and bytes when the counts were cleared.
    cleared: BTreeMap<QueueId, (u64, u64)>,
    has_workers: bool,
    is_open: bool,
}

impl Inner {
    /// Weights for the queues that are busy, and `more`.
    fn weigh(&mut self, more: Option<QueueId>) {
        let busy: BTreeSet<QueueId> = self.yfq.busy().chain(more).collect();
        let Some(tree) = self.tree.as_ref().filter(|_| busy != self.busy) else { return };
        for (id, amount) in tree.apportion(|id| busy.contains(&QueueId(id.0))) {
            if busy.contains(&QueueId(id.0)) {
                self.yfq.set(QueueId(id.0), Weight::of(amount, WHOLE.amount));
            }
        }
        self.busy = busy;
    }

    fn queue(&self, id: Id) -> Option<QueueId> {
        let is_queue = self.tree.as_ref()?.get(id)?.kind == Kind::Queue;
        is_queue.then_some(QueueId(id.0))
    }

    fn id(&self, path: &str) -> Option<Id> {
        self.tree.as_ref()?.find(path)
    }

    fn arrive(&mut self, queue: QueueId, job: Job) -> Result<(), Job> {
        if self.is_open {
            return Err(job);
        }
        self.weigh(Some(queue));
        self.yfq.arrive(queue, job.ask.bytes(), job)
    }
}

fn pass(job: &Job) {
    job.client.pass(job.id);
}

impl Gate {
    pub(super) fn new(name: &str, batch: NonZero<u32>) -> Arc<Self> {
        let inner = Inner {
            yfq: Yfq::new(batch, Batching::Rolling),
            tree: None,
            owners: Owners::default(),
            busy: BTreeSet::new(),
            cleared: BTreeMap::new(),
            has_workers: false,
            is_open: false,
        };
        Arc::new(Self { name: name.to_owned(), batch, inner: Mutex::new(inner), work: Condvar::new() })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tree has changed.
    pub(super) fn set_tree(&self, tree: &Tree) {
        let mut inner = self.lock();
        inner.tree = Some(tree.clone());
        inner.busy.clear();
        inner.weigh(None);
    }

    /// A reservation goes.
    pub(super) fn remove(&self, id: Id) {
        let mut inner = self.lock();
        inner.owners.remove(id);
        inner.cleared.remove(&QueueId(id.0));
        inner.yfq.remove(QueueId(id.0)).iter().for_each(pass);
    }

    /// Makes sure that what comes to a queue is served.
    pub(super) fn prepare(self: &Arc<Self>, path: &str) -> io::Result<Id> {
        let mut inner = self.lock();
        let id = inner.id(path).ok_or(io::ErrorKind::NotFound)?;
        if !inner.has_workers {
            for _ in 0..self.batch.get() {
                let gate = Arc::clone(self);
                std::thread::Builder::new().name(format!("disk-{}", self.name)).spawn(move || gate.work())?;
            }
            inner.has_workers = true;
        }
        Ok(id)
    }

    /// A process enters a queue.
    pub(super) fn enter(self: &Arc<Self>, path: &str, pid: i32) -> io::Result<()> {
        let id = self.prepare(path)?;
        let mut inner = self.lock();
        if inner.owners.enter(pid, id) { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    }

    /// The path of a process's queue.
    pub(super) fn path_of(&self, pid: i32) -> Option<String> {
        let inner = self.lock();
        let id = inner.owners.of_process(pid)?;
        let tree = inner.tree.as_ref()?;
        tree.get(id).map(|_| tree.path(id))
    }

    /// The reservation with this path.
    pub(super) fn id(&self, path: &str) -> Option<Id> {
        self.lock().id(path)
    }

    /// The path of a reservation.
    pub(super) fn path(&self, id: Id) -> Option<String> {
        let inner = self.lock();
        let tree = inner.tree.as_ref()?;
        tree.get(id).map(|_| tree.path(id))
    }

    /// A reservation as a queue, if it is there and is one.
    pub(super) fn queue(&self, id: Id) -> Option<QueueId> {
        self.lock().queue(id)
    }

    /// The queue of a thread.
    pub(super) fn queue_of(&self, tid: u32, root: i32) -> Option<QueueId> {
        let mut inner = self.lock();
        let id = inner.owners.of_thread(clock::now(), tid, root)?;
        inner.queue(id)
    }

    /// A call waits for its turn; `None` if it cannot.
    pub(super) fn arrive(&self, queue: QueueId, job: Job) -> Option<()> {
        self.lock().arrive(queue, job).ok()?;
        self.work.notify_one();
        Some(())
    }

    fn next(&self) -> Selected<Job> {
        let mut inner = self.lock();
        loop {
            if let Some(selected) = inner.yfq.select() {
                return selected;
            }
            inner = self.work.wait(inner).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn work(&self) {
        let mut space = vec![0; usize::try_from(PIECE_BYTES).unwrap_or(0)];
        loop {
            let Selected { service, queue, request: mut job, .. } = self.next();
            let is_all = !job.client.listener.is_waiting(job.id) || job.work(&mut space);
            let mut inner = self.lock();
            inner.yfq.complete(service);
            let rest = if is_all { Err(job) } else { inner.arrive(queue, job) };
            inner.weigh(None);
            drop(inner);
            if let Err(job) = rest {
                pass(&job);
            }
            self.work.notify_one();
        }
    }

    pub(super) fn usage(&self, path: &str) -> Usage {
        let inner = self.lock();
        let Some(id) = inner.id(path) else { return Usage::default() };
        let queue = QueueId(id.0);
        let (requests, bytes) = inner.yfq.served(queue);
        let (cleared_requests, cleared_bytes) = inner.cleared.get(&queue).copied().unwrap_or_default();
        let is_busy = inner.yfq.backlog(queue) != (0, 0);
        Usage {
            requests: requests.saturating_sub(cleared_requests),
            service: bytes.saturating_sub(cleared_bytes),
            refused: 0,
            asked: if is_busy { WHOLE.amount } else { 0 },
            processes: inner.owners.count(id),
        }
    }

    pub(super) fn clear_counts(&self, path: &str) {
        let mut inner = self.lock();
        if let Some(id) = inner.id(path) {
            let served = inner.yfq.served(QueueId(id.0));
            inner.cleared.insert(QueueId(id.0), served);
        }
    }

    /// Everything goes on, from now on.
    pub(super) fn open(&self) {
        let mut inner = self.lock();
        inner.is_open = true;
        let ids: Vec<Id> = inner.tree.iter().flat_map(|tree| tree.iter().map(|(id, _)| id)).collect();
        for id in ids {
            inner.yfq.remove(QueueId(id.0)).iter().for_each(pass);
        }
    }
}
