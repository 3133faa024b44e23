//! A disk's part of the promise.

use lull_core::{Loss, Nanos, Use};

use super::Disk;
use crate::promise::Account;
use crate::report::figures::SlowdownSummary;

/// What control of a disk aims at, of what may be lost there, in percent: the rest is for what is learnt late.
const DISK_PERCENT: u32 = 80;

/// What control of a disk aims at, when so much may be lost there.
pub fn of_disk(promise: Loss) -> Loss {
    Loss::ppm(promise.as_ppm() / 100 * DISK_PERCENT)
}

impl Account for Disk {
    fn name(&self) -> &str {
        &self.traits.name
    }

    fn usage(&mut self, now: Nanos) -> Use {
        Disk::usage(self, now)
    }

    fn set_promise(&mut self, promise: Loss) {
        Disk::set_promise(self, of_disk(promise));
    }

    fn slowdown(&self) -> Option<SlowdownSummary> {
        self.control.slowdown().map(Into::into)
    }

    /// What a disk's sensor sees needs no comparison.
    fn is_seen(&self) -> bool {
        true
    }
}
