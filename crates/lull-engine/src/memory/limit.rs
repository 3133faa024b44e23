//! The thread that lets the foreground have its memory.
//!
//! ```text
//!   free memory, waits ──▶ Room ──ceiling──────▶ the job's group (reclaims at once)
//!   what the job has   ──▶      ├─page out─────▶ its processes, where no ceiling can be set
//!                               └─short────────▶ hold the job, 250 ms at a stretch at most
//! ```
//!
//! It is woken early by the kernel's pressure trigger, where it has one ([`lull_linux::sense::pressure`]), and by new thresholds. It looks as
//! often as the free memory makes it necessary: once a second on a machine with ten gigabytes free, every few
//! milliseconds while it gets scarce and somebody grows. A look reads a few small files (a third of a millisecond); where memory is scarce and nobody
//! grows it only glances at what is free. Taking pages may last; nothing else waits for this thread.

use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, SendError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};

use lull_core::{
    Hold, HoldAction, HoldSetting, MemoryAction, MemoryLimit, MemoryThresholds, MemoryView, Nanos, State,
};
use lull_linux::cgroup::memory::MemoryGroup;
use lull_linux::clock;
use lull_linux::gate::thresholds::{JobMemory, Thresholds};
use lull_linux::marks::serve_the_foreground;
use lull_linux::sense::memory::MemorySensor;
use lull_linux::sense::pressure::{OthersPressure, Trigger};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::aim::MemoryAim;
use super::exchange::{Cause, Exchange};
use crate::lock::lock;
use crate::nudge::Nudge;

/// The job runs at least this long between two holds for the sake of memory.
const FLOOR: Nanos = Nanos::from_millis(20);

/// How often to try to look where nothing is told.
const NOTHING_TOLD: Nanos = Nanos::from_secs(1);

/// Less than this is not worth taking out of the page cache at once.
const WORTH_SHEDDING: u64 = 1 << 20;

/// How long the job keeps no page cache and no dirty page that it need not, after memory was short.
const SHORTAGE: Nanos = Nanos::from_secs(1);

/// Pages that lull itself waited for: each counts as a fault and as a refault.
fn own_waits() -> u64 {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF).ok();
    2 * usage.and_then(|usage| u64::try_from(usage.major_page_faults()).ok()).unwrap_or(0)
}

/// What is told about the job's memory as a whole, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitShown {
    /// What the job may have; `None`: anything.
    pub(crate) ceiling_bytes: Option<u64>,
    /// Taken from the job for the foreground.
    pub(crate) given_bytes: u64,
    /// Written to swap ahead of need.
    pub(crate) laundered_bytes: u64,
}

/// To the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitOrder {
    /// Other thresholds are in force.
    Set(MemoryThresholds),
    /// Take out of the page cache what the job brought in, but for what may stay: nobody knows the pages, only the job's memory group.
    Leftover(MemoryAim),
}

/// Orders on their way to the thread; it ends when this is dropped.
pub(crate) struct LimitLine {
    orders: Option<Sender<LimitOrder>>,
    nudge: Arc<Nudge>,
}

impl LimitLine {
    /// The line, and the thread's end of it.
    pub(super) fn new() -> nix::Result<(Self, LimitOrders)> {
        let (orders, received) = channel();
        let nudge = Arc::new(Nudge::new()?);
        let theirs = LimitOrders { orders: received, nudge: Arc::clone(&nudge) };
        Ok((Self { orders: Some(orders), nudge }, theirs))
    }

    /// Gives an order.
    pub(crate) fn send(&self, order: LimitOrder) -> Result<(), SendError<LimitOrder>> {
        self.orders.as_ref().map_or(Err(SendError(order)), |line| line.send(order))?;
        self.nudge.give();
        Ok(())
    }
}

impl Drop for LimitLine {
    fn drop(&mut self) {
        self.orders = None;
        self.nudge.give();
    }
}

/// The thread's end of the line.
pub(super) struct LimitOrders {
    orders: Receiver<LimitOrder>,
    nudge: Arc<Nudge>,
}

