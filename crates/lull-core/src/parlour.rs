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
//! Edge cases: a clock that steps back begins a new hold; an empty room has no hold.
//!
//! Source: the paper, section 3.2 (the interval of the network scheduler); house rule that every hold is bounded.

use crate::machine::State;
use crate::time::Nanos;

/// How a room is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParlourSetting {
    /// The longest time without a packet leaving.
    pub longest: Nanos,
    /// Packets that leave when that is over.
    pub trickle: u32,
    /// Packets that leave between two looks at the state.
    pub batch: u32,
}

impl Default for ParlourSetting {
    fn default() -> Self {
        Self { longest: Nanos::from_millis(100), trickle: 8, batch: 8 }
    }
}

/// What to do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParlourStep {
    /// So many packets may leave.
    pub pass: u32,
    /// When to look again, unless the state changes before; `None` while nothing waits.
    pub due: Option<Nanos>,
}

/// The keeper of one room.
#[derive(Clone, Debug)]
pub struct Parlour {
    setting: ParlourSetting,
    since: Option<Nanos>,
}

impl Parlour {
    /// An empty room.
    pub fn new(setting: ParlourSetting) -> Self {
        Self { setting, since: None }
    }

    /// Decides, with the interface's state and the packets that wait.
    pub fn step(&mut self, now: Nanos, state: State, waiting: usize) -> ParlourStep {
        let ParlourSetting { longest, trickle, batch } = self.setting;
        if state.admits_background() || waiting == 0 {
            self.since = None;
            return ParlourStep { pass: batch, due: None };
        }
        let since = self.since.filter(|since| *since <= now).unwrap_or(now);
        let over = now >= since.plus(longest);
        let since = if over { now } else { since };
        self.since = Some(since);
        ParlourStep { pass: if over { trickle } else { 0 }, due: Some(since.plus(longest)) }
    }
}

#[cfg(test)]
mod tests;
