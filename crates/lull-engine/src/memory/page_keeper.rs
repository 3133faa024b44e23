//! The thread that keeps the job's pages in order.
//!
//! ```text
//!             ┌─clean──▶ Keep ──drops──▶ evict ──still in use──▶ tried again now and then, and at the end
//!   observer ─┤            ▲
//!             └─dirty──▶ Cleaner ──portion──▶ its disk's turn ──▶ write ──▶ written
//!                          │                                                  │ clean
//!                          └─ over the bound, narrow: hold        Keep ◀──────┘
//! ```
//!
//! A job that syncs a file has all of it written at once, and the foreground's next request waits for that. Beside a foreground the
//! call waits until the pieces are written (`Engine`).

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lull_bpf::{Chunk, PageSensor, Touched};
use lull_core::memory::page_cache::{Eviction, KeptPages, LeftOver};
use lull_core::memory::pages::CHUNK_PAGES;
use lull_core::memory::writeback::{Cleaner, Pace, Portion};
use lull_core::{Hold, HoldAction, HoldSetting, Nanos, State, Ticket};
use lull_linux::clock;
use lull_linux::gate::evict::{evict, page_bytes, still_cached};
use lull_linux::gate::inode::{FileId, Inodes};
use lull_linux::gate::writeback;
use lull_linux::root::Root;
use lull_linux::topology::DevT;

use super::aim::MemoryAim;
use super::already_dirty;
use super::exchange::{Cause, Exchange};
use crate::job_processes::JobProcesses;
use crate::lock::lock;
use crate::report::memory::MemorySummary;

/// How often the thread looks while the observer has nothing to wake it for.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// … while the job touches next to nothing, as one that is held: fewer pages than these between two looks.
const LOOK_AT_REST: Duration = Duration::from_secs(4);
const FEW_PAGES: u64 = 256;
/// … while the job has dirty pages.
const LOOK_DIRTY: Duration = Duration::from_millis(50);
/// … and while pages are being written.
const LOOK_WRITING: Duration = Duration::from_millis(2);
/// Who syncs no more than this may do so by itself.
const ONE_PIECE: u64 = Pace::within(0).bytes;
/// Between turning to the other map and taking the first: far more than an observer's program takes.
const TURN: Duration = Duration::from_millis(1);
/// What may stay in the page cache while the foreground wants memory: what was read ahead and is about to be used.
const SHORT_KEEP_BYTES: u64 = 8 << 20;
/// How often the job's processes are asked for their size.
const SIZE_EVERY: Nanos = Nanos::from_secs(1);
/// Processes that are asked.
const SIZED: usize = 256;

/// To the thread.
pub(super) enum Order {
    /// Take out everything, and say when that is done.
    Settle(SyncSender<()>),
}

/// The thread's state.
pub(super) struct Keeper {
    sensor: PageSensor,
    exchange: Arc<Exchange>,
    job_processes: JobProcesses,
    keep: KeptPages<Chunk>,
    aim: MemoryAim,
    cleaner: Cleaner<Chunk>,
    hold: Option<Hold>,
    longest_hold: Nanos,
    inodes: Inodes,
    asked: HashMap<Ticket, Portion<Chunk>>,
    writing: Vec<Portion<Chunk>>,
    left_over: LeftOver<Chunk>,
    /// Pages that were dirty before the observer stood.
    inherited: u64,
    /// Pages touched at the latest look.
    counted: u64,
    /// None were touched between the latest two.
    at_rest: bool,
    /// The job is over.
    settled: bool,
    sized: Nanos,
    seen: MemorySummary,
}

