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
    last_look: Option<Nanos>,
    /// Time at work, lately, and the part of it in which a request was in service; in nanoseconds.
    at_work_ns: f64,
    busy_ns: f64,
}

/// Of this much time at work it is known how much was busy.
const OCCUPIED_OVER_NS: f64 = 20e9;
/// Of less time nothing is known.
const LITTLE_NS: f64 = 1e9;

impl Presence {
    pub(super) fn new(away: Nanos) -> Self {
        Self { away, count: 0, last_seen: None, last_look: None, at_work_ns: 0.0, busy_ns: 0.0 }
    }

    /// Takes in how many requests ever ended, and whether one is in service; returns whether it is at work.
    pub(super) fn look(&mut self, now: Nanos, count: u64, busy: bool) -> bool {
        if busy || count != self.count || self.last_seen.is_none() {
            self.last_seen = Some(now);
        }
        self.count = count;
        let span_ns = now.since(self.last_look.replace(now).unwrap_or(now)).0 as f64;
        let is_at_work = self.last_seen.is_some_and(|seen| now.since(seen) < self.away);
        if is_at_work {
            if self.at_work_ns > OCCUPIED_OVER_NS {
                self.at_work_ns /= 2.0;
                self.busy_ns /= 2.0;
            }
            self.at_work_ns += span_ns;
            self.busy_ns += if busy { span_ns } else { 0.0 };
        }
        is_at_work
    }

    /// It was not looked at until `now`: nothing is known of that time, and it counts as there.
    pub(super) fn resume(&mut self, now: Nanos) {
        (self.last_look, self.last_seen) = (Some(now), Some(now));
    }

    /// The share of its time at work in which any request was in service, lately; as the looks found it.
    pub(super) fn occupied(&self) -> f64 {
        self.busy_ns / self.at_work_ns.max(1.0)
    }

    /// The same without a span in which one always was; `None` if hardly anything is left.
    pub(super) fn occupied_beside(&self, busy: Nanos) -> Option<f64> {
        let busy_ns = busy.0 as f64;
        let rest_ns = self.at_work_ns - busy_ns;
        (rest_ns >= LITTLE_NS).then(|| (self.busy_ns - busy_ns).max(0.0) / rest_ns)
    }
}

#[cfg(test)]
mod tests;
