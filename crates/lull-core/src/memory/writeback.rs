//! Which of the job's dirty pages are written next.
//!
//! Problem: dirty pages are written by the kernel, in its own time and in bursts, with no class that would tell them from
//! the foreground's requests; and a page that waits to be written cannot be taken from the job when the foreground needs
//! the memory. The Linger paper (section 6) would have guest pages cleaned ahead of need, when that does no harm.
//!
//! Approach: lull has them written, piece by piece, each piece a background request that waits for its turn. A page is
//! left alone for [`REST`], since files that live shortly need never be written; but once more than a quarter of the bound
//! is dirty, the oldest is written at once.
//!
//! ```text
//!            dirtied            next()             written()
//!   clean ─────────────▶ dirty ─────────▶ writing ──────────▶ clean: tell Keep
//!                         ▲                  │
//!                         └──── dirtied ─────┘
//! ```
//!
//! Dirty pages that lie scattered are written a window at a time, or each of them would wait for a turn of its own. Beside a foreground at work a single
//! small portion is on its way at a time: who waits for a log record waits for what the disk has begun. What is on its way together is at most
//! the disk's window, which opens as the foreground stays away ([`Opening`](crate::idletime::setting::Opening)).
//!
//! Units: pages. Edge cases: clean pages in a window are no part of its portion, and cost nothing; pages that others wrote or truncated meanwhile still count as dirty until their turn comes, and
//! are then found clean; a page that becomes dirty while it is written is dirty once more.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use crate::base::time::Nanos;
use crate::memory::pages::{CHUNK_PAGES, PageSet, Run};

/// How long a dirty page is left alone while there are few.
pub const REST: Nanos = Nanos::from_secs(1);
/// Of the bound, one part in this many may rest.
const RESTING_SHARE: u64 = 4;

/// How portions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How many wait for their turn or are being written at a time.
    pub in_flight: usize,
    /// How long each is at most, in bytes.
    pub bytes: u64,
}

impl Pace {
    /// Beside a foreground at work on a disk.
    const NARROW: Self = Self { in_flight: 1, bytes: 64 << 10 };
    /// With nobody to disturb.
    const WIDE: Self = Self { in_flight: 4, bytes: 1 << 20 };

    /// The pace for a disk that may have so much of background in service now.
    pub const fn within(window_bytes: u64) -> Self {
        let bytes = window_bytes / Self::WIDE.in_flight as u64;
        if bytes <= Self::NARROW.bytes {
            Self::NARROW
        } else if bytes < Self::WIDE.bytes {
            Self { bytes, ..Self::WIDE }
        } else {
            Self::WIDE
        }
    }

    /// Whether the job may make pages dirty as fast as it can: they are written as fast as lull ever writes.
    pub const fn is_wide(&self) -> bool {
        self.bytes == Self::WIDE.bytes
    }
}

/// Pages of one chunk to be written together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portion<K> {
    /// Which chunk.
    pub chunk: K,
    /// From the first of its pages to the last.
    pub run: Run,
    /// Which of those are dirty.
    pub pages: PageSet,
}

/// The dirty pages of one job; `K` names a chunk.
#[derive(Clone, Debug)]
pub struct Cleaner<K> {
    bound: u64,
    dirty: HashMap<K, PageSet>,
    /// When each chunk became dirty, oldest first.
    order: VecDeque<(Nanos, K)>,
    dirty_pages: u64,
    writing_pages: u64,
    hurries: bool,
}

impl<K: Copy + Eq + Hash> Cleaner<K> {
    /// At most about `bound` dirty pages.
    pub fn new(bound: u64) -> Self {
        Self {
            bound,
            dirty: HashMap::new(),
            order: VecDeque::new(),
            dirty_pages: 0,
            writing_pages: 0,
            hurries: false,
        }
    }

    /// Pages that are dirty or being written, as far as is known.
    pub fn pages(&self) -> u64 {
        self.dirty_pages + self.writing_pages
    }

    /// Whether more is dirty than may be.
    pub fn is_over(&self) -> bool {
        self.pages() > self.bound
    }

    /// Whether no page rests: the job is over, or the foreground needs the memory.
    pub fn hurry(&mut self, hurries: bool) {
        self.hurries = hurries;
    }

    /// The job made `pages` of `chunk` dirty.
    pub fn dirtied(&mut self, now: Nanos, chunk: K, pages: &PageSet) {
        if pages.is_empty() {
            return;
        }
        let known = self.dirty.entry(chunk).or_default();
        if known.is_empty() {
            self.order.push_back((now, chunk));
        }
        self.dirty_pages += pages.without(known).count();
        *known = known.or(pages);
    }

    /// Pages of `chunk` that wait to be written.
    pub fn waiting(&self, chunk: K) -> PageSet {
        self.dirty.get(&chunk).copied().unwrap_or_default()
    }

    /// The next pages to write, within a window of `most` pages; they count as being written from then on.
    pub fn next(&mut self, now: Nanos, most: u64) -> Option<Portion<K>> {
        let (since, chunk) = self.order.front().copied()?;
        let rests = now.since(since) < REST && self.pages() <= self.bound / RESTING_SHARE;
        if rests && !self.hurries {
            return None;
        }
        let left = self.dirty.get_mut(&chunk)?;
        let first = left.runs().first()?.first;
        let pages = left.and(&PageSet::of(first..(first + most.max(1)).min(CHUNK_PAGES)));
        let last = *pages.runs().last()?;
        let run = Run { first, pages: last.first + last.pages - first };
        *left = left.without(&pages);
        if left.is_empty() {
            self.dirty.remove(&chunk);
            self.order.pop_front();
        }
        let count = pages.count();
        self.dirty_pages -= count;
        self.writing_pages += count;
        Some(Portion { chunk, run, pages })
    }

    /// A portion is written, or need not be.
    pub fn written(&mut self, portion: &Portion<K>) {
        self.writing_pages = self.writing_pages.saturating_sub(portion.pages.count());
    }

    /// When the next portion is due; `None` if there is none.
    pub fn next_look(&self) -> Option<Nanos> {
        self.order.front().map(|(since, _)| since.plus(REST))
    }
}

#[cfg(test)]
mod tests;
