//! The job's footprint in the page cache: what it reads through the cache leaves nothing behind that was not there before.
//!
//! A thread of the supervisor takes from the page-cache observer which pages the job brought in, asks
//! [`lull_core::keep`] which of them have to go, opens their files by inode and takes them out. No call of the job is
//! slowed down, and files that are open for microseconds are seen like any other. While nothing happens the thread sleeps.
//!
//! ```text
//!   observer ──pages──▶ Keep ──drops──▶ evict ──still mapped──▶ kept in mind
//!                        ▲                                         │
//!                        └───── the job is over: all of it ◀───────┘
//! ```
//!
//! Pages that the job made dirty are left to the kernel, and pages that were dirty when they should have gone too.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lull_bpf::{Chunk, PageSensor, PageSettings, SensorError, Touched};
use lull_core::keep::{Drop, Keep};
use lull_core::pages::{CHUNK_PAGES, Run};
use lull_core::{Nanos, PageSet};
use lull_linux::clock;
use lull_linux::gate::evict::{evict, page_bytes};
use lull_linux::gate::inode::{FileId, Inodes};
use lull_linux::root::Root;
use lull_linux::topology::DevT;
use serde::{Deserialize, Serialize};

use super::family::Family;
use super::supervisor::Nudge;

/// What may stay in the page cache unless the user says otherwise, in bytes.
pub(crate) const CACHE_KEEP_BYTES: u64 = 64 << 20;
/// The observer wakes the thread this often while the bound fills up.
const WAKES_PER_BOUND: u64 = 8;
/// … but not for fewer pages than these.
const WAKE_PAGES: u64 = 512;
/// How often the thread looks while the observer has nothing to wake it for.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Between turning to the other map and taking the first: far more than an observer's program takes.
const TURN: Duration = Duration::from_millis(1);
/// Chunks with mapped pages that are kept in mind until the end.
const MAPPED_CHUNKS: usize = 4096;
/// How long the summary waits for the last pages to go.
const SETTLE: Duration = Duration::from_millis(500);

/// What the user wants of the job's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryAim {
    /// Bytes of the job's pages that may stay in the page cache while it runs.
    pub(crate) cache_keep_bytes: u64,
}

/// What became of the job's pages, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemorySummary {
    /// Brought into the page cache by the job.
    pub(crate) filled_bytes: u64,
    /// … of which taken out again.
    pub(crate) evicted_bytes: u64,
    /// … of which are kept for it now.
    pub(crate) kept_bytes: u64,
    /// Made dirty by the job.
    pub(crate) dirtied_bytes: u64,
    /// Touched by the job and not recorded: too many at once, or of files that cannot be opened.
    pub(crate) missed_bytes: u64,
}

impl MemorySummary {
    /// A line for a person.
    pub(crate) fn text(&self) -> String {
        use super::summary::bytes;
        let mut text = format!(
            "lull: page cache: {} brought in, {} taken out again",
            bytes(self.filled_bytes),
            bytes(self.evicted_bytes)
        );
        if self.kept_bytes > 0 {
            text += &format!(", {} kept", bytes(self.kept_bytes));
        }
        if self.dirtied_bytes > 0 {
            text += &format!("; {} written", bytes(self.dirtied_bytes));
        }
        if self.missed_bytes > 0 {
            text += &format!("; {} unknown", bytes(self.missed_bytes));
        }
        text.push('\n');
        text
    }
}

/// To the thread.
enum Order {
    /// Take out everything, and say when that is done.
    Settle(SyncSender<()>),
}

/// The handle to the thread; without it the thread ends.
pub(crate) struct Memory {
    orders: Sender<Order>,
    nudge: Arc<Nudge>,
    seen: Arc<Mutex<MemorySummary>>,
    failure: Receiver<SensorError>,
}

impl Memory {
    /// Starts the thread, which loads the observer beside the job. `None` with a reason if there is nothing to observe by.
    pub(crate) fn start(aim: MemoryAim, family: &Family) -> Result<Self, &'static str> {
        let Some(job_group) = family.group_id() else {
            return Err(
                "what the job reads stays in the page cache: there is no v2 control group to know its pages by",
            );
        };
        let keep_pages = aim.cache_keep_bytes / page_bytes();
        let wake_pages = (keep_pages / WAKES_PER_BOUND).max(WAKE_PAGES);
        let settings = PageSettings { job_group, own: std::process::id(), wake_pages };
        let (orders, received) = channel();
        let (failed, failure) = channel();
        let nudge = Nudge::new().map(Arc::new).map_err(|_| "no event counter for the page cache")?;
        let seen = Arc::new(Mutex::new(MemorySummary::default()));
        let (given, shown) = (Arc::clone(&nudge), Arc::clone(&seen));
        std::thread::spawn(move || match PageSensor::load(&settings) {
            Ok(sensor) => {
                let keeper = Keeper {
                    sensor,
                    keep: Keep::new(keep_pages),
                    inodes: Inodes::new(Root::real()),
                    mapped: HashMap::new(),
                    counted: 0,
                    evicted: 0,
                    unopened: 0,
                };
                keeper.run(&received, &given, &shown);
            }
            Err(error) => {
                // Nobody asks any more: the job has ended.
                let _ = failed.send(error);
            }
        });
        Ok(Self { orders, nudge, seen, failure })
    }

    /// Why there is no observer, once.
    pub(crate) fn failure(&self) -> Option<SensorError> {
        self.failure.try_recv().ok()
    }

    /// What became of the job's pages so far.
    pub(crate) fn summary(&self) -> MemorySummary {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out everything that was kept for the job. Waits for that, but not for long.
    pub(crate) fn settle(&self) {
        let (done, is_done) = sync_channel(1);
        if self.orders.send(Order::Settle(done)).is_ok() {
            self.nudge.give();
            // A thread that is late goes on behind our back.
            let _ = is_done.recv_timeout(SETTLE);
        }
    }
}

