//! Which arm when: blocks of two epochs in random order.
//!
//! ```text
//!              the foreground moved,                       washout over
//!  ┌──────┐   background has work     ┌─────────────────┐ ─────────────▶ ┌──────────────────┐
//!  │ Rest │ ────────────────────────▶ │ Washout of an   │                │ Counting of that │
//!  │ lent │ ◀──────────────────────── │ epoch           │ ◀───────────── │ epoch            │
//!  └──────┘ block without foreground, └─────────────────┘ epoch over:    └──────────────────┘
//!           no background work,                           the other arm,
//!           sensor restarted                              or the next block
//! ```
//!
//! Nothing changes between two calls: an epoch lasts from the call that began it to the first call at or after its end.
//! The owner acts on what a call returns, so an epoch that is noticed late was in force that long, and is counted so.

use super::setting::{Arm, Epoch, Reading, TrialSetting};
use crate::random::Random;
use crate::share::Share;
use crate::time::Nanos;

/// Both epochs of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) lent: Epoch,
    pub(crate) withheld: Epoch,
}

#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    setting: TrialSetting,
    random: Random,
    phase: Phase,
    /// Foreground requests per second, in recent blocks.
    per_second: f64,
    latest: Option<(Nanos, Reading)>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Rest,
    Washout { plan: Plan, until: Nanos },
    Counting { plan: Plan, until: Nanos, began: (Nanos, Reading) },
}

/// What is left of a block.
#[derive(Clone, Copy, Debug)]
struct Plan {
    arm: Arm,
    withheld: Nanos,
    lent: Nanos,
    began: (Nanos, Reading),
    /// The first epoch, once it is over.
    first: Option<Epoch>,
}

impl Plan {
    const fn length(&self) -> Nanos {
        match self.arm {
            Arm::Lent => self.lent,
            Arm::Withheld => self.withheld,
        }
    }
}

impl Schedule {
    pub(crate) fn new(setting: TrialSetting, seed: u64) -> Self {
        // Before anything is known, epochs of the shortest length would do.
        let per_second = f64::from(setting.requests) / setting.shortest.as_secs_f64().max(1e-9);
        Self { setting, random: Random::new(seed), phase: Phase::Rest, per_second, latest: None }
    }

    pub(crate) fn arm(&self) -> Arm {
        match self.phase {
            Phase::Rest => Arm::Lent,
            Phase::Washout { plan, .. } | Phase::Counting { plan, .. } => plan.arm,
        }
    }

    /// When the next call is due; `None` while at rest.
    pub(crate) fn next_change(&self) -> Option<Nanos> {
        match self.phase {
            Phase::Rest => None,
            Phase::Washout { until, .. } | Phase::Counting { until, .. } => Some(until),
        }
    }

    /// Takes in a reading; returns a block that is complete. `share` is the part of time to withhold, from the next
    /// block on.
    pub(crate) fn step(&mut self, now: Nanos, reading: Reading, work: bool, share: Share) -> Option<Block> {
        let before = self.latest.replace((now, reading)).map_or(reading, |(_, reading)| reading);
        if !work || reading.count < before.count || reading.sum < before.sum {
            self.phase = Phase::Rest;
            return None;
        }
        match self.phase {
            Phase::Rest => {
                if reading.count > before.count {
                    self.begin_block(now, reading, share);
                }
                None
            }
            Phase::Washout { plan, until } => {
                if now >= until {
                    let began = (now, reading);
                    self.phase = Phase::Counting { plan, until: now.plus(plan.length()), began };
                }
                None
            }
            Phase::Counting { plan, until, began } => {
                if now < until {
                    return None;
                }
                let epoch = Epoch::between(began, (now, reading))?;
                match plan.first {
                    None => {
                        let plan = Plan { arm: plan.arm.other(), first: Some(epoch), ..plan };
                        self.phase = Phase::Washout { plan, until: now.plus(self.setting.washout) };
                        None
                    }
                    Some(first) => {
                        self.end_block(now, reading, &plan, share);
                        Some(match plan.arm {
                            Arm::Lent => Block { lent: epoch, withheld: first },
                            Arm::Withheld => Block { lent: first, withheld: epoch },
                        })
                    }
                }
            }
        }
    }

    /// A long lent epoch need not be waited for.
    pub(crate) fn hurry(&mut self, now: Nanos, share: Share) {
        let (_, lent) = self.setting.lengths(share, self.per_second);
        let latest = now.plus(lent);
        match &mut self.phase {
            Phase::Rest => {}
            Phase::Washout { plan, .. } => plan.lent = plan.lent.min(lent),
            Phase::Counting { plan, until, .. } => {
                plan.lent = plan.lent.min(lent);
                if plan.arm == Arm::Lent {
                    *until = latest.min(*until);
                }
            }
        }
    }

    fn begin_block(&mut self, now: Nanos, reading: Reading, share: Share) {
        let arm = if self.random.coin() { Arm::Lent } else { Arm::Withheld };
        let (withheld, lent) = self.setting.lengths(share, self.per_second);
        let plan = Plan { arm, withheld, lent, began: (now, reading), first: None };
        self.phase = Phase::Washout { plan, until: now.plus(self.setting.washout) };
    }

    fn end_block(&mut self, now: Nanos, reading: Reading, plan: &Plan, share: Share) {
        let block = Epoch::between(plan.began, (now, reading)).unwrap_or_default();
        if block.count == 0 {
            self.phase = Phase::Rest;
            return;
        }
        let per_second = block.count as f64 / block.span.as_secs_f64().max(1e-9);
        self.per_second += (per_second - self.per_second) / 4.0;
        self.begin_block(now, reading, share);
    }
}
