//! What is going to happen, in the order of time.
//!
//! A binary heap; events of one instant come out in the order in which they were put in, so that a run is the same
//! every time. Its size is the number of things under way (clients, services, timers), not the length of the run.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use lull_core::Nanos;

/// Events yet to come.
#[derive(Clone, Debug)]
pub struct Agenda<E> {
    heap: BinaryHeap<Entry<E>>,
    serial: u64,
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
        Self { heap: BinaryHeap::new(), serial: 0 }
    }
}

impl<E> Agenda<E> {
    /// `event` will happen at `at`.
    pub fn add(&mut self, at: Nanos, event: E) {
        self.serial += 1;
        self.heap.push(Entry { at, serial: self.serial, event });
    }

    /// The next event before `end`, taken out.
    pub fn next_before(&mut self, end: Nanos) -> Option<(Nanos, E)> {
        if self.heap.peek()?.at >= end {
            return None;
        }
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    /// How many events are yet to come.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether nothing is going to happen.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

#[cfg(test)]
mod tests;
