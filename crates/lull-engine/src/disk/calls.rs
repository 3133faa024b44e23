//! All disks, and the job's trapped calls that wait for them.
//!
//! The gate's decider asks `Disks::on_trap` about calls that did not pass at once; the loop thread gives the disks their turns
//! (`resource`), which pass the calls whose turn has come.
//!
//! A call is looked at as little as possible. While every disk admits without a bound the gate is open, and nothing but the
//! mapped sensor records is read. Only when some disk holds back or counts is the call's file looked up, and only when its disk
//! would make it wait is the page cache asked.
//!
//! A call that syncs would have everything written at once. Beside a foreground it queues only when the job's dirty pages are written,
//! in pieces that wait for turns of their own, or have had the time for it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lull_bpf::BlockSensor;
use lull_core::{Input, Nanos, Ticket};
use lull_linux::gate::{
    cached, size,
    target::{self, Target},
};
use lull_linux::job::shared::Shared;
use lull_linux::seccomp::{Listener, Trap};
use lull_linux::topology::{DevT, Topology};

use super::Disk;
use super::start::Sensors;
use crate::job_processes::JobProcesses;
use crate::memory::exchange::Pages;
use crate::open::Open;
use crate::reader::{ReadAhead, Reader};
use crate::report::disk::GateCounts;
use crate::resource::Verdict;

/// No call moves more at once than this, whatever its arguments say.
const AT_MOST_BYTES: u64 = 64 << 20;
/// A granted call that has not come back for longer than this explains no more what the device shows.
pub(super) const CALL_AT_MOST: Nanos = Nanos::from_secs(1);

/// A call that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) tid: u32,
    pub(super) since: Nanos,
    pub(super) checked: Nanos,
    pub(super) disk: usize,
    pub(super) bytes: u64,
    /// It queues when this is written ([`want_written`](crate::memory::exchange::Exchange::want_written)).
    pub(super) unwritten: Option<u64>,
}

/// A call that was let go and, as far as is known, still runs. Known to be over when its thread traps again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    pub(super) disk: usize,
    pub(super) id: u64,
    pub(super) at: Nanos,
}

/// Where a trapped call has to wait.
#[derive(Clone, Copy, Debug)]
struct Place {
    disk: usize,
    inode: u64,
    size_bytes: u64,
    /// It is what the call reads, if it reads.
    reads: bool,
}

/// What the disks need to know of their run.
pub struct Terms {
    /// Finds the job's processes.
    pub job_processes: JobProcesses,
    /// Lists the calls that wait, for the guardian.
    pub shared: Arc<Shared>,
    /// Where the job's pages are kept in order.
    pub pages: Pages,
    /// Counts what is read ahead for the job.
    pub read_ahead: ReadAhead,
    /// The machine is about to sleep: nothing is held.
    pub sleeps: Arc<AtomicBool>,
    /// Calls are let go that have waited for long, whatever the disk's state; not where the interval is the user's choice.
    pub spares_the_oldest: bool,
}

/// See the module.
pub struct Disks {
    pub(super) disks: Vec<Disk>,
    /// What observes them, if BPF does.
    pub(super) sensor: Option<BlockSensor>,
    pub(super) terms: Terms,
    pub(super) counts: GateCounts,
    /// What the receiver may let pass.
    pub(super) open: Arc<Open>,
    /// When the oldest call was last let go.
    pub(super) spared: Nanos,
    /// Until when calls pass, since somebody waits for the job.
    pub(super) awaited_until: Nanos,
    pub(super) healed: Nanos,
    /// The job was held when the turn began.
    pub(super) was_held: bool,
    pub(super) listener: Option<Arc<Listener>>,
    pub(super) disk_of_dev: HashMap<u64, Option<usize>>,
    pub(super) waiters: HashMap<u64, Waiter>,
    pub(super) granted: HashMap<u32, Grant>,
    pub(super) reader: Reader,
    pub(super) background_seen: u64,
    pub(super) granted_calls: u64,
    pub(super) scratch: Vec<Ticket>,
}

