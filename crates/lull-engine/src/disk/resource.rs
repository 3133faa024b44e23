//! All disks, and the job's trapped calls that wait for them.
//!
//! The gate's decider asks [`Disks::on_trap`] about calls that did not pass at once; the loop thread gives the disks their turns, which
//! pass the calls whose turn has come.
//!
//! A call is looked at as little as possible. While every disk admits without a bound the gate is open, and nothing but the
//! mapped sensor records is read. Only when some disk holds back or counts is the call's file looked up, and only when its disk
//! would make it wait is the page cache asked.
//!
//! A call that syncs would have everything written at once. Beside a foreground it queues only when the job's dirty pages are written,
//! in pieces that wait for turns of their own, or have had the time for it.

use std::collections::HashMap;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lull_bpf::BlockSensor;
use lull_core::{Input, LEAST_BYTES, Nanos, Ticket};
use lull_linux::gate::{
    cached, size,
    target::{self, Target},
};
use lull_linux::job::shared::Shared;
use lull_linux::root::Root;
use lull_linux::seccomp::{Listener, Trap};
use lull_linux::sense::locks;
use lull_linux::topology::{DevT, Topology};

use super::Disk;
use super::start::Sensors;
use crate::family::Family;
use crate::memory::link::{Pages, Wish};
use crate::open::Open;
use crate::promise::Account;
use crate::reader::{ReadAhead, Reader};
use crate::report::Report;
use crate::report::disk::{GateCounts, bound_text};
use crate::report::status::Status;
use crate::resource::{Resource, Verdict, sooner};
use crate::signals;

/// A held call is looked at again after this long: its thread may have been sent a signal that it must see.
const SIGNAL_CHECK: Nanos = Nanos::from_millis(50);
/// Pieces of read-ahead that one turn starts at most.
const PIECES_AT_ONCE: usize = 16;
/// A call that syncs waits no longer than this for the pages to be written before.
const PIECES_AT_MOST: Nanos = Nanos::from_secs(2);
/// Whoever waits for the job (for a lock, say) waits no longer than this for the oldest of its calls. One is let go so at a time: about what
/// the floor of a slow disk is, 20 ms in each second.
const CALL_WAITS_AT_MOST: Nanos = Nanos::from_secs(1);
/// While somebody is seen to wait for a file lock of the job's, its calls pass for so long.
const AWAITED: Nanos = Nanos::from_millis(100);
/// No call moves more at once than this, whatever its arguments say.
const AT_MOST_BYTES: u64 = 64 << 20;
/// A granted call that has not come back for longer than this explains no more what the device shows.
const CALL_AT_MOST: Nanos = Nanos::from_secs(1);

/// How often requests whose end was missed are looked for.
const HEAL_EVERY: Nanos = Nanos::from_millis(50);

#[derive(Clone, Copy, Debug)]
struct Waiter {
    tid: u32,
    since: Nanos,
    checked: Nanos,
    disk: usize,
    bytes: u64,
    /// It queues when this is written ([`want_written`](crate::memory::link::Link::want_written)).
    unwritten: Option<u64>,
}

/// A call that was let go and, as far as is known, still runs. Known to be over when its thread traps again.
#[derive(Clone, Copy, Debug)]
struct Grant {
    disk: usize,
    id: u64,
    at: Nanos,
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
    pub family: Family,
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
    disks: Vec<Disk>,
    /// What observes them, if BPF does.
    sensor: Option<BlockSensor>,
    terms: Terms,
    counts: GateCounts,
    /// What the receiver may let pass.
    open: Arc<Open>,
    /// When the oldest call was last let go.
    spared: Nanos,
    /// Until when calls pass, since somebody waits for the job.
    awaited_until: Nanos,
    healed: Nanos,
    /// The job was held when the turn began.
    was_held: bool,
    listener: Option<Arc<Listener>>,
    disk_of_dev: HashMap<u64, Option<usize>>,
    waiters: HashMap<u64, Waiter>,
    granted: HashMap<u32, Grant>,
    reader: Reader,
    background_seen: u64,
    granted_calls: u64,
    scratch: Vec<Ticket>,
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
    fn counts(&self) -> GateCounts {
        let unseen = self.open.passed();
        GateCounts {
            trapped: self.counts.trapped + unseen,
            passed: self.counts.passed + unseen,
            ..self.counts
        }
    }

