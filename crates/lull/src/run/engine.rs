//! The live engine: the policy of every disk, fed by its sensor, deciding about the job's trapped calls.
//!
//! Two threads call it, under one lock. The gate's *decider* asks [`Engine::on_trap`] about trapped calls that did not pass at once
//! ([`super::gate`]). The *loop* thread calls [`Engine::turn`] when a sensor wakes it, when a time has come, and now
//! and then for control; it passes the calls whose turn has come.
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

use lull_core::{Input, LEAST_BYTES, Loss, Nanos, Ticket};
use lull_linux::gate::{
    cached, size,
    target::{self, Target},
};
use lull_linux::job::shared::Shared;
use lull_linux::seccomp::{Listener, Trap};
use lull_linux::topology::{DevT, Topology};

use super::affinity::Affinity;
use super::cpu::Cpu;
use super::disk::Disk;
use super::disk::summary::GateCounts;
use super::family::Family;
use super::memory::link::{Link, Wish};
use super::net::Net;
use super::net::when_used::WhenUsed;
use super::open::Open;
use super::promise::Promise;
use super::reader::{ReadAhead, Reader};
use super::regulator::Regulator;
use super::spare::{Look, Spare};

/// A held call is looked at again after this long: its thread may have been sent a signal that it must see.
const SIGNAL_CHECK: Nanos = Nanos::from_millis(50);
/// Pieces of read-ahead that one turn starts at most.
const PIECES_AT_ONCE: usize = 16;
/// A call that syncs waits no longer than this for the pages to be written before.
const PIECES_AT_MOST: Nanos = Nanos::from_secs(2);
/// Whoever waits for the job (for a lock, say) waits no longer than this for the oldest of its calls. One is let go so at a time: about what
/// the floor of a slow disk is, 20 ms in each second.
const CALL_WAITS_AT_MOST: Nanos = Nanos::from_secs(1);
/// No call moves more at once than this, whatever its arguments say.
const AT_MOST_BYTES: u64 = 64 << 20;
/// A granted call that has not come back for longer than this explains no more what the device shows.
const CALL_AT_MOST: Nanos = Nanos::from_secs(1);

const URING_REFUSED: &str = "the job asks for io_uring, which is hidden from it (ENOSYS): most programs then use other calls; --io-uring leaves it to them";
const LISTENER_REFUSED: &str = "the job wants to trap system calls itself (a seccomp listener, as sandboxes and containers use), which the kernel refuses beside lull's (EBUSY): use --gate none";

/// Verdict on a trapped call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Let it go on now.
    Pass,
    /// A later turn passes it.
    Wait,
    /// It fails as if the kernel did not have it.
    Absent,
}

#[derive(Clone, Copy, Debug)]
struct Waiter {
    tid: u32,
    since: Nanos,
    checked: Nanos,
    disk: usize,
    bytes: u64,
    /// It queues when this is written ([`Link::want_written`]).
    unwritten: Option<u64>,
}

/// What the job should be told of, once each.
#[derive(Default)]
struct Words {
    said: Vec<&'static str>,
    due: Vec<&'static str>,
}

impl Words {
    fn say(&mut self, word: &'static str) {
        if !self.said.contains(&word) {
            self.said.push(word);
            self.due.push(word);
        }
    }
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

/// When the loop thread must run again at the latest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Next {
    pub(crate) at: Option<Nanos>,
}

