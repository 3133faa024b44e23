//! The handle to the threads that manage the job's memory.

use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lull_bpf::{PageSensor, PageSettings, SensorError};
use lull_core::{MemoryLimit, Nanos};
use lull_linux::cgroup::memory::MemoryGroup;
use lull_linux::gate::evict::page_bytes;
use lull_linux::gate::thresholds::{self, processes::ProcessMemory};
use lull_linux::root::Root;
use lull_linux::sense::memory::MemorySensor;
use lull_linux::sense::pressure::OthersPressure;

use super::aim::MemoryAim;
use super::exchange::Exchange;
use super::limit::{LimitKeeper, LimitLine, LimitOrder, LimitOrders, LimitShown};
use super::page_keeper::{Keeper, Order};
use super::swap_ahead::SwapAheadThread;
use crate::job_processes::JobProcesses;
use crate::lock::lock;
use crate::nudge::Nudge;
use crate::priority::at_normal_priority;
use crate::report::memory::MemorySummary;
use crate::thread;

/// How long the supervisor goes on for pages that are dirty when the job has ended.
const LINGER: Nanos = Nanos::from_secs(10);
/// The observer wakes the thread this often while the bounds fill up.
const WAKES_PER_BOUND: u64 = 8;
/// … but not for fewer pages than these.
const WAKE_PAGES: u64 = 512;
/// How long the summary waits for the last pages to go.
const SETTLE: Duration = Duration::from_millis(500);
/// Why the job's pages cannot be known.
pub(super) const NO_GROUP: &str =
    "what the job reads stays in the page cache: there is no v2 control group to know its pages by";

/// The handle to the thread; without it the thread ends.
pub(crate) struct Memory {
    orders: Sender<Order>,
    room: Arc<Mutex<LimitShown>>,
    pub(crate) exchange: Arc<Exchange>,
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
    pub(super) fn start(
        aim: MemoryAim,
        job_processes: JobProcesses,
        group: Option<MemoryGroup>,
        to_loop: Arc<Nudge>,
        (to_room, room_orders): (Arc<LimitLine>, LimitOrders),
    ) -> Result<Self, &'static str> {
        let job_group = job_processes.group_id().ok_or(NO_GROUP)?;
        let bound_pages = aim.cache_keep_bytes.min(aim.dirty_bytes) / page_bytes();
        let wake_pages = (bound_pages / WAKES_PER_BOUND).max(WAKE_PAGES);
        let settings = PageSettings { job_group, own: std::process::id(), wake_pages };
        let (orders, received) = channel();
        let (failed, failure) = channel();
        let nudge = || Nudge::new().map_err(|_| "no event counter for the page cache");
        let exchange = Arc::new(Exchange::new(to_loop, [nudge()?, nudge()?]));
        let shown = Arc::new(Mutex::new(MemorySummary::default()));
        let room = Arc::new(Mutex::new(LimitShown::default()));
        start_room(aim, &job_processes, group, (&exchange, &room), room_orders);
        let (linked, showing) = (Arc::clone(&exchange), Arc::clone(&shown));
        thread::start(move || match at_normal_priority(|| PageSensor::load(&settings)) {
            Ok(sensor) => {
                // Nobody keeps room any more: the job has ended.
                let _ = to_room.send(LimitOrder::Leftover(aim));
                drop(to_room);
                Keeper::new(aim, sensor, linked, job_processes).run(&received, &showing);
            }
            Err(error) => {
                // Nobody asks any more: the job has ended.
                let _ = failed.send(error);
            }
        });
        Ok(Self { orders, room, exchange, shown, failure, settled: None })
    }

    /// Why there is no observer, once.
    pub(crate) fn failure(&self) -> Option<SensorError> {
        self.failure.try_recv().ok()
    }

    /// What became of the job's pages so far.
    pub(crate) fn summary(&self) -> MemorySummary {
        let LimitShown { ceiling_bytes, given_bytes, laundered_bytes } = *lock(&self.room);
        let pages = *lock(&self.shown);
        MemorySummary { ceiling_bytes, given_bytes, laundered_bytes, ..pages }
    }

    /// The job is over: takes out everything that was kept for it. Waits for that, but not for long, and not for an observer
    /// that is still being loaded: it has seen nothing.
    pub(crate) fn settle(&self) {
        let (done, is_done) = sync_channel(1);
        if self.exchange.is_at_work() && self.orders.send(Order::Settle(done)).is_ok() {
            self.exchange.to_keeper().give();
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
        self.exchange.is_clean() || now.since(since) >= LINGER
    }
}

/// Starts the threads that keep memory free for the foreground, and that write some to swap before.
fn start_room(
    aim: MemoryAim,
    job_processes: &JobProcesses,
    group: Option<MemoryGroup>,
    (exchange, shown): (&Arc<Exchange>, &Arc<Mutex<LimitShown>>),
    orders: LimitOrders,
) {
    let root = Root::real();
    let limits = group.as_ref().map(MemoryGroup::limited_ancestors).unwrap_or_default();
    let pressure = OthersPressure::new(&root, &limits, job_processes.v2_group());
    let sensor = MemorySensor::new(root.clone(), limits);
    if let Some(group) = group.clone().filter(|_| aim.cleans) {
        let job_processes = job_processes.clone();
        let processes = ProcessMemory::new(Box::new(move || job_processes.pids()));
        let swap_ahead_thread =
            SwapAheadThread::new(root.clone(), group, processes, Arc::clone(exchange), Arc::clone(shown));
        thread::start(move || swap_ahead_thread.run());
    }
    let job_processes = job_processes.clone();
    let job = thresholds::choose(&root, group.clone(), Box::new(move || job_processes.pids()));
    let room = MemoryLimit::new(aim.room).with_batch(aim.batch_bytes);
    let keeper = LimitKeeper::new(
        room,
        aim.longest_hold,
        (sensor, pressure),
        (job, group),
        Arc::clone(exchange),
        Arc::clone(shown),
    );
    thread::start(move || keeper.run(orders));
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.exchange.end();
        self.settle();
    }
}