impl Disks {
    /// None, for now: every call passes.
    pub fn new(terms: Terms) -> Self {
        let mut reader = Reader::default();
        reader.done = terms.read_ahead.clone();
        Self {
            disks: Vec::new(),
            sensor: None,
            terms,
            counts: GateCounts::default(),
            open: Arc::default(),
            spared: Nanos::ZERO,
            awaited_until: Nanos::ZERO,
            healed: Nanos::ZERO,
            was_held: false,
            listener: None,
            disk_of_dev: HashMap::new(),
            waiters: HashMap::new(),
            granted: HashMap::new(),
            reader,
            background_seen: 0,
            granted_calls: 0,
            scratch: Vec::new(),
        }
    }

    /// From now on the calls that wait are answered through this.
    pub fn set_listener(&mut self, listener: Arc<Listener>) {
        self.listener = Some(listener);
    }

    /// From now on these disks are watched, with their devices' records where the kernel keeps some.
    pub fn watch(&mut self, sensors: Sensors) {
        self.disks = sensors.disks;
        self.sensor = sensors.bpf;
        self.open.watch(self.disks.iter().filter_map(Disk::device).cloned().collect());
    }

    /// What the receiver may let pass.
    pub(crate) fn open(&self) -> Arc<Open> {
        Arc::clone(&self.open)
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.disks.iter().map(|disk| disk.traits.name.as_str())
    }

    /// What became of the trapped calls, those included that nobody looked at.
    pub(super) fn counts(&self) -> GateCounts {
        let unseen = self.open.passed();
        GateCounts {
            trapped: self.counts.trapped + unseen,
            passed: self.counts.passed + unseen,
            ..self.counts
        }
    }

    /// Opens the gate for what needs no look, or closes it. `seen`: the foreground's requests before the disks were observed.
    pub(super) fn set_open(&mut self, now: Nanos, seen: u64) {
        // A call of a thread that was granted one tells that this one has returned.
        let is_counting = self.granted.values().any(|grant| now.since(grant.at) < CALL_AT_MOST);
        match !is_counting && self.disks.iter().all(|disk| disk.is_open(now)) {
            true => self.open.open(seen),
            false => self.open.close(),
        }
    }

    /// Calls that wait now.
    pub(crate) fn waiting(&self) -> usize {
        self.waiters.len()
    }

    /// Decides about a call that was just trapped and uses a disk.
    pub(crate) fn on_trap(&mut self, now: Nanos, trap: &Trap) -> Verdict {
        self.counts.trapped += 1;
        let seen = self.open.count();
        if let Some(grant) = self.granted.remove(&trap.tid) {
            self.step(grant.disk, now, Input::Returned(Ticket(grant.id)));
        }
        for disk in 0..self.disks.len() {
            let observation = self.disks[disk].observe(now);
            self.step(disk, now, Input::Observe(observation));
        }
        self.set_open(now, seen);
        if self.disks.iter().all(|disk| disk.admits_freely(now)) {
            self.counts.passed += 1;
            return Verdict::Pass;
        }
        let passes = self.sleeps() || now < self.awaited_until;
        let verdict = if passes { Verdict::Pass } else { self.decide(now, trap) };
        if verdict == Verdict::Pass {
            self.counts.passed += 1;
        }
        verdict
    }

    fn decide(&mut self, now: Nanos, trap: &Trap) -> Verdict {
        let Some(Place { disk, inode, size_bytes, reads }) = self.place_of(now, trap) else {
            return Verdict::Pass;
        };
        if reads
            && self.disks[disk].bounds_read_ahead(now)
            && let Some(fd) = target::source_of(trap)
        {
            self.reader.adopt(trap.tid, fd, inode, disk);
        }
        let read_ahead_bytes =
            if self.reader.follows(inode) { 0 } else { self.disks[disk].traits.read_ahead_bytes };
        if reads
            && !self.disks[disk].resource.admits(now)
            && let Some(read) = target::read_of(trap)
            && cached::is_cached(trap.tid, &read, size_bytes, read_ahead_bytes)
        {
            self.counts.cached += 1;
            return Verdict::Pass;
        }
        let unwritten = self.unwritten_before(now, trap, disk);
        let bytes = self.bytes_of(trap, disk, size_bytes);
        self.waiters
            .insert(trap.id, Waiter { tid: trap.tid, since: now, checked: now, disk, bytes, unwritten });
        if unwritten.is_some() {
            self.counts.waited += 1;
            return Verdict::Wait;
        }
        self.scratch.clear();
        self.disks[disk].resource.step(now, Input::Arrive(Ticket(trap.id), bytes), &mut self.scratch);
        let mut verdict = Verdict::Wait;
        for ticket in std::mem::take(&mut self.scratch) {
            if ticket.0 == trap.id {
                self.waiters.remove(&trap.id);
                self.granted_calls += 1;
                self.granted.insert(trap.tid, Grant { disk, id: trap.id, at: now });
                verdict = Verdict::Pass;
            } else {
                self.release(now, ticket.0);
            }
        }
        if verdict == Verdict::Wait {
            self.counts.waited += 1;
        }
        verdict
    }

