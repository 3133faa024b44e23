//! Medians and spread.
//!
//! A handful of rounds on a shared machine: no distribution is assumed. The value of a series is its median; its
//! spread is the range and the median absolute deviation (MAD). Values that are not finite are left out.

use serde::{Deserialize, Serialize};

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
        let median = middle(&sorted)?;
        let mut distances: Vec<f64> = sorted.iter().map(|v| (v - median).abs()).collect();
        distances.sort_by(f64::total_cmp);
        Some(Self {
            count: sorted.len(),
            median,
            min: *sorted.first()?,
            max: *sorted.last()?,
            mad: middle(&distances)?,
        })
    }
}

fn middle(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    let upper = *sorted.get(half)?;
    if sorted.len() % 2 == 1 { Some(upper) } else { Some(f64::midpoint(*sorted.get(half - 1)?, upper)) }
}

/// `part / whole`, none when there is nothing to compare with.
pub fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0 && part.is_finite()).then(|| part / whole)
}

#[cfg(test)]
mod tests;
