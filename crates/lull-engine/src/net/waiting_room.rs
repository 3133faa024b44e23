//! The waiting room of one interface: a thread that gives the job's datagrams to the interface when it admits background.
//!
//! ```text
//!            first datagram in F or P            device stands
//!   none ──────────────────────────▶ preparing ────────────────▶ ready
//!                                        │ refused
//!                                        ▼
//!                                     no room: the job is held instead
//! ```
//! It is made when the job first sends a datagram in F or P, since most jobs never do. The thread reads the interface's record
//! itself, so that no lock of the engine stands between the end of an interval and the datagrams that wait for it.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::thread::JoinHandle;

use lull_bpf::Interface;
use lull_core::{
    Nanos, QueueBound, StartRule, State, Variant, WaitingRoom, WaitingRoomSetting, derive_state,
};
use lull_linux::clock;
use lull_linux::gate::waiting_room::WaitingRoomDevice;

use super::cost::{COST_PACKETS, Cost};
use crate::lock::lock;
use crate::nudge::Nudge;

/// How often a room looks whether it is still wanted, if nothing else wakes it.
const IDLE_LOOK: Nanos = Nanos::from_secs(1);
/// How long what waits at the end is held at most, and how long it may take to leave before it goes all at once.
const LAST_HOLD: Nanos = Nanos::from_millis(100);
const LAST_ORDERS: Nanos = Nanos::from_secs(1);
/// How long the bucket is given to let more through at the end.
const LAST_LOOK: Nanos = Nanos::from_millis(1);
/// With fewer packets at hand the bucket lets more through, so that there is always one to give.
const STOCK: usize = 32;
/// Buffers that are kept for the next packets.
const SPARE: usize = 128;

/// What the thread needs to know.
pub(super) struct Keeping {
    /// The interface's, by which it stays known when it is renamed.
    pub(super) index: u32,
    pub(super) interface: Interface,
    pub(super) variant: Variant,
    pub(super) start_rule: StartRule,
    pub(super) longest: Nanos,
    /// Datagrams that are given between two looks at the state.
    pub(super) batch: u32,
    /// What the interface's queue may have of them.
    pub(super) bound: QueueBound,
}

/// What the thread is told.
struct Orders {
    stop: AtomicBool,
    /// Asks for a room without anybody in it; answered when it is so.
    empty: Mutex<Option<mpsc::Sender<()>>>,
    nudge: Nudge,
}

/// The thread, seen from outside. Its room is emptied and gone when this is dropped.
pub(super) struct WaitingRoomThread {
    orders: Arc<Orders>,
    outcome: Arc<OnceLock<Result<(), String>>>,
    thread: Option<JoinHandle<()>>,
}

impl WaitingRoomThread {
    /// Begins to make a room.
    pub(super) fn start(keeping: Keeping) -> Result<Self, String> {
        let nudge = Nudge::new().map_err(|error| error.to_string())?;
        let orders = Arc::new(Orders { stop: AtomicBool::new(false), empty: Mutex::new(None), nudge });
        let outcome = Arc::new(OnceLock::new());
        let (ordered, told) = (Arc::clone(&orders), Arc::clone(&outcome));
        let started = std::thread::Builder::new().name("net-room".to_owned()).spawn(move || {
            let opened = WaitingRoomDevice::open(keeping.index).and_then(|room| Ok((room.giver()?, room)));
            let outcome = opened.as_ref().map(|_| ()).map_err(ToString::to_string);
            if let Ok((giver, room)) = opened {
                keeping.interface.set_giver(giver);
                keeping.interface.set_room(room.index());
                let _ = told.set(outcome);
                Keeper::new(room, keeping).run(&ordered);
            } else {
                let _ = told.set(outcome);
            }
        });
        let thread = started.map_err(|error| error.to_string())?;
        Ok(Self { orders, outcome, thread: Some(thread) })
    }

