//! How many CPUs are kept free beyond the need: as many as one burst in a hundred asks for.
//!
//! Problem: how much the foreground's need rises before anybody can react depends on the foreground. Approach: count how many of its
//! bursts found no free CPU because of the job. More than [`TOO_MANY`]: one more is kept free, at once. Hardly any for a while: one
//! less, but one always is.
//!
//! Edge cases: bursts that began while no CPU could have been given back say nothing, and are not counted.

use crate::base::time::Nanos;

/// One in so many may.
const TOO_MANY: u64 = 100;
/// One in so many is hardly any.
const FEW: u64 = 400;
/// With fewer bursts nothing is said.
const ENOUGH: u64 = 200;
/// Bursts are counted for this long at the least before one CPU less is kept free.
const PATIENCE: Nanos = Nanos::from_secs(1);

#[derive(Clone, Debug)]
pub(super) struct Buffer {
    cpus: u32,
    since: Nanos,
    latest: Option<(u64, u64)>,
    began: u64,
    crowded: u64,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { cpus: 1, since: Nanos::ZERO, latest: None, began: 0, crowded: 0 }
    }
}

impl Buffer {
    pub(super) fn cpus(&self) -> u32 {
        self.cpus
    }

    /// Takes in how many bursts ever began, and how many of them found no free CPU. `counts`: the job could have had fewer; `most`:
    /// so many may be kept free.
    pub(super) fn look(&mut self, now: Nanos, began: u64, crowded: u64, counts: bool, most: u32) {
        let (began_before, crowded_before) =
            self.latest.replace((began, crowded)).unwrap_or((began, crowded));
        if !counts {
            return;
        }
        self.began += began.saturating_sub(began_before);
        self.crowded += crowded.saturating_sub(crowded_before);
        // Two more than are allowed: one alone is chance.
        if self.crowded > (self.began.max(ENOUGH) / TOO_MANY) + 2 {
            self.cpus = (self.cpus + 1).min(most.max(1));
            self.restart(now);
        } else if self.began >= ENOUGH && now.since(self.since) >= PATIENCE {
            if self.crowded.saturating_mul(FEW) < self.began && self.cpus > 1 {
                self.cpus -= 1;
            }
            self.restart(now);
        }
    }

    fn restart(&mut self, now: Nanos) {
        (self.since, self.began, self.crowded) = (now, 0, 0);
    }
}
