//! Measured harm: randomised short holds, an A/B test while running.
//!
//! Problem: whether background costs the foreground anything cannot be told from a priority that was set, nor from the
//! foreground's speed alone, which changes for many reasons. Caches, memory bandwidth and devices are shared in ways
//! that no counter shows.
//!
//! Approach: withhold the resource from background for short, random moments, and compare. Time is cut into blocks of
//! two epochs, one in which the resource is lent and one in which it is withheld, in random order. Because chance
//! alone decides which comes first, whatever else happens to the foreground happens to both alike: trends, load, other
//! programs. The ratio of the two arms is the slowdown, without bias.
//!
//! ```text
//!   ├────────────── block ──────────────┼────────────── block ──────────────┤
//!   ├ washout ┬ withheld ┬ washout ┬ lent ┼ washout ┬ lent ┬ washout ┬ withheld ┤
//!             └ counted ─┘         └ counted ─┘     └ counted ┘      └ counted ─┘
//! ```
//!
//! 1. The schedule (`schedule.rs`): a fifth of the time is withheld while the answer is open, one or two percent once it
//!    is known, a fifth again on a sign of change. Without foreground, or without background work, nothing is withheld.
//! 2. Pairs (`evidence.rs`): each block yields an unbiased pair, weighted by what it saw.
//! 3. The interval (`bounds.rs`): a confidence sequence, valid at every look, so that the decision may be made the
//!    moment it can be.
//! 4. The verdict: [`Harmless`](Verdict::Harmless) when the interval is below the budget, [`Harmful`](Verdict::Harmful)
//!    above.
//!
//! The same type serves disks, CPU, network and the user's own measure ([`Measure`]).
//!
//! Units: readings are cumulative, in any unit; the slowdown is a ratio, 1 for none.
//!
//! Edge cases: readings that come late lose nothing, since the epoch is as long as it was in force. A sensor that
//! restarts costs one block. Effects that outlast the washout are seen too small: choose the washout longer than the
//! time the foreground takes to recover. A verdict takes a dozen pairs at the least. The chance of an interval that
//! misses is 5% between two changes of the harm, over all looks together; the oldest of about a thousand
//! pairs are forgotten, and the guarantee starts anew with each full turn of the memory.
//!
//! Source: X-2 and 5.2 of the paper leave open how harm is known; randomised blocks are Fisher's (*The Design of
//! Experiments*, 1935); the confidence sequence is named where it is computed.

mod bounds;
mod cut;
pub(crate) mod evidence;
pub(crate) mod schedule;
mod setting;

pub use evidence::{Slowdown, Verdict};
pub use setting::{Arm, Epoch, Measure, Reading, TrialSetting};

use crate::base::share::{Loss, Share};
use crate::base::time::Nanos;
use evidence::Evidence;
use schedule::{Part, Schedule};

/// A running comparison of the foreground with and without background on one resource.
#[derive(Clone, Debug)]
pub struct Trial {
    setting: TrialSetting,
    schedule: Schedule,
    evidence: Evidence,
    cost: Cost,
    latest: Option<Nanos>,
}

/// What testing has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Time withheld.
    pub withheld: Nanos,
    /// Time in which background had work, withheld or not.
    pub total: Nanos,
}

impl Trial {
    /// Nothing is known yet. The order of arms follows from `seed`.
    pub fn new(setting: TrialSetting, seed: u64) -> Self {
        Self {
            setting,
            schedule: Schedule::new(setting, seed),
            evidence: Evidence::new(setting.measure, setting.budget.fraction()),
            cost: Cost::default(),
            latest: None,
        }
    }

    /// From now on `budget` is the slowdown that matters.
    pub fn set_budget(&mut self, budget: Loss) {
        self.setting.budget = budget;
        self.evidence.set_budget(budget.fraction());
    }

    /// Takes in what the foreground's sensor has counted by `now`, and whether background has work to do; returns what
    /// to do until the next call, at [`next_change`](Self::next_change) or before.
    pub fn record(&mut self, now: Nanos, reading: Reading, wants: bool) -> Arm {
        let span = now.since(self.latest.replace(now).unwrap_or(now));
        if wants {
            self.cost.total = self.cost.total.plus(span);
        }
        if self.arm() == Arm::Withheld {
            self.cost.withheld = self.cost.withheld.plus(span);
        }
        let demand = self.demand();
        if let Some(block) = self.schedule.step(now, reading, wants, demand) {
            let before = self.evidence.urgency();
            self.evidence.add(&block.lent_pieces, &[block.withheld]);
            if self.evidence.urgency() > before {
                // The next block has begun, at a density that is out of date.
                self.schedule.hurry(now, self.demand());
            }
        }
        self.arm()
    }

    /// What to do with the resource now.
    pub fn arm(&self) -> Arm {
        match self.schedule.part() {
            Part::Withheld => Arm::Withheld,
            Part::Lent => Arm::Lent,
        }
    }

    /// When the arm may change next; `None` while nothing is tested: then any time will do.
    pub fn next_change(&self) -> Option<Nanos> {
        self.schedule.next_change()
    }

    /// The slowdown as far as it is known; `None` before the first pair.
    pub fn slowdown(&self) -> Option<Slowdown> {
        self.evidence.slowdown()
    }

    /// The slowdown against the budget.
    pub fn verdict(&self) -> Verdict {
        self.evidence.verdict()
    }

    /// The share of its time that the foreground loses: likely, at least, at most. The slowdown of its requests, times the share of the
    /// time in which one is in service without background; a measure of the user's own is no time, and its slowdown is the share itself.
    pub fn loss(&self) -> Option<[f64; 3]> {
        let Slowdown { ratio, low, high, .. } = self.slowdown()?;
        let load = self.schedule.load().map_or(1.0, |load| (load / ratio.max(1.0)).min(1.0));
        Some([ratio, low, high].map(|ratio| ((ratio - 1.0) * load).max(0.0)))
    }

    /// What a loss of time is as a slowdown of requests: the less of its time the foreground is in service, the more.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a million")]
    pub fn budget_of(&self, loss: f64) -> Loss {
        let load = self.schedule.load().filter(|load| *load > 0.0).unwrap_or(1.0).min(1.0);
        Loss::ppm(((loss / load).min(1.0) * 1e6) as u32)
    }

    /// Whether what is compared can show a harm: requests that are longer than an epoch end in another one than they began in.
    pub fn can_judge(&self) -> bool {
        self.schedule.outlasts_requests()
    }

    /// How often the harm was found to have changed.
    pub fn changes(&self) -> u32 {
        self.evidence.changes()
    }

    /// What testing has cost.
    pub fn cost(&self) -> Cost {
        self.cost
    }

    /// The share of time that the next block is to withhold: between rare and dense; rare where nothing can be learnt but that requests
    /// have become shorter.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a fraction of a million")]
    fn demand(&self) -> Share {
        let (rare, dense) = (self.setting.rare.fraction(), self.setting.dense.fraction());
        let urgency = if self.can_judge() { self.evidence.urgency() } else { 0.0 };
        Share::ppm(((dense * urgency).max(rare) * 1e6) as u32)
    }
}

#[cfg(test)]
mod tests;
