//! Who finds the interval best: control from what the foreground loses, AIMD on the counters, a bucket, `smart`, `manners`, every fixed interval.
//!
//! Problem: an automatic policy is good if it does as much background work as the best fixed interval that keeps the budget,
//! which nobody knows beforehand. What it does less is its *regret*; what it costs beyond the budget is its *excess*.
//!
//! Approach: the same foregrounds (see [`cases`]) under every contender with several seeds. *Loss* is the foreground's
//! throughput lost against alone; *work* is background's share of the time that the foreground leaves idle alone. The best fixed
//! interval is the one with most work among those whose loss is within the budget; it knows the workload, the others do
//! not.
//!
//! Convergence: the foreground changes its think time in the middle of a run. The time counts from the change until
//! the mean of many runs is, in two windows of two seconds, within the budget plus two points and has at least half of the work that
//! it has at the end.
//!
//! Control is what `lull run` uses: interval, credits and audit. On a device that serves one request at a time the window is one.

use lull_core::{
    ControlSetting, DepthChoice, Interval, Loss, MannersSetting, Nanos, Setting, Share, SmartSetting,
};
use serde::Serialize;

use crate::class::Class;
use crate::device::{Device, Server};
use crate::policy::Policy;
use crate::policy::aimd::AimdSetting;
use crate::policy::bucket::BucketSetting;
use crate::span::Span;
use crate::workload::Workload;
use crate::world::{Client, World};

/// A foreground.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it is called in tables.
    pub name: &'static str,
    /// What it does.
    pub workload: Workload,
}

/// Mean service time of both classes: a disk's.
const SERVICE: Nanos = Nanos::from_millis(20);
/// It varies, or fixed gaps would hold a whole number of services.
const SERVICES: Span = Span::Between(Nanos::from_millis(16), Nanos::from_millis(24));
/// Think time within bursts.
const PAUSE: Nanos = Nanos::from_millis(1);
/// What the foreground may lose.
pub const BUDGET: Loss = Loss::percent(4);
/// The first part of a run is not counted.
const WARM: Nanos = Nanos::from_secs(20);

/// The foregrounds that are compared.
pub fn cases() -> Vec<Case> {
    let ms = Nanos::from_millis;
    let closed = |think| Workload::Closed { think };
    let bursty = Workload::Bursty {
        on: Span::Exponential(ms(500)),
        off: Span::Exponential(ms(500)),
        think: Span::Fixed(PAUSE),
    };
    [
        ("random gaps, 180 ms", closed(Span::Exponential(ms(180)))),
        ("random gaps, 60 ms", closed(Span::Exponential(ms(60)))),
        ("random gaps, 20 ms", closed(Span::Exponential(ms(20)))),
        ("fixed gaps, 60 ms", closed(Span::Fixed(ms(60)))),
        ("gaps of 40 to 80 ms", closed(Span::Between(ms(40), ms(80)))),
        ("heavy tail, from 5 ms", closed(Span::Pareto { least: ms(5), tail: 1.3 })),
        ("bursts of 0.5 s", bursty),
        ("independent arrivals, 50%", Workload::Poisson { every: ms(40) }),
        ("spiteful", Workload::Spiteful { patience: ms(200) }),
    ]
    .map(|(name, workload)| Case { name, workload })
    .into()
}

/// What a contender did with a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// Foreground throughput lost; negative is luck.
    pub loss: f64,
    /// Background's share of the foreground's idle time.
    pub work: f64,
}

/// All contenders on one case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The case's name.
    pub case: &'static str,
    /// The best fixed interval within the budget.
    pub best_interval: Nanos,
    /// What it did.
    pub best: Score,
    /// The live engine's control.
    pub control: Score,
    /// The window on the counters.
    pub aimd: Score,
    /// No interval, but a bucket of delay.
    pub bucket: Score,
    /// All background held in the foreground's busy windows.
    pub smart: Score,
    /// All background held when its own progress falls.
    pub manners: Score,
}

