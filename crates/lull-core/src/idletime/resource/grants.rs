//! Requests that were let go and that the device has not shown yet.
//!
//! First in, first out: each start that the view counts is taken for a part of the oldest grant, which is there as long as some of
//! its bytes are not. What stays out of the device for longer than `settle` was a page-cache hit. Times are those of the grants; they
//! never decrease along the queue.

use std::collections::VecDeque;

use super::Ticket;
use crate::base::time::Nanos;

/// A request that was let go.
#[derive(Clone, Copy, Debug)]
struct Grant {
    at: Nanos,
    ticket: Ticket,
    /// What of it the device has not shown.
    bytes: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Grants {
    pending: VecDeque<Grant>,
}

impl Grants {
    pub(super) fn push(&mut self, now: Nanos, ticket: Ticket, bytes: u64) {
        self.pending.push_back(Grant { at: now, ticket, bytes });
    }

    /// The device has shown `starts` more requests, with so many bytes together. Of those that a sensor shows without their bytes,
    /// each is a whole grant.
    pub(super) fn materialise(&mut self, starts: u64, bytes: u64) {
        let each = if bytes == 0 { u64::MAX } else { bytes.div_ceil(starts.max(1)) };
        for _ in 0..starts {
            let Some(first) = self.pending.front_mut() else { break };
            first.bytes = first.bytes.saturating_sub(each);
            if first.bytes == 0 {
                self.pending.pop_front();
            }
        }
    }

    /// The call behind `ticket` is over.
    pub(super) fn retire(&mut self, ticket: Ticket) {
        self.pending.retain(|grant| grant.ticket != ticket);
    }

    /// Drops those that are older than `settle`.
    pub(super) fn expire(&mut self, now: Nanos, settle: Nanos) {
        while self.pending.front().is_some_and(|grant| settled_at(grant.at, settle) <= now) {
            self.pending.pop_front();
        }
    }

    /// How many may still show up in the device.
    pub(super) fn live(&self, now: Nanos, settle: Nanos) -> u32 {
        u32::try_from(self.pending.len() - self.expired(now, settle)).unwrap_or(u32::MAX)
    }

    /// How many bytes may.
    pub(super) fn live_bytes(&self, now: Nanos, settle: Nanos) -> u64 {
        let live = self.pending.iter().skip(self.expired(now, settle));
        live.fold(0, |sum, grant| sum.saturating_add(grant.bytes))
    }

    /// When the oldest of them is given up.
    pub(super) fn next_settled(&self, now: Nanos, settle: Nanos) -> Option<Nanos> {
        self.pending.get(self.expired(now, settle)).map(|grant| settled_at(grant.at, settle))
    }

    /// The clock stepped back to `now`.
    pub(super) fn rewind(&mut self, now: Nanos) {
        for grant in &mut self.pending {
            grant.at = grant.at.min(now);
        }
    }

    pub(super) fn tickets(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.pending.iter().map(|grant| grant.ticket)
    }

    pub(super) fn is_in_order(&self) -> bool {
        self.pending.iter().zip(self.pending.iter().skip(1)).all(|(a, b)| a.at <= b.at)
    }

    fn expired(&self, now: Nanos, settle: Nanos) -> usize {
        // Asked several times per step, and mostly of grants that are all young, or none.
        if self.pending.front().is_none_or(|grant| settled_at(grant.at, settle) > now) {
            return 0;
        }
        self.pending.partition_point(|grant| settled_at(grant.at, settle) <= now)
    }
}

/// A grant holds its place in the step that made it, however short `settle` is.
fn settled_at(granted: Nanos, settle: Nanos) -> Nanos {
    granted.plus(settle.max(Nanos(1)))
}