    /// How much the call moves at most, as far as its arguments tell; a window, if nothing does.
    fn bytes_of(&self, trap: &Trap, disk: usize, size_bytes: u64) -> u64 {
        let most = if size_bytes > 0 { size_bytes } else { u64::MAX };
        let bytes = size::bytes_of(trap)
            .map_or_else(|| self.disks[disk].control.window_bytes(), |bytes| bytes.min(most));
        bytes.min(AT_MOST_BYTES)
    }

    /// Where the call has to wait: of a copy's two disks the first that does not admit, else the first.
    fn place_of(&mut self, now: Nanos, trap: &Trap) -> Option<Place> {
        let mut places = Vec::new();
        for (at, target) in target::targets_of(trap).enumerate() {
            let found = match target {
                Target::Elsewhere => None,
                Target::EveryDisk => {
                    self.disks.iter().position(|disk| !disk.resource.admits(now)).map(|disk| (disk, 0, 0))
                }
                Target::Disk { dev, inode, size_bytes } => {
                    self.disk_of(dev).map(|disk| (disk, inode, size_bytes))
                }
            };
            let place = |(disk, inode, size_bytes)| Place { disk, inode, size_bytes, reads: at == 0 };
            places.extend(found.map(place));
        }
        let held = places.iter().position(|place| !self.disks[place.disk].resource.admits(now));
        places.into_iter().nth(held.unwrap_or(0))
    }

    /// What is to be written, for its own turns, before this call may queue.
    fn unwritten_before(&self, now: Nanos, trap: &Trap, disk: usize) -> Option<u64> {
        let pages = self.terms.pages.get().filter(|_| target::is_sync(trap))?;
        self.disks[disk].is_contended(now).then(|| pages.want_written())?
    }

    /// The disk whose policy decides for files on device number `dev`: the first one a request meets.
    pub(super) fn disk_of(&mut self, dev: u64) -> Option<usize> {
        let disks = &self.disks;
        *self.disk_of_dev.entry(dev).or_insert_with(|| find_disk(disks, dev))
    }

    pub(super) fn step(&mut self, disk: usize, now: Nanos, input: Input) {
        let mut started = std::mem::take(&mut self.scratch);
        started.clear();
        self.disks[disk].resource.step(now, input, &mut started);
        for ticket in &started {
            self.release(now, ticket.0);
        }
        self.scratch = started;
    }

    /// Lets a waiting call go on, or the piece that is to be written or read ahead.
    pub(super) fn release(&mut self, now: Nanos, id: u64) {
        let Some(waiter) = self.waiters.remove(&id) else {
            if !self.terms.pages.get().is_some_and(|pages| pages.grant(Ticket(id))) {
                self.reader.read(Ticket(id));
            }
            return;
        };
        let alive = self.listener.as_ref().is_none_or(|listener| listener.pass(id));
        self.terms.shared.unlist(id);
        self.counts.waited_ns += now.since(waiter.since).0;
        if alive {
            self.granted_calls += 1;
            self.granted.insert(waiter.tid, Grant { disk: waiter.disk, id, at: now });
        } else {
            let mut none = Vec::new();
            self.disks[waiter.disk].resource.step(now, Input::Returned(Ticket(id)), &mut none);
            for ticket in none {
                self.release(now, ticket.0);
            }
        }
    }

    pub(super) fn sleeps(&self) -> bool {
        self.terms.sleeps.load(Ordering::Relaxed)
    }
}

/// The first of `disks` that a request to a file on device number `dev` meets.
pub(super) fn find_disk(disks: &[Disk], dev: u64) -> Option<usize> {
    let chain = Topology::host().serving_disks(DevT::from_stat(dev)).unwrap_or_default();
    chain.iter().find_map(|serving| disks.iter().position(|disk| disk.traits.dev == serving.dev))
}
