//! Verdicts: soon when harm is large, cheap when there is none, steady, and new when the harm is.

use lull_core::{Measure, Nanos, Trial, TrialSetting, Verdict};

use crate::foreground::{Arrivals, Foreground, Service};
use crate::interval::{drive, setting};

const RUNS: u64 = 40;
const START: Nanos = Nanos(1);

fn open(service: Service, harm: f64, seed: u64) -> (Trial, Foreground) {
    let foreground = Foreground::new(Arrivals::Poisson(600.0), service, harm, 77 + seed);
    (Trial::new(setting(Measure::Mean), seed), foreground)
}

/// When, and after how many pairs, `verdict` is reached, from `from` on; the worst of all runs.
fn reaches(
    trial: &mut Trial,
    foreground: &mut Foreground,
    from: Nanos,
    limit: u64,
    verdict: Verdict,
) -> Option<(Nanos, u32)> {
    let mut reached = None;
    drive(trial, foreground, from, limit, |now, trial| {
        if reached.is_none() && trial.verdict() == verdict {
            reached = Some((now.since(from), trial.slowdown().map_or(0, |s| s.pairs)));
        }
    });
    reached
}

fn worst(service: Service, harm: f64, limit: u64, verdict: Verdict) -> (Nanos, u32) {
    let mut all = (Nanos::ZERO, 0);
    for seed in 0..RUNS {
        let (mut trial, mut foreground) = open(service, harm, seed);
        let reached = reaches(&mut trial, &mut foreground, START, limit, verdict).expect("a verdict in time");
        all = (all.0.max(reached.0), all.1.max(reached.1));
    }
    all
}

#[test]
fn large_harm_is_known_after_some_dozen_pairs() {
    let (_, pairs) = worst(Service::Fixed, 0.5, 4, Verdict::Harmful);
    assert!(pairs <= 14, "of requests that are all alike: {pairs}");
    let (_, pairs) = worst(Service::Exponential, 1.0, 10, Verdict::Harmful);
    assert!(pairs <= 40, "of exponential ones: {pairs}");
    let (_, pairs) = worst(Service::LogNormal(1.0), 1.0, 20, Verdict::Harmful);
    assert!(pairs <= 80, "of ones with a heavy tail: {pairs}");
}

#[test]
fn harm_near_the_budget_is_told_apart_when_requests_are_alike() {
    let (_, pairs) = worst(Service::LogNormal(0.2), 0.0, 20, Verdict::Harmless);
    assert!(pairs <= 80, "{pairs}");
    let (_, pairs) = worst(Service::LogNormal(0.2), 0.1, 20, Verdict::Harmful);
    assert!(pairs <= 80, "{pairs}");
}

#[test]
fn what_does_no_harm_is_hardly_tested() {
    let mut shares = Vec::new();
    for seed in 0..RUNS {
        let (mut trial, mut foreground) = open(Service::LogNormal(0.2), 0.0, seed);
        drive(&mut trial, &mut foreground, START, 120, |_, _| {});
        assert_eq!(trial.verdict(), Verdict::Harmless);
        let cost = trial.cost();
        shares.push(cost.withheld.0 as f64 / cost.total.0 as f64);
    }
    shares.sort_by(f64::total_cmp);
    let (median, worst) = (shares[shares.len() / 2], shares[shares.len() - 1]);
    assert!(median < 0.035, "withheld {median:.4} of the time");
    assert!(worst < 0.05, "withheld {worst:.4} of the time");
}

#[test]
fn verdicts_do_not_oscillate() {
    for harm in [0.0, 0.03, 0.05, 0.07, 0.2] {
        let mut changes = Vec::new();
        for seed in 0..20 {
            let (mut trial, mut foreground) = open(Service::LogNormal(0.3), harm, seed);
            let (mut last, mut count) = (Verdict::Unknown, 0);
            drive(&mut trial, &mut foreground, START, 120, |_, trial| {
                count += u32::from(trial.verdict() != last);
                last = trial.verdict();
            });
            changes.push(count);
            let wrong = if harm < 0.05 { Verdict::Harmful } else { Verdict::Harmless };
            assert!(harm == 0.05 || last != wrong, "{last:?} at {harm}");
        }
        changes.sort_unstable();
        assert!(changes[10] <= 1, "harm {harm}: {changes:?}");
        assert!(changes[19] <= 5, "harm {harm}: {changes:?}");
    }
}

#[test]
fn a_sudden_change_is_noticed_and_so_is_its_end() {
    let (mut slowest_up, mut slowest_down) = (Nanos::ZERO, Nanos::ZERO);
    for seed in 0..RUNS {
        let (mut trial, mut foreground) = open(Service::LogNormal(0.3), 0.0, seed);
        let now = drive(&mut trial, &mut foreground, START, 60, |_, _| {});
        assert_eq!(trial.verdict(), Verdict::Harmless);
        foreground.harm = 0.5;
        let up = reaches(&mut trial, &mut foreground, now, 60, Verdict::Harmful).unwrap();
        let now = now.plus(Nanos::from_secs(60));
        assert_eq!(trial.verdict(), Verdict::Harmful);
        let slowdown = trial.slowdown().unwrap();
        assert!(slowdown.low < 1.5 && 1.5 < slowdown.high + 0.02 && slowdown.low > 1.3, "{slowdown:?}");
        foreground.harm = 0.0;
        let down = reaches(&mut trial, &mut foreground, now, 60, Verdict::Harmless).unwrap();
        slowest_up = slowest_up.max(up.0);
        slowest_down = slowest_down.max(down.0);
        assert!((2..=6).contains(&trial.changes()), "{} changes", trial.changes());
    }
    assert!(slowest_up < Nanos::from_secs(20), "harm was proved after {slowest_up}");
    assert!(slowest_down < Nanos::from_secs(30), "its end was proved after {slowest_down}");
}

#[test]
fn one_stall_in_a_thousand_requests_does_not_blind_it() {
    let mut widths = [0.0, 0.0];
    for (stalls, width) in [0, 1000].into_iter().zip(&mut widths) {
        for seed in 0..RUNS {
            let (mut trial, mut foreground) = open(Service::LogNormal(0.5), 1.0, seed);
            foreground.stalls = stalls;
            drive(&mut trial, &mut foreground, START, 20, |_, _| {});
            let slowdown = trial.slowdown().unwrap();
            *width += (slowdown.high.min(100.0) - slowdown.low) / RUNS as f64;
        }
    }
    assert!(widths[1] < 3.0 * widths[0], "{widths:?}");
}

#[test]
fn a_slow_foreground_and_a_sampled_number_are_tested_with_longer_holds() {
    let mut trial = Trial::new(TrialSetting::sampled_every(Nanos::from_secs(1)), 3);
    let mut foreground = Foreground::new(Arrivals::Poisson(1.0), Service::LogNormal(0.1), 0.5, 9);
    drive(&mut trial, &mut foreground, START, 1200, |_, _| {});
    assert_eq!(trial.verdict(), Verdict::Harmful, "{:?}", trial.slowdown());
}
