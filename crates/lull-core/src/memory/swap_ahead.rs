//! When the job's memory is written to swap before anybody needs it.
//!
//! Problem: memory that the foreground wants can go at once if it is clean, that is, if swap has the same. The job's is not: each page
//! has to be written first, while the foreground waits. The Linger paper (section 6) plans "a background cleaning process,
//! analogous to the cleaner in log-structured file systems".
//!
//! Approach: while the disk is idle, pieces of the job's memory are written to swap and stay in memory (the kernel's swap cache), as long
//! as nobody wants them. So much is kept clean that, with what is free, half of the memory can be had without a write; on a machine
//! with half of its memory free nothing is ever written. A page that the job writes to is dirty again: a job that writes to all of
//! its memory all the time makes each pass useless. So passes are bounded: none is longer than the job's memory, there is a pause after
//! each, and the pause doubles while less than half of what a pass wrote is still clean when the next is due.
//!
//! ```text
//!            clean < 3/4 of what is wanted, and the pause over
//!   ┌──────┐ ────────────────────────────────────────────────▶ ┌──────┐ ──┐
//!   │ Rest │                                                   │ Pass │   │ a piece
//!   └──────┘ ◀──────────────────────────────────────────────── └──────┘ ◀─┘
//!            all wanted is clean, or as much written as the job had dirty;
//!            the foreground takes memory now; swap is half full
//! ```
//! Once half of the swap is in use the kernel gives up a page's place in swap when it is used again: from then on nothing is gained.
//! Swap in compressed memory is none for this purpose: whoever asks looks at that.
//!
//! Units: bytes.

use crate::base::time::Nanos;

/// One part in these of all memory is to be had without a write.
const WANTED_PART: u64 = 2;
/// One part in these of the swap may be in use.
const SWAP_PART: u64 = 2;
/// Bytes of a piece: a write of a few milliseconds on a slow disk.
pub const PIECE_BYTES: u64 = 256 << 10;
/// The pause after a pass, at least and at most.
const LEAST_PAUSE: Nanos = Nanos::from_secs(10);
const MOST_PAUSE: Nanos = Nanos::from_secs(640);

/// What there is at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwapAheadView {
    /// All the memory of the machine, or of the group that limits job and foreground.
    pub total_bytes: u64,
    /// Of that, what is free for anybody.
    pub free_bytes: u64,
    /// The job's memory, without page cache.
    pub job_bytes: u64,
    /// Of that, what swap has too.
    pub clean_bytes: u64,
    /// All swap, and what is free of it.
    pub swap_bytes: u64,
    /// Free swap.
    pub free_swap_bytes: u64,
    /// Whether the foreground takes the job's memory now.
    pub is_short: bool,
}

impl SwapAheadView {
    /// How much of the job's memory should be clean.
    fn wanted(&self) -> u64 {
        (self.total_bytes / WANTED_PART).saturating_sub(self.free_bytes).min(self.job_bytes)
    }

    fn has_swap(&self) -> bool {
        self.free_swap_bytes.saturating_sub(PIECE_BYTES) > self.swap_bytes - self.swap_bytes / SWAP_PART
    }
}

/// Passes over the job's memory.
#[derive(Clone, Debug)]
pub struct SwapAhead {
    /// What this pass may still write; none between passes.
    left: Option<u64>,
    /// Since when there is no pass; none before the first.
    rests_since: Option<Nanos>,
    pause: Nanos,
    /// What the latest pass wrote; 0 when nothing can be learned from it.
    written: u64,
}

impl Default for SwapAhead {
    fn default() -> Self {
        Self { left: None, rests_since: None, pause: LEAST_PAUSE, written: 0 }
    }
}

impl SwapAhead {
    /// How many bytes to write next, if any.
    pub fn step(&mut self, now: Nanos, view: &SwapAheadView) -> Option<u64> {
        if view.is_short {
            // What is clean goes now: that it is gone says nothing about the job.
            self.rest(now);
            self.written = 0;
            return None;
        }
        let wanted = view.wanted();
        let has_rested = self.rests_since.is_none_or(|since| now.since(since) >= self.pause);
        if self.left.is_none() && has_rested && view.clean_bytes < wanted - wanted / 4 && view.has_swap() {
            self.learn(view);
            self.left = Some(view.job_bytes.saturating_sub(view.clean_bytes));
            self.written = 0;
        }
        let left = self.left?;
        if left == 0 || view.clean_bytes >= wanted || !view.has_swap() {
            self.rest(now);
            return None;
        }
        Some(left.min(PIECE_BYTES))
    }

    /// So much was written, or tried: a pass comes to its end whatever the kernel does.
    pub fn wrote(&mut self, bytes: u64) {
        self.left = self.left.map(|left| left.saturating_sub(bytes));
        self.written += bytes;
    }

    /// How long there is nothing to write after a pass.
    pub fn pause(&self) -> Nanos {
        self.pause
    }

    fn rest(&mut self, now: Nanos) {
        if self.left.take().is_some() {
            self.rests_since = Some(now);
        }
    }

    /// What became of the latest pass.
    fn learn(&mut self, view: &SwapAheadView) {
        self.pause = match self.written {
            0 => self.pause,
            written if view.clean_bytes < written / 2 => Nanos(self.pause.0 * 2).min(MOST_PAUSE),
            _ => LEAST_PAUSE,
        };
    }
}

#[cfg(test)]
mod tests;
