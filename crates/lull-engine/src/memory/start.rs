//! Beginning with the job's memory once it can matter.
//!
//! Problem: the page observer costs some tens of milliseconds of a CPU to load, just when a job that writes wants to begin, and most
//! jobs have so little in memory that nobody would miss it.
//!
//! Approach: a job that was left to the defaults is looked at now and then. What it has in memory, page cache included, is
//! told by its memory group in one small file; without such a group it is taken to be what its processes have and what they read and
//! wrote on disks. What lull has read ahead for the job counts, too: those pages are charged to lull.
//!
//! ```text
//!             1 s             32 MiB in memory
//!   begun ──────────▶ small ──────────────────▶ managed: observer, limit, swap ahead
//!                       │                          │ the job ends
//!                       ▼ the job ends             ▼
//!       page cache stays, up to --cache-keep    all of the job's page cache goes
//! ```
//! What a job brings in before the observer stands has no names. But it is charged to the job's memory group, so the group is made to
//! give it back: once when the observer stands, and when it is removed ([`leftover`](super::leftover)).
//!
//! Units: bytes. Edge cases: a page that another program brought in before is charged to that one, so reading it makes nobody large. What lull has read ahead counts though
//! it may be gone again. Without
//! a memory group the unnamed pages stay. Whoever names memory, or one of its options, has all of it from the job's beginning.
//!
//! Source: `Documentation/admin-guide/cgroup-v1/memory.rst`, `cgroup-v2.rst`; `/proc/PID/io` in proc_pid_io(5).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use lull_bpf::SensorError;
use lull_core::Nanos;
use lull_core::base::bytes::Bytes;
use lull_linux::cgroup::memory::MemoryGroup;
use lull_linux::gate::thresholds::Thresholds;
use lull_linux::gate::thresholds::processes::ProcessMemory;
use lull_linux::root::Root;
use lull_linux::sense::fallback::JobIo;

use super::aim::{Begins, LARGE_BYTES, MemoryAim, SHORT_JOB};
use super::exchange::{Exchange, Pages};
use super::limit::{LimitLine, LimitOrder};
use super::manager::{Memory, NO_GROUP};
use super::thresholds::{Passed, Setter};
use crate::job_processes::JobProcesses;
use crate::nudge::Nudge;
use crate::reader::ReadAhead;
use crate::report::memory::MemorySummary;
use crate::thread;

/// How often to look whether it has more, while it grows by [`GROWS_BYTES`] between two looks; else twice as long each time, …
const LOOK_EVERY: Duration = Duration::from_millis(100);
const GROWS_BYTES: u64 = 1 << 20;
/// … up to this, which is for each look where each of its processes has to be asked.
const LOOK_LATEST: Duration = Duration::from_secs(1);

/// What is waited for, for a person.
fn large_enough() -> String {
    format!("the job is {SHORT_JOB} old and has {} in memory", Bytes(LARGE_BYTES))
}

/// How much the job has in memory.
struct Footprint {
    of: Measure,
    /// Charged to lull, which has read it for the job.
    read_ahead: ReadAhead,
}

enum Measure {
    Group(MemoryGroup),
    Processes(JobProcesses),
}

impl Footprint {
    fn new(group: Option<MemoryGroup>, job_processes: JobProcesses, read_ahead: ReadAhead) -> Self {
        Self { of: group.map_or(Measure::Processes(job_processes), Measure::Group), read_ahead }
    }

    fn bytes(&self) -> u64 {
        let own = match &self.of {
            // The group goes with the job.
            Measure::Group(group) => group.usage().unwrap_or(0),
            Measure::Processes(job_processes) => {
                let pids = job_processes.pids();
                let io = JobIo::of_processes(&Root::real(), pids.iter().copied());
                let resident = ProcessMemory::new(Box::new(move || pids.clone())).job();
                resident.map_or(0, |job| job.resident) + io.read_bytes + io.write_bytes
            }
        };
        own.saturating_add(self.read_ahead.bytes())
    }

    /// Sleeps until the job is large.
    fn wait_until_large(&self) {
        let first = match &self.of {
            Measure::Group(_) => LOOK_EVERY,
            Measure::Processes(_) => LOOK_LATEST,
        };
        let (mut bytes, mut pause) = (self.bytes(), first);
        while bytes < LARGE_BYTES {
            std::thread::sleep(pause);
            let before = std::mem::replace(&mut bytes, self.bytes());
            let grows = bytes.saturating_sub(before) >= GROWS_BYTES;
            pause = if grows { first } else { (2 * pause).min(LOOK_LATEST) };
        }
    }
}

type Started = Result<Memory, &'static str>;

