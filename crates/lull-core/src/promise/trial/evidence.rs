//! What was learned from the blocks so far: pairs, the verdict, and when to forget.
//!
//! **From blocks to pairs.** A block has a lent and a withheld epoch next to each other. Each has an amount `x` and an
//! exposure `w` (sum and count for a mean, count and time for a rate). With `W = w_lent + w_withheld` the block yields
//! `x_lent · w_withheld / W` and `x_withheld · w_lent / W` (Mantel & Haenszel 1959; for rates Greenland & Robins 1985).
//! Their expectations are in the ratio of the two levels whatever the exposures are, so epochs may be unequal, the
//! share withheld may change, and the level may drift from block to block. An epoch without foreground weighs nothing.
//! Blocks are added up into a pair until it stands for a few requests, or for slow foregrounds sums would be skewed.
//!
//! **Heavy tails.** The level of an epoch is cut ([`cut`]) far above what is usual in either arm, at the same level in
//! both, and in pieces of one length: one stall of the machine may not decide, nor blind the trial until it is forgotten. Logarithms or medians would
//! be more robust still, but they estimate something else than the mean that is promised, and their bias depends on the
//! length of an epoch, which differs between the arms.
//!
//! **Forgetting.** The last [`MEMORY`] pairs count. If the interval of the latest pairs and that of the ones before
//! them, at several lengths, have nothing in common, the harm has changed, and what was before is dropped (Shekhar &
//! Ramdas, *Reducing sequential change detection to sequential estimation*, 2024). That takes at least a dozen pairs;
//! a few that lie far off already raise a *suspicion*: no conclusion, but dense testing for a while.
//!
//! **Verdict.** A verdict needs the interval wholly on one side of the budget, and stands while the estimate stays there:
//!
//! ```text
//!               high < budget                       low > budget
//!            ┌─────────────────────── Unknown ──────────────────────┐
//!            ▼                       ▲ ▲    ▲                       ▼
//!        Harmless ── ratio > budget ─┘ │    └─ ratio < budget ── Harmful
//!            └───────────── change ────┴────── change ──────────────┘
//! ```

use std::collections::VecDeque;

use super::bounds::Sums;
use super::cut::Levels;
use super::setting::{Epoch, Measure};

/// Requests that a pair stands for, at the least: `lent · withheld / (lent + withheld)`, summed over its blocks.
const STANDS_FOR: f64 = 4.0;
/// Pairs that are remembered.
pub(super) const MEMORY: usize = 1024;
/// The chance that the interval ever misses the true ratio.
const ALPHA: f64 = 0.05;
/// The same for each of two intervals that are compared to find a change.
const CHANGE_ALPHA: f64 = 0.005;
/// The fewest pairs that can show a change.
const CHANGE_PAIRS: usize = 12;
/// The latest pairs that raise a suspicion, and by how many standard errors.
const SUSPICIOUS_PAIRS: usize = 4;
const SUSPICIOUS_EXCESS: f64 = 3.0;
/// A suspicion is over after this many pairs without another.
const SUSPICION_LASTS: u32 = 16;
/// While the answer is open, after this many pairs the share of time withheld begins to fall.
const PATIENCE: f64 = 128.0;

/// How much slower the foreground is with background than without.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdown {
    /// Time per request with background over without: 1 for no slowdown, 1.05 for 5%.
    pub ratio: f64,
    /// The lower end of the 95% interval.
    pub low: f64,
    /// The upper end; infinite while nothing excludes any slowdown.
    pub high: f64,
    /// The number of pairs of epochs it rests on.
    pub pairs: u32,
}

/// What is known about the slowdown and the budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// The interval spans the budget.
    #[default]
    Unknown,
    /// Proved to be within the budget.
    Harmless,
    /// Proved to exceed the budget.
    Harmful,
}

/// The numerator and the denominator of the slowdown.
#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    num: f64,
    den: f64,
}

