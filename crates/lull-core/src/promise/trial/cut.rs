//! What is usual, and the level from which an epoch is taken for a stall, and cut.
//!
//! Problem: one stall of the machine in one epoch can outweigh a hundred others. Cutting at a fixed multiple of what is
//! usual is too high for requests that are alike and too low for those that are not; and a harm that is there in every
//! lent epoch is no stall.
//!
//! Approach: in each arm the median of recent levels, and the median distance from it. The limit is [`FAR`] such distances
//! above the median, at least twice the median, and the higher one of the two arms for both: an equal cut cannot favour
//! one of them. Medians do not move for stalls in less than half of the epochs (Hampel 1974). For normal levels the
//! limit is five standard deviations away.
//!
//! Units: levels are amounts per exposure, in any unit. Edge cases: until there are enough levels there is no limit;
//! levels of zero (a rate without requests) are not counted.

use std::collections::VecDeque;

/// Levels that are remembered.
const LEVELS: usize = 24;
/// With fewer there is no limit.
const ENOUGH: usize = 8;
/// Median distances.
const FAR: f64 = 8.0;

/// Recent levels of one kind.
#[derive(Clone, Debug, Default)]
struct Usual(VecDeque<f64>);

impl Usual {
    fn add(&mut self, level: f64) {
        if level > 0.0 {
            self.0.push_back(level);
        }
        if self.0.len() > LEVELS {
            self.0.pop_front();
        }
    }

    /// What is far above the usual.
    fn limit(&self) -> f64 {
        if self.0.len() < ENOUGH {
            return f64::INFINITY;
        }
        let mut values: Vec<f64> = self.0.iter().copied().collect();
        let middle = median(&mut values);
        for value in &mut values {
            *value = (*value - middle).abs();
        }
        middle + (FAR * median(&mut values)).max(middle)
    }
}

/// Recent levels of both arms.
#[derive(Clone, Debug, Default)]
pub(super) struct Levels {
    lent: Usual,
    withheld: Usual,
}

impl Levels {
    pub(super) fn add(&mut self, lent: f64, withheld: f64) {
        self.lent.add(lent);
        self.withheld.add(withheld);
    }

    /// Levels above this are cut to it.
    pub(super) fn limit(&self) -> f64 {
        self.lent.limit().max(self.withheld.limit())
    }
}

fn median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests;
