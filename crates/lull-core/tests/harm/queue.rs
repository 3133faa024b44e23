//! A foreground that queues: one server whose bursts are its busy periods, as those of a request server are on a CPU.
//!
//! Background slows the server down while it is let in, also in the middle of a burst. The nearer the server is to its
//! limit, the more a little of that lengthens its bursts: by (1 − load) / (1 − load · (1 + harm)) − 1 and more. Such a
//! burst outlasts the moment that caused it.

use lull_core::{
    Arm, Budget, BudgetSetting, CpuChoices, LendReading, LendSetting, Lender, Lending, Nanos, Reading, Rung,
    Trial, TrialSetting,
};

use crate::foreground::Dice;
use crate::scene::TOP;

/// All CPUs, held beside the foreground and for 200 µs after it.
const SHELTER: Rung = Rung { first: 2, second: 3 };

#[derive(Clone, Debug)]
pub(crate) struct Queue {
    /// Requests per nanosecond.
    rate: f64,
    mean_ns: f64,
    /// What background adds to a service time.
    pub(crate) harm: f64,
    dice: Dice,
    now_ns: f64,
    next_ns: f64,
    /// Work that is waiting or in service.
    backlog_ns: f64,
    began_ns: f64,
    reading: Reading,
}

impl Queue {
    /// Requests of 800 µs in the mean, exponential, at `load` of the server.
    pub(crate) fn new(load: f64, harm: f64, seed: u64) -> Self {
        let mean_ns = 800e3;
        Self {
            rate: load / mean_ns,
            mean_ns,
            harm,
            dice: Dice::new(seed),
            now_ns: 0.0,
            next_ns: 0.0,
            backlog_ns: 0.0,
            began_ns: 0.0,
            reading: Reading::default(),
        }
    }

    /// Lets time pass under `arm`; returns what the sensor has counted.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times of a model are positive"
    )]
    pub(crate) fn run_until(&mut self, now: Nanos, arm: Arm) -> Reading {
        let until = now.0 as f64;
        let speed = if arm == Arm::Lent { 1.0 / (1.0 + self.harm) } else { 1.0 };
        while self.now_ns < until {
            let to = self.next_ns.min(until);
            let done_ns = self.now_ns + self.backlog_ns / speed;
            if self.backlog_ns > 0.0 && done_ns <= to {
                self.reading.count += 1;
                self.reading.sum += (done_ns - self.began_ns) as u64;
                self.backlog_ns = 0.0;
            } else {
                self.backlog_ns -= (to - self.now_ns) * speed;
                self.backlog_ns = self.backlog_ns.max(0.0);
            }
            self.now_ns = to;
            if self.next_ns <= to {
                if self.backlog_ns == 0.0 {
                    self.began_ns = to;
                }
                self.backlog_ns += self.dice.exponential() * self.mean_ns;
                self.next_ns = to + self.dice.exponential() / self.rate;
            }
        }
        self.reading
    }

    /// The mean burst under `arm` for ever.
    pub(crate) fn mean_burst_ns(load: f64, harm: f64) -> f64 {
        800e3 * (1.0 + harm) / (1.0 - load * (1.0 + harm))
    }
}

const RUNS: u64 = 40;

/// As in a live run on two CPUs: it begins with the top.
fn lender_of_cpus(seed: u64) -> Lender {
    let trial = TrialSetting { recovery: 4, longest: Nanos::from_millis(200), ..TrialSetting::default() };
    let setting = LendSetting { trial, ..LendSetting::default() };
    let lender = Lender::new(CpuChoices::of_cpus(2).ladder(), TOP, setting, seed);
    lender.sheltered_by(&[(SHELTER, Nanos::ZERO)])
}

/// A foreground that computes for seconds and rests for a moment, and has a burst of a millisecond now and then meanwhile;
/// harmless background beside it. The share of ten minutes in which it is not held.
fn lent_beside_seconds_of_computing(on_ms: u64, off_ms: u64, seed: u64) -> f64 {
    let mut lender = lender_of_cpus(seed);
    let mut budget = Budget::new(BudgetSetting::default());
    let (mut now, mut ran, mut counts, mut lent) = (Nanos(1), Nanos::ZERO, Reading::default(), Nanos::ZERO);
    let step = Nanos::from_millis(5);
    while now < Nanos::from_secs(600) {
        let at_ms = now.0 / 1_000_000;
        let busy = at_ms % (on_ms + off_ms) < on_ms;
        let reading = LendReading { counts, busy, ran, wants: true, ..LendReading::default() };
        let lending = lender.step(now, &reading, &mut budget);
        if lender.at_work() {
            budget.pass(step);
        }
        if lending != Lending::Held {
            ran = ran.plus(step);
        }
        if matches!(lending, Lending::Rung(rung) if rung.second == TOP.second) {
            lent = lent.plus(step);
        }
        if at_ms % 50 < 5 {
            counts = Reading { count: counts.count + 1, sum: counts.sum + 1_000_000, work: ran.0 };
        }
        now = now.plus(step);
    }
    lent.0 as f64 / now.0 as f64
}

