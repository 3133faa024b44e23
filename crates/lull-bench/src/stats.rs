//! Medians and spread.
//!
//! A handful of rounds on a shared machine: no distribution is assumed. The value of a series is its median;
//! its spread is the range and the median absolute deviation (MAD). Values that are not finite are left out.
//! Two series: [`ranks`].

pub mod ranks;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, whole};

/// A series in five numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How many values.
    pub count: usize,
    /// The middle value; of an even number, the mean of the middle two.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// Median of the distances to the median.
    pub mad: f64,
}

impl Summary {
    /// Of the finite values among `values`; none if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let median = middle_of(&sorted)?;
        let mut distances: Vec<f64> = sorted.iter().map(|v| (v - median).abs()).collect();
        distances.sort_by(f64::total_cmp);
        Some(Self {
            count: sorted.len(),
            median,
            min: *sorted.first()?,
            max: *sorted.last()?,
            mad: middle_of(&distances)?,
        })
    }
}

/// The median of the finite values.
pub fn middle(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    Summary::of(values).map(|summary| summary.median)
}

fn middle_of(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    let upper = *sorted.get(half)?;
    if sorted.len() % 2 == 1 { Some(upper) } else { Some(f64::midpoint(*sorted.get(half - 1)?, upper)) }
}

/// A value with the interval in which it lies with 95% confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The value.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A median with the ends of its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Median {
    /// The median.
    pub value: f64,
    /// The interval; none of a single value, which says nothing about chance.
    #[serde(flatten)]
    pub ends: Option<Ends>,
}

/// The ends of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ends {
    /// The lower one.
    pub low: f64,
    /// The upper one.
    pub high: f64,
}

impl Median {
    /// The ends; where there is no interval, the value.
    pub fn range(&self) -> Ends {
        self.ends.unwrap_or(Ends { low: self.value, high: self.value })
    }
}

/// Resamples of a bootstrap.
const RESAMPLES: usize = 2_000;
/// The part of them on each side of the interval.
const TAIL: f64 = 0.025;

/// The median with the percentile bootstrap's interval (Efron, 1979). With two values the interval is only as
/// wide as they are apart, and says too little; one has none.
pub fn bootstrap(values: &[f64]) -> Option<Median> {
    let Interval { value, low, high } = bootstrap_figure(values.len(), |drawn| {
        middle(drawn.iter().filter_map(|index| values.get(*index).copied()))
    })?;
    Some(Median { value, ends: (values.len() > 1).then_some(Ends { low, high }) })
}

/// A figure of `count` things, which are named by their index, with the percentile bootstrap's interval;
/// resamples that have no such figure are left out.
pub fn bootstrap_figure(count: usize, mut figure: impl FnMut(&[usize]) -> Option<f64>) -> Option<Interval> {
    let whole_series: Vec<usize> = (0..count).collect();
    let value = figure(&whole_series)?;
    let mut drawn: Vec<f64> = resamples(count).filter_map(|drawn| figure(&drawn)).collect();
    drawn.sort_by(f64::total_cmp);
    let last = drawn.len().checked_sub(1)?;
    let at = |part: f64| drawn.get(Bytes(whole(part * drawn.len() as f64)).as_usize().min(last));
    Some(Interval { value, low: *at(TAIL)?, high: *at(1.0 - TAIL)? })
}

/// The share of resamples of `count` things, drawn with replacement and named by their index, in which
/// something holds; none where it can never be told.
pub fn bootstrap_chance(count: usize, mut holds: impl FnMut(&[usize]) -> Option<bool>) -> Option<f64> {
    let told: Vec<bool> = resamples(count).filter_map(|drawn| holds(&drawn)).collect();
    ratio(told.iter().filter(|holds| **holds).count() as f64, told.len() as f64)
}

/// As many of `count` things, drawn with replacement, over and over; none of nothing.
fn resamples(count: usize) -> impl Iterator<Item = Vec<usize>> {
    // The same records give the same report.
    let mut random = fastrand::Rng::with_seed(1);
    let times = if count == 0 { 0 } else { RESAMPLES };
    (0..times).map(move |_| (0..count).map(|_| random.usize(0..count)).collect())
}

/// `part / whole`, none when there is nothing to compare with.
pub fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0 && part.is_finite()).then(|| part / whole)
}

#[cfg(test)]
mod tests;