    /// Whether datagrams wait in a room, so that the job need not be held.
    pub(super) fn is_ready(&self) -> bool {
        self.lives() && matches!(self.outcome.get(), Some(Ok(())))
    }

    fn lives(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Asks for the end of the room; whether it has come.
    pub(super) fn is_left(&self) -> bool {
        self.orders.stop.store(true, Ordering::SeqCst);
        self.orders.nudge.give();
        !self.lives()
    }

    /// Why there is no room.
    pub(super) fn failure(&self) -> Option<&str> {
        self.outcome.get()?.as_ref().err().map(String::as_str)
    }

    /// Sends all that waits, now that the job has ended; the receiver hears of it, or that the thread is gone.
    pub(super) fn empty(&self) -> mpsc::Receiver<()> {
        let (done, emptied) = mpsc::channel();
        if self.lives() {
            *lock(&self.orders.empty) = Some(done);
            self.orders.nudge.give();
        }
        emptied
    }
}

impl Drop for WaitingRoomThread {
    fn drop(&mut self) {
        self.orders.stop.store(true, Ordering::SeqCst);
        self.orders.nudge.give();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits for rooms that were told to be empty.
pub(crate) fn wait_for(rooms: &[mpsc::Receiver<()>]) {
    let end = clock::now().plus(LAST_ORDERS.times(2));
    for room in rooms {
        let left = end.since(clock::now());
        let _ = room.recv_timeout(std::time::Duration::from_nanos(left.0));
    }
}

struct Keeper {
    room: WaitingRoomDevice,
    keeping: Keeping,
    parlour: WaitingRoom,
    waiting: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    /// Packets given since the bound was looked at.
    given: u64,
    in_queue: Cost,
    bound: QueueBound,
}

impl Keeper {
    fn new(room: WaitingRoomDevice, keeping: Keeping) -> Self {
        let setting = WaitingRoomSetting {
            longest: keeping.longest,
            batch: keeping.batch,
            ..WaitingRoomSetting::default()
        };
        let parlour = WaitingRoom::new(setting);
        let bound = keeping.bound;
        // Without it one preemption costs more.
        let _ = room.set_bound(Some(bound.bytes()));
        Self {
            room,
            keeping,
            parlour,
            waiting: VecDeque::new(),
            spare: Vec::new(),
            given: 0,
            in_queue: Cost::default(),
            bound,
        }
    }

    /// Fits what may be in the interface's queue to the link.
    fn adapt(&mut self) {
        if self.given < COST_PACKETS {
            return;
        }
        self.given = 0;
        let before = self.bound;
        if let Some(time) = self.in_queue.fresh(&self.keeping.interface.service()) {
            self.bound.step(time);
        }
        if self.bound != before {
            let _ = self.room.set_bound(Some(self.bound.bytes()));
        }
    }

    fn run(mut self, orders: &Orders) {
        // Without it a wake-up is fixed to some 50 us after its time.
        let _ = nix::sys::prctl::set_timerslack(1);
        while !orders.stop.load(Ordering::SeqCst) {
            let empty = lock(&orders.empty).take();
            if let Some(done) = empty {
                self.empty();
                let _ = done.send(());
                self.keeping.interface.set_room(self.room.index());
            }
            if !self.fetch() {
                break;
            }
            let now = clock::now();
            let (state, ends) = self.state(now);
            let step = self.parlour.step(now, state, self.waiting.len());
            let admits = state.admits_background();
            self.give(step.pass, admits);
            self.adapt();
            if admits && !self.waiting.is_empty() {
                continue;
            }
            let mut until = now.plus(IDLE_LOOK);
            if self.waiting.is_empty() {
                // What comes now need not wait behind others.
                self.keeping.interface.clear_room();
            } else {
                let look = if state == State::Foreground { step.look } else { ends };
                until = step.due.into_iter().chain(look).min().unwrap_or(until).min(until);
            }
            self.sleep(orders, until);
            orders.nudge.take();
        }
        self.empty();
    }

    /// The interface's state, and when its interval ends.
    fn state(&self, now: Nanos) -> (State, Option<Nanos>) {
        let Keeping { interface, variant, start_rule, .. } = &self.keeping;
        let observation = interface.observation(now);
        let interval = interface.interval();
        let state = derive_state(&observation, interval, *variant, *start_rule, now);
        let from = match start_rule {
            StartRule::Completion => observation.foreground.last_end,
            StartRule::Request => observation.foreground.last_start,
        };
        (state, interval.end(from))
    }

    /// Takes what has come through the bucket, and has it let more through when little is left; false once the device fails.
    fn fetch(&mut self) -> bool {
        loop {
            let mut packet = self.spare.pop().unwrap_or_default();
            match self.room.take(&mut packet) {
                Ok(Some(_)) => self.waiting.push_back(packet),
                Ok(None) => {
                    self.spare.push(packet);
                    // A bucket that refuses leaves senders to what it leaks.
                    if self.waiting.len() >= STOCK || !self.room.is_low() || self.room.fill().is_err() {
                        return true;
                    }
                }
                Err(_) => return false,
            }
        }
    }

    /// Gives so many packets to the interface; if `gated` only while it admits background. False if its queue does not move:
    /// there may be other things to do meanwhile.
    fn give(&mut self, most: u32, gated: bool) -> bool {
        for _ in 0..most {
            let Some(packet) = self.waiting.pop_front() else { return true };
            // An interface that is down or gone loses it, as it would have lost it at once.
            if self.room.give(&packet).is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
                self.waiting.push_front(packet);
                return false;
            }
            self.given += 1;
            if self.spare.len() < SPARE {
                self.spare.push(packet);
            }
            // To give may have taken the time of several packets.
            if gated && !self.state(clock::now()).0.admits_background() {
                return true;
            }
        }
        true
    }

    /// Sends all that waits, and lets datagrams go straight from then on. What the job had sent when it ended is not lost: it is
    /// held for a moment more at most, and goes all at once if the link takes too long; what the interface then refuses is lost.
    fn empty(&mut self) {
        self.keeping.interface.set_room(0);
        self.keeping.interface.clear_room();
        let began = clock::now();
        let held = began.plus(self.keeping.longest.min(LAST_HOLD));
        let end = began.plus(LAST_ORDERS);
        loop {
            // Asked before what came through is taken: what is not there then has come.
            let queued = self.room.is_any_queued().unwrap_or(false);
            if queued && self.room.fill().is_err() {
                return;
            }
            if !self.fetch() || (self.waiting.is_empty() && !queued) {
                return;
            }
            let now = clock::now();
            let gated = now < held;
            if now >= end {
                // As the kernel does with what an ended program leaves.
                let _ = self.room.set_bound(None);
                if !self.give(u32::MAX, false) {
                    return;
                }
            } else if !gated || self.state(now).0.admits_background() {
                self.give(self.keeping.batch, gated);
            } else {
                std::thread::sleep(std::time::Duration::from_nanos(LAST_LOOK.0));
            }
        }
    }

    /// Sleeps until something was ordered, a time has come or, while nothing waits here, a packet has come.
    fn sleep(&self, orders: &Orders, until: Nanos) {
        let left = until.since(clock::now());
        let timeout = libc::timespec {
            tv_sec: i64::try_from(left.0 / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(left.0 % 1_000_000_000).unwrap_or(0),
        };
        let poll = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut polls = [poll(self.room.device()), poll(orders.nudge.as_raw_fd())];
        if !self.waiting.is_empty() {
            polls[0].fd = -1;
        }
        // SAFETY: two records and a time, which live through the call.
        unsafe { libc::ppoll(polls.as_mut_ptr(), 2, &raw const timeout, std::ptr::null()) };
    }
}
