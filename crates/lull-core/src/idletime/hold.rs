//! When to hold the whole job: for what the request gate cannot see.
//!
//! Problem: page faults on mapped files, small buffered reads and write-back reach the device without passing the
//! gate. Background requests that start while the state is F or P are *leaks*; only stopping the job's processes
//! keeps them out. But a hold costs tens of microseconds, and a held process may have a lock that the foreground wants.
//!
//! Approach: hold at a leak, when control says that background harms (or the user fixed an interval); go on holding
//! through the burst, F and P alike; let go as soon as background is admitted again, at the latest after `longest`;
//! then leave the job running for `floor`, whatever it leaks.
//!
//! ```text
//!             a new leak, in F or P, harmful
//!  ┌─────────┐ ───────────── Hold ────────────────▶ ┌─────────────┐
//!  │ Running │                                      │ Held{since} │
//!  └─────────┘ ◀──── now ≥ until ──┐                └──────┬──────┘
//!                            ┌─────┴────────┐              │ I or B, or now ≥ since + longest,
//!                            │ Floor{until} │ ◀─ Release ──┘ or finish
//!                            └──────────────┘  until = now + floor
//! ```
//!
//! So the job is held for at most `longest / (longest + floor)` of any time, and a hold is paid at most once per
//! floor; a floor shorter than four times the cost of a hold is lengthened to that.
//!
//! Edge cases: leaks of a burst that is over hold nobody in the next one. Leaks during the floor do, if the burst
//! still runs when the floor ends. A clock that steps back lengthens no hold and no floor.

use serde::{Deserialize, Serialize};

use crate::base::time::Nanos;
use crate::idletime::machine::State;

/// How long to hold, and how long to leave alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HoldSetting {
    /// The longest time held without a break.
    pub longest: Nanos,
    /// The shortest time running between two holds.
    pub floor: Nanos,
    /// What one hold costs in time.
    pub cost: Nanos,
}

impl Default for HoldSetting {
    fn default() -> Self {
        Self {
            longest: Nanos::from_millis(100),
            floor: Nanos::from_millis(10),
            cost: Nanos::from_micros(100),
        }
    }
}

/// Whether the job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldState {
    /// It runs and may be held.
    Running,
    /// It is held.
    Held {
        /// Since when.
        since: Nanos,
    },
    /// It runs and may not be held yet.
    Floor {
        /// Until when.
        until: Nanos,
    },
}

/// What the owner has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldAction {
    /// Stop the job's processes.
    Hold,
    /// Let them run.
    Release,
}

/// The hold machine of one job on one resource.
#[derive(Clone, Debug)]
pub struct Hold {
    setting: HoldSetting,
    state: HoldState,
    /// Leaks that no longer count.
    forgiven: u64,
    /// Leaks at the latest step.
    leaks: u64,
}

impl Hold {
    /// The job runs.
    pub fn new(setting: HoldSetting) -> Self {
        Self { setting, state: HoldState::Running, forgiven: 0, leaks: 0 }
    }

    /// Whether the job runs.
    pub fn state(&self) -> HoldState {
        self.state
    }

    /// Takes in how many leaks there ever were, the state of the resource, and whether background harms.
    pub fn step(&mut self, now: Nanos, leaks: u64, state: State, harmful: bool) -> Option<HoldAction> {
        self.leaks = leaks;
        self.forgiven = self.forgiven.min(leaks);
        let admits = state.admits_background();
        if let HoldState::Floor { until } = self.state {
            let until = until.min(now.plus(self.floor()));
            self.state = if now >= until { HoldState::Running } else { HoldState::Floor { until } };
        }
        match self.state {
            HoldState::Held { since } => {
                let since = since.min(now);
                if admits || now >= since.plus(self.setting.longest) {
                    return self.release(now);
                }
                self.state = HoldState::Held { since };
            }
            HoldState::Running if harmful && !admits && leaks > self.forgiven => {
                self.state = HoldState::Held { since: now };
                return Some(HoldAction::Hold);
            }
            HoldState::Running | HoldState::Floor { .. } => {}
        }
        if admits {
            self.forgiven = leaks;
        }
        None
    }

    /// When the next step is due whatever happens; `None` if only a leak matters.
    pub fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        match self.state {
            HoldState::Running => None,
            HoldState::Held { since } => Some(since.plus(self.setting.longest).max(now)),
            HoldState::Floor { until } => (self.leaks > self.forgiven).then_some(until.max(now)),
        }
    }

    /// The last word: whoever is held is let go.
    pub fn finish(&mut self, now: Nanos) -> Option<HoldAction> {
        if let HoldState::Held { .. } = self.state { self.release(now) } else { None }
    }

    fn release(&mut self, now: Nanos) -> Option<HoldAction> {
        self.state = HoldState::Floor { until: now.plus(self.floor()) };
        self.forgiven = self.leaks;
        Some(HoldAction::Release)
    }

    fn floor(&self) -> Nanos {
        self.setting.floor.max(self.setting.cost.times(4))
    }
}

#[cfg(test)]
mod tests;
