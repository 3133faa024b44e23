//! A sign test, looked at after every sample.
//!
//! If progress is as usual, a sample is poor with a chance of at most one half. So many poor ones that this is unlikely
//! are a proof of poor progress; so few that the opposite is unlikely, of good progress. Until then there is no verdict.
//!
//! With `k` poor samples of `n`: *poor* if `P(X ≥ k) ≤ false alarm`, *good* if `P(X ≤ k) ≤ miss`, for X binomial with `n`
//! and 1/2. Edge case: after [`LONGEST`] samples without a verdict the evidence says that progress is on the border; that is good
//! enough.

/// What the samples prove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Good,
    Poor,
}

/// Samples after which there is a verdict in any case; also, 2^-n is still a normal number.
const LONGEST: u32 = 64;

/// The evidence since the latest verdict.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignTest {
    false_alarm: f64,
    miss: f64,
    samples: u32,
    poor: u32,
}

impl SignTest {
    pub(super) fn new(false_alarm: f64, miss: f64) -> Self {
        Self { false_alarm, miss, samples: 0, poor: 0 }
    }

    /// One more sample; a verdict ends the evidence.
    pub(super) fn add(&mut self, is_poor: bool) -> Option<Sign> {
        self.samples += 1;
        self.poor += u32::from(is_poor);
        let sign = self.verdict();
        if sign.is_some() {
            (self.samples, self.poor) = (0, 0);
        }
        sign
    }

    fn verdict(&self) -> Option<Sign> {
        let good = self.samples - self.poor;
        // By symmetry, that at least k of n are poor is as likely as that at most n - k are.
        if at_most(good, self.samples) <= self.false_alarm {
            Some(Sign::Poor)
        } else if at_most(self.poor, self.samples) <= self.miss || self.samples >= LONGEST {
            Some(Sign::Good)
        } else {
            None
        }
    }
}

/// The chance of `k` or fewer heads in `n` tosses.
fn at_most(k: u32, n: u32) -> f64 {
    let mut term = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut sum = term;
    for i in 0..k.min(n) {
        term *= f64::from(n - i) / f64::from(i + 1);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests;
