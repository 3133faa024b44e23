//! What each interval would cost the foreground and leave to the background.
//!
//! With the lengths of past gaps, each candidate interval `P` has
//!
//! - the share of foreground requests that would meet background, `h(P) = requests after a gap > P / requests`;
//! - the loss of foreground throughput, `L(P) = x / (c + x)` with `x = h·d + n·u`: `d` is the delay of a request that
//!   meets background, `n(P)` the background requests served per foreground request, `u` what each of them costs
//!   besides (`correction.rs`), and `c` the foreground's time per request without background;
//! - the share of the idle time that background gets, `W(P) = E[(gap − P)⁺] / E[gap]`.
//!
//! Only intervals just above an observed gap, and zero, are worth considering: between two of them the loss stays
//! and the work falls. Alternating between two intervals reaches every point between theirs, so the choice is made
//! on the upper hull of (L, W). Without that, a foreground of fixed think time would allow all or nothing.
//!
//! ```text
//!  W │                 ● P = 0
//!    │           ●
//!    │      ×  ← spend what the work floor asks for, within the budget
//!    │   ●
//!    ●──────────────────────── L
//!  P just above the longest gap
//! ```
//!
//! A point is dropped when the foreground would lose four times the time that background gains there: gaps much
//! shorter than the background's service are not worth using at any price.

use crate::histogram::{BUCKETS, Histogram, lower_bound};
use crate::time::Nanos;

/// What is known of one device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    /// Foreground requests in the window.
    pub(super) requests: f64,
    /// Requests that meet background, per gap that is longer than the interval.
    pub(super) exposure: f64,
    /// Delay of a request that meets background, in nanoseconds.
    pub(super) delay: f64,
    /// Foreground time per request without background, in nanoseconds.
    pub(super) cycle: f64,
    /// What background costs beyond the requests that meet it, in nanoseconds per round: one request in each place
    /// under the bound.
    pub(super) unseen: f64,
    /// Time of one round, in nanoseconds.
    pub(super) period: f64,
}

/// One candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub(super) interval: Nanos,
    pub(super) loss: f64,
    pub(super) work: f64,
}

/// Two intervals to alternate between: `low` for `share` of the time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mix {
    pub(super) low: Nanos,
    pub(super) high: Nanos,
    pub(super) share: f64,
}

/// A price in foreground loss, and what it should buy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) free: f64,
    pub(super) budget: f64,
    pub(super) work_floor: f64,
}

impl Cost {
    /// The loss when `met` of all requests meet background, and `rounds` are served per request.
    pub(super) fn loss(&self, met: f64, rounds: f64) -> f64 {
        let lost = met.clamp(0.0, 1.0) * self.delay + rounds * self.unseen;
        if lost > 0.0 { lost / (self.cycle + lost) } else { 0.0 }
    }

    /// Rounds per request that `gaps` gaps of together `span_ns` have room for; each gap's last one may run over.
    pub(super) fn rounds(&self, gaps: f64, span_ns: f64) -> f64 {
        (span_ns / self.period.max(1.0) + gaps / 2.0) / self.requests.max(1.0)
    }
}

/// All candidates, from the longest interval (no loss, no work) to the shortest.
pub(super) fn candidates(gaps: &Histogram, cost: &Cost) -> Vec<Point> {
    let idle = (gaps.sum_ns as f64).max(1.0);
    let mut points = Vec::new();
    let (mut longer, mut longer_sum) = (0.0, 0.0);
    for index in (0..BUCKETS).rev() {
        let count = gaps.buckets[index] as f64;
        if count == 0.0 {
            continue;
        }
        let upper = lower_bound(index + 1);
        points.extend(point(upper, longer, longer_sum, idle, cost));
        longer += count;
        longer_sum += count * ((lower_bound(index).0 + upper.0) as f64 / 2.0);
    }
    points.extend(point(Nanos::ZERO, longer, longer_sum, idle, cost));
    points
}

