//! The ratio of two small independent series, without any assumption about their distribution.
//!
//! Problem: a measurement has five rounds, or ten. A percentile bootstrap of so few values gives intervals
//! that are too short: it never draws what was not seen.
//!
//! Approach: ranks. If the values of B are those of A times some ratio, all pairs `b / a` scatter around it:
//! their median is its estimate (Hodges and Lehmann, 1963), and the pairs whose rank the U statistic of
//! Wilcoxon, Mann and Whitney rarely leaves are its interval (Moses, 1965). The distribution of U is known
//! exactly, so the interval holds at least what it says for any sizes.
//!
//! Edge cases: three values a side cannot give a 95% interval at all: there is none then. Ties make the
//! interval wider than it needs to be. Above [`MOST`] values a side only the first so many count, to bound
//! the time.

use super::Interval;

/// Chance of error, both sides together.
const ALPHA: f64 = 0.05;
/// Values a side that are used: the distribution of U for these takes milliseconds.
pub const MOST: usize = 40;

/// What two series say about their ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared {
    /// The estimate; with an interval of 95% or more, if the series are long enough for one.
    pub value: f64,
    /// Its ends.
    pub interval: Option<Interval>,
    /// The chance of a difference as large as this or larger if there is none: exact, both sides.
    pub chance: f64,
}

/// The chance that U is at most `u`, for each `u`, if both series are of one distribution.
fn cumulative(a: usize, b: usize) -> Vec<f64> {
    // ways[j][u]: orders of i values of one and j of the other with this U, by which of them is the largest.
    let most = a * b;
    let mut ways = vec![vec![0.0_f64; most + 1]; b + 1];
    for row in &mut ways {
        if let Some(first) = row.first_mut() {
            *first = 1.0;
        }
    }
    for _ in 1..=a {
        for j in 1..=b {
            // A largest value of the first series is above all j of the second.
            let above: Vec<f64> = ways.get(j).cloned().unwrap_or_default();
            let below: Vec<f64> = ways.get(j - 1).cloned().unwrap_or_default();
            let Some(row) = ways.get_mut(j) else { continue };
            for (u, way) in row.iter_mut().enumerate() {
                let with = u.checked_sub(j).and_then(|rest| above.get(rest)).copied().unwrap_or(0.0);
                *way = with + below.get(u).copied().unwrap_or(0.0);
            }
        }
    }
    let counts = ways.pop().unwrap_or_default();
    let all: f64 = counts.iter().sum();
    let mut sum = 0.0;
    counts
        .into_iter()
        .map(|count| {
            sum += count;
            sum / all
        })
        .collect()
}

/// `part / rest`; none where a side has no positive value.
pub fn compared(part: &[f64], rest: &[f64]) -> Option<Compared> {
    let usable = |values: &[f64]| -> Vec<f64> {
        values.iter().copied().filter(|value| value.is_finite() && *value > 0.0).take(MOST).collect()
    };
    let (part, rest) = (usable(part), usable(rest));
    let mut pairs: Vec<f64> = part.iter().flat_map(|one| rest.iter().map(move |other| one / other)).collect();
    pairs.sort_by(f64::total_cmp);
    let value = super::middle_of(&pairs)?;
    let cumulative = cumulative(part.len(), rest.len());
    // Pairs on one side of 1, ties half a side each: U.
    let below = pairs.partition_point(|pair| *pair < 1.0);
    let above = pairs.len() - pairs.partition_point(|pair| *pair <= 1.0);
    let ties = pairs.len() - below - above;
    let least = below.min(above) + ties.div_ceil(2);
    let chance = cumulative.get(least).map_or(1.0, |chance| (2.0 * chance).min(1.0));
    // The largest U that is left less often than that on each side; the pair behind it is the end.
    let outside = cumulative.iter().take_while(|chance| **chance <= ALPHA / 2.0).count();
    let interval = (outside > 0).then(|| {
        let low = *pairs.get(outside - 1)?;
        let high = *pairs.get(pairs.len().checked_sub(outside)?)?;
        Some(Interval { value, low, high })
    });
    Some(Compared { value, interval: interval.flatten(), chance })
}

/// Which of these chances of error stand together: no more than `share` of those that are kept are expected
/// to be wrong (Benjamini and Hochberg, 1995).
pub fn keep(chances: &[f64], share: f64) -> Vec<bool> {
    let mut sorted = chances.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let within = |(index, chance): (usize, &f64)| *chance <= share * (index + 1) as f64 / count;
    let limit = sorted
        .iter()
        .enumerate()
        .filter(|(index, chance)| within((*index, chance)))
        .map(|(_, c)| *c)
        .next_back();
    chances.iter().map(|chance| limit.is_some_and(|limit| *chance <= limit)).collect()
}

#[cfg(test)]
mod tests;