    /// Opens the gate for what needs no look, or closes it. `seen`: the foreground's requests before the disks were observed.
    fn set_open(&mut self, now: Nanos, seen: u64) {
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

    /// Lets calls queue whose pages are written, or have had the time for it; when to look again at the latest.
    fn queue_syncs(&mut self, now: Nanos) -> Option<Nanos> {
        let pages = self.terms.pages.get().cloned()?;
        let is_due = |waiter: &Waiter| {
            waiter
                .unwritten
                .is_some_and(|wanted| pages.is_written(wanted) || now.since(waiter.since) >= PIECES_AT_MOST)
        };
        let due: Vec<(u64, Waiter)> = self
            .waiters
            .iter()
            .filter(|(_, waiter)| is_due(waiter))
            .map(|(id, waiter)| (*id, *waiter))
            .collect();
        for (id, waiter) in due {
            self.waiters.entry(id).and_modify(|waiter| waiter.unwritten = None);
            // What was dirty is written: what is left is a journal's.
            self.step(waiter.disk, now, Input::Arrive(Ticket(id), waiter.bytes.min(LEAST_BYTES)));
        }
        let left = self.waiters.values().filter(|waiter| waiter.unwritten.is_some());
        left.map(|waiter| waiter.since.plus(PIECES_AT_MOST)).min()
    }

    /// The disk whose policy decides for files on device number `dev`: the first one a request meets.
    fn disk_of(&mut self, dev: u64) -> Option<usize> {
        let disks = &self.disks;
        *self.disk_of_dev.entry(dev).or_insert_with(|| find_disk(disks, dev))
    }

    fn step(&mut self, disk: usize, now: Nanos, input: Input) {
        let mut started = std::mem::take(&mut self.scratch);
        started.clear();
        self.disks[disk].resource.step(now, input, &mut started);
        for ticket in &started {
            self.release(now, ticket.0);
        }
        self.scratch = started;
    }

    /// Lets a waiting call go on, or the piece that is to be written or read ahead.
    fn release(&mut self, now: Nanos, id: u64) {
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

    /// Lets pieces of the job's dirty pages queue at their disks.
    fn write_back(&mut self, now: Nanos) {
        let Some(pages) = self.terms.pages.get().cloned() else { return };
        let windows = self.disks.iter().map(|disk| disk.resource.window_bytes(now));
        for Wish { dev, ticket, bytes } in pages.take_wishes(windows.min().unwrap_or(u64::MAX)) {
            let dev = DevT::from_kernel(dev);
            match self.disk_of(libc::makedev(dev.major, dev.minor)) {
                Some(disk) => self.step(disk, now, Input::Arrive(ticket, bytes)),
                None => pages.answer_unwatched(ticket),
            }
        }
    }

    /// Reads ahead for the job while the foreground is at work and the job reads without being trapped.
    fn read_ahead(&mut self, now: Nanos, is_held: bool) -> Option<Nanos> {
        if !self.disks.iter().any(|disk| disk.is_contended(now)) {
            if self.reader.is_following() {
                for (disk, ticket) in self.reader.stop() {
                    self.step(disk, now, Input::Withdraw(ticket));
                }
            }
            return None;
        }
        // Requests beyond one per call that was let go are those of a job that reads around the gate.
        let started: u64 = self.disks.iter().map(|disk| disk.latest().background.started).sum();
        let background = started.saturating_sub(self.granted_calls);
        if self.reader.is_due(now, is_held) {
            self.reader.let_closed_go(now);
            let pids = if background > self.background_seen || self.reader.wants_look() {
                self.terms.family.pids()
            } else {
                Vec::new()
            };
            self.background_seen = background;
            let (disks, known) = (&self.disks, &mut self.disk_of_dev);
            let was_following = self.reader.is_following();
            self.reader.look(is_held, &pids, |dev| {
                let disk = *known.entry(dev).or_insert_with(|| find_disk(disks, dev));
                disk.map(|disk| (disk, disks[disk].traits.read_ahead_bytes))
            });
            if !was_following && self.reader.is_following() {
                // What the kernel's bursts cost says nothing of the pieces that replace them.
                self.disks.iter_mut().for_each(|disk| disk.control.restart_costs());
            }
        }
        // A piece that starts at once may be followed by the next one.
        for _ in 0..PIECES_AT_ONCE {
            let asked = self.reader.ask();
            if asked.is_empty() {
                break;
            }
            for (disk, ticket, bytes) in asked {
                self.step(disk, now, Input::Arrive(ticket, bytes));
            }
        }
        self.reader.next_look(is_held)
    }

    /// A call that waits delays the handling of a signal sent to its thread, the freezing of its group by others, and whoever waits for a
    /// lock that the job has: such calls are let go, and the oldest one when it has waited for long. Calls of dead threads are dropped.
    fn let_signals_through(&mut self, now: Nanos) -> Option<Nanos> {
        let mut due: Vec<(u64, Waiter)> = self
            .waiters
            .iter()
            .filter(|(_, waiter)| self.sleeps() || now.since(waiter.checked) >= SIGNAL_CHECK)
            .map(|(id, waiter)| (*id, *waiter))
            .collect();
        // Whoever froze the job from outside waits until its last thread stands still.
        let is_frozen = self.sleeps() || (!due.is_empty() && self.terms.family.is_frozen());
        let is_awaited = !due.is_empty()
            && self.terms.spares_the_oldest
            && locks::is_awaited(&Root::real(), &self.terms.family.pids());
        if is_awaited {
            self.awaited_until = now.plus(AWAITED);
            due = self.waiters.iter().map(|(id, waiter)| (*id, *waiter)).collect();
        }
        let oldest =
            due.iter().min_by_key(|(_, waiter)| waiter.since).map(|(id, waiter)| (*id, waiter.since));
        let is_long = |since: Nanos| now.since(since.max(self.spared)) >= CALL_WAITS_AT_MOST;
        let overdue =
            oldest.filter(|(_, since)| self.terms.spares_the_oldest && is_long(*since)).map(|(id, _)| id);
        if overdue.is_some() {
            self.spared = now;
        }
        for (id, waiter) in due {
            if is_frozen || is_awaited || overdue == Some(id) || signals::is_pending(waiter.tid) {
                self.counts.signalled += u64::from(!is_awaited && overdue != Some(id));
                self.step(waiter.disk, now, Input::Withdraw(Ticket(id)));
                self.release(now, id);
            } else if let Some(waiter) = self.waiters.get_mut(&id) {
                waiter.checked = now;
            }
        }
        self.waiters.values().map(|waiter| waiter.checked.plus(SIGNAL_CHECK)).min()
    }

    fn sleeps(&self) -> bool {
        self.terms.sleeps.load(Ordering::Relaxed)
    }
}

impl Resource for Disks {
    /// Wake-ups are asked for before the last look, so that none is lost.
    fn turn(&mut self, now: Nanos, was_held: bool) -> Option<Nanos> {
        let mut next = None;
        self.was_held = was_held;
        let seen = self.open.count();
        for disk in 0..self.disks.len() {
            let observation = self.disks[disk].observe(now);
            self.step(disk, now, Input::Observe(observation));
            let wake = self.disks[disk].resource.wake(now);
            if wake.foreground_end || wake.background_end {
                self.disks[disk].ask_wake(wake);
                let observation = self.disks[disk].observe(now);
                self.step(disk, now, Input::Observe(observation));
            }
            next = sooner(next, self.disks[disk].resource.wake(now).at);
            next = sooner(next, self.disks[disk].next_sample(now, &wake));
            next = sooner(next, self.disks[disk].control(now, was_held));
            let covered =
                self.granted.values().any(|grant| grant.disk == disk && now.since(grant.at) < CALL_AT_MOST);
            next = sooner(next, self.disks[disk].hold(now, covered));
        }
        self.set_open(now, seen);
        next
    }

    fn follow(&mut self, now: Nanos, is_held: bool) -> Option<Nanos> {
        let next = self.read_ahead(now, is_held);
        self.write_back(now);
        let next = sooner(next, self.queue_syncs(now));
        // Who is held handles none; the engine sees to them.
        if self.was_held { next } else { sooner(next, self.let_signals_through(now)) }
    }

    fn tend(&mut self, now: Nanos) {
        if let Some(sensor) = self.sensor.as_ref().filter(|_| now.since(self.healed) >= HEAL_EVERY) {
            self.healed = now;
            for (device, oldest) in self.disks.iter().filter_map(|disk| disk.oldest(now)) {
                // A sensor that cannot be mended now is tried again.
                let _ = sensor.heal(device, oldest);
            }
        }
    }

    fn wants_hold(&self) -> bool {
        self.disks.iter().any(Disk::wants_hold)
    }

    fn accounts(&mut self) -> Vec<&mut dyn Account> {
        self.disks.iter_mut().map(|disk| disk as &mut dyn Account).collect()
    }

    fn wake_fd(&self) -> RawFd {
        self.sensor.as_ref().map_or(-1, BlockSensor::wake_fd)
    }

    fn drain(&self) {
        self.sensor.iter().for_each(BlockSensor::drain);
    }

    fn status(&self, now: Nanos, status: &mut Status) {
        status.waiting = self.waiters.len();
        let busiest = self.disks.iter().max_by_key(|disk| disk.latest().background.started);
        let Some(disk) = busiest else { return };
        let report = disk.report();
        status.disk.clone_from(&disk.traits.name);
        status.state = disk.resource.state(now).letter();
        status.background_bytes = report.background_bytes;
        status.quiet_ns = report.quiet.mean().map(|mean| mean.0);
        status.loaded_ns = report.loaded.mean().map(|mean| mean.0);
        status.interval = disk.resource.setting().interval.to_string();
        status.bound = bound_text(disk.resource.setting().depth, disk.resource.window_bytes(now));
        status.disk_slowdown = disk.control.slowdown().map(Into::into);
    }

    fn report(&self, _now: Nanos, report: &mut Report) {
        report.gate = self.counts();
        report.read_ahead_bytes = self.terms.read_ahead.bytes();
        report.disks = self.disks.iter().map(Disk::summary).collect();
    }

    fn end(&mut self, now: Nanos) {
        self.reader.stop();
        let ids: Vec<u64> = self.waiters.keys().copied().collect();
        for id in ids {
            self.release(now, id);
        }
    }
}

/// The first of `disks` that a request to a file on device number `dev` meets.
fn find_disk(disks: &[Disk], dev: u64) -> Option<usize> {
    let chain = Topology::host().serving_disks(DevT::from_stat(dev)).unwrap_or_default();
    chain.iter().find_map(|serving| disks.iter().position(|disk| disk.traits.dev == serving.dev))
}

#[cfg(test)]
mod tests;
