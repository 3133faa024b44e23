//! What the foreground's requests take by themselves, and how much longer they take beside the job.
//!
//! *Quiet* requests met nothing of the job, neither in service on arrival nor shortly before
//! ([`RECENTLY`](super::RECENTLY)); the others are *loaded*. Their excess is what the loaded ones took, less as many times the
//! mean of the quiet ones:
//!
//! ```text
//!   lost = Σ loaded − number of loaded · own,     own = mean of the latest quiet ones
//! ```
//!
//! A loaded request that nothing has slowed down adds as much as it takes off, so that it matters little who counts as loaded. Where
//! requests come in bursts only the first of each counts: the others wait for each other, which is the foreground's own affair. A
//! foreground whose requests nearly always overlap has hardly any first ones: of it all count, and their excess is divided by how many
//! are in service at a time.
//!
//! Quiet requests come from gaps without the job, and from the audit, which withholds it now and then. The latest few hundred count: a
//! foreground that changes is known anew after as many.
//!
//! Units: nanoseconds as `f64`.

use super::telemetry::{Telemetry, Total, new_of};
use crate::base::histogram::Histogram;
use crate::base::time::Nanos;
use crate::promise::late::{Late, late_share};

/// Quiet requests that tell what is own, at the least and at the most.
const FEW: f64 = 8.0;
const MANY: f64 = 256.0;
/// Requests kept for the tail, and gaps.
const KEPT: u64 = 4096;
const KEPT_GAPS: u64 = 1024;
/// With fewer first requests than one in so many, all count.
const HEADS: f64 = 16.0;
/// The quiet requests of one look count at most this many times the usual: one stall of the device may not decide.
const CLIP: f64 = 4.0;

/// What happened between two looks.
#[derive(Clone, Debug)]
pub(super) struct Look {
    /// Foreground requests that ended having met the job.
    pub(super) loaded: Total,
    /// How many ended at all.
    pub(super) ended: u64,
    /// How long the foreground was at work.
    pub(super) at_work: Nanos,
    /// Background requests that ended.
    pub(super) service: Histogram,
}

/// What requests take without the job: number and sum of the latest quiet ones.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    number: f64,
    sum: f64,
}

impl Own {
    fn learn(&mut self, quiet: &Total) {
        let Some(mean) = quiet.mean() else { return };
        let most = self.mean().map_or(f64::MAX, |own| CLIP * own);
        self.number += quiet.count as f64;
        self.sum += quiet.count as f64 * mean.min(most);
        if self.number > MANY {
            let kept = MANY / 2.0 / self.number;
            (self.number, self.sum) = (self.number * kept, self.sum * kept);
        }
    }

    fn mean(&self) -> Option<f64> {
        (self.number >= FEW).then(|| self.sum / self.number)
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Evidence {
    /// Of first requests, and of all.
    heads: Own,
    all: Own,
    /// First requests lately, and all.
    counts: (f64, f64),
    quiet: Histogram,
    loaded: Histogram,
    gaps: Histogram,
    /// Foreground requests in service at a time, while there are any.
    overlap: f64,
}

impl Evidence {
    /// Takes in what was counted between two readings.
    pub(super) fn look(&mut self, before: &Telemetry, now: &Telemetry, at_work: Nanos) -> Look {
        let quiet = new_of(&now.quiet, &before.quiet);
        let loaded = new_of(&now.loaded, &before.loaded);
        let gaps = new_of(&now.gaps, &before.gaps);
        let heads = now.heads().since(&before.heads());
        let ended = quiet.count() + loaded.count();
        if ended > 0 {
            let first = heads.quiet.count + heads.loaded.count;
            self.counts = (fading(self.counts.0, first as f64), fading(self.counts.1, ended as f64));
            let busy = at_work.0.saturating_sub(gaps.sum_ns).max(1) as f64;
            self.overlap = fading(self.overlap, ((quiet.sum_ns + loaded.sum_ns) as f64 / busy).max(1.0));
        }
        self.heads.learn(&heads.quiet);
        self.all.learn(&Total::from(&quiet));
        keep(&mut self.quiet, &quiet, KEPT);
        keep(&mut self.loaded, &loaded, KEPT);
        keep(&mut self.gaps, &gaps, KEPT_GAPS);
        Look {
            loaded: if self.is_by_heads() { heads.loaded } else { Total::from(&loaded) },
            ended,
            at_work,
            service: new_of(&now.service, &before.service),
        }
    }

    /// Whether only the first requests of bursts count.
    fn is_by_heads(&self) -> bool {
        self.counts.0 * HEADS >= self.counts.1
    }

    /// How many of the requests that count are in service at a time.
    fn at_a_time(&self) -> f64 {
        if self.is_by_heads() { 1.0 } else { self.overlap.max(1.0) }
    }

    fn known(&self) -> &Own {
        if self.is_by_heads() { &self.heads } else { &self.all }
    }

    /// What a request takes without the job; `None` while too few are known.
    pub(super) fn own(&self) -> Option<f64> {
        self.known().mean()
    }

    /// What these requests took longer because of the job; `None` while nothing is known of others.
    pub(super) fn lost(&self, loaded: &Total) -> Option<f64> {
        Some((loaded.sum_ns as f64 - loaded.count as f64 * self.own()?) / self.at_a_time())
    }

    /// By how much that may be wrong: the standard error.
    pub(super) fn error(&self, loaded: &Total) -> f64 {
        let (Some(own), Some(mean)) = (self.own(), loaded.mean()) else { return 0.0 };
        let (count, number) = (loaded.count as f64, self.known().number);
        let of_loaded = self.loaded.spread() * mean * mean / count;
        let of_own = self.quiet.spread() * own * own / number;
        count * (of_loaded + of_own).sqrt() / self.at_a_time()
    }

    /// The share of loaded requests that are late because of the job; `None` while too few are known.
    pub(super) fn late(&self, max_delay: Nanos) -> Option<Late> {
        late_share(&self.quiet, &self.loaded, max_delay)
    }

    /// What is done has changed: what loaded requests took says no more what they take.
    pub(super) fn forget_loaded(&mut self) {
        self.loaded = Histogram::default();
    }

    /// When a foreground that stays away is no longer between two requests.
    pub(super) fn gone_after(&self) -> Option<Nanos> {
        Some(self.gaps.mean()?.times(4).max(self.gaps.quantile(0.995)?))
    }
}

/// A mean of late values; the first one counts whole.
fn fading(mean: f64, new: f64) -> f64 {
    if mean == 0.0 { new } else { mean + (new - mean) / 8.0 }
}

fn keep(kept: &mut Histogram, new: &Histogram, most: u64) {
    kept.merge(new);
    if kept.count() > most {
        kept.halve();
    }
}
