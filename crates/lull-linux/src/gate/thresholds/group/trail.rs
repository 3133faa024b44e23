//! How a v1 limit follows what is named to be written: one piece behind.
//!
//! ```text
//!   next() ──piece──▶ name it ──named()──▶ limit: what is left before this piece
//!     ▲                                        │
//!     └────────────────────────────────────────┘  until all is named, or twice nothing could be
//! ```
//! The limit waits until what it takes is written; by then the disk has the next piece.
//!
//! Units: bytes. Edge cases: with a single piece there is nothing to follow, and the end waits for it; where nothing can be named
//! the limit takes what it can by itself.

/// Less than this the limit takes by itself.
pub(super) const WORTH_NAMING: u64 = 1 << 20;
/// A piece is one part in these of all that has to go, …
const PIECES: u64 = 4;
/// … but not more than this.
const MOST_PIECE: u64 = 8 << 20;
/// Where nothing was named that may have been the end of a process's memory, and the next try begins anew.
const TRIES: u32 = 2;

/// How a limit is lowered from what is in use to a target.
#[derive(Debug)]
pub(super) struct Trail {
    target: u64,
    piece: u64,
    /// What the group will have when all that was named has gone.
    left: u64,
    /// … but for the latest piece, if there was one before it.
    behind: Option<u64>,
    /// What the latest piece came to; 0 before the first.
    latest: u64,
    vain: u32,
}

/// Where a trail ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    /// The limit to set.
    pub(super) limit: u64,
    /// Named, and not waited for.
    pub(super) in_flight: u64,
}

impl Trail {
    /// From `usage`, of which `going` goes without being named.
    pub(super) fn new(target: u64, usage: u64, going: u64) -> Self {
        let left = usage.saturating_sub(going);
        let piece = (left.saturating_sub(target) / PIECES).clamp(WORTH_NAMING, MOST_PIECE);
        Self { target, piece, left, behind: None, latest: 0, vain: 0 }
    }

    /// What to name next; `None` when enough was, or nothing more can be.
    pub(super) fn next(&self) -> Option<u64> {
        let missing = self.left.saturating_sub(self.target);
        (missing >= WORTH_NAMING && self.vain < TRIES).then_some(self.piece.min(missing))
    }

    /// So much was; returns the limit to set now.
    pub(super) fn named(&mut self, bytes: u64) -> Option<u64> {
        if bytes == 0 {
            self.vain += 1;
            return None;
        }
        self.behind = (self.latest > 0).then_some(self.left.max(self.target));
        self.left = self.left.saturating_sub(bytes);
        self.latest = bytes;
        self.vain = 0;
        self.behind
    }

    /// Where it is now, for want of pieces or of time.
    pub(super) fn end(self) -> End {
        let is_early = self.next().is_some();
        match self.behind {
            Some(limit) if self.vain < TRIES => End { limit, in_flight: self.latest.min(2 * MOST_PIECE) },
            None if is_early && self.latest == 0 => End { limit: self.left.max(self.target), in_flight: 0 },
            _ => End { limit: self.target, in_flight: 0 },
        }
    }
}

#[cfg(test)]
mod tests;
