//! Whether the gaps that let the job in cost the foreground's longest requests.
//!
//! Problem: where gaps let the job in, a request ends each of its turns, and pays for that: the job has to leave, its data is in the caches.
//! Beside short requests that is much for the one and next to nothing in the mean of all. The mean is what the trials compare; the 99th
//! percentile is what people look at.
//!
//! Approach: one request in four hundred may meet the job, so that the 99th percentile does not see it; more if meeting costs
//! hardly anything, or if most requests meet it: then the mean tells. Else the gaps are dear, and the job is let in by them as rarely as
//! one that finds none (`doze.rs`), unless they are most of the time.
//!
//! Units: requests; their time in any unit. Edge cases: of few requests nothing is said. What is old counts half after each
//! [`MEMORY`] requests. Requests that met the job while it was owed its least share are not those of gaps: the owner leaves them out.
//! Those after a gap may be longer by themselves; the job then gets fewer gaps than it could have.

use crate::trial::Reading;

/// So many requests may meet the job, in parts of all.
const FEW: f64 = 1.0 / 400.0;
/// From here on the mean tells.
const MOST: f64 = 0.5;
/// Meeting may cost this much of a request.
const CHEAP: f64 = 0.1;
/// With so many requests, and so many that met the job, something can be said.
const LEAST: f64 = 200.0;
const LEAST_MET: f64 = 8.0;
/// Requests that count in full.
const MEMORY: f64 = 4_000.0;

/// Requests and their time.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    count: f64,
    time: f64,
}

impl Sum {
    #[expect(clippy::cast_precision_loss, reason = "a share is asked for")]
    fn add(&mut self, count: u64, time: u64) {
        self.count += count as f64;
        self.time += time as f64;
    }

    fn halve(&mut self) {
        self.count /= 2.0;
        self.time /= 2.0;
    }

    fn mean(&self) -> f64 {
        self.time / self.count.max(1.0)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    /// All, and those that met the job, at the last look.
    seen: (Reading, Reading),
    met: Sum,
    spared: Sum,
}

impl Tail {
    /// Takes in what has ended since the last look; it counts if gaps `let_in` the job meanwhile.
    pub(super) fn look(&mut self, all: Reading, met: Reading, lets_in: bool) {
        let (all_before, met_before) = std::mem::replace(&mut self.seen, (all, met));
        if !lets_in {
            return;
        }
        let new = |now: Reading, before: Reading| {
            (now.count.saturating_sub(before.count), now.sum.saturating_sub(before.sum))
        };
        let (all, met) = (new(all, all_before), new(met, met_before));
        self.met.add(met.0, met.1);
        self.spared.add(all.0.saturating_sub(met.0), all.1.saturating_sub(met.1));
        if self.met.count + self.spared.count >= MEMORY {
            self.met.halve();
            self.spared.halve();
        }
    }

    /// Whether gaps cost the tail more than they should.
    pub(super) fn is_dear(&self) -> bool {
        let all = self.met.count + self.spared.count;
        let share = self.met.count / all.max(1.0);
        all >= LEAST
            && self.met.count >= LEAST_MET
            && (FEW..MOST).contains(&share)
            && self.met.mean() > (1.0 + CHEAP) * self.spared.mean()
    }
}

#[cfg(test)]
mod tests;
