//! The user's own measure: a value a second, which shows the second before it.

use lull_core::{
    Budget, BudgetSetting, CpuChoices, HoldRule, LendReading, LendSetting, Lender, Lending, Nanos, Reading,
    Rung, TrialSetting,
};

use crate::foreground::Dice;
use crate::scene::TOP;

const PERIOD: Nanos = Nanos::from_secs(1);
/// As in a live run, where a job may be held for half a second at a stretch.
const LONGEST: Nanos = Nanos::from_millis(500);
const RUNS: u64 = 10;

/// Lends from the top for some minutes beside a foreground whose measure is `harm` greater beside the top; the rung at the end,
/// and the longest hold.
fn lend(harm: f64, minutes: u64, seed: u64) -> (Rung, Nanos) {
    let setting = LendSetting {
        trial: TrialSetting::sampled_every(PERIOD),
        longest: LONGEST,
        away: PERIOD.times(4),
        ..LendSetting::default()
    };
    let choices = CpuChoices::of_cpus(2);
    let shelter = choices.boldest(HoldRule::While(Nanos::from_micros(200))).expect("a rung of this interval");
    let lender = Lender::new(choices.ladder(), TOP, setting, seed);
    let mut lender = lender.sheltered_by(&[(shelter, Nanos::ZERO)]);
    let mut budget = Budget::new(BudgetSetting::default());
    let mut dice = Dice::new(seed + 700);
    let (mut now, mut ran, mut counts) = (Nanos(1), Nanos::ZERO, Reading::default());
    let (mut value_at, mut harmed) = (PERIOD, 0.0);
    let (mut held, mut longest_held) = (Nanos::ZERO, Nanos::ZERO);
    while now < Nanos::from_secs(60 * minutes) {
        let reading = LendReading { counts, ran, wants: true, ..LendReading::default() };
        let lending = lender.step(now, &reading, &mut budget);
        let next = now.plus(Nanos::from_millis(5)).min(value_at);
        let next = lender.next_change().map_or(next, |at| at.clamp(now.plus(Nanos(1)), next));
        let span = next.since(now);
        if lender.at_work() {
            budget.pass(span);
        }
        if matches!(lending, Lending::Forced) || lending == Lending::Rung(TOP) {
            harmed += harm * span.0 as f64;
        }
        if lending == Lending::Held {
            held = held.plus(span);
            longest_held = longest_held.max(held);
        } else {
            ran = ran.plus(span);
            held = Nanos::ZERO;
        }
        if next == value_at {
            let noise = 0.9 + 0.2 * dice.unit();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a latency is positive"
            )]
            let value = ((1.0 + harmed / PERIOD.0 as f64) * noise * 1e6) as u64;
            counts = Reading { count: counts.count + 1, sum: counts.sum + value, work: ran.0 };
            (value_at, harmed) = (value_at.plus(PERIOD), 0.0);
        }
        now = next;
    }
    (lender.status(&budget).rung, longest_held)
}

#[test]
fn harm_that_only_the_measure_shows_is_left() {
    let left: u64 = (0..RUNS).map(|seed| u64::from(lend(0.4, 10, seed).0 != TOP)).sum();
    assert!(left >= RUNS - 1, "in {left} of {RUNS} runs");
}

#[test]
fn what_does_not_change_the_measure_keeps_the_top() {
    let kept: u64 = (0..RUNS).map(|seed| u64::from(lend(0.0, 10, seed).0 == TOP)).sum();
    assert!(kept >= RUNS - 1, "in {kept} of {RUNS} runs");
}

#[test]
fn a_job_is_held_no_longer_than_a_comparison_of_values_needs() {
    for seed in 0..RUNS {
        let (_, held) = lend(0.4, 5, seed);
        assert!(held <= TrialSetting::sampled_every(PERIOD).longest.plus(PERIOD), "run {seed}: {held}");
    }
}
