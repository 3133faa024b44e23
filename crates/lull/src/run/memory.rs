//! The job's footprint in memory: what it reads through the page cache leaves nothing behind that was not there before, and
//! what it writes is written in pieces, in the gaps, so that little of it is dirty at any time.
//!
//! A thread of the supervisor ([`keeper`]) takes from the page-cache observer which pages the job brought in and which it
//! made dirty, and does what [`lull_core::memory::page_cache`] and [`lull_core::memory::writeback`] say. No call of the job is slowed down, and files
//! that are open for microseconds are seen like any other. Pieces to be written take their turn in the queue of their disk
//! ([`link`]). While nothing happens the thread sleeps.
//!
//! A second thread ([`room`]) keeps memory free for the foreground, and takes the job's pages for that. A third one ([`launder`]) has written
//! some of them to swap before, while the disk was idle.
//!
//! All of this begins when it can matter ([`start`]), or with the job if memory was named.
//!
//! When the job is over, all of its pages go; what is still dirty then is written in the gaps of the next
//! [`LINGER`], and left to the kernel after that.

mod inherit;
pub(crate) mod keeper;
mod launder;
pub(crate) mod link;
mod room;
pub(crate) mod shed;
pub(crate) mod start;

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lull_bpf::{PageSensor, PageSettings, SensorError};
use lull_core::{Nanos, Room, RoomSetting};
use lull_linux::cgroup::memory::MemoryGroup;
use lull_linux::gate::evict::page_bytes;
use lull_linux::gate::thresholds::{self, processes::ProcessMemory};
use lull_linux::root::Root;
use lull_linux::sense::pressure::OthersPressure;
use lull_linux::sense::room::RoomSensor;
use serde::{Deserialize, Serialize};

use super::cpu_start::at_normal_priority;
use super::family::Family;
use super::helper;
use super::summary::bytes;
use super::supervisor::Nudge;
use keeper::Keeper;
use launder::Launderer;
use link::Link;
use room::{RoomKeeper, RoomLine, RoomOrder, RoomOrders, RoomShown};
use start::Begins;

/// What may stay in the page cache unless the user says otherwise, in bytes.
pub(crate) const CACHE_KEEP_BYTES: u64 = 64 << 20;
/// One part in so many of the memory that nobody uses, not even as page cache, may be the job's page cache, too: it displaces nobody.
const UNUSED_SHARE: u64 = 4;
/// … up to this, since each file that is kept is remembered.
const MOST_KEPT_BYTES: u64 = 1 << 30;
/// What may be dirty unless the user says otherwise, in bytes.
pub(crate) const DIRTY_BYTES: u64 = 64 << 20;
/// The longest hold for the sake of dirty pages.
pub(crate) const LONGEST_DIRTY_HOLD: Nanos = Nanos::from_millis(250);
/// How long the supervisor goes on for pages that are dirty when the job has ended.
pub(crate) const LINGER: Nanos = Nanos::from_secs(10);
/// The observer wakes the thread this often while the bounds fill up.
const WAKES_PER_BOUND: u64 = 8;
/// … but not for fewer pages than these.
const WAKE_PAGES: u64 = 512;
/// How long the summary waits for the last pages to go.
const SETTLE: Duration = Duration::from_millis(500);
/// Why the job's pages cannot be known.
const NO_GROUP: &str =
    "what the job reads stays in the page cache: there is no v2 control group to know its pages by";

/// What the user wants of the job's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryAim {
    /// When it begins.
    pub(crate) begins: Begins,
    /// Bytes of the job's pages that may stay in the page cache while it runs.
    pub(crate) cache_keep_bytes: u64,
    /// More of them may stay where nobody uses the memory.
    pub(crate) keeps_unused: bool,
    /// Bytes of the job's that may be dirty.
    pub(crate) dirty_bytes: u64,
    /// Below and above what the job's pages stay, and go first.
    pub(crate) room: RoomSetting,
    /// What is taken from the job at a time; `None`: what is missing.
    pub(crate) batch_bytes: Option<u64>,
    /// Whether the job's memory is written to swap ahead of need.
    pub(crate) cleans: bool,
    /// How long the job may be held for the sake of memory; `None`: it never is.
    pub(crate) longest_hold: Option<Nanos>,
}

