//! An interval that follows the counters as TCP's window follows losses (section 5.2 of the paper).
//!
//! The paper leaves it open whether this works. Here it does what the section says: a rise of B\[f\] (foreground that met
//! background) doubles the interval; while P\[f\] and I\[f\] rise alone (foreground that did not), it shrinks by a step.
//! The rule of section 5.1 says what rise is too much: the share of requests that met background bounds the loss, so
//! the aim is a share of requests equal to the budget.
//!
//! ```text
//!  P │      ╱│╲               doubled when met / all > budget
//!    │     ╱ │ ╲__            otherwise a step down
//!    │  ╲_╱       ╲__
//!    └──────────────────▶ updates
//! ```
//!
//! Units: nanoseconds. The step is an eighth of the background's mean service time, the first interval one service
//! time. An update with fewer than [`FEW`] foreground requests is put off: no share can be told from them.

use lull_core::histogram::Histogram;
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
    /// Share of foreground requests that may meet background.
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
}

impl Aimd {
    /// Nothing is known yet.
    pub fn new(aim: AimdSetting) -> Self {
        Self { aim, interval: START, met: 0, all: 0 }
    }

    /// The interval in force.
    pub fn interval(&self) -> Nanos {
        self.interval
    }

    /// Looks at the counters; returns the interval from now on.
    pub fn update(&mut self, counters: &Counters, service: &Histogram) -> Nanos {
        let met = counters.preemptions();
        let all = State::ALL.iter().map(|state| counters.get(*state, Event::Foreground)).sum::<u64>();
        let (new_met, new) = (met - self.met.min(met), all - self.all.min(all));
        if new < FEW {
            return self.interval;
        }
        (self.met, self.all) = (met, all);
        let service = service.mean().unwrap_or(START);
        if new_met as f64 > self.aim.budget.fraction() * new as f64 {
            self.interval = self.interval.max(service).times(2).min(self.aim.longest);
        } else {
            self.interval = self.interval.since(Nanos(service.0 / STEP));
        }
        self.interval
    }
}

#[cfg(test)]
mod tests;
