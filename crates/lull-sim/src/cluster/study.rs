//! Policies beside each other: the same owners, two questions.
//!
//! *Crowded*: there are always more guests than nodes; a guest that is done is followed by the next. What gets done per time? After a
//! twentieth of the time, which is left out, the rest is cut into parts; intervals are over the parts of all runs.
//! *Batch*: the guests come at the beginning (or as the trace says), and none follow. How long are they in the pool? One value per run.
//!
//! Ratios to immediate eviction are taken within the same part, or run: owners are the same there.

use lull_core::Nanos;
use lull_core::linger::GuestPolicy;
use serde::Serialize;

use super::bursts::Gaps;
use super::{Estimate, Pool, Setup, Tally};

/// How long, and in how many parts.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The time of a crowded pool; none: not asked.
    pub crowded: Option<Nanos>,
    /// In so many parts.
    pub parts: u32,
    /// Batches end after this time, done or not.
    pub batch: Nanos,
}

/// What came of one policy with one seed.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The policy.
    pub policy: GuestPolicy,
    /// The crowded pool's parts.
    pub parts: Vec<Tally>,
    /// The batch, and how many guests of it were not done.
    pub batch: (Tally, u32),
}

/// Progress is told this often.
const STEP: Nanos = Nanos::from_secs(3_600);

/// One policy with one seed, both in `setup`. `progress` is told the time that has passed in the crowded pool.
pub fn run(setup: &Setup, gaps: &Gaps, plan: &Plan, progress: impl Fn(Nanos)) -> Outcome {
    let mut parts = Vec::new();
    if let Some(length) = plan.crowded {
        let setup = Setup { renew: true, arrivals: Vec::new(), ..setup.clone() };
        let mut pool = Pool::new(setup, gaps.clone());
        let mut now = Nanos::ZERO;
        let mut go = |pool: &mut Pool, end: Nanos| {
            while now < end {
                let next = now.plus(STEP).min(end);
                pool.run_until(next);
                progress(next.since(now));
                now = next;
            }
        };
        let begin = Nanos(length.0 / 20);
        go(&mut pool, begin);
        pool.take();
        for part in 1..=u64::from(plan.parts) {
            let rest = length.since(begin);
            go(&mut pool, begin.plus(Nanos(rest.0 / u64::from(plan.parts) * part)));
            parts.push(pool.take());
        }
    }
    let mut pool = Pool::new(Setup { renew: false, ..setup.clone() }, gaps.clone());
    let mut now = Nanos::ZERO;
    while pool.left() > 0 && now < plan.batch {
        now = now.plus(STEP);
        pool.run_until(now);
    }
    let batch = (pool.take(), pool.left());
    Outcome { policy: setup.policy, parts, batch }
}

/// One policy in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The policy.
    pub policy: GuestPolicy,
    /// Work that counts, of what the nodes could do.
    pub throughput: Estimate,
    /// The same, against immediate eviction.
    pub gain: Estimate,
    /// Guests done per node and day.
    pub finished: Estimate,
    /// The owners' delay, of their work.
    pub delay: Estimate,
    /// Moves per guest that was done.
    pub moves: Estimate,
    /// Evictions per guest that was done.
    pub evictions: Estimate,
    /// Work lost, of the work done.
    pub lost: Estimate,
    /// How long a guest of a batch is in the pool, in seconds.
    pub completion_s: Estimate,
    /// How much longer a guest is there under immediate eviction.
    pub faster: Estimate,
    /// Guests of batches that were not done when those were ended.
    pub unfinished: u32,
}

/// One row per policy; the outcomes of each in the order of their seeds.
pub fn rows(outcomes: &[Outcome]) -> Vec<Row> {
    let of = |policy: GuestPolicy| outcomes.iter().filter(move |outcome| outcome.policy == policy);
    let parts = |policy: GuestPolicy| of(policy).flat_map(|outcome| outcome.parts.iter());
    let stay = |policy: GuestPolicy| {
        of(policy).map(|outcome| outcome.batch.0.stay_s / outcome.batch.0.finished as f64)
    };
    let evicted = GuestPolicy::ImmediateEviction;
    let listed = GuestPolicy::ALL.into_iter().filter(|policy| of(*policy).next().is_some());
    listed
        .map(|policy| {
            let each = |value: fn(&Tally) -> f64| Estimate::of(parts(policy).map(value));
            Row {
                policy,
                throughput: each(Tally::throughput),
                gain: Estimate::of(
                    parts(policy).zip(parts(evicted)).map(|(a, b)| a.throughput() / b.throughput()),
                ),
                finished: each(|tally| tally.finished as f64 / (tally.node_s / 86_400.0)),
                delay: each(Tally::delay),
                moves: each(|tally| tally.moves as f64 / tally.finished.max(1) as f64),
                evictions: each(|tally| tally.evictions as f64 / tally.finished.max(1) as f64),
                lost: each(|tally| if tally.work_s > 0.0 { tally.lost_s / tally.work_s } else { 0.0 }),
                completion_s: Estimate::of(stay(policy)),
                faster: Estimate::of(stay(policy).zip(stay(evicted)).map(|(a, b)| b / a - 1.0)),
                unfinished: of(policy).map(|outcome| outcome.batch.1).sum(),
            }
        })
        .collect()
}