/// Pairs and what follows from them.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    measure: Measure,
    /// The ratio that matters: 1 plus the budget.
    budget: f64,
    pairs: VecDeque<Pair>,
    /// The pair that is not complete, and the requests it stands for.
    open: (Pair, f64),
    levels: Levels,
    slowdown: Option<Slowdown>,
    verdict: Verdict,
    /// Pairs for which testing stays dense because of a suspicion.
    suspicion: u32,
    /// Pairs since the last change.
    age: f64,
    changes: u32,
}

impl Evidence {
    pub(crate) fn new(measure: Measure, budget: f64) -> Self {
        Self {
            measure,
            budget: 1.0 + budget,
            pairs: VecDeque::new(),
            open: (Pair::default(), 0.0),
            levels: Levels::default(),
            slowdown: None,
            verdict: Verdict::Unknown,
            suspicion: 0,
            age: 0.0,
            changes: 0,
        }
    }

    /// From now on `budget` is the slowdown that matters; the verdict follows with the next pair.
    pub(crate) fn set_budget(&mut self, budget: f64) {
        self.budget = 1.0 + budget;
    }

    pub(crate) fn slowdown(&self) -> Option<Slowdown> {
        self.slowdown
    }

    pub(crate) fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// How often the harm was found to have changed.
    pub(crate) fn changes(&self) -> u32 {
        self.changes
    }

    /// Part of the full density at which to test, and whether the answer is open.
    pub(crate) fn urgency(&self) -> f64 {
        if self.suspicion > 0 {
            1.0
        } else if self.verdict == Verdict::Unknown {
            (PATIENCE / self.age.max(1.0)).min(1.0)
        } else {
            0.0
        }
    }

    /// Takes in one block: what it saw with background and without, in pieces of about one length.
    pub(crate) fn add(&mut self, lent: &[Epoch], withheld: &[Epoch]) {
        let limit = self.levels.limit();
        let (lent_amount, lent_exposure) = self.cut(lent, limit);
        let (withheld_amount, withheld_exposure) = self.cut(withheld, limit);
        let exposure = lent_exposure + withheld_exposure;
        let seen = lent.iter().chain(withheld).map(|epoch| epoch.count as f64).sum::<f64>();
        if lent_exposure <= 0.0 || withheld_exposure <= 0.0 || seen <= 0.0 {
            return;
        }
        self.levels.add(self.level(lent), self.level(withheld));
        let lent_part = lent_amount * withheld_exposure / exposure;
        let withheld_part = withheld_amount * lent_exposure / exposure;
        let (num, den) = match self.measure {
            Measure::Mean => (lent_part, withheld_part),
            Measure::Rate | Measure::Level => (withheld_part, lent_part),
        };
        let (pair, stands_for) = &mut self.open;
        pair.num += num;
        pair.den += den;
        *stands_for += seen * (lent_exposure / exposure) * (withheld_exposure / exposure);
        if *stands_for < STANDS_FOR {
            return;
        }
        let (pair, _) = std::mem::take(&mut self.open);
        self.conclude(pair);
    }

    /// The amount, cut to `limit` per exposure in each piece, and the exposure.
    fn cut(&self, pieces: &[Epoch], limit: f64) -> (f64, f64) {
        pieces.iter().map(|piece| self.amount(piece)).fold((0.0, 0.0), |sum, (amount, exposure)| {
            let most = if exposure > 0.0 { limit * exposure } else { f64::INFINITY };
            (sum.0 + amount.min(most), sum.1 + exposure)
        })
    }

    /// The level of one piece; 0 where none has any exposure. One stands for all, so that what is usual rests on many blocks.
    fn level(&self, pieces: &[Epoch]) -> f64 {
        let exposed = pieces.iter().map(|piece| self.amount(piece)).find(|(_, exposure)| *exposure > 0.0);
        exposed.map_or(0.0, |(amount, exposure)| amount / exposure)
    }