impl std::ops::Drop for Memory {
    fn drop(&mut self) {
        self.settle();
    }
}

/// The thread's state.
struct Keeper {
    sensor: PageSensor,
    keep: Keep<Chunk>,
    inodes: Inodes,
    /// Pages that could not go because a process had mapped them.
    mapped: HashMap<Chunk, PageSet>,
    /// Pages touched at the latest look.
    counted: u64,
    evicted: u64,
    unopened: u64,
}

impl Keeper {
    fn run(mut self, orders: &Receiver<Order>, nudge: &Nudge, seen: &Mutex<MemorySummary>) {
        loop {
            wait([self.sensor.wake_fd(), nudge.as_raw_fd()], self.timeout(clock::now()));
            self.sensor.drain();
            nudge.take();
            let now = clock::now();
            self.look(now);
            let drops = self.keep.excess(now);
            self.evict_all(now, drops);
            let order = orders.try_recv();
            if let Ok(Order::Settle(done)) = &order {
                self.settle(clock::now());
                self.show(seen);
                // Whoever asked may have gone.
                let _ = done.send(());
            } else {
                self.show(seen);
            }
            if matches!(order, Err(TryRecvError::Disconnected)) {
                return;
            }
        }
    }

    fn timeout(&self, now: Nanos) -> Duration {
        let due = self.keep.next_look().map(|at| Duration::from_nanos(at.since(now).0));
        due.map_or(LOOK_EVERY, |due| due.min(LOOK_EVERY))
    }

    /// Takes what the job has touched since the last look.
    fn look(&mut self, now: Nanos) {
        let counts = self.sensor.counts();
        let touched = counts.filled + counts.dirtied;
        if touched == self.counted {
            return;
        }
        self.counted = touched;
        for take in 0..2 {
            if take > 0 {
                std::thread::sleep(TURN);
            }
            // What cannot be taken now is taken with the next look.
            for touched in self.sensor.take().unwrap_or_default() {
                self.note(now, &touched);
            }
        }
    }

    fn note(&mut self, now: Nanos, touched: &Touched) {
        let Touched { chunk, filled, dirtied } = touched;
        self.keep.filled(now, *chunk, &filled.without(dirtied));
        self.keep.forget(*chunk, dirtied);
    }

    fn evict_all(&mut self, now: Nanos, mut drops: Vec<Drop<Chunk>>) {
        drops.sort_unstable_by_key(|drop| drop.chunk);
        for of_file in drops.chunk_by(|a, b| id_of(&a.chunk) == id_of(&b.chunk)) {
            let Some(Drop { chunk, .. }) = of_file.first() else { continue };
            match self.inodes.open(now, &id_of(chunk)) {
                Ok(file) => {
                    for drop in of_file {
                        self.evict_chunk(&file, drop);
                    }
                }
                // Its pages went with it.
                Err(error) if error.raw_os_error() == Some(libc::ESTALE) => {
                    self.evicted += of_file.iter().map(|drop| drop.pages.count()).sum::<u64>();
                }
                Err(_) => self.unopened += of_file.iter().map(|drop| drop.pages.count()).sum::<u64>(),
            }
        }
    }

    fn evict_chunk(&mut self, file: &std::fs::File, drop: &Drop<Chunk>) {
        let base = drop.chunk.index * CHUNK_PAGES;
        for run in drop.pages.runs() {
            let Ok(outcome) = evict(file, base, run) else { continue };
            self.evicted += outcome.gone;
            if outcome.left > 0
                && (self.mapped.len() < MAPPED_CHUNKS || self.mapped.contains_key(&drop.chunk))
            {
                let Run { first, pages } = run;
                let left = self.mapped.entry(drop.chunk).or_default();
                *left = left.or(&PageSet::of(first..first + pages));
            }
        }
    }

    /// Takes out all that was kept, and tries those that were mapped again.
    fn settle(&mut self, now: Nanos) {
        self.look(now);
        let kept = self.keep.finish();
        let mapped = std::mem::take(&mut self.mapped);
        let drops = mapped.into_iter().map(|(chunk, pages)| Drop { chunk, pages }).chain(kept);
        self.evict_all(now, drops.collect());
    }

    fn show(&self, seen: &Mutex<MemorySummary>) {
        let counts = self.sensor.counts();
        let size = page_bytes();
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = MemorySummary {
            filled_bytes: counts.filled * size,
            evicted_bytes: self.evicted * size,
            kept_bytes: self.keep.pages() * size,
            dirtied_bytes: counts.dirtied * size,
            missed_bytes: (counts.missed + self.unopened) * size,
        };
    }
}

fn id_of(chunk: &Chunk) -> FileId {
    FileId { dev: DevT::from_kernel(chunk.dev), inode: chunk.inode, generation: chunk.generation }
}

/// Until one of the descriptors is readable or the time is over.
fn wait(fds: [RawFd; 2], timeout: Duration) {
    let mut polls = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    let timeout_ms = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: valid records for the length of the call.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout_ms) };
}