/// From the wish to what manages the job's memory.
pub struct MemoryStart {
    begins: Begins,
    /// To the thread that keeps room; without it that ends.
    to_room: Arc<LimitLine>,
    /// Whether that thread is at work.
    has_begun: Arc<AtomicBool>,
    /// Where the disks find the exchange.
    pages: Pages,
    pending: Option<Receiver<Started>>,
    memory: Option<Memory>,
}

impl MemoryStart {
    /// Begins as the aim says; the nudge is given when something was started, too.
    ///
    /// # Errors
    /// Why the job's pages cannot be known.
    pub fn begin(
        aim: MemoryAim,
        job_processes: &JobProcesses,
        group: Option<MemoryGroup>,
        read_ahead: &ReadAhead,
        (pages, nudge): (&Pages, &Arc<Nudge>),
    ) -> Result<Self, &'static str> {
        job_processes.group_id().ok_or(NO_GROUP)?;
        let (to_room, orders) = LimitLine::new().map_err(|_| "no event counter for the job's memory")?;
        let to_room = Arc::new(to_room);
        let has_begun = Arc::new(AtomicBool::new(false));
        let start = {
            let (job_processes, group) = (job_processes.clone(), group.clone());
            let (nudge, to_room) = (Arc::clone(nudge), Arc::clone(&to_room));
            let has_begun = Arc::clone(&has_begun);
            move || {
                let started = Memory::start(aim, job_processes, group, nudge, (to_room, orders));
                has_begun.store(started.is_ok(), Ordering::Release);
                started
            }
        };
        let (mut memory, mut pending) = (None, None);
        match aim.begins {
            Begins::AtOnce => memory = Some(start()?),
            Begins::WhenLarge => {
                let (sender, receiver) = sync_channel(1);
                let footprint = Footprint::new(group, job_processes.clone(), read_ahead.clone());
                let nudge = Arc::clone(nudge);
                thread::start(move || {
                    std::thread::sleep(Duration::from_nanos(SHORT_JOB.0));
                    footprint.wait_until_large();
                    // Nobody waits for it any more: the job has ended.
                    let _ = sender.send(start());
                    nudge.give();
                });
                pending = Some(receiver);
            }
        }
        let mut begun =
            Self { begins: aim.begins, to_room, has_begun, pages: pages.clone(), pending, memory: None };
        memory.into_iter().for_each(|memory| begun.manage(memory));
        Ok(begun)
    }

    /// Once the job was found to be large: why nothing is managed all the same, if so.
    pub(crate) fn finish(&mut self) -> Option<&'static str> {
        let started = self.pending.as_ref()?.try_recv().ok()?;
        self.pending = None;
        match started {
            Ok(memory) => self.manage(memory),
            Err(why) => return Some(why),
        }
        None
    }

    fn manage(&mut self, memory: Memory) {
        // The disks are told once.
        let _ = self.pages.0.set(Arc::clone(&memory.exchange));
        self.memory = Some(memory);
    }

    /// Where pieces wait for their turn, once something is managed.
    pub(crate) fn exchange(&self) -> Option<&Exchange> {
        self.memory.as_ref().map(|memory| &*memory.exchange)
    }

    /// Sets other thresholds, as long as this lives; before anything is managed, for then.
    pub fn room_setter(&self) -> Setter {
        let (to_room, has_begun) = (Arc::downgrade(&self.to_room), Arc::clone(&self.has_begun));
        Box::new(move |setting| {
            let Some(to_room) = to_room.upgrade() else { return Passed::ToNobody };
            if to_room.send(LimitOrder::Set(setting)).is_err() {
                return Passed::ToNobody;
            }
            if has_begun.load(Ordering::Acquire) { Passed::InForce } else { Passed::Waits(large_enough()) }
        })
    }

    /// Why there is no observer, once.
    pub(crate) fn failure(&self) -> Option<SensorError> {
        self.memory.as_ref().and_then(Memory::failure)
    }

    /// Whether a person is to be told of that in any case.
    pub(crate) fn was_named(&self) -> bool {
        self.begins == Begins::AtOnce
    }

    /// What became of the job's pages so far; `None` while the job is small.
    pub(crate) fn summary(&self) -> Option<MemorySummary> {
        self.memory.as_ref().map(Memory::summary)
    }

    /// The job is over: see [`Memory::settle`].
    pub(crate) fn settle(&self) {
        self.memory.iter().for_each(Memory::settle);
    }

    /// Whether the supervisor may end, for all that concerns memory.
    pub(crate) fn is_done(&mut self, now: Nanos) -> bool {
        self.memory.as_mut().is_none_or(|memory| memory.is_done(now))
    }
}

#[cfg(test)]
mod tests;