/// The policies, apart from the fixed ones.
pub fn contenders() -> [(&'static str, Policy); 5] {
    // A one-at-a-time device: the bound is not the question here.
    let aim = ControlSetting { budget: BUDGET, depth: DepthChoice::Fixed(1), ..ControlSetting::default() };
    // As much at once as control may lose.
    let bucket =
        BucketSetting { burst: Share::percent(10), ..BucketSetting::new(BUDGET, Nanos::from_millis(24)) };
    [
        ("control", Policy::Auto(aim)),
        ("aimd", Policy::Aimd(AimdSetting::new(BUDGET))),
        ("bucket", Policy::Bucket(Setting::default(), bucket)),
        // Windows that are learnt before the counting begins.
        ("smart", Policy::Smart(SmartSetting::with_window(Nanos::from_secs(1)))),
        ("manners", Policy::Manners(MannersSetting::with_sample(Nanos::from_millis(500)))),
    ]
}

/// The fixed intervals that are tried.
pub fn fixed_intervals() -> Vec<Nanos> {
    [0, 5, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300, 400, 600, 800, 1_200, 2_000, 5_000]
        .map(Nanos::from_millis)
        .into()
}

fn fixed(interval: Nanos) -> Policy {
    Policy::Fixed(Setting { interval: Interval::Finite(interval), ..Setting::default() })
}

fn world(workload: &Workload, policy: &Policy, seed: u64) -> World {
    let mut world = World::new(seed);
    let server = Server { slots: 1, foreground: SERVICES, background: SERVICES, drag: 0.0 };
    let station = world.add_station(Device::Server(server), policy);
    let client =
        |class, workload| Client { station, class, workload, bytes: 4_096, work: None, sequential: false };
    world.add_client(client(Class::Foreground, workload.clone()));
    for _ in 0..2 {
        world.add_client(client(Class::Background, Workload::Closed { think: Span::ZERO }));
    }
    world
}

/// Foreground and background completed, and foreground time blocked, in `[from, to]` of a run.
fn counted(workload: &Workload, policy: &Policy, seed: u64, from: Nanos, to: Nanos) -> [f64; 3] {
    let mut world = world(workload, policy, seed);
    let count = |world: &World| {
        let [foreground, background] =
            [Class::Foreground, Class::Background].map(|class| world.tally(0, class));
        [foreground.completed as f64, background.completed as f64, foreground.blocked.as_secs_f64()]
    };
    world.run_until(from);
    let before = count(&world);
    world.run_until(to);
    let after = count(&world);
    [0, 1, 2].map(|which: usize| after[which] - before[which])
}

/// What `policy` does with `workload`. Open and spiteful foregrounds lose no throughput by waiting, and that of bursts depends
/// more on how long they happen to be: their loss is the share of the time, or of the bursts' time, for which they waited.
pub fn score(workload: &Workload, policy: &Policy, seeds: u64, length: Nanos) -> Score {
    let to = WARM.plus(length);
    let (mut loss, mut work) = (0.0, 0.0);
    for seed in 0..seeds {
        let [alone, _, _] = counted(workload, &Policy::Alone, seed, WARM, to);
        let [foreground, background, blocked] = counted(workload, policy, seed, WARM, to);
        let seconds = length.as_secs_f64();
        loss += match workload {
            Workload::Poisson { .. } | Workload::Spiteful { .. } => blocked / seconds,
            Workload::Bursty { .. } => blocked / (alone * SERVICE.plus(PAUSE).as_secs_f64()).max(1e-9),
            _ => 1.0 - foreground / alone.max(1.0),
        };
        work += background * SERVICE.as_secs_f64() / (seconds - alone * SERVICE.as_secs_f64()).max(1e-9);
    }
    Score { loss: loss / seeds as f64, work: work / seeds as f64 }
}

/// All contenders on one case.
pub fn compare(case: &Case, seeds: u64, length: Nanos) -> Comparison {
    let of = |policy: &Policy| score(&case.workload, policy, seeds, length);
    let budget = BUDGET.fraction();
    let (best_interval, best) = fixed_intervals()
        .into_iter()
        .map(|interval| (interval, of(&fixed(interval))))
        .filter(|(_, score)| score.loss <= budget)
        .max_by(|a, b| a.1.work.total_cmp(&b.1.work))
        .unwrap_or((Nanos::MAX, Score { loss: 0.0, work: 0.0 }));
    let [control, aimd, bucket, smart, manners] = contenders().map(|(_, policy)| of(&policy));
    Comparison { case: case.name, best_interval, best, control, aimd, bucket, smart, manners }
}

/// How a policy follows a change of the foreground.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Convergence {
    /// The policy.
    pub policy: &'static str,
    /// Think times before and after.
    pub change: String,
    /// From the change until it does as it should; `None`: not within the run.
    pub after: Option<Nanos>,
    /// Largest loss in a window after the change.
    pub worst_loss: f64,
    /// Work in the last quarter of the run.
    pub final_work: f64,
}

/// Length of a window.
const WINDOW: Nanos = Nanos::from_secs(2);

/// How `policy` follows a change from one mean think time to another in the middle of `2 × half`, over `seeds` runs.
pub fn converge(
    name: &'static str,
    policy: &Policy,
    from: Nanos,
    to: Nanos,
    seeds: u64,
    half: Nanos,
) -> Convergence {
    let workload =
        Workload::Changing { before: Span::Exponential(from), after: Span::Exponential(to), at: half };
    let windows = usize::try_from(half.0 / WINDOW.0).unwrap_or(0).max(1);
    let mut sums = vec![[0.0; 3]; windows];
    for seed in 0..seeds {
        let mut run = world(&workload, policy, seed);
        run.run_until(half);
        let mut before =
            [run.tally(0, Class::Foreground).completed, run.tally(0, Class::Background).completed];
        let mut blocked = run.tally(0, Class::Foreground).blocked;
        for (index, sum) in sums.iter_mut().enumerate() {
            run.run_until(half.plus(WINDOW.times(index as u64 + 1)));
            let now = [Class::Foreground, Class::Background].map(|class| run.tally(0, class).completed);
            let waited = run.tally(0, Class::Foreground).blocked;
            sum[0] += (now[0] - before[0]) as f64;
            sum[1] += (now[1] - before[1]) as f64;
            sum[2] += waited.since(blocked).as_secs_f64();
            (before, blocked) = (now, waited);
        }
    }
    // A closed foreground that waits for a share of the time loses that share of its throughput.
    let span = WINDOW.as_secs_f64() * seeds as f64;
    let loss: Vec<f64> = sums.iter().map(|sum| sum[2] / span).collect();
    let work: Vec<f64> = sums.iter().map(|sum| sum[1] * SERVICE.as_secs_f64() / span).collect();
    let tail = &work[windows - (windows / 4).max(1)..];
    let final_work = tail.iter().sum::<f64>() / tail.len() as f64;
    let good = |index: usize| loss[index] <= BUDGET.fraction() + 0.02 && work[index] >= 0.5 * final_work;
    let first_good = (1..windows).find(|index| good(index - 1) && good(*index)).map(|index| index - 1);
    Convergence {
        policy: name,
        change: format!("{from} to {to}"),
        after: first_good.map(|index| WINDOW.times(index as u64)),
        worst_loss: loss.iter().copied().fold(0.0, f64::max),
        final_work,
    }
}

#[cfg(test)]
mod tests;