impl MemoryAim {
    /// What may stay in the page cache while the job runs, if that has so much there now and nobody uses so much.
    fn may_keep(&self, has_bytes: u64, unused_bytes: u64) -> u64 {
        let of_unused = (has_bytes.saturating_add(unused_bytes) / UNUSED_SHARE).min(MOST_KEPT_BYTES);
        self.cache_keep_bytes.max(if self.keeps_unused { of_unused } else { 0 })
    }
}

/// What became of the job's pages, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemorySummary {
    /// Brought into the page cache by the job.
    pub(crate) filled_bytes: u64,
    /// Taken out of it again, or found gone.
    pub(crate) evicted_bytes: u64,
    /// Kept for the job now.
    pub(crate) kept_bytes: u64,
    /// Made dirty by the job.
    pub(crate) dirtied_bytes: u64,
    /// … of which lull had written.
    pub(crate) written_bytes: u64,
    /// Dirty or being written now, and the most that ever was at a look.
    pub(crate) dirty_bytes: u64,
    pub(crate) peak_dirty_bytes: u64,
    /// Touched by the job and not recorded, being too many at once.
    pub(crate) unseen_bytes: u64,
    /// Not taken out, being of files that cannot be opened by number.
    pub(crate) missed_bytes: u64,
    /// The job's processes, now and at most: shared pages count for each of them.
    pub(crate) resident_bytes: u64,
    pub(crate) peak_resident_bytes: u64,
    pub(crate) paged_out_bytes: u64,
    /// Taken from the job because the foreground wanted memory.
    pub(crate) given_bytes: u64,
    /// Written to swap before anybody needed it.
    pub(crate) laundered_bytes: u64,
    /// What the job may have now; `None`: anything.
    pub(crate) ceiling_bytes: Option<u64>,
}

impl MemorySummary {
    /// A line for a person.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "lull: memory: at most {} resident; page cache: {} brought in, {} taken out again",
            bytes(self.peak_resident_bytes),
            bytes(self.filled_bytes),
            bytes(self.evicted_bytes)
        );
        for (amount, what) in [
            (self.kept_bytes, "kept"),
            (self.unseen_bytes, "not recorded"),
            (self.missed_bytes, "of files that cannot be opened by number"),
        ] {
            if amount > 0 {
                text += &format!(", {} {what}", bytes(amount));
            }
        }
        if self.dirtied_bytes > 0 {
            text += &format!(
                "; {} made dirty, {} at most at a time, {} written by lull",
                bytes(self.dirtied_bytes),
                bytes(self.peak_dirty_bytes),
                bytes(self.written_bytes)
            );
        }
        if self.given_bytes > 0 {
            text += &format!("; {} given to the foreground", bytes(self.given_bytes));
        }
        if self.laundered_bytes > 0 {
            text += &format!("; {} written to swap ahead of need", bytes(self.laundered_bytes));
        }
        text.push('\n');
        text
    }

    /// A few words for the status line.
    pub(crate) fn short_text(&self) -> String {
        let mut text = format!("resident {}", bytes(self.resident_bytes));
        for (amount, what) in [
            (self.paged_out_bytes, "paged out"),
            (self.kept_bytes, "cache kept"),
            (self.dirty_bytes, "dirty"),
        ] {
            if amount > 0 {
                text += &format!(", {what} {}", bytes(amount));
            }
        }
        if let Some(ceiling) = self.ceiling_bytes {
            text += &format!(", at most {}", bytes(ceiling));
        }
        text
    }
}

/// To the thread.
pub(crate) enum Order {
    /// Take out everything, and say when that is done.
    Settle(SyncSender<()>),
}

/// The handle to the thread; without it the thread ends.
pub(crate) struct Memory {
    orders: Sender<Order>,
    room: Arc<Mutex<RoomShown>>,
    pub(crate) link: Arc<Link>,
    shown: Arc<Mutex<MemorySummary>>,
    failure: Receiver<SensorError>,
    settled: Option<Nanos>,
}

