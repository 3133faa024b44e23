//! A quick eye on the foreground between tests: not sure, but soon.
//!
//! Problem: once harm is known to be small it is tested rarely, and a harm that begins would go on for seconds until
//! tests show it.
//!
//! Approach: while background is lent, look at the foreground's cost (the level of the measure, or its inverse where more is
//! better) in short stretches, and add up by how many deviations each is above the usual, less an allowance: a
//! cumulative sum (Page, *Continuous inspection schemes*, 1954). When it is high there is an alarm: for a shift of one
//! or two deviations after some ten stretches, by chance alone once in many thousands. The cause may be background or
//! anything else; the trial will tell. The usual is learned anew after an alarm, so a foreground that has become slower
//! by itself gives one alarm, not many.
//!
//! Units: those of the measure. Edge cases: a stretch needs as many requests as an epoch; until enough stretches are
//! known there is no alarm.

use super::setting::{Epoch, Measure, Reading};
use crate::time::Nanos;

/// Stretches over which the usual is averaged.
const MEMORY: f64 = 64.0;
/// Before so many there is no alarm.
const ENOUGH: f64 = 24.0;
/// What is allowed above the usual: in deviations, and as a part of it.
const ALLOWED_DEVIATIONS: f64 = 0.5;
const ALLOWED_PART: f64 = 0.05;
/// One stretch counts for no more deviations than this: a stall is no change.
const MOST: f64 = 4.0;
/// The sum that gives an alarm.
const ALARM: f64 = 10.0;

/// Running means of a cost and of its distance from the mean.
#[derive(Clone, Debug, Default)]
struct Usual {
    stretches: f64,
    cost: f64,
    distance: f64,
}

impl Usual {
    fn add(&mut self, cost: f64) {
        self.stretches += 1.0;
        let weight = 1.0 / self.stretches.min(MEMORY);
        // A stall moves it no more than a stretch that is far off.
        let most = if self.stretches < ENOUGH { f64::INFINITY } else { MOST * self.deviation() };
        let error = (cost - self.cost).clamp(-most, most);
        self.cost += error * weight;
        if self.stretches > 1.0 {
            self.distance += (error.abs() - self.distance) * weight;
        }
    }

    /// Standard deviation, if costs are normal.
    fn deviation(&self) -> f64 {
        1.25 * self.distance
    }

    /// By how many deviations a cost is above the usual and what is allowed; 0 while little is known.
    fn excess(&self, cost: f64) -> f64 {
        if self.stretches < ENOUGH {
            return 0.0;
        }
        let deviation = self.deviation().max(1e-3 * self.cost).max(f64::MIN_POSITIVE);
        let allowed = (ALLOWED_DEVIATIONS * deviation).max(ALLOWED_PART * self.cost);
        ((cost - self.cost - allowed) / deviation).clamp(-MOST, MOST)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Watch {
    measure: Measure,
    requests: u64,
    shortest: Nanos,
    mark: Option<(Nanos, Reading)>,
    usual: Usual,
    sum: f64,
}

impl Watch {
    pub(crate) fn new(measure: Measure, requests: u32, shortest: Nanos) -> Self {
        Self {
            measure,
            requests: u64::from(requests),
            shortest,
            mark: None,
            usual: Usual::default(),
            sum: 0.0,
        }
    }

    /// What is lent has changed, or is withheld: the stretch does not count.
    pub(crate) fn interrupt(&mut self) {
        self.mark = None;
    }

    /// What is lent has changed for good: what was usual is no more.
    pub(crate) fn restart(&mut self) {
        self.mark = None;
        self.usual = Usual::default();
        self.sum = 0.0;
    }

    /// Whether there is an alarm.
    pub(crate) fn look(&mut self, now: Nanos, reading: Reading) -> bool {
        let mark = *self.mark.get_or_insert((now, reading));
        let Some(epoch) = Epoch::between(mark, (now, reading)) else {
            self.mark = Some((now, reading));
            return false;
        };
        if epoch.count < self.requests || epoch.span < self.shortest {
            return false;
        }
        self.mark = Some((now, reading));
        let per_request = epoch.sum as f64 / epoch.count as f64;
        let cost = match self.measure {
            Measure::Mean => per_request,
            Measure::Level => 1.0 / per_request.max(f64::MIN_POSITIVE),
            Measure::Rate => epoch.span.0 as f64 / epoch.count as f64,
        };
        self.sum = (self.sum + self.usual.excess(cost)).max(0.0);
        self.usual.add(cost);
        let alarm = self.sum > ALARM;
        if alarm {
            self.restart();
        }
        alarm
    }
}

#[cfg(test)]
mod tests;