impl Keeper {
    pub(super) fn new(
        aim: MemoryAim,
        sensor: PageSensor,
        exchange: Arc<Exchange>,
        job_processes: JobProcesses,
    ) -> Self {
        let hold = aim.longest_hold.map(|longest| {
            // Beside a foreground that leaves no gap the job writes next to nothing.
            Hold::new(HoldSetting { longest, floor: Nanos::from_millis(1), ..HoldSetting::default() })
        });
        Self {
            sensor,
            exchange,
            job_processes,
            keep: KeptPages::new(aim.cache_keep_bytes / page_bytes()),
            aim,
            cleaner: Cleaner::new(aim.dirty_bytes / page_bytes()),
            hold,
            longest_hold: aim.longest_hold.unwrap_or_default(),
            inodes: Inodes::new(Root::real()),
            asked: HashMap::new(),
            writing: Vec::new(),
            left_over: LeftOver::default(),
            inherited: 0,
            counted: 0,
            at_rest: false,
            settled: false,
            sized: Nanos::ZERO,
            seen: MemorySummary::default(),
        }
    }

    /// Until the handle is gone.
    pub(super) fn run(mut self, orders: &Receiver<Order>, shown: &Mutex<MemorySummary>) {
        self.exchange.begin();
        self.inherit(clock::now());
        loop {
            wait([self.sensor.wake_fd(), self.exchange.to_keeper().as_raw_fd()], self.timeout(clock::now()));
            self.sensor.drain();
            self.exchange.to_keeper().take();
            let now = clock::now();
            // Before the look: what was dirty by then is in it.
            let wanted = self.exchange.wanted();
            self.look(now);
            let order = orders.try_recv();
            if matches!(order, Ok(Order::Settle(_))) {
                self.settle(now);
            }
            self.follow_shortage(now);
            self.write_back(now);
            if self.cleaner.pages() * page_bytes() <= ONE_PIECE {
                self.exchange.set_written(wanted);
            }
            let mut drops = self.keep.excess(now);
            drops.extend(self.left_over.due(now));
            self.evict_all(now, drops);
            self.hold(now);
            self.show(now, shown);
            match order {
                // Whoever asked may have gone.
                Ok(Order::Settle(done)) => drop(done.send(())),
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => {}
            }
        }
    }

    /// Takes over what the job made dirty before.
    fn inherit(&mut self, now: Nanos) {
        for (chunk, pages) in already_dirty::dirty_pages(self.job_processes.pids()) {
            self.inherited += pages.count();
            self.cleaner.dirtied(now, chunk, &pages);
        }
        // From now on the job's end waits for them.
        self.exchange.set_clean(self.cleaner.pages() == 0);
    }

    fn timeout(&self, now: Nanos) -> Duration {
        let look = match (self.writing.is_empty(), self.cleaner.pages()) {
            (false, _) => LOOK_WRITING,
            (true, 0) if self.at_rest => LOOK_AT_REST,
            (true, 0) => LOOK_EVERY,
            (true, _) => LOOK_DIRTY,
        };
        let due = self.keep.next_look().map(|at| Duration::from_nanos(at.since(now).0));
        due.map_or(look, |due| due.min(look))
    }

    /// While the foreground wants memory, what is clean goes before anything has to be paged out, and what is dirty is written so
    /// that it can go; so is what the job itself waits for.
    fn follow_shortage(&mut self, now: Nanos) {
        let is_short = self.exchange.is_short(now);
        let bytes = match (self.settled, is_short) {
            (true, _) => 0,
            (false, true) => self.aim.cache_keep_bytes.min(SHORT_KEEP_BYTES),
            (false, false) => {
                self.aim.may_keep(self.keep.pages() * page_bytes(), self.exchange.unused_bytes())
            }
        };
        self.keep.set_bound(bytes / page_bytes());
        let is_wanted = !self.exchange.is_written(self.exchange.wanted());
        self.cleaner.hurry(self.settled || is_short || is_wanted);
    }

