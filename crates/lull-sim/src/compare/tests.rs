use super::*;

#[test]
fn control_keeps_the_budget_and_does_most_of_what_the_best_interval_does() {
    let all = cases();
    for name in ["random gaps, 60 ms", "fixed gaps, 60 ms", "bursts of 0.5 s"] {
        let case = all.iter().find(|case| case.name == name).unwrap();
        let done = compare(case, 1, Nanos::from_secs(60));
        assert!(done.control.loss <= BUDGET.fraction() + 0.02, "{done:?}");
        assert!(done.control.work >= 0.5 * done.best.work, "{done:?}");
    }
}

#[test]
fn a_bucket_keeps_its_promise_even_against_spite() {
    let all = cases();
    let case = all.iter().find(|case| case.name == "spiteful").unwrap();
    let [_, _, (_, bucket)] = contenders();
    let score = score(&case.workload, &bucket, 1, Nanos::from_secs(60));
    assert!(score.loss <= BUDGET.fraction() + 4.0 * 0.02 / 60.0, "{score:?}");
    assert!(score.work > 0.01, "{score:?}");
}

#[test]
fn after_a_change_control_finds_its_bearings() {
    let [(name, control), _, _] = contenders();
    let ms = Nanos::from_millis;
    let done = converge(name, &control, ms(180), ms(20), 8, Nanos::from_secs(40));
    assert!(done.after.is_some_and(|after| after <= Nanos::from_secs(30)), "{done:?}");
}
