//! Requests that were let go and that the device has not shown yet.
//!
//! First in, first out: each start that the view counts is taken for the oldest grant. One that stays out of the
//! device for longer than `settle` was a page-cache hit. Times are those of the grants; they never decrease along
//! the queue.

use std::collections::VecDeque;

use super::Ticket;
use crate::time::Nanos;

#[derive(Clone, Debug, Default)]
pub(super) struct Grants {
    pending: VecDeque<(Nanos, Ticket)>,
}

impl Grants {
    pub(super) fn push(&mut self, now: Nanos, ticket: Ticket) {
        self.pending.push_back((now, ticket));
    }

    /// The device has shown `starts` more requests.
    pub(super) fn materialise(&mut self, starts: u64) {
        for _ in 0..starts {
            if self.pending.pop_front().is_none() {
                break;
            }
        }
    }

    /// The call behind `ticket` is over.
    pub(super) fn retire(&mut self, ticket: Ticket) {
        self.pending.retain(|(_, granted)| *granted != ticket);
    }

    /// Drops those that are older than `settle`.
    pub(super) fn expire(&mut self, now: Nanos, settle: Nanos) {
        while self.pending.front().is_some_and(|(granted, _)| settled_at(*granted, settle) <= now) {
            self.pending.pop_front();
        }
    }

    /// How many may still show up in the device.
    pub(super) fn live(&self, now: Nanos, settle: Nanos) -> u32 {
        u32::try_from(self.pending.len() - self.expired(now, settle)).unwrap_or(u32::MAX)
    }

    /// When the oldest of them is given up.
    pub(super) fn next_settled(&self, now: Nanos, settle: Nanos) -> Option<Nanos> {
        self.pending.get(self.expired(now, settle)).map(|(granted, _)| settled_at(*granted, settle))
    }

    /// The clock stepped back to `now`.
    pub(super) fn rewind(&mut self, now: Nanos) {
        for (granted, _) in &mut self.pending {
            *granted = (*granted).min(now);
        }
    }

    pub(super) fn tickets(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.pending.iter().map(|(_, ticket)| *ticket)
    }

    pub(super) fn is_in_order(&self) -> bool {
        self.pending.iter().zip(self.pending.iter().skip(1)).all(|((a, _), (b, _))| a <= b)
    }

    fn expired(&self, now: Nanos, settle: Nanos) -> usize {
        // Asked several times per step, and mostly of grants that are all young, or none.
        if self.pending.front().is_none_or(|(granted, _)| settled_at(*granted, settle) > now) {
            return 0;
        }
        self.pending.partition_point(|(granted, _)| settled_at(*granted, settle) <= now)
    }
}

/// A grant holds its place in the step that made it, however short `settle` is.
fn settled_at(granted: Nanos, settle: Nanos) -> Nanos {
    granted.plus(settle.max(Nanos(1)))
}
