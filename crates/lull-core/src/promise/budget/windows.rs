//! The loss in each window that really was, for the report.
//!
//! A window is [`SLOTS`] slots; it slides by one slot. The worst of all windows at any other place is at most one
//! slot's loss above the worst that is kept.

use std::collections::VecDeque;

use crate::base::time::Nanos;

/// Slots in a window.
pub(super) const SLOTS: usize = 64;

#[derive(Clone, Debug)]
pub(super) struct Windows {
    slot: Nanos,
    /// Loss per slot, the open one last.
    lost: VecDeque<Nanos>,
    sum: Nanos,
    /// Time passed in the open slot.
    open: Nanos,
    worst: Option<Nanos>,
}

impl Windows {
    pub(super) fn new(window: Nanos) -> Self {
        let slot = Nanos((window.0 / SLOTS as u64).max(1));
        let lost = VecDeque::from([Nanos::ZERO]);
        Self { slot, lost, sum: Nanos::ZERO, open: Nanos::ZERO, worst: None }
    }

    pub(super) fn pass(&mut self, span: Nanos) {
        let passed = self.open.plus(span);
        self.open = Nanos(passed.0 % self.slot.0);
        // After a whole window of nothing, more of nothing changes nothing.
        for _ in 0..(passed.0 / self.slot.0).min(SLOTS as u64 + 1) {
            self.close();
        }
    }

    pub(super) fn spend(&mut self, loss: Nanos) {
        if let Some(open) = self.lost.back_mut() {
            *open = open.plus(loss);
        }
        self.sum = self.sum.plus(loss);
    }

    fn close(&mut self) {
        if self.lost.len() == SLOTS {
            self.worst = self.worst.max(Some(self.sum));
            if let Some(oldest) = self.lost.pop_front() {
                self.sum = self.sum.since(oldest);
            }
        }
        self.lost.push_back(Nanos::ZERO);
    }

    /// Loss in the window that ends now.
    pub(super) fn latest(&self) -> Nanos {
        self.sum
    }

    /// Length of the window that ends now.
    pub(super) fn span(&self) -> Nanos {
        self.slot.times(self.lost.len() as u64 - 1).plus(self.open)
    }

    /// The largest share of a complete window that was lost, the latest included; `None` before the first.
    pub(super) fn worst(&self) -> Option<f64> {
        let window = self.slot.times(SLOTS as u64).0 as f64;
        let complete = self.worst?;
        Some(complete.max(self.sum).0 as f64 / window)
    }
}
