//! The waiting room of one interface: a thread that gives the job's datagrams to the interface when it admits background.
//!
//! ```text
//!            first datagram in F or P            device stands
//!   none ──────────────────────────▶ preparing ────────────────▶ ready
//!                                        │ refused
//!                                        ▼
//!                                     no room: the job is frozen instead
//! ```
//! It is made when the job first sends a datagram in F or P, since most jobs never do. The thread reads the interface's record
//! itself, so that no lock of the engine stands between the end of an interval and the datagrams that wait for it.

use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use lull_bpf::Interface;
use lull_core::{Nanos, Parlour, ParlourSetting, StartRule, State, Variant, derive_state};
use lull_linux::clock;
use lull_linux::gate::room::{CLOSED_BURST_BYTES, OVERHEAD_BYTES, Room};

/// How often the end of F is looked for while datagrams wait: it has no time of its own.
const LOOK_EVERY: Nanos = Nanos::from_micros(50);
/// How often a room looks whether it is still wanted, if nothing else wakes it.
const IDLE_LOOK: Nanos = Nanos::from_millis(100);
/// How long the datagrams that wait at the end may take to leave.
const LAST_ORDERS: Nanos = Nanos::from_millis(100);
/// When so much has come through, senders may wait at the bucket.
const MUCH_BYTES: usize = CLOSED_BURST_BYTES as usize / 2;
/// Buffers that are kept for the next packets.
const SPARE: usize = 128;

/// What the thread needs to know.
pub(super) struct Keeping {
    pub(super) name: String,
    pub(super) interface: Interface,
    pub(super) variant: Variant,
    pub(super) start_rule: StartRule,
    pub(super) longest: Nanos,
    /// Datagrams that are given between two looks at the state.
    pub(super) batch: u32,
}

/// The thread, seen from outside. Its room is emptied and gone when this is dropped.
pub(super) struct RoomThread {
    stop: Arc<AtomicBool>,
    outcome: Arc<OnceLock<Result<(), String>>>,
    thread: Option<JoinHandle<()>>,
}

impl RoomThread {
    /// Begins to make a room.
    pub(super) fn start(keeping: Keeping) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let outcome = Arc::new(OnceLock::new());
        let (stopped, told) = (Arc::clone(&stop), Arc::clone(&outcome));
        let started = std::thread::Builder::new().name("net-room".to_owned()).spawn(move || {
            let opened = Room::open(&keeping.name);
            let outcome = opened.as_ref().map(|_| ()).map_err(ToString::to_string);
            if let Ok(room) = opened {
                keeping.interface.set_room(room.index());
                let _ = told.set(outcome);
                Keeper::new(room, keeping).run(&stopped);
            } else {
                let _ = told.set(outcome);
            }
        });
        let thread = started.map_err(|error| outcome.set(Err(error.to_string()))).ok();
        Self { stop, outcome, thread }
    }

    /// Whether datagrams wait in a room, so that the job need not be frozen.
    pub(super) fn is_ready(&self) -> bool {
        let lives = self.thread.as_ref().is_some_and(|thread| !thread.is_finished());
        lives && matches!(self.outcome.get(), Some(Ok(())))
    }

    /// Why there is no room.
    pub(super) fn failure(&self) -> Option<&str> {
        self.outcome.get()?.as_ref().err().map(String::as_str)
    }
}

impl Drop for RoomThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Keeper {
    room: Room,
    keeping: Keeping,
    parlour: Parlour,
    waiting: VecDeque<Vec<u8>>,
    spare: Vec<Vec<u8>>,
    /// As the bucket counts, since it was closed: then it had its whole burst.
    taken_bytes: usize,
}

impl Keeper {
    fn new(room: Room, keeping: Keeping) -> Self {
        let setting =
            ParlourSetting { longest: keeping.longest, batch: keeping.batch, ..ParlourSetting::default() };
        let parlour = Parlour::new(setting);
        Self { room, keeping, parlour, waiting: VecDeque::new(), spare: Vec::new(), taken_bytes: 0 }
    }

    fn run(mut self, stop: &AtomicBool) {
        while !stop.load(Ordering::SeqCst) {
            if !self.fetch() {
                break;
            }
            let now = clock::now();
            let (state, ends) = self.state(now);
            let step = self.parlour.step(now, state, self.waiting.len());
            if state.admits_background() && self.senders_wait() && self.room.set_closed(false).is_err() {
                // They are left to what a closed bucket lets through.
                self.taken_bytes = 0;
            }
            self.give(step.pass);
            if !state.admits_background() && (self.senders_wait() || !self.waiting.is_empty()) {
                let look = if state == State::Foreground { Some(now.plus(LOOK_EVERY)) } else { ends };
                let until = step.due.into_iter().chain(look).min();
                // The end of the run may come before either.
                let look = now.plus(IDLE_LOOK);
                sleep(self.room.device(), until.map_or(look, |until| until.min(look)));
            } else if self.waiting.is_empty() && !self.rest() {
                break;
            }
        }
        self.close();
    }

    /// Whether the bucket may have stopped a sender.
    fn senders_wait(&self) -> bool {
        self.room.is_closed() && self.taken_bytes >= MUCH_BYTES
    }

    /// Nothing waits here: closes the bucket for the next hold and sleeps until something comes; false once the device fails.
    fn rest(&mut self) -> bool {
        if !self.fetch() {
            return false;
        }
        if self.waiting.is_empty() {
            if !self.room.is_closed() && self.room.set_closed(true).is_ok() {
                self.taken_bytes = 0;
            }
            self.keeping.interface.clear_room();
            sleep(self.room.device(), clock::now().plus(IDLE_LOOK));
        }
        true
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

    /// Takes what has come through the bucket; false once the device fails.
    fn fetch(&mut self) -> bool {
        loop {
            let mut packet = self.spare.pop().unwrap_or_default();
            match self.room.take(&mut packet) {
                Ok(Some(len)) => {
                    self.taken_bytes += len + usize::from(OVERHEAD_BYTES);
                    self.waiting.push_back(packet);
                }
                Ok(None) => {
                    self.spare.push(packet);
                    return true;
                }
                Err(_) => return false,
            }
        }
    }

    fn give(&mut self, most: u32) {
        for _ in 0..most {
            let Some(packet) = self.waiting.pop_front() else { return };
            // An interface that is down or gone loses it, as it would have lost it at once.
            let _ = self.room.give(&packet);
            if self.spare.len() < SPARE {
                self.spare.push(packet);
            }
        }
    }

    /// Sends what waits, and lets datagrams go straight from then on.
    fn close(mut self) {
        self.keeping.interface.set_room(0);
        let end = clock::now().plus(LAST_ORDERS);
        let _ = self.room.set_closed(false);
        while self.fetch() && !self.waiting.is_empty() && clock::now() < end {
            self.give(u32::MAX);
        }
    }
}

/// Sleeps until the descriptor is readable or a time has come.
fn sleep(fd: RawFd, until: Nanos) {
    let left = until.since(clock::now());
    let timeout = libc::timespec {
        tv_sec: i64::try_from(left.0 / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(left.0 % 1_000_000_000).unwrap_or(0),
    };
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one record and a time, which live through the call.
    unsafe { libc::ppoll(&raw mut poll, 1, &raw const timeout, std::ptr::null()) };
}