    fn amount(&self, epoch: &Epoch) -> (f64, f64) {
        match self.measure {
            Measure::Mean | Measure::Level => (epoch.sum as f64, epoch.count as f64),
            Measure::Rate => (epoch.count as f64, epoch.span.as_secs_f64()),
        }
    }

    fn conclude(&mut self, pair: Pair) {
        self.pairs.push_back(pair);
        if self.pairs.len() > MEMORY {
            self.pairs.pop_front();
        }
        self.age += 1.0;
        self.suspicion = self.suspicion.saturating_sub(1);
        let before = sums(self.pairs.iter());
        let all = self.forget_what_changed(&before).unwrap_or(before);
        let ratio = all.ratio();
        if all.n >= before.n && self.latest_excess(&all, ratio).abs() > SUSPICIOUS_EXCESS {
            self.suspicion = SUSPICION_LASTS;
        }
        let (low, high) = all.interval(ALPHA);
        #[expect(clippy::cast_possible_truncation, reason = "at most MEMORY")]
        let pairs = self.pairs.len() as u32;
        self.slowdown = Some(Slowdown { ratio, low, high, pairs });
        self.verdict = match self.verdict {
            _ if high < self.budget => Verdict::Harmless,
            _ if low > self.budget => Verdict::Harmful,
            Verdict::Harmless if ratio < self.budget => Verdict::Harmless,
            Verdict::Harmful if ratio > self.budget => Verdict::Harmful,
            _ => Verdict::Unknown,
        };
    }

    /// Drops what was before a change; returns the sums of what is left, if there was one.
    fn forget_what_changed(&mut self, all: &Sums) -> Option<Sums> {
        let mut latest = CHANGE_PAIRS;
        let mut before = self.pairs.len().saturating_sub(latest);
        while before >= CHANGE_PAIRS {
            let earlier = sums(self.pairs.range(..before));
            let later = sums(self.pairs.range(before..));
            let (was_low, was_high) = earlier.interval(CHANGE_ALPHA);
            let (is_low, is_high) = later.interval(CHANGE_ALPHA);
            if is_low > was_high || is_high < was_low {
                self.pairs.drain(..self.likeliest_change(all));
                let left = sums(self.pairs.iter());
                self.verdict = Verdict::Unknown;
                self.age = left.n;
                self.changes += 1;
                return Some(left);
            }
            latest += latest.div_ceil(3);
            before = self.pairs.len().saturating_sub(latest);
        }
        None
    }

    /// Where to part the pairs so that those on either side scatter least about the ratio of their side.
    fn likeliest_change(&self, all: &Sums) -> usize {
        let mut earlier = Sums::default();
        let mut best = (f64::INFINITY, 0);
        for (index, pair) in self.pairs.iter().enumerate() {
            let later = all.without(&earlier);
            let scatter = earlier.scatter() + later.scatter();
            let leaves_enough = self.pairs.len() - index >= CHANGE_PAIRS;
            if index > 0 && leaves_enough && scatter < best.0 {
                best = (scatter, index);
            }
            earlier.add(pair.num, pair.den);
        }
        best.1
    }

    /// By how many standard errors the latest few pairs lie above `ratio`.
    fn latest_excess(&self, all: &Sums, ratio: f64) -> f64 {
        let before = self.pairs.len().saturating_sub(SUSPICIOUS_PAIRS);
        if before < CHANGE_PAIRS || !ratio.is_finite() {
            return 0.0;
        }
        let latest = sums(self.pairs.range(before..));
        latest.excess(&all.without(&latest), ratio)
    }
}

fn sums<'a>(pairs: impl Iterator<Item = &'a Pair>) -> Sums {
    let mut sums = Sums::default();
    for pair in pairs {
        sums.add(pair.num, pair.den);
    }
    sums
}

#[cfg(test)]
mod tests;