/// What ends the thread's sleep, apart from the time.
struct Wakers {
    nudge: Arc<Nudge>,
    trigger: Option<Trigger>,
}

impl Wakers {
    /// Sleeps that long, or until woken; whether it was.
    fn sleep(&mut self, most: Nanos) -> bool {
        let nudge = self.nudge.as_fd();
        let mut wanted = vec![PollFd::new(nudge, PollFlags::POLLIN)];
        wanted.extend(self.trigger.as_ref().map(|trigger| PollFd::new(trigger.as_fd(), PollFlags::POLLPRI)));
        let millis = u16::try_from(most.0.div_ceil(1_000_000)).unwrap_or(u16::MAX);
        // EINTR only means an early look.
        let is_woken = poll(&mut wanted, PollTimeout::from(millis)) != Ok(0);
        let told = |place: usize| wanted.get(place).and_then(PollFd::revents).unwrap_or(PollFlags::empty());
        let (is_nudged, is_gone) =
            (told(0).contains(PollFlags::POLLIN), told(1).contains(PollFlags::POLLERR));
        if is_nudged {
            self.nudge.take();
        }
        if is_gone {
            self.trigger = None;
        }
        is_woken
    }
}

/// When to look again.
#[derive(Clone, Copy)]
struct Next {
    look: Nanos,
    glance: Nanos,
    /// Look at once when so much less is free.
    glance_bytes: u64,
}

/// The thread's state.
pub(super) struct LimitKeeper {
    sensor: MemorySensor,
    pressure: OthersPressure,
    job: Box<dyn Thresholds>,
    group: Option<MemoryGroup>,
    room: MemoryLimit,
    hold: Option<Hold>,
    longest_hold: Nanos,
    exchange: Arc<Exchange>,
    shown: Arc<Mutex<LimitShown>>,
}

impl LimitKeeper {
    /// A keeper of the job's room; `longest_hold` `None`: the job is never held for it.
    pub(super) fn new(
        room: MemoryLimit,
        longest_hold: Option<Nanos>,
        (sensor, pressure): (MemorySensor, OthersPressure),
        (job, group): (Box<dyn Thresholds>, Option<MemoryGroup>),
        exchange: Arc<Exchange>,
        shown: Arc<Mutex<LimitShown>>,
    ) -> Self {
        let setting_of = |longest| HoldSetting { longest, floor: FLOOR, ..HoldSetting::default() };
        Self {
            sensor,
            pressure,
            job,
            group,
            room,
            hold: longest_hold.map(|longest| Hold::new(setting_of(longest))),
            longest_hold: longest_hold.unwrap_or_default(),
            exchange,
            shown,
        }
    }

    /// Until the sender of orders is gone.
    pub(super) fn run(mut self, orders: LimitOrders) {
        // It would wait for pages that are freed too late; a look takes a fraction of a millisecond.
        serve_the_foreground();
        // What the kernel refuses is done by paging out.
        let _ = self.job.set_thresholds(self.room.setting());
        let LimitOrders { orders, nudge } = orders;
        // Without a trigger it looks when it is time.
        let mut wakers = Wakers { nudge, trigger: self.pressure.trigger().ok() };
        let mut is_wanted = true;
        while is_wanted {
            let next = self.look(clock::now());
            self.wait(&mut wakers, next);
            // One waking may stand for several orders.
            is_wanted = loop {
                match orders.try_recv() {
                    Ok(LimitOrder::Set(setting)) => {
                        self.room.set(setting);
                        let _ = self.job.set_thresholds(setting);
                    }
                    Ok(LimitOrder::Leftover(aim)) => self.leftover(&aim),
                    Err(error) => break error == TryRecvError::Empty,
                }
            };
        }
        self.job.release();
    }

    /// Sleeps until the next look, glancing now and then at what is free.
    fn wait(&self, wakers: &mut Wakers, Next { look, glance, glance_bytes }: Next) {
        let due = clock::now().plus(look);
        let before = (glance < look).then(|| self.glance()).flatten();
        loop {
            let left = due.since(clock::now());
            if wakers.sleep(left.min(glance)) || left <= glance {
                break;
            }
            if before.zip(self.glance()).is_none_or(|(before, free)| free + glance_bytes < before) {
                break;
            }
        }
    }

