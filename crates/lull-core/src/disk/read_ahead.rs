//! Reading ahead for a job that reads files in order, in pieces that fit the gaps.
//!
//! Problem: the kernel reads ahead for a sequential reader in bursts (up to megabytes, the device's `read_ahead_kb`). A
//! foreground request that meets one waits for all of it, and a call that triggers it cannot be told from the
//! hundreds that are served from the page cache. Section 3.1 of the paper therefore lets background reads cause no
//! read-ahead at all, which leaves a sequential background job with one small request at a time.
//!
//! Approach: while the foreground is at work the kernel's read-ahead is off for the job's files, and lull reads ahead
//! itself: one piece at a time, each an ordinary background request that waits for its turn, up to a window beyond
//! the job's position.
//!
//! ```text
//!   file  ├──────────read──────────┼───────ahead────────┼──piece──┤┄┄┄┄┄┄┄┤
//!         0                    position               until          position + window
//! ```
//!
//! Units: bytes. Edge cases: a job that seeks back or far ahead makes `until` start anew at its position; a position
//! that has not moved since the file was first seen asks for nothing (nobody reads it); the end of the file ends it.

/// Bytes of one piece: large enough to use the device, small enough to be over within a gap.
pub const PIECE_BYTES: u64 = 256 * 1024;
/// How far beyond the job's position pieces are read.
pub const WINDOW_BYTES: u64 = 4 * 1024 * 1024;

/// How far one file was read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadAheadPlan {
    /// Where the job was when the file was first seen.
    first: u64,
    /// Up to here pages were asked for.
    until: u64,
}

/// A range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins.
    pub offset: u64,
    /// How long it is; never 0.
    pub length: u64,
}

impl ReadAheadPlan {
    /// A file whose reader is at `position`.
    pub const fn new(position: u64) -> Self {
        Self { first: position, until: position }
    }

    /// Up to where pages were asked for.
    pub const fn until(&self) -> u64 {
        self.until
    }

    /// The next piece to read, with the reader at `position` in a file of `size` bytes; `None` while it is far enough
    /// ahead. The piece counts as read from then on.
    pub fn next_piece(&mut self, position: u64, size: u64) -> Option<Piece> {
        if position == self.first && self.until == self.first {
            return None;
        }
        if position > self.until || self.until - position > WINDOW_BYTES {
            self.until = position;
        }
        let end = size.min(position.saturating_add(WINDOW_BYTES));
        if self.until >= end {
            return None;
        }
        let length = PIECE_BYTES.min(end - self.until);
        // A short piece inside the window waits until it is whole; at the end of the file it is all there is.
        if length < PIECE_BYTES && end < size {
            return None;
        }
        let piece = Piece { offset: self.until, length };
        self.until += length;
        Some(piece)
    }
}

#[cfg(test)]
mod tests;
