//! The least that background gets: a small part of what the disk can do.
//!
//! A leaky bucket of bytes: what is due flows in while the foreground is at work, what background has got flows out. Half a second's part
//! is the most that is owed, so that background that had nothing to do has nothing to make up for.

use crate::base::time::Nanos;
use crate::idletime::setting::LEAST_BYTES;

const OWED_AT_MOST_S: f64 = 0.5;

#[derive(Clone, Debug, Default)]
pub(super) struct Floor {
    /// Bytes.
    owed: f64,
    before: Option<(Nanos, u64)>,
}

impl Floor {
    /// Background has asked for `bytes` so far; `rate` is its due, in bytes per second.
    pub(super) fn look(&mut self, now: Nanos, bytes: u64, at_work: Nanos, rate: f64) {
        let (_, got) = self.before.replace((now, bytes)).unwrap_or((now, bytes));
        let most = (rate * OWED_AT_MOST_S).max(2.0 * LEAST_BYTES as f64);
        let due = rate * at_work.as_secs_f64();
        self.owed = (self.owed + due - bytes.saturating_sub(got) as f64).clamp(-most, most);
    }

    /// Whether background has had too little.
    pub(super) fn is_due(&self) -> bool {
        self.owed > LEAST_BYTES as f64
    }
}

#[cfg(test)]
mod tests;