    /// Takes what the job has touched since the last look.
    fn look(&mut self, now: Nanos) {
        let counts = self.sensor.counts();
        let touched = counts.filled + counts.dirtied;
        let new = touched.saturating_sub(std::mem::replace(&mut self.counted, touched));
        self.at_rest = new < FEW_PAGES;
        if new == 0 {
            return;
        }
        for take in 0..2 {
            if take > 0 {
                std::thread::sleep(TURN);
            }
            // What cannot be taken now is taken with the next look.
            for touched in self.sensor.take().unwrap_or_default() {
                let Touched { chunk, filled, dirtied } = touched;
                self.keep.filled(now, chunk, &filled.without(&dirtied));
                self.keep.forget(chunk, &dirtied);
                self.cleaner.dirtied(now, chunk, &dirtied);
            }
        }
    }

    fn open(&mut self, now: Nanos, chunk: &Chunk) -> io::Result<File> {
        let dev = DevT::from_kernel(chunk.dev);
        self.inodes.open(now, &FileId { dev, inode: chunk.inode, generation: chunk.generation })
    }

    /// Writes the portions whose turn has come, and asks for more.
    fn write_back(&mut self, now: Nanos) {
        for portion in std::mem::take(&mut self.writing) {
            match self.open(now, &portion.chunk).and_then(|file| pending(&file, &portion)) {
                Ok((_, writeback)) if writeback > 0 => self.writing.push(portion),
                Ok((dirty, _)) => self.written(now, &portion, dirty > 0),
                // The file is gone.
                Err(_) => self.cleaner.written(&portion),
            }
        }
        for ticket in self.exchange.take_granted() {
            let Some(portion) = self.asked.remove(&ticket) else { continue };
            let started = self
                .open(now, &portion.chunk)
                .and_then(|file| writeback::start(&file, portion.chunk.index * CHUNK_PAGES, portion.run));
            match started {
                Ok(()) => {
                    self.seen.written_bytes += portion.pages.count() * page_bytes();
                    self.writing.push(portion);
                }
                Err(_) => self.cleaner.written(&portion),
            }
        }
        let pace = Pace::within(self.exchange.window_bytes());
        while self.asked.len() + self.writing.len() < pace.in_flight {
            let Some(portion) = self.cleaner.next(now, pace.bytes / page_bytes()) else { break };
            match self.open(now, &portion.chunk).and_then(|file| pending(&file, &portion)) {
                Ok((0, 0)) => self.written(now, &portion, false),
                Ok((0, _)) => self.writing.push(portion),
                Ok(_) => {
                    let ticket = self.exchange.ask(portion.chunk.dev, portion.pages.count() * page_bytes());
                    self.asked.insert(ticket, portion);
                }
                // Gone, or of a file system that cannot be opened by handle: the kernel writes it.
                Err(_) => self.cleaner.written(&portion),
            }
        }
        self.exchange.set_clean(self.cleaner.pages() == 0);
    }

    /// A portion is no longer being written. What somebody made dirty again meanwhile is written again.
    fn written(&mut self, now: Nanos, portion: &Portion<Chunk>, is_dirty: bool) {
        let Portion { chunk, pages, .. } = *portion;
        self.cleaner.written(portion);
        if is_dirty {
            self.cleaner.dirtied(now, chunk, &pages);
        } else {
            self.keep.filled(now, chunk, &pages.without(&self.cleaner.waiting(chunk)));
        }
    }

    /// Holds the job while more is dirty than may be and a disk's window is narrow, beside its foreground. With nobody to disturb the
    /// kernel's own bounds are enough, and the job is as fast as without lull.
    fn hold(&mut self, now: Nanos) {
        let Some(hold) = &mut self.hold else { return };
        let is_harmful = self.cleaner.is_over() && !Pace::within(self.exchange.window_bytes()).is_wide();
        let state = if is_harmful { State::Foreground } else { State::Idle };
        match hold.step(now, self.sensor.counts().dirtied, state, true) {
            Some(HoldAction::Hold) => self.exchange.hold(Cause::Dirty, now.plus(self.longest_hold)),
            Some(HoldAction::Release) => self.exchange.hold(Cause::Dirty, Nanos::ZERO),
            None => {}
        }
    }

