//! When background that waits outside an interface's queue may enter it.
//!
//! Problem: datagrams of the job that come in F or P are kept in a waiting room. They may leave it when the interface admits
//! background; but a foreground that never pauses must not keep them for ever.
//!
//! Approach: in I and B the room empties in batches, with a look at the state before each. In F and P nothing leaves, but for a
//! *trickle* of a few packets once per longest hold.
//!
//! ```text
//!              F or P                     longest hold over
//!    ┌──────┐ ────────▶ ┌──────────────┐ ──────────────────▶ ┌─────────┐
//!    │ pass │           │ held{since}  │                     │ trickle │
//!    └──────┘ ◀──────── └──────────────┘ ◀────────────────── └─────────┘
//!              I or B       at once, with a new `since`
//! ```
//! The end of F has no time of its own, so whoever keeps the room looks for it: often at first, and the longer the hold the less
//! often, so that the last look is late by a small share of it.
//!
//! Edge cases: a clock that steps back begins a new hold; an empty room has no hold.
//!
//! Source: the paper, section 3.2 (the interval of the network scheduler); house rule that every hold is bounded.

use crate::base::time::Nanos;
use crate::idletime::machine::State;

/// How long after a look the next one is, at least and at most …
const LOOK_LEAST: Nanos = Nanos::from_micros(50);
const LOOK_MOST: Nanos = Nanos::from_micros(500);
/// … and as a share of the hold.
const LOOKS_PER_HOLD: u64 = 16;

/// How a room is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingRoomSetting {
    /// The longest time without a packet leaving.
    pub longest: Nanos,
    /// Packets that leave when that is over.
    pub trickle: u32,
    /// Packets that leave between two looks at the state.
    pub batch: u32,
}

impl Default for WaitingRoomSetting {
    fn default() -> Self {
        Self { longest: Nanos::from_millis(100), trickle: 8, batch: 8 }
    }
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingRoomStep {
    /// So many packets may leave.
    pub pass: u32,
    /// When to look again, unless the state changes before; `None` while nothing waits.
    pub due: Option<Nanos>,
    /// When to look for the end of F; `None` while nothing is held.
    pub look: Option<Nanos>,
}

/// The keeper of one room.
#[derive(Clone, Debug)]
pub struct WaitingRoom {
    setting: WaitingRoomSetting,
    /// The last trickle, or the beginning of the hold.
    since: Option<Nanos>,
    began: Option<Nanos>,
}

impl WaitingRoom {
    /// An empty room.
    pub fn new(setting: WaitingRoomSetting) -> Self {
        Self { setting, since: None, began: None }
    }

    /// Decides, with the interface's state and the packets that wait.
    pub fn step(&mut self, now: Nanos, state: State, waiting: usize) -> WaitingRoomStep {
        let WaitingRoomSetting { longest, trickle, batch } = self.setting;
        if state.admits_background() || waiting == 0 {
            (self.since, self.began) = (None, None);
            return WaitingRoomStep { pass: batch, due: None, look: None };
        }
        let began = self.began.filter(|began| *began <= now).unwrap_or(now);
        self.began = Some(began);
        let wait = Nanos(now.since(began).0 / LOOKS_PER_HOLD).max(LOOK_LEAST).min(LOOK_MOST);
        let since = self.since.filter(|since| *since <= now).unwrap_or(now);
        let over = now >= since.plus(longest);
        let since = if over { now } else { since };
        self.since = Some(since);
        WaitingRoomStep {
            pass: if over { trickle } else { 0 },
            due: Some(since.plus(longest)),
            look: Some(now.plus(wait)),
        }
    }
}

#[cfg(test)]
mod tests;
