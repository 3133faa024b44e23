use super::*;

/// What may come at once, in 120 s: a part of what a minute may lose.
const AT_ONCE: f64 = 0.03 * 60.0 / 120.0;

#[test]
fn control_keeps_the_budget_with_every_foreground() {
    for case in cases() {
        let [(_, control), ..] = contenders();
        let score = score(&case.workload, &control, 2, Nanos::from_secs(120));
        // What is promised counts the pauses between bursts, and the score of bursts does not: they fill half of the time.
        let counted = if matches!(case.workload, Workload::Bursty { .. }) { 2.0 } else { 1.0 };
        // … and luck: the score compares two runs.
        let most = counted * BUDGET.fraction() * (1.0 + AT_ONCE) + 0.002;
        assert!(score.loss <= most, "{}: {score:?}, more than {most:.3}", case.name);
    }
}

#[test]
fn control_does_most_of_what_the_best_interval_does() {
    let all = cases();
    for name in ["random gaps, 180 ms", "random gaps, 60 ms", "fixed gaps, 60 ms", "bursts of 0.5 s"] {
        let case = all.iter().find(|case| case.name == name).unwrap();
        let done = compare(case, 1, Nanos::from_secs(60));
        assert!(done.control.work >= 0.7 * done.best.work, "{done:?}");
    }
}

#[test]
fn a_bucket_keeps_its_promise_even_against_spite() {
    let all = cases();
    let case = all.iter().find(|case| case.name == "spiteful").unwrap();
    let [_, _, (_, bucket), ..] = contenders();
    let score = score(&case.workload, &bucket, 1, Nanos::from_secs(60));
    assert!(score.loss <= BUDGET.fraction(), "{score:?}");
    assert!(score.work > 0.01, "{score:?}");
}

#[test]
fn after_a_change_control_finds_its_bearings() {
    let [(name, control), ..] = contenders();
    let ms = Nanos::from_millis;
    let done = converge(name, &control, ms(180), ms(20), 8, Nanos::from_secs(40));
    assert!(done.after.is_some_and(|after| after <= Nanos::from_secs(30)), "{done:?}");
}

#[test]
fn manners_takes_a_crowd_that_was_always_there_for_usual() {
    let all = cases();
    let case = all.iter().find(|case| case.name == "random gaps, 60 ms").unwrap();
    let done = compare(case, 1, Nanos::from_secs(60));
    assert!(done.manners.loss > 2.0 * BUDGET.fraction() && done.manners.work > done.control.work, "{done:?}");
    assert!(done.smart.work > 0.05, "{done:?}");
}

#[test]
fn smart_holds_through_waves_that_are_longer_than_its_windows() {
    let waves = Workload::Bursty {
        on: Span::Exponential(Nanos::from_secs(15)),
        off: Span::Exponential(Nanos::from_secs(15)),
        think: Span::Fixed(PAUSE),
    };
    let ungated = Setting { depth: u32::MAX, ..Setting::default() };
    let length = Nanos::from_secs(300);
    let plain = score(&waves, &Policy::Fixed(ungated), 2, length);
    let [.., (name, smart), _] = contenders();
    let smart = score(&waves, &smart, 2, length);
    assert_eq!(name, "smart");
    assert!(smart.loss < 0.5 * plain.loss, "{smart:?} beside {plain:?}");
    assert!(smart.work > 0.3 * plain.work, "{smart:?} beside {plain:?}");
}