    fn evict_all(&mut self, now: Nanos, mut drops: Vec<Eviction<Chunk>>) {
        drops.sort_unstable_by_key(|drop| drop.chunk);
        let same_file = |a: &Eviction<Chunk>, b: &Eviction<Chunk>| {
            let file = |drop: &Eviction<Chunk>| (drop.chunk.dev, drop.chunk.inode, drop.chunk.generation);
            file(a) == file(b)
        };
        for of_file in drops.chunk_by(same_file) {
            let Some(Eviction { chunk, .. }) = of_file.first() else { continue };
            let bytes = of_file.iter().map(|drop| drop.pages.count()).sum::<u64>() * page_bytes();
            match self.open(now, chunk) {
                Ok(file) => of_file.iter().for_each(|drop| self.evict_chunk(now, &file, drop)),
                // Its pages went with it.
                Err(error) if error.raw_os_error() == Some(libc::ESTALE) => self.seen.evicted_bytes += bytes,
                Err(_) => self.seen.missed_bytes += bytes,
            }
        }
    }

    fn evict_chunk(&mut self, now: Nanos, file: &File, drop: &Eviction<Chunk>) {
        for run in drop.pages.runs() {
            let Ok(outcome) = evict(file, drop.chunk.index * CHUNK_PAGES, run) else { continue };
            self.seen.evicted_bytes += outcome.gone * page_bytes();
            // The job, or somebody else, may have written to them again meanwhile.
            if outcome.left + outcome.dirty > 0 {
                // What has gone may come back for somebody else.
                let left = still_cached(file, drop.chunk.index * CHUNK_PAGES, run);
                self.left_over.left(now, drop.chunk, &left);
            }
        }
    }

    /// The job is over: nothing is kept any more, what is dirty is written as soon as may be, and what was mapped is tried
    /// again.
    fn settle(&mut self, now: Nanos) {
        self.settled = true;
        self.follow_shortage(now);
        let mut drops = self.left_over.all();
        drops.extend(self.keep.finish());
        self.evict_all(now, drops);
    }

    fn show(&mut self, now: Nanos, shown: &Mutex<MemorySummary>) {
        let (counts, size) = (self.sensor.counts(), page_bytes());
        if now.since(self.sized) >= SIZE_EVERY {
            self.sized = now;
            let pids = self.job_processes.pids();
            let sizes = pids.into_iter().take(SIZED).filter_map(size_of_process);
            let (resident, paged_out) = sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
            self.seen.resident_bytes = resident;
            self.seen.paged_out_bytes = paged_out;
            self.seen.peak_resident_bytes = self.seen.peak_resident_bytes.max(resident);
        }
        self.seen.filled_bytes = counts.filled * size;
        self.seen.dirtied_bytes = (counts.dirtied + self.inherited) * size;
        self.seen.unseen_bytes = counts.missed * size;
        self.seen.kept_bytes = self.keep.pages() * size;
        self.seen.dirty_bytes = self.cleaner.pages() * size;
        self.seen.peak_dirty_bytes = self.seen.peak_dirty_bytes.max(self.seen.dirty_bytes);
        *lock(shown) = self.seen;
    }
}

/// Pages of a portion that are dirty, and that are being written.
fn pending(file: &File, portion: &Portion<Chunk>) -> io::Result<(u64, u64)> {
    let counts = writeback::pending(file, portion.chunk.index * CHUNK_PAGES, portion.run)?;
    Ok((counts.dirty, counts.writeback))
}

/// Bytes of a process in memory and paged out; shared pages count for each process.
fn size_of_process(pid: i32) -> Option<(u64, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let field = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
    };
    Some((field("VmRSS:")?, field("VmSwap:")?))
}

/// Until one of the descriptors is readable or the time is over.
fn wait(fds: [RawFd; 2], timeout: Duration) {
    let mut polls = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    let timeout_ms = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: valid records for the length of the call.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout_ms) };
}