/// The point of `interval`, when `longer` gaps of `longer_sum` in all exceed it.
fn point(interval: Nanos, longer: f64, longer_sum: f64, idle: f64, cost: &Cost) -> Option<Point> {
    let met = longer * cost.exposure / cost.requests.max(1.0);
    let gained = (longer_sum - longer * interval.0 as f64).max(0.0);
    let paid = met.min(1.0) * cost.requests * cost.delay;
    let loss = cost.loss(met, cost.rounds(longer, gained));
    (gained * 4.0 >= paid).then(|| Point { interval, loss, work: (gained / idle).min(1.0) })
}

/// Those that no mix of two others beats.
fn hull(points: &[Point]) -> Vec<Point> {
    let mut hull = Vec::new();
    for point in points {
        push(&mut hull, *point);
    }
    hull
}

fn push(hull: &mut Vec<Point>, next: Point) {
    if hull.last().is_some_and(|last| next.loss >= last.loss && next.work <= last.work) {
        return;
    }
    while let Some(last) = hull.last() {
        let below = match hull.len().checked_sub(2).map(|index| hull[index]) {
            _ if last.loss >= next.loss => last.work <= next.work,
            Some(first) => {
                (last.work - first.work) * (next.loss - first.loss)
                    <= (next.work - first.work) * (last.loss - first.loss)
            }
            None => false,
        };
        if !below {
            break;
        }
        hull.pop();
    }
    hull.push(next);
}

/// What to do: all that is free if that is work enough; else as much as work needs, within the budget. One interval
/// rather than two to alternate between, where it does nearly as well.
pub(super) fn choose(points: &[Point], target: &Target) -> Option<Mix> {
    let hull = hull(points);
    let mix = best(&hull, target)?;
    let (loss, work) = (loss(&hull, &mix), work(&hull, &mix));
    let least = (work - NEARLY).max(0.75 * work);
    let single = points.iter().rev().find(|point| point.loss <= loss * (1.0 + NEARLY) && point.work >= least);
    Some(single.map_or(mix, |point| Mix { low: point.interval, high: point.interval, share: 1.0 }))
}

/// Work given up, and loss accepted, for not having to alternate.
const NEARLY: f64 = 0.06;

fn best(hull: &[Point], target: &Target) -> Option<Mix> {
    let (first, last) = (hull.first()?, hull.last()?);
    let free = at_loss(hull, target.free);
    if work(hull, &free) >= target.work_floor {
        return Some(free);
    }
    let enough = hull.windows(2).find(|pair| pair[1].work >= target.work_floor).map_or(last.loss, |pair| {
        let part = (target.work_floor - pair[0].work) / (pair[1].work - pair[0].work).max(f64::MIN_POSITIVE);
        pair[0].loss + part * (pair[1].loss - pair[0].loss)
    });
    Some(at_loss(hull, enough.clamp(first.loss.min(target.budget), target.budget)))
}

/// The mix on the hull that loses `loss`, or the nearest end.
fn at_loss(hull: &[Point], loss: f64) -> Mix {
    let alone = |point: &Point| Mix { low: point.interval, high: point.interval, share: 1.0 };
    let next = hull.partition_point(|point| point.loss <= loss);
    match (next.checked_sub(1).and_then(|index| hull.get(index)), hull.get(next)) {
        (Some(high), Some(low)) => {
            let share = (loss - high.loss) / (low.loss - high.loss).max(f64::MIN_POSITIVE);
            Mix { low: low.interval, high: high.interval, share: share.clamp(0.0, 1.0) }
        }
        (Some(point), None) | (None, Some(point)) => alone(point),
        (None, None) => Mix { low: Nanos::ZERO, high: Nanos::ZERO, share: 1.0 },
    }
}

fn work(hull: &[Point], mix: &Mix) -> f64 {
    mean(hull, mix, |point| point.work)
}

/// What `mix` costs; both of its intervals are among the points.
pub(super) fn loss(hull: &[Point], mix: &Mix) -> f64 {
    mean(hull, mix, |point| point.loss)
}

fn mean(hull: &[Point], mix: &Mix, value: impl Fn(&Point) -> f64) -> f64 {
    let of = |interval| hull.iter().find(|point| point.interval == interval).map_or(0.0, &value);
    mix.share * of(mix.low) + (1.0 - mix.share) * of(mix.high)
}

#[cfg(test)]
mod tests;