impl Memory {
    /// Starts the thread, which loads the observer beside the job. What the job has brought in until it stands is taken out
    /// again as far as it lies in a memory group of the job's.
    ///
    /// # Errors
    /// Why there is nothing to observe by.
    fn start(
        aim: MemoryAim,
        family: Family,
        group: Option<MemoryGroup>,
        to_loop: Arc<Nudge>,
        (to_room, room_orders): (Arc<RoomLine>, RoomOrders),
    ) -> Result<Self, &'static str> {
        let job_group = family.group_id().ok_or(NO_GROUP)?;
        let bound_pages = aim.cache_keep_bytes.min(aim.dirty_bytes) / page_bytes();
        let wake_pages = (bound_pages / WAKES_PER_BOUND).max(WAKE_PAGES);
        let settings = PageSettings { job_group, own: std::process::id(), wake_pages };
        let (orders, received) = channel();
        let (failed, failure) = channel();
        let nudge = || Nudge::new().map_err(|_| "no event counter for the page cache");
        let link = Arc::new(Link::new(to_loop, [nudge()?, nudge()?]));
        let shown = Arc::new(Mutex::new(MemorySummary::default()));
        let room = Arc::new(Mutex::new(RoomShown::default()));
        start_room(aim, &family, group, (&link, &room), room_orders);
        let (linked, showing) = (Arc::clone(&link), Arc::clone(&shown));
        helper::thread(move || match at_normal_priority(|| PageSensor::load(&settings)) {
            Ok(sensor) => {
                // Nobody keeps room any more: the job has ended.
                let _ = to_room.send(RoomOrder::Shed(aim));
                drop(to_room);
                Keeper::new(aim, sensor, linked, family).run(&received, &showing);
            }
            Err(error) => {
                // Nobody asks any more: the job has ended.
                let _ = failed.send(error);
            }
        });
        Ok(Self { orders, room, link, shown, failure, settled: None })
    }

    /// Why there is no observer, once.
    pub(crate) fn failure(&self) -> Option<SensorError> {
        self.failure.try_recv().ok()
    }

    /// What became of the job's pages so far.
    pub(crate) fn summary(&self) -> MemorySummary {
        let RoomShown { ceiling_bytes, given_bytes, laundered_bytes } =
            *self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = *self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        MemorySummary { ceiling_bytes, given_bytes, laundered_bytes, ..pages }
    }

    /// The job is over: takes out everything that was kept for it. Waits for that, but not for long, and not for an observer
    /// that is still being loaded: it has seen nothing.
    pub(crate) fn settle(&self) {
        let (done, is_done) = sync_channel(1);
        if self.link.is_at_work() && self.orders.send(Order::Settle(done)).is_ok() {
            self.link.to_keeper().give();
            // A thread that is late goes on behind our back.
            let _ = is_done.recv_timeout(SETTLE);
        }
    }

    /// Whether the supervisor may end: nothing is left to be written, or the time for that is over.
    pub(crate) fn is_done(&mut self, now: Nanos) -> bool {
        let since = match self.settled {
            Some(since) => since,
            None => {
                self.settle();
                *self.settled.insert(now)
            }
        };
        self.link.is_clean() || now.since(since) >= LINGER
    }
}

/// Starts the threads that keep memory free for the foreground, and that write some to swap before.
fn start_room(
    aim: MemoryAim,
    family: &Family,
    group: Option<MemoryGroup>,
    (link, shown): (&Arc<Link>, &Arc<Mutex<RoomShown>>),
    orders: RoomOrders,
) {
    let root = Root::real();
    let limits = group.as_ref().map(MemoryGroup::limited_ancestors).unwrap_or_default();
    let pressure = OthersPressure::new(&root, &limits, family.v2_group());
    let sensor = RoomSensor::new(root.clone(), limits);
    if let Some(group) = group.clone().filter(|_| aim.cleans) {
        let family = family.clone();
        let processes = ProcessMemory::new(Box::new(move || family.pids()));
        let launderer = Launderer::new(root.clone(), group, processes, Arc::clone(link), Arc::clone(shown));
        helper::thread(move || launderer.run());
    }
    let family = family.clone();
    let job = thresholds::choose(&root, group.clone(), Box::new(move || family.pids()));
    let room = Room::new(aim.room).with_batch(aim.batch_bytes);
    let keeper = RoomKeeper::new(
        room,
        aim.longest_hold,
        (sensor, pressure),
        (job, group),
        Arc::clone(link),
        Arc::clone(shown),
    );
    helper::thread(move || keeper.run(orders));
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.link.end();
        self.settle();
    }
}

#[cfg(test)]
mod tests;