impl Next {
    fn sooner(&mut self, at: Option<Nanos>) {
        self.at = match (self.at, at) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

/// See the module.
pub(crate) struct Engine {
    pub(crate) disks: Vec<Disk>,
    /// Whether the whole job can be held.
    pub(crate) can_hold: bool,
    /// Once its sensor stands.
    pub(crate) cpu: Option<Cpu>,
    affinity: Affinity,
    /// Where the job's pages are kept in order.
    pub(crate) pages: Option<Arc<Link>>,
    held_for_pages: bool,
    pub(crate) net: Option<Net>,
    /// How it comes to be there, unless it was there from the beginning.
    pub(crate) net_when_used: WhenUsed,
    /// The machine is about to sleep: nothing is held.
    pub(crate) sleeps: Arc<AtomicBool>,
    /// Who holds the whole job, if not the resources above.
    pub(crate) regulator: Option<Regulator>,
    /// What the foreground may lose, divided among disks and CPUs.
    pub(crate) promise: Promise,
    counts: GateCounts,
    /// What the receiver may let pass.
    open: Arc<Open>,
    words: Words,
    /// Wall time during which at least one call waited or the whole job was held.
    pub(crate) held_ns: u64,
    held_since: Option<Nanos>,
    /// Calls are let go that have waited for long, whatever the disk's state; not where the interval is the user's choice.
    pub(crate) spares_the_oldest: bool,
    /// When that was last done.
    spared: Nanos,
    listener: Option<Arc<Listener>>,
    shared: Arc<Shared>,
    disk_of_dev: HashMap<u64, Option<usize>>,
    waiters: HashMap<u64, Waiter>,
    granted: HashMap<u32, Grant>,
    reader: Reader,
    family: Family,
    spare: Spare,
    background_seen: u64,
    granted_calls: u64,
    scratch: Vec<Ticket>,
}

impl Engine {
    pub(crate) fn new(disks: Vec<Disk>, promise: Loss, family: Family, shared: Arc<Shared>) -> Self {
        Self {
            disks,
            can_hold: true,
            cpu: None,
            affinity: Affinity::default(),
            pages: None,
            held_for_pages: false,
            net: None,
            net_when_used: WhenUsed::default(),
            sleeps: Arc::default(),
            regulator: None,
            promise: Promise::new(promise),
            counts: GateCounts::default(),
            open: Arc::default(),
            words: Words::default(),
            held_ns: 0,
            held_since: None,
            spares_the_oldest: false,
            spared: Nanos::ZERO,
            listener: None,
            shared,
            disk_of_dev: HashMap::new(),
            waiters: HashMap::new(),
            granted: HashMap::new(),
            reader: Reader::default(),
            spare: Spare::default(),
            family,
            background_seen: 0,
            granted_calls: 0,
            scratch: Vec::new(),
        }
    }

    pub(crate) fn set_listener(&mut self, listener: Arc<Listener>) {
        self.listener = Some(listener);
    }

    /// From now on these disks are watched, with their devices' records where the kernel keeps some.
    pub(crate) fn watch(&mut self, disks: Vec<Disk>) {
        self.disks = disks;
        self.open.watch(self.disks.iter().filter_map(Disk::device).cloned().collect());
    }

    /// What the receiver may let pass.
    pub(crate) fn open(&self) -> Arc<Open> {
        Arc::clone(&self.open)
    }

    /// What became of the trapped calls, those included that nobody looked at.
    pub(crate) fn gate_counts(&self) -> GateCounts {
        let unseen = self.open.passed();
        GateCounts {
            trapped: self.counts.trapped + unseen,
            passed: self.counts.passed + unseen,
            ..self.counts
        }
    }

    /// Whether something is yet to be told.
    pub(crate) fn has_words(&self) -> bool {
        !self.words.due.is_empty()
    }

    /// What is in the job's way, once each.
    pub(crate) fn take_words(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.words.due)
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

    /// Wall time held so far, the present hold included.
    pub(crate) fn held(&self, now: Nanos) -> Nanos {
        Nanos(self.held_ns + self.held_since.map_or(0, |since| now.since(since).0))
    }

    /// Decides about a call that was just trapped.
    pub(crate) fn on_trap(&mut self, now: Nanos, trap: &Trap) -> Verdict {
        match trap.nr {
            libc::SYS_socket => {
                self.net_when_used.is_used();
                return Verdict::Pass;
            }
            libc::SYS_sched_getaffinity | libc::SYS_sched_setaffinity => {
                if self.cpu.is_none() {
                    return Verdict::Pass;
                }
                self.affinity.wait(trap);
                return Verdict::Wait;
            }
            libc::SYS_seccomp => {
                // A lull within lull says so itself.
                if !is_lull(trap.tid) {
                    self.words.say(LISTENER_REFUSED);
                }
                return Verdict::Pass;
            }
            libc::SYS_io_uring_setup => {
                self.words.say(URING_REFUSED);
                return Verdict::Absent;
            }
            _ => {}
        }
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
        let verdict = if self.sleeps() { Verdict::Pass } else { self.decide(now, trap) };
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
            self.held_since.get_or_insert(now);
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
            self.held_since.get_or_insert(now);
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
        let pages = self.pages.as_ref().filter(|_| target::is_sync(trap))?;
        self.disks[disk].is_contended(now).then(|| pages.want_written())?
    }

    /// Lets calls queue whose pages are written, or have had the time for it; when to look again at the latest.
    fn queue_syncs(&mut self, now: Nanos) -> Option<Nanos> {
        let pages = self.pages.clone()?;
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
            if !self.pages.as_ref().is_some_and(|pages| pages.grant(Ticket(id))) {
                self.reader.read(Ticket(id));
            }
            return;
        };
        let alive = self.listener.as_ref().is_some_and(|listener| listener.pass(id));
        self.shared.unlist(id);
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

    /// Once the network is there, or is known not to be had: what a person should know, or why not.
    pub(crate) fn finish_net(&mut self) -> Option<Result<Vec<String>, String>> {
        let started = self.net_when_used.outcome()?.map(|(net, notes)| {
            self.net = Some(net);
            notes
        });
        Some(started)
    }

    /// Lets calls go on that waited for no disk.
    fn pass(&self, ids: &[u64]) {
        for id in ids {
            if let Some(listener) = &self.listener {
                listener.pass(*id);
            }
            self.shared.unlist(*id);
        }
    }

    /// Reads the sensors, lets go what may go, and says when to look again. Wake-ups are asked for before the last
    /// look, so that none is lost.
    pub(crate) fn turn(&mut self, now: Nanos) -> Next {
        let mut next = Next::default();
        let was_held = self.wants_held(now);
        let seen = self.open.count();
        self.promise.turn(now, &mut self.disks, self.cpu.as_mut());
        for disk in 0..self.disks.len() {
            let observation = self.disks[disk].observe(now);
            self.step(disk, now, Input::Observe(observation));
            let wake = self.disks[disk].resource.wake(now);
            if wake.foreground_end || wake.background_end {
                self.disks[disk].ask_wake(wake);
                let observation = self.disks[disk].observe(now);
                self.step(disk, now, Input::Observe(observation));
            }
            next.sooner(self.disks[disk].resource.wake(now).at);
            next.sooner(self.disks[disk].next_sample(now, &wake));
            next.sooner(self.disks[disk].control(now, was_held));
            let covered =
                self.granted.values().any(|grant| grant.disk == disk && now.since(grant.at) < CALL_AT_MOST);
            next.sooner(self.disks[disk].hold(now, covered));
        }
        next.sooner(self.regulator.as_mut().map(|regulator| regulator.turn(now)));
        self.set_open(now, seen);
        next.sooner(self.cpu.as_mut().and_then(|cpu| cpu.turn(now, was_held)));
        if let (Some(cpu), Some(listener)) = (&mut self.cpu, &self.listener) {
            let made = self.affinity.turn(now, cpu.gate(), listener);
            self.pass(&made);
            next.sooner(self.affinity.next());
        }
        next.sooner(self.net.as_mut().map(|net| net.turn(now)));
        next.sooner(self.read_ahead(now));
        next.sooner(self.write_back(now));
        next.sooner(self.queue_syncs(now));
        // Who is held handles none; `spare` sees to them.
        next.sooner(if was_held { None } else { self.let_signals_through(now) });
        let is_held = self.wants_hold();
        next.sooner(self.spare.turn(now, is_held, || Look::at(&self.family)));
        let held = !self.waiters.is_empty() || (is_held && !self.spare.is_on(now));
        match (held, self.held_since) {
            (true, None) => self.held_since = Some(now),
            (false, Some(since)) => {
                self.held_ns += now.since(since).0;
                self.held_since = None;
            }
            _ => {}
        }
        next
    }

    /// Lets pieces of the job's dirty pages queue at their disks. When the hold for their sake is over, if there is one.
    fn write_back(&mut self, now: Nanos) -> Option<Nanos> {
        let pages = self.pages.clone()?;
        let windows = self.disks.iter().map(|disk| disk.resource.window_bytes(now));
        for Wish { dev, ticket, bytes } in pages.take_wishes(windows.min().unwrap_or(u64::MAX)) {
            let dev = DevT::from_kernel(dev);
            match self.disk_of(libc::makedev(dev.major, dev.minor)) {
                Some(disk) => self.step(disk, now, Input::Arrive(ticket, bytes)),
                None => pages.answer_unwatched(ticket),
            }
        }
        let until = pages.hold_until(now);
        self.held_for_pages = until.is_some();
        until
    }

    /// Reads ahead for the job while the foreground is at work and the job reads without being trapped.
    fn read_ahead(&mut self, now: Nanos) -> Option<Nanos> {
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
        let is_held = self.wants_held(now);
        if self.reader.is_due(now, is_held) {
            self.reader.let_closed_go(now);
            let pids = if background > self.background_seen || self.reader.wants_look() {
                self.family.pids()
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
        // A piece may have let the job go.
        let is_held = self.wants_held(now);
        self.reader.next_look(is_held)
    }

    /// A call that waits delays the handling of a signal sent to its thread, and the freezing of its group by others: such calls are
    /// let go, and the oldest one when it has waited for long. Calls of dead threads are dropped.
    fn let_signals_through(&mut self, now: Nanos) -> Option<Nanos> {
        let due: Vec<(u64, Waiter)> = self
            .waiters
            .iter()
            .filter(|(_, waiter)| self.sleeps() || now.since(waiter.checked) >= SIGNAL_CHECK)
            .map(|(id, waiter)| (*id, *waiter))
            .collect();
        // Whoever froze the job from outside waits until its last thread stands still.
        let is_frozen = self.sleeps() || (!due.is_empty() && self.family.is_frozen());
        let oldest =
            due.iter().min_by_key(|(_, waiter)| waiter.since).map(|(id, waiter)| (*id, waiter.since));
        let is_long = |since: Nanos| now.since(since.max(self.spared)) >= CALL_WAITS_AT_MOST;
        let overdue = oldest.filter(|(_, since)| self.spares_the_oldest && is_long(*since)).map(|(id, _)| id);
        if overdue.is_some() {
            self.spared = now;
        }
        for (id, waiter) in due {
            if is_frozen || overdue == Some(id) || super::signals::is_pending(waiter.tid) {
                self.counts.signalled += u64::from(overdue != Some(id));
                self.step(waiter.disk, now, Input::Withdraw(Ticket(id)));
                self.release(now, id);
            } else if let Some(waiter) = self.waiters.get_mut(&id) {
                waiter.checked = now;
            }
        }
        self.waiters.values().map(|waiter| waiter.checked.plus(SIGNAL_CHECK)).min()
    }

    /// From now on what is read ahead for the job is counted here.
    pub(crate) fn count_read_ahead(&mut self, counter: ReadAhead) {
        self.reader.done = counter;
    }

    /// Bytes read ahead for the job.
    pub(crate) fn read_ahead_bytes(&self) -> u64 {
        self.reader.done.bytes()
    }

    /// Whether the job has to be held at `now`.
    pub(crate) fn wants_held(&self, now: Nanos) -> bool {
        self.wants_hold() && !self.spare.is_on(now)
    }

    fn sleeps(&self) -> bool {
        self.sleeps.load(Ordering::Relaxed)
    }

    /// Whether some resource, or the regulator, wants the job held.
    fn wants_hold(&self) -> bool {
        let wants = self.held_for_pages
            || self.disks.iter().any(Disk::wants_hold)
            || self.cpu.as_ref().is_some_and(Cpu::wants_hold)
            || self.net.as_ref().is_some_and(Net::wants_hold)
            || self.regulator.as_ref().is_some_and(Regulator::holds);
        self.can_hold && wants && !self.sleeps()
    }

    /// Lets every waiting call go: the supervisor ends.
    pub(crate) fn release_all(&mut self, now: Nanos) {
        self.reader.stop();
        self.cpu = None;
        let unanswered = self.affinity.end();
        self.pass(&unanswered);
        self.net = None;
        self.regulator = None;
        let ids: Vec<u64> = self.waiters.keys().copied().collect();
        for id in ids {
            self.release(now, id);
        }
    }
}

/// Whether the thread is on its way from a lull to that one's job.
fn is_lull(tid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{tid}/comm")).is_ok_and(|name| name.trim_end() == "lull")
}

/// The first of `disks` that a request to a file on device number `dev` meets.
fn find_disk(disks: &[Disk], dev: u64) -> Option<usize> {
    let chain = Topology::host().serving_disks(DevT::from_stat(dev)).unwrap_or_default();
    chain.iter().find_map(|serving| disks.iter().position(|disk| disk.traits.dev == serving.dev))
}
