//! Pages that could not go when they were to: a process had mapped them, or they were still being read.
//!
//! Problem: trying again costs calls for each run of pages, and has all CPUs empty their lists of pages each time in vain. A program that
//! maps its files for hours would have that done four times a second. Approach: each chunk has pauses of its own ([`Backoff`]), and what is
//! left goes at the end in any case.

use std::collections::HashMap;
use std::hash::Hash;

use super::Eviction;
use crate::base::backoff::Backoff;
use crate::base::time::Nanos;
use crate::memory::pages::PageSet;

/// The pause after a try, at least and at most.
const LEAST_PAUSE: Nanos = Nanos::from_millis(250);
const MOST_PAUSE: Nanos = Nanos::from_secs(32);
/// Chunks that are kept in mind.
const CHUNKS: usize = 4096;

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// None while they are being tried.
    pages: PageSet,
    tries: Backoff,
}

/// What is left over; `K` names a chunk.
#[derive(Clone, Debug)]
pub struct LeftOver<K> {
    chunks: HashMap<K, Entry>,
    /// When it was last looked for what is due.
    looked: Nanos,
}

impl<K> Default for LeftOver<K> {
    fn default() -> Self {
        Self { chunks: HashMap::new(), looked: Nanos::ZERO }
    }
}

impl<K: Copy + Eq + Hash> LeftOver<K> {
    /// These pages of `chunk` did not go.
    pub fn left(&mut self, now: Nanos, chunk: K, pages: &PageSet) {
        let has_room = self.chunks.len() < CHUNKS;
        if !has_room && !self.chunks.contains_key(&chunk) {
            return;
        }
        let new = Entry { pages: PageSet::default(), tries: Backoff::new(LEAST_PAUSE, MOST_PAUSE) };
        let entry = self.chunks.entry(chunk).or_insert(new);
        // Several runs of a chunk are one try.
        if entry.tries.is_due(now) {
            entry.tries.failed(now);
        }
        entry.pages = entry.pages.or(pages);
    }

    /// What is to be tried again now.
    pub fn due(&mut self, now: Nanos) -> Vec<Eviction<K>> {
        if now.since(self.looked) < LEAST_PAUSE {
            return Vec::new();
        }
        self.looked = now;
        self.take(|tries| tries.is_due(now))
    }

    /// Everything: the job is over.
    pub fn all(&mut self) -> Vec<Eviction<K>> {
        self.take(|_| true)
    }

    fn take(&mut self, is_wanted: impl Fn(&Backoff) -> bool) -> Vec<Eviction<K>> {
        // What was tried and did not come back has gone.
        self.chunks.retain(|_, entry| !entry.pages.is_empty());
        let wanted = self.chunks.iter_mut().filter(|(_, entry)| is_wanted(&entry.tries));
        wanted
            .map(|(chunk, entry)| Eviction { chunk: *chunk, pages: std::mem::take(&mut entry.pages) })
            .collect()
    }
}

#[cfg(test)]
mod tests;
