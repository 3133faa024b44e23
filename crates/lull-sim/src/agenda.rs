//! What is going to happen, in the order of time.
//!
//! A binary heap, and one place before it: what happens often leads straight to what happens next (a service begins, and its
//! end is the next event), which then passes the heap by. Events of one instant come out in the order in which they were put
//! in, so that a run is the same every time. The size is the number of things under way (clients, services, timers), not
//! the length of the run.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use lull_core::Nanos;

/// Events yet to come.
#[derive(Clone, Debug)]
pub struct Agenda<E> {
    /// If there is one, it comes before all in the heap.
    first: Option<Entry<E>>,
    heap: BinaryHeap<Entry<E>>,
    serial: u64,
}

#[derive(Clone, Debug)]
struct Entry<E> {
    /// The time in the upper half, the serial number in the lower: one comparison orders both.
    key: u128,
    event: E,
}

impl<E> Entry<E> {
    fn new(at: Nanos, serial: u64, event: E) -> Self {
        Self { key: u128::from(at.0) << 64 | u128::from(serial), event }
    }

    fn at(&self) -> Nanos {
        Nanos((self.key >> 64) as u64)
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
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
        other.key.cmp(&self.key)
    }
}

impl<E> Default for Agenda<E> {
    fn default() -> Self {
        Self { first: None, heap: BinaryHeap::new(), serial: 0 }
    }
}

impl<E> Agenda<E> {
    /// `event` will happen at `at`.
    pub fn add(&mut self, at: Nanos, event: E) {
        self.serial += 1;
        let entry = Entry::new(at, self.serial, event);
        // Of two entries the greater is the earlier.
        let waits = match self.earliest() {
            Some(earliest) if *earliest > entry => Some(entry),
            _ => self.first.replace(entry),
        };
        if let Some(entry) = waits {
            self.heap.push(entry);
        }
    }

    /// The next event before `end`, taken out.
    pub fn next_before(&mut self, end: Nanos) -> Option<(Nanos, E)> {
        if self.earliest()?.at() >= end {
            return None;
        }
        self.first.take().or_else(|| self.heap.pop()).map(|entry| (entry.at(), entry.event))
    }

    /// When the next event is.
    pub fn next_at(&self) -> Option<Nanos> {
        self.earliest().map(Entry::at)
    }

    fn earliest(&self) -> Option<&Entry<E>> {
        self.first.as_ref().or_else(|| self.heap.peek())
    }

    /// How many events are yet to come.
    pub fn len(&self) -> usize {
        self.heap.len() + usize::from(self.first.is_some())
    }

    /// Whether nothing is going to happen.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests;
