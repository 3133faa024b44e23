use super::*;

/// Looks at `looks` times ten requests, of which `met` in each look meet the job and take `longer` than the others' 100.
fn seen(looks: u64, met: impl Fn(u64) -> u64, longer: u64) -> Tail {
    let mut tail = Tail::default();
    let (mut all, mut of_those) = (Reading::default(), Reading::default());
    tail.look(all, of_those, false);
    for look in 0..looks {
        let met = met(look);
        all = Reading { count: all.count + 10, sum: all.sum + 1_000 + met * longer, ..all };
        of_those = Reading { count: of_those.count + met, sum: of_those.sum + met * (100 + longer), work: 0 };
        tail.look(all, of_those, true);
    }
    tail
}

fn every(nth: u64) -> impl Fn(u64) -> u64 {
    move |look| u64::from(look % nth == 0)
}

#[test]
fn a_few_requests_that_pay_much_are_dear() {
    assert!(seen(300, every(10), 50).is_dear(), "one in a hundred");
    assert!(seen(300, |_| 3, 11).is_dear(), "three in ten");
}

#[test]
fn what_the_99th_percentile_does_not_see_or_the_mean_shows_is_not() {
    assert!(!seen(3_000, every(60), 500).is_dear(), "one in six hundred");
    assert!(!seen(300, |_| 6, 500).is_dear(), "six in ten");
    assert!(!seen(300, every(10), 9).is_dear(), "less than a tenth");
}

#[test]
fn of_little_nothing_is_said() {
    assert!(!seen(19, |_| 3, 50).is_dear(), "too few");
    assert!(!seen(60, every(10), 50).is_dear(), "too few that met it");
}

#[test]
fn what_was_forced_does_not_count_and_what_is_old_is_forgotten() {
    let mut tail = Tail::default();
    for look in 1..300 {
        tail.look(
            Reading { count: look * 10, sum: look * 1_500, work: 0 },
            Reading { count: look, sum: look * 600, work: 0 },
            false,
        );
    }
    assert!(!tail.is_dear());
    let changed = |looks| seen(looks, |look| u64::from(look < 600), 50);
    assert!(changed(700).is_dear());
    assert!(!changed(6_000).is_dear());
}
