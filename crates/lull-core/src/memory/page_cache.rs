//! Which of the pages that the job brought into the page cache stay there for now.
//!
//! Problem: background data must not stay in the page cache (Eggert & Touch, section 3.1), or a job that reads a disk
//! from end to end pushes the foreground's pages out. But pages that were read ahead are about to be used, and a job that
//! reads its own data again and again would go to the disk each time.
//!
//! Approach: a bounded cache in two parts. What was brought in is *fresh*; the oldest of it is dropped first. A chunk of
//! which the same pages come in again after they were dropped is *read again*, and kept apart from what streams past. What
//! is read again stays for a time only: nobody tells whether it is still used, but dropping it shows it.
//!
//! ```text
//!                    filled                   oldest, over the bound
//!   not in the cache ─────▶ fresh ─────────────────────────────────────┐
//!        │    ▲                                                        ▼
//!        │    └─────────── forgotten, after many others ────────── dropped
//!        │                                                          ▲  │ the same pages
//!        │                                        after LIFE        │  ▼ filled again
//!        │                                                      read again (while there is room,
//!        │                                                          else fresh)
//!        └── finish(): all that is fresh or read again is dropped
//! ```
//!
//! A loop over more than the cache holds thus keeps as much of it as there is room for, where dropping the oldest would
//! keep nothing that is used again.
//!
//! Units: pages. Edge cases: with a bound of 0 everything is dropped at once, read-ahead included; a chunk that is filled
//! piece by piece counts from its first piece; pages that the kernel took back meanwhile are still counted until they are
//! dropped or come in again.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use crate::base::time::Nanos;
use crate::memory::pages::PageSet;

mod left;

pub use left::LeftOver;

/// How long a chunk that was read again stays.
const LIFE: Nanos = Nanos::from_secs(30);
/// Dropped chunks that are remembered.
const REMEMBERED: usize = 4096;
/// Of the bound, one part in this many is for what is fresh.
const FRESH_SHARE: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Fresh,
    Again(Nanos),
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    pages: PageSet,
    place: Place,
}

/// Pages of a chunk that have to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eviction<K> {
    /// Which chunk.
    pub chunk: K,
    /// Which of its pages.
    pub pages: PageSet,
}

/// The bounded cache of one job; `K` names a chunk.
#[derive(Clone, Debug)]
pub struct KeptPages<K> {
    bound: u64,
    entries: HashMap<K, Entry>,
    fresh: VecDeque<K>,
    again: VecDeque<K>,
    fresh_pages: u64,
    again_pages: u64,
    dropped: HashMap<K, PageSet>,
    dropped_order: VecDeque<K>,
}

impl<K: Copy + Eq + Hash> KeptPages<K> {
    /// A cache of at most `bound` pages.
    pub fn new(bound: u64) -> Self {
        Self {
            bound,
            entries: HashMap::new(),
            fresh: VecDeque::new(),
            again: VecDeque::new(),
            fresh_pages: 0,
            again_pages: 0,
            dropped: HashMap::new(),
            dropped_order: VecDeque::new(),
        }
    }

    /// Another bound from now on; what is over it goes with the next [`Self::excess`].
    pub fn set_bound(&mut self, bound: u64) {
        self.bound = bound;
    }

    /// Pages that are kept now.
    pub fn pages(&self) -> u64 {
        self.fresh_pages + self.again_pages
    }

    fn again_bound(&self) -> u64 {
        self.bound - self.bound / FRESH_SHARE
    }

    /// The job brought in `pages` of `chunk`.
    pub fn filled(&mut self, now: Nanos, chunk: K, pages: &PageSet) {
        if let Some(entry) = self.entries.get_mut(&chunk) {
            let more = pages.without(&entry.pages).count();
            entry.pages = entry.pages.or(pages);
            match entry.place {
                Place::Fresh => self.fresh_pages += more,
                Place::Again(_) => self.again_pages += more,
            }
            return;
        }
        let count = pages.count();
        if count == 0 {
            return;
        }
        let is_again = self.dropped.get(&chunk).is_some_and(|dropped| !dropped.and(pages).is_empty());
        let place = if is_again && self.again_pages + count <= self.again_bound() {
            self.again.push_back(chunk);
            self.again_pages += count;
            Place::Again(now)
        } else {
            self.fresh.push_back(chunk);
            self.fresh_pages += count;
            Place::Fresh
        };
        self.entries.insert(chunk, Entry { pages: *pages, place });
    }

    /// These pages are no concern of this cache any more, as when they became dirty.
    pub fn forget(&mut self, chunk: K, pages: &PageSet) {
        let Some(entry) = self.entries.get_mut(&chunk) else { return };
        let fewer = entry.pages.and(pages).count();
        entry.pages = entry.pages.without(pages);
        match entry.place {
            Place::Fresh => self.fresh_pages -= fewer,
            Place::Again(_) => self.again_pages -= fewer,
        }
    }

    /// What has to go now. It counts as dropped from then on.
    pub fn excess(&mut self, now: Nanos) -> Vec<Eviction<K>> {
        let mut drops = Vec::new();
        while let Some(chunk) = self.again.front().copied() {
            let Some(Entry { place: Place::Again(since), .. }) = self.entries.get(&chunk) else { break };
            if self.again_pages <= self.again_bound() && now.since(*since) < LIFE {
                break;
            }
            self.again.pop_front();
            self.drop_chunk(chunk, &mut drops);
        }
        let fresh_bound = self.bound.saturating_sub(self.again_pages);
        while self.fresh_pages > fresh_bound {
            let Some(chunk) = self.fresh.pop_front() else { break };
            self.drop_chunk(chunk, &mut drops);
        }
        drops
    }

    /// When something has to go though nothing comes in; `None` if never.
    pub fn next_look(&self) -> Option<Nanos> {
        match self.entries.get(self.again.front()?)?.place {
            Place::Again(since) => Some(since.plus(LIFE)),
            Place::Fresh => None,
        }
    }

    /// Everything has to go: the job is over, or the foreground needs the memory.
    pub fn finish(&mut self) -> Vec<Eviction<K>> {
        let mut drops = Vec::new();
        for chunk in std::mem::take(&mut self.fresh).into_iter().chain(std::mem::take(&mut self.again)) {
            self.drop_chunk(chunk, &mut drops);
        }
        drops
    }

    fn drop_chunk(&mut self, chunk: K, drops: &mut Vec<Eviction<K>>) {
        let Some(entry) = self.entries.remove(&chunk) else { return };
        match entry.place {
            Place::Fresh => self.fresh_pages -= entry.pages.count(),
            Place::Again(_) => self.again_pages -= entry.pages.count(),
        }
        if entry.pages.is_empty() {
            return;
        }
        drops.push(Eviction { chunk, pages: entry.pages });
        if self.dropped.insert(chunk, entry.pages).is_none() {
            self.dropped_order.push_back(chunk);
        }
        while self.dropped_order.len() > REMEMBERED {
            if let Some(oldest) = self.dropped_order.pop_front() {
                self.dropped.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests;