    /// What others do not have.
    fn glance(&self) -> Option<u64> {
        Some(self.sensor.glance()?.saturating_add(self.job.glance()))
    }

    /// Looks, and does what has to be done.
    fn look(&mut self, now: Nanos) -> Next {
        let (Some(scope), Some(job)) = (self.sensor.look(), self.job.job()) else {
            return Next { look: NOTHING_TOLD, glance: NOTHING_TOLD, glance_bytes: 0 };
        };
        let JobMemory { resident, stalls, returns, .. } = job;
        let view = MemoryView {
            total_bytes: scope.total_bytes,
            free_bytes: scope.free_bytes,
            unused_bytes: scope.unused_bytes,
            job_bytes: resident,
            // Where the job's are not told apart, nobody's are known.
            refaults: returns.map_or(0, |job| scope.returns.without(&job)),
            stalls: scope.stalls.saturating_sub(stalls).saturating_sub(own_waits()),
            stalled: self.pressure.stalled(),
        };
        self.exchange.set_unused(scope.unused_bytes);
        let action = self.room.step(now, &view);
        if let Some(hold) = &mut self.hold {
            // It would take back at once what it gives, or have its pages marked as used while they are to go; each look finds
            // it at that again.
            let state = if action.holds { State::Foreground } else { State::Idle };
            match hold.step(now, now.0, state, true) {
                Some(HoldAction::Hold) => self.exchange.hold(Cause::Room, now.plus(self.longest_hold)),
                Some(HoldAction::Release) => self.exchange.hold(Cause::Room, Nanos::ZERO),
                None => {}
            }
        }
        if action.is_short {
            self.exchange.set_short(now, now.plus(SHORTAGE));
        }
        let Self { pressure, job, .. } = self;
        if action.page_out_bytes == 0 {
            take(job.as_mut(), &action);
        } else {
            // Taking pages makes whoever takes them wait, and that is this thread.
            pressure.aside(|| take(job.as_mut(), &action));
            let left = self.job.job().map_or(resident, |job| job.resident);
            self.tell(|shown| shown.given_bytes += resident.saturating_sub(left));
        }
        let has_ceiling = self.job.has_ceiling();
        self.tell(|shown| shown.ceiling_bytes = action.ceiling_bytes.filter(|_| has_ceiling));
        let MemoryAction { next_look: look, next_glance: glance, glance_bytes, .. } = action;
        Next { look, glance, glance_bytes }
    }

    /// Only what was not used of late goes: the job may be about to use the rest.
    fn leftover(&mut self, aim: &MemoryAim) {
        let clean = self.group.as_ref().and_then(MemoryGroup::stat).map_or(0, |stat| stat.clean_inactive());
        let unused = self.sensor.look().map_or(0, |scope| scope.unused_bytes);
        let excess = clean.saturating_sub(aim.may_keep(clean, unused));
        if excess >= WORTH_SHEDDING {
            let Self { pressure, job, .. } = self;
            // What does not go now goes when the job has ended.
            let _ = pressure.aside(|| job.page_out(excess));
        }
    }

    fn tell(&self, change: impl FnOnce(&mut LimitShown)) {
        change(&mut lock(&self.shown));
    }
}

/// Takes what the job has to give.
fn take(job: &mut dyn Thresholds, action: &MemoryAction) {
    let is_bounded =
        job.has_ceiling() && job.set_ceiling(action.ceiling_bytes, action.page_out_bytes > 0).is_ok();
    if !is_bounded {
        // A ceiling that was set while there was swap would kill now.
        let _ = job.set_ceiling(None, true);
    }
    if !is_bounded && action.page_out_bytes > 0 {
        // What does not go now may go at the next look.
        let _ = job.page_out(action.page_out_bytes);
    }
}

#[cfg(test)]
mod tests;
