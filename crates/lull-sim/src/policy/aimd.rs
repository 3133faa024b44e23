//! An interval that follows the counters as TCP's window follows losses (section 5.2 of the paper).
//!
//! The paper leaves it open whether this works. Here it does what the section says: a rise of B\[f\] (foreground that met
//! background) doubles the interval; while P\[f\] and I\[f\] rise alone (foreground that did not), it shrinks by a step.
//! How much is too much follows from the budget: each request that met background waited for half a background service,
//! and what was waited may be a share of the time.
//!
//! ```text
//!  P │      ╱│╲               doubled when met × b/2 > budget × time
//!    │     ╱ │ ╲__            otherwise a step down
//!    │  ╲_╱       ╲__
//!    └──────────────────▶ updates
//! ```
//!
//! Units: nanoseconds. The step is an eighth of the background's mean service time, the first interval one service
//! time. An update with fewer than eight foreground requests is put off: no share can be told from them.

use lull_core::base::histogram::Histogram;
use lull_core::{Counters, Event, Loss, Nanos, State};
use serde::{Deserialize, Serialize};

/// Foreground requests needed for a judgement.
const FEW: u64 = 8;
/// The step down, as a part of the background's service time.
const STEP: u64 = 8;
/// Before any background was served.
const START: Nanos = Nanos::from_millis(1);

/// What it aims at.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AimdSetting {
    /// Share of the time that foreground may wait for background.
    pub budget: Loss,
    /// The longest interval.
    #[serde(default = "longest")]
    pub longest: Nanos,
}

fn longest() -> Nanos {
    Nanos::from_secs(10)
}

impl AimdSetting {
    /// With this budget.
    pub fn new(budget: Loss) -> Self {
        Self { budget, longest: longest() }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Aimd {
    aim: AimdSetting,
    interval: Nanos,
    met: u64,
    all: u64,
    /// When these were counted.
    at: Nanos,
}

impl Aimd {
    /// Nothing is known yet.
    pub fn new(aim: AimdSetting) -> Self {
        Self { aim, interval: START, met: 0, all: 0, at: Nanos::ZERO }
    }

    /// The interval in force.
    pub fn interval(&self) -> Nanos {
        self.interval
    }

    /// Looks at the counters; returns the interval from now on.
    pub fn update(&mut self, now: Nanos, counters: &Counters, service: &Histogram) -> Nanos {
        let met = counters.preemptions();
        let all = State::ALL.iter().map(|state| counters.get(*state, Event::Foreground)).sum::<u64>();
        let (new_met, new) = (met - self.met.min(met), all - self.all.min(all));
        if new < FEW {
            return self.interval;
        }
        let time = now.since(self.at);
        (self.met, self.all, self.at) = (met, all, now);
        let service = service.mean().unwrap_or(START);
        if service.times(new_met).0 / 2 > self.aim.budget.of(time).0 {
            self.interval = self.interval.max(service).times(2).min(self.aim.longest);
        } else {
            self.interval = self.interval.since(Nanos(service.0 / STEP));
        }
        self.interval
    }
}

#[cfg(test)]
mod tests;
