//! Between the thread that keeps the job's pages in order and the loop thread: pieces that wait for the disk's turn, and
//! whether the job may go on writing.
//!
//! ```text
//!   keeper ──ask(device, ticket)──▶ loop: Resource.step(Arrive) … its turn ──grant──▶ keeper writes the piece
//!          ──hold_until──────────▶ loop: the job is held until then
//!   swap-ahead thread ──ask_swap_ahead──▶ loop: … its turn ──grant──▶ swap-ahead thread writes a piece of the job's memory to swap, unless its disk is not watched
//!   room   ──short_until─────────▶ keeper: what can go without being written goes now
//!   loop   ──want_written────────▶ keeper: no dirty page rests … hardly any is left ──written──▶ loop: a call that syncs may queue
//! ```
//!
//! The hold is an instant, not a flag: a keeper that is gone holds nobody. So is the shortage of memory.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use lull_core::{Nanos, Ticket};

use crate::lock::lock;
use crate::nudge::Nudge;

/// Marks the tickets of pieces to be written: no trapped call and no piece read ahead has this bit.
const WRITE: u64 = 1 << 63;

/// … and those of memory to be written to swap this one too.
const LAUNDER: u64 = 1 << 62;

/// A piece's wish for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wish {
    /// The device of its file system, as the kernel writes it.
    pub(crate) dev: u32,
    pub(crate) ticket: Ticket,
    /// How much it writes.
    pub(crate) bytes: u64,
}

/// What became of a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Its turn has come.
    Granted,
    /// It will have none.
    Refused,
}

/// Why the job is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// More of its pages are dirty than may be.
    Dirty = 0,
    /// The foreground wants its memory.
    Room = 1,
}

/// See the module.
pub(crate) struct Exchange {
    wishes: Mutex<VecDeque<Wish>>,
    granted: Mutex<Vec<Ticket>>,
    answered_swap_ahead: Mutex<Vec<(Ticket, Verdict)>>,
    next_ticket: AtomicU64,
    window_bytes: AtomicU64,
    hold_until_ns: [AtomicU64; 2],
    short_until_ns: AtomicU64,
    unused_bytes: AtomicU64,
    clean: AtomicBool,
    /// The number of times that somebody wanted what is dirty to be written, and up to which of them that is done.
    wanted: AtomicU64,
    written: AtomicU64,
    at_work: AtomicBool,
    over: AtomicBool,
    to_loop: Arc<Nudge>,
    to_keeper: Nudge,
    to_swap_ahead: Nudge,
}

/// Where the disks find how the job's pages are kept in order, once they are.
#[derive(Clone, Default)]
pub struct Pages(pub(super) Arc<OnceLock<Arc<Exchange>>>);

impl Pages {
    /// How, if they are.
    pub(crate) fn get(&self) -> Option<&Arc<Exchange>> {
        self.0.get()
    }
}

impl Exchange {
    pub(crate) fn new(to_loop: Arc<Nudge>, [to_keeper, to_swap_ahead]: [Nudge; 2]) -> Self {
        Self {
            wishes: Mutex::default(),
            granted: Mutex::default(),
            answered_swap_ahead: Mutex::default(),
            next_ticket: AtomicU64::new(0),
            window_bytes: AtomicU64::new(u64::MAX),
            hold_until_ns: [const { AtomicU64::new(0) }; 2],
            short_until_ns: AtomicU64::new(0),
            unused_bytes: AtomicU64::new(0),
            clean: AtomicBool::new(true),
            wanted: AtomicU64::new(0),
            written: AtomicU64::new(0),
            at_work: AtomicBool::new(false),
            over: AtomicBool::new(false),
            to_loop,
            to_keeper,
            to_swap_ahead,
        }
    }

    /// The keeper's end of the wake-ups.
    pub(crate) const fn to_keeper(&self) -> &Nudge {
        &self.to_keeper
    }

    /// The swap-ahead thread's end of the wake-ups.
    pub(super) const fn to_swap_ahead(&self) -> &Nudge {
        &self.to_swap_ahead
    }

    /// Asks for a piece's turn.
    pub(super) fn ask(&self, dev: u32, bytes: u64) -> Ticket {
        self.wish(dev, WRITE, bytes)
    }

    /// Asks for the turn of a piece of memory that is to be written to swap on this device.
    pub(super) fn ask_swap_ahead(&self, dev: u32, bytes: u64) -> Ticket {
        self.wish(dev, WRITE | LAUNDER, bytes)
    }

    fn wish(&self, dev: u32, kind: u64, bytes: u64) -> Ticket {
        let ticket = Ticket(kind | self.next_ticket.fetch_add(1, Ordering::Relaxed));
        lock(&self.wishes).push_back(Wish { dev, ticket, bytes });
        self.to_loop.give();
        ticket
    }

    /// The pieces whose turn has come.
    pub(super) fn take_granted(&self) -> Vec<Ticket> {
        std::mem::take(&mut *lock(&self.granted))
    }

