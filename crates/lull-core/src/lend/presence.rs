//! Whether the foreground is at work, or has gone.
//!
//! It is at work while a request of it is in service and for a while after; gone when that was long ago. While it is at
//! work it earns and loses; when it is gone everything may be lent. At the beginning it counts as at work.

use crate::time::Nanos;

#[derive(Clone, Debug)]
pub(super) struct Presence {
    away: Nanos,
    count: u64,
    last_seen: Option<Nanos>,
}

impl Presence {
    pub(super) fn new(away: Nanos) -> Self {
        Self { away, count: 0, last_seen: None }
    }

    /// Takes in how many requests ever ended, and whether one is in service; returns whether it is at work.
    pub(super) fn look(&mut self, now: Nanos, count: u64, busy: bool) -> bool {
        if busy || count != self.count || self.last_seen.is_none() {
            self.last_seen = Some(now);
        }
        self.count = count;
        self.last_seen.is_some_and(|seen| now.since(seen) < self.away)
    }
}

#[cfg(test)]
mod tests;
