//! Trying again, ever more rarely.
//!
//! Problem: what could not be done may be possible later, but trying costs something each time: a pass over all of a job's memory,
//! a call per file, the job held meanwhile. Approach: the first pause is short; each try in vain doubles it, up to a bound; success
//! begins anew.
//!
//! ```text
//!   try ✗ ├first┤ try ✗ ├──2×──┤ try ✗ ├────4×────┤ … ├──most──┤ try ✓ : the next failure waits for `first` again
//! ```

use crate::base::time::Nanos;

/// Pauses between tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    first: Nanos,
    most: Nanos,
    /// The latest pause; zero after success.
    pause: Nanos,
    until: Nanos,
}

impl Backoff {
    /// Pauses from `first` to `most`; the first try may be made at once.
    pub const fn new(first: Nanos, most: Nanos) -> Self {
        Self { first, most, pause: Nanos::ZERO, until: Nanos::ZERO }
    }

    /// Whether it is time to try.
    pub fn is_due(&self, now: Nanos) -> bool {
        now >= self.until
    }

    /// A try was in vain.
    pub fn failed(&mut self, now: Nanos) {
        self.pause = self.pause.times(2).max(self.first).min(self.most);
        self.until = now.plus(self.pause);
    }

    /// A try was not, or there is nothing to be done any more.
    pub fn succeeded(&mut self) {
        *self = Self::new(self.first, self.most);
    }
}

#[cfg(test)]
mod tests;
