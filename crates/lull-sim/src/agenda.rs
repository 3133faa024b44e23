//! What is going to happen, in the order of time.
//!
//! A binary heap; events of one instant come out in the order in which they were put in, so that a run is the same
//! every time. Its size is the number of things under way (clients, services, timers), not the length of the run.
//!
//! What happens now nearly always leads to one thing later. So an event that was handed out keeps its place at the top
//! until the next is put in or asked for: put in its place, a new one is sorted in once, instead of once for the old one's
//! going and once for its own coming.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use lull_core::Nanos;

/// Events yet to come.
#[derive(Clone, Debug)]
pub struct Agenda<E> {
    heap: BinaryHeap<Entry<E>>,
    serial: u64,
    /// The event at the top has happened.
    stale: bool,
}

#[derive(Clone, Debug)]
struct Entry<E> {
    at: Nanos,
    serial: u64,
    event: E,
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.serial == other.serial
    }
}

impl<E> Eq for Entry<E> {}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> Ord for Entry<E> {
    /// The heap gives the greatest first: the earliest is the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.serial).cmp(&(self.at, self.serial))
    }
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), serial: 0, stale: false }
    }
}

impl<E: Copy> Agenda<E> {
    /// `event` will happen at `at`.
    pub fn add(&mut self, at: Nanos, event: E) {
        self.serial += 1;
        let entry = Entry { at, serial: self.serial, event };
        if std::mem::take(&mut self.stale)
            && let Some(mut top) = self.heap.peek_mut()
        {
            *top = entry;
            return;
        }
        self.heap.push(entry);
    }

    /// The next event before `end`, taken out.
    pub fn next_before(&mut self, end: Nanos) -> Option<(Nanos, E)> {
        if std::mem::take(&mut self.stale) {
            self.heap.pop();
        }
        let Entry { at, event, .. } = self.heap.peek().filter(|entry| entry.at < end)?;
        self.stale = true;
        Some((*at, *event))
    }

    /// How many events are yet to come.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.stale)
    }

    /// Whether nothing is going to happen.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests;
