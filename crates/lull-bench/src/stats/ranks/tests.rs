use proptest::prelude::*;

use super::*;

#[test]
fn the_distribution_of_u_is_that_of_the_tables() {
    // Two and two: 6 orders, U = 0, 1, 2, 2, 3, 4.
    let two: Vec<f64> = cumulative(2, 2).iter().map(|chance| (chance * 6.0).round()).collect();
    assert_eq!(two, [1.0, 2.0, 4.0, 5.0, 6.0]);
    // Five and five: 252 orders; the critical value of a two-sided test at 5% is 2, whose tail is 4 of 252.
    let five = cumulative(5, 5);
    assert!((five[0] - 1.0 / 252.0).abs() < 1e-12 && (five[2] - 4.0 / 252.0).abs() < 1e-12, "{five:?}");
    assert!(five[2] <= 0.025 && five[3] > 0.025);
    assert!((cumulative(3, 7).last().unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn two_series_that_do_not_overlap_differ_and_the_interval_says_by_how_much() {
    let a = [1.0, 1.1, 1.2, 1.3, 1.4];
    let b = a.map(|value| 2.0 * value);
    let found = compared(&b, &a).unwrap();
    let interval = found.interval.unwrap();
    assert!((found.value - 2.0).abs() < 1e-9 && interval.low > 1.0 && interval.high < 3.0, "{found:?}");
    assert!((found.chance - 2.0 / 252.0).abs() < 1e-9, "{found:?}");
    let same = compared(&a, &a).unwrap();
    assert!(same.value == 1.0 && same.chance == 1.0, "{same:?}");
}

#[test]
fn too_few_values_give_an_estimate_and_no_interval() {
    let found = compared(&[2.0, 2.0, 2.0], &[1.0, 1.0, 1.0]).unwrap();
    assert_eq!((found.value, found.interval), (2.0, None));
    assert!(compared(&[2.0; 4], &[1.0; 4]).unwrap().interval.is_some());
    assert_eq!(compared(&[0.0, f64::NAN], &[1.0; 4]), None);
}

#[test]
fn many_looks_keep_only_what_stands_together() {
    assert_eq!(keep(&[0.001, 0.9, 0.04, 0.5], 0.05), [true, false, false, false]);
    assert_eq!(keep(&[0.01, 0.02, 0.03, 0.04], 0.05), [true; 4]);
    assert_eq!(keep(&[], 0.05), [false; 0]);
}

#[test]
fn series_of_one_distribution_are_told_apart_as_seldom_as_was_promised() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut draw = || (0..6).map(|_| (3.0 * random.f64()).exp()).collect::<Vec<f64>>();
    let wrong = (0..2_000)
        .filter(|_| {
            let interval = compared(&draw(), &draw()).unwrap().interval.unwrap();
            interval.low > 1.0 || interval.high < 1.0
        })
        .count();
    assert!(wrong <= 120, "{wrong} of 2000 for at most 5%");
}

proptest! {
    #[test]
    fn the_other_way_round_is_the_reciprocal(
        a in prop::collection::vec(0.1_f64..10.0, 4..9),
        b in prop::collection::vec(0.1_f64..10.0, 4..9),
    ) {
        let (one, other) = (compared(&a, &b).unwrap(), compared(&b, &a).unwrap());
        let (first, second) = (one.interval.unwrap(), other.interval.unwrap());
        prop_assert!((first.low * second.high - 1.0).abs() < 1e-9);
        prop_assert!((one.chance - other.chance).abs() < 1e-12);
        prop_assert!(first.low <= one.value && one.value <= first.high);
    }
}