/// Lends from the top for some seconds as on a CPU, beside servers at `loads` that lose `harm` at the top and nothing
/// elsewhere; the rung at the end.
fn ends_on(loads: &[f64], harm: f64, seconds: u64, seed: u64) -> Rung {
    let mut lender = lender_of_cpus(seed);
    let mut budget = Budget::new(BudgetSetting::default());
    let seeds = (100 + seed..).step_by(1_000);
    let mut queues: Vec<Queue> =
        loads.iter().zip(seeds).map(|(load, seed)| Queue::new(*load, harm, seed)).collect();
    let (mut now, mut ran, mut counts) = (Nanos(1), Nanos::ZERO, Reading::default());
    while now < Nanos::from_secs(seconds) {
        let busy = queues.iter().any(|queue| queue.backlog_ns > 0.0);
        let reading = LendReading { counts, busy, ran, wants: true, ..LendReading::default() };
        let lending = lender.step(now, &reading, &mut budget);
        let poll = now.plus(Nanos::from_millis(5));
        let next = lender.next_change().map_or(poll, |next| next.clamp(now.plus(Nanos(1)), poll));
        if lender.at_work() {
            budget.pass(next.since(now));
        }
        let arm = if lending == Lending::Rung(TOP) { Arm::Lent } else { Arm::Withheld };
        if lending != Lending::Held {
            ran = ran.plus(next.since(now));
        }
        counts =
            queues.iter_mut().map(|queue| queue.run_until(next, arm)).fold(Reading::default(), |sum, one| {
                Reading { count: sum.count + one.count, sum: sum.sum + one.sum, work: 0 }
            });
        now = next;
    }
    lender.status(&budget).rung
}

/// In how many of the runs the lender ends on the top.
fn on_top(loads: &[f64], harm: f64, seconds: u64) -> u64 {
    (0..RUNS).map(|seed| u64::from(ends_on(loads, harm, seconds, seed) == TOP)).sum()
}

#[test]
fn beside_a_queue_near_its_limit_the_top_is_left() {
    let left = RUNS - on_top(&[0.8], 0.15, 30);
    assert!(left >= RUNS * 9 / 10, "in {left} of {RUNS} runs");
}

#[test]
fn background_that_overruns_a_queue_is_sheltered() {
    let left = RUNS - on_top(&[0.8], 0.5, 30);
    assert!(left >= RUNS * 9 / 10, "in {left} of {RUNS} runs");
}

#[test]
fn beside_a_queue_that_is_overrun_by_its_own_callers_the_other_cpus_are_lent() {
    let beside = Rung { first: TOP.first - 1, ..TOP };
    let lent: u64 = (0..RUNS).map(|seed| u64::from(ends_on(&[1.2], 0.0, 60, seed) == beside)).sum();
    assert!(lent >= RUNS * 9 / 10, "in {lent} of {RUNS} runs");
}

#[test]
fn harmless_background_is_not_held_beside_a_foreground_that_computes_for_seconds() {
    for (on_ms, off_ms) in [(3_000, 500), (2_000, 900), (20_000, 500), (1_200, 300)] {
        let lent: f64 =
            (0..4).map(|seed| lent_beside_seconds_of_computing(on_ms, off_ms, seed)).sum::<f64>() / 4.0;
        assert!(lent > 0.8, "{on_ms} ms of computing, {off_ms} ms of rest: {lent:.2}");
    }
}

#[test]
fn several_servers_together_are_rarely_idle_and_not_taken_for_overrun() {
    let kept = on_top(&[0.4; 8], 0.0, 120);
    assert!(kept >= RUNS * 8 / 10, "in {kept} of {RUNS} runs");
}

#[test]
fn what_does_no_harm_to_a_queue_keeps_the_top() {
    let kept = on_top(&[0.5], 0.0, 40);
    assert!(kept >= RUNS * 8 / 10, "in {kept} of {RUNS} runs");
}

#[test]
fn several_servers_that_are_as_busy_together_are_not_near_their_limits() {
    let kept = on_top(&[0.2; 4], 0.0, 40);
    assert!(kept >= RUNS * 8 / 10, "in {kept} of {RUNS} runs");
}

#[test]
fn the_washout_that_follows_bursts_sees_more_of_the_harm() {
    let estimate = |recovery: u32| {
        let longest = Nanos::from_millis(200);
        let setting = TrialSetting { recovery, longest, ..TrialSetting::default() };
        let ratio = |seed| {
            let mut trial = Trial::new(setting, seed);
            let mut queue = Queue::new(0.7, 0.1, 300 + seed);
            let mut now = Nanos(1);
            while now < Nanos::from_secs(90) {
                let reading = queue.run_until(now, trial.arm());
                trial.record(now, reading, true);
                let poll = now.plus(Nanos::from_millis(5));
                now = trial.next_change().map_or(poll, |next| next.clamp(now.plus(Nanos(1)), poll));
            }
            trial.slowdown().expect("every run has pairs").ratio
        };
        (0..RUNS).map(ratio).sum::<f64>() / RUNS as f64
    };
    let truth = Queue::mean_burst_ns(0.7, 0.1) / Queue::mean_burst_ns(0.7, 0.0);
    let (short, long) = (estimate(0), estimate(4));
    assert!((truth - long).abs() < (truth - short).abs(), "{short:.3}, {long:.3}, truly {truth:.3}");
    assert!((truth - long).abs() < 0.1 * truth, "{long:.3}, truly {truth:.3}");
}
