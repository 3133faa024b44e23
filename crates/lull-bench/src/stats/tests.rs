use proptest::prelude::*;

use super::*;

#[test]
fn known_series() {
    let summary = Summary::of([3.0, 1.0, 10.0, 2.0]).unwrap();
    assert_eq!(
        (summary.count, summary.median, summary.min, summary.max, summary.mad),
        (4, 2.5, 1.0, 10.0, 1.0)
    );
    assert_eq!(Summary::of([]), None);
    assert_eq!(Summary::of([f64::NAN, f64::INFINITY]), None);
    assert_eq!(Summary::of([f64::NAN, 5.0]).unwrap().count, 1);
}

#[test]
fn nothing_to_compare_with_is_no_ratio() {
    assert_eq!(ratio(1.0, 0.0), None);
    assert_eq!(ratio(1.0, 4.0), Some(0.25));
}

proptest! {
    #[test]
    fn half_the_values_lie_on_each_side(values in prop::collection::vec(-1e9_f64..1e9, 1..50)) {
        let summary = Summary::of(values.iter().copied()).unwrap();
        let below = values.iter().filter(|v| **v < summary.median).count();
        let above = values.iter().filter(|v| **v > summary.median).count();
        prop_assert!(below <= values.len() / 2 && above <= values.len() / 2);
        prop_assert!(summary.min <= summary.median && summary.median <= summary.max);
        let near = values.iter().filter(|v| (**v - summary.median).abs() <= summary.mad).count();
        prop_assert!(2 * near >= values.len());
    }

    #[test]
    fn order_does_not_matter_and_scale_carries_over(values in prop::collection::vec(1.0_f64..1e6, 1..30), scale in 0.5_f64..4.0) {
        let summary = Summary::of(values.iter().copied()).unwrap();
        let reversed = Summary::of(values.iter().rev().copied()).unwrap();
        prop_assert_eq!(summary, reversed);
        let scaled = Summary::of(values.iter().map(|v| v * scale)).unwrap();
        prop_assert!((scaled.median - summary.median * scale).abs() <= 1e-9 * scaled.median);
    }
}