    /// The pieces of memory about which something was decided.
    pub(super) fn take_swap_ahead(&self) -> Vec<(Ticket, Verdict)> {
        std::mem::take(&mut *lock(&self.answered_swap_ahead))
    }

    /// Ends the swap-ahead thread.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        self.to_swap_ahead.give();
    }

    /// Whether the swap-ahead thread is to end.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// How much background each disk may have in service now.
    pub(super) fn window_bytes(&self) -> u64 {
        self.window_bytes.load(Ordering::Relaxed)
    }

    /// Holds the job for this cause until then, or lets it go with [`Nanos::ZERO`].
    pub(super) fn hold(&self, cause: Cause, until: Nanos) {
        self.hold_until_ns[cause as usize].store(until.0, Ordering::Relaxed);
        self.to_loop.give();
    }

    /// The foreground wants memory that the job has, until then if not told again.
    pub(super) fn set_short(&self, now: Nanos, until: Nanos) {
        if self.short_until_ns.swap(until.0, Ordering::Relaxed) <= now.0 {
            self.to_keeper.give();
        }
    }

    /// Whether the foreground wants memory that the job has.
    pub(super) fn is_short(&self, now: Nanos) -> bool {
        self.short_until_ns.load(Ordering::Relaxed) > now.0
    }

    /// So much memory nobody uses.
    pub(super) fn set_unused(&self, bytes: u64) {
        self.unused_bytes.store(bytes, Ordering::Relaxed);
    }

    /// How much memory nobody used when that was looked at.
    pub(super) fn unused_bytes(&self) -> u64 {
        self.unused_bytes.load(Ordering::Relaxed)
    }

    /// The keeper has begun: its observer stands.
    pub(super) fn begin(&self) {
        self.at_work.store(true, Ordering::Release);
    }

    /// Whether the keeper has begun.
    pub(super) fn is_at_work(&self) -> bool {
        self.at_work.load(Ordering::Acquire)
    }

    pub(super) fn set_clean(&self, clean: bool) {
        self.clean.store(clean, Ordering::Relaxed);
    }

    /// Whether nothing of the job's waits to be written.
    pub(crate) fn is_clean(&self) -> bool {
        self.clean.load(Ordering::Relaxed)
    }

    /// Asks for everything that the job has dirty now to be written in pieces; the number is for [`is_written`](Self::is_written).
    /// `None` while no keeper is at work.
    pub(crate) fn want_written(&self) -> Option<u64> {
        self.is_at_work().then(|| {
            let wanted = self.wanted.fetch_add(1, Ordering::AcqRel) + 1;
            self.to_keeper.give();
            wanted
        })
    }

    /// Whether hardly anything of that is left.
    pub(crate) fn is_written(&self, wanted: u64) -> bool {
        self.written.load(Ordering::Acquire) >= wanted
    }

    /// The latest time that it was asked for.
    pub(super) fn wanted(&self) -> u64 {
        self.wanted.load(Ordering::Acquire)
    }

    /// What was dirty when this was wanted is written.
    pub(super) fn set_written(&self, wanted: u64) {
        if self.written.swap(wanted, Ordering::AcqRel) < wanted {
            self.to_loop.give();
        }
    }

    /// Until when the job is to be held, if it is.
    pub(crate) fn hold_until(&self, now: Nanos) -> Option<Nanos> {
        let until = self.hold_until_ns.iter().map(|until| until.load(Ordering::Relaxed)).max();
        until.map(Nanos).filter(|until| *until > now)
    }

    /// The pieces that want their turn since the last call. `window_bytes`: the narrowest window of the disks now.
    pub(crate) fn take_wishes(&self, window_bytes: u64) -> VecDeque<Wish> {
        self.window_bytes.store(window_bytes, Ordering::Relaxed);
        std::mem::take(&mut *lock(&self.wishes))
    }

    /// Lets a piece go, if the ticket is one's.
    pub(crate) fn grant(&self, ticket: Ticket) -> bool {
        let is_piece = ticket.0 & WRITE != 0;
        let is_memory = ticket.0 & LAUNDER != 0;
        match (is_piece, is_memory) {
            (true, true) => self.answer_swap_ahead(ticket, Verdict::Granted),
            (true, false) => {
                lock(&self.granted).push(ticket);
                self.to_keeper.give();
            }
            (false, _) => {}
        }
        is_piece
    }

    /// Answers a wish for a disk whose gaps nobody knows. What is dirty the kernel would write too; memory it would leave alone.
    pub(crate) fn answer_unwatched(&self, ticket: Ticket) {
        if ticket.0 & LAUNDER == 0 {
            self.grant(ticket);
        } else {
            self.answer_swap_ahead(ticket, Verdict::Refused);
        }
    }

    fn answer_swap_ahead(&self, ticket: Ticket, verdict: Verdict) {
        lock(&self.answered_swap_ahead).push((ticket, verdict));
        self.to_swap_ahead.give();
    }
}

#[cfg(test)]
mod tests;
