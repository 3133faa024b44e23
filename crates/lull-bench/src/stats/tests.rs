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

#[test]
fn the_bootstrap_holds_the_median_and_narrows_with_more_values() {
    let spread = |count: u32| {
        let values: Vec<f64> = (0..count).map(|n| 1.0 + f64::from(n % 5) / 10.0).collect();
        let median = bootstrap(&values).unwrap();
        let Ends { low, high } = median.ends.unwrap();
        assert!(low <= median.value && median.value <= high, "{median:?}");
        assert!((median.value - 1.2).abs() < 1e-9, "{median:?}");
        assert_eq!(bootstrap(&values), Some(median), "the same each time");
        high - low
    };
    assert!(spread(500) < spread(10));
    assert_eq!(bootstrap(&[]), None);
    assert_eq!(
        bootstrap(&[1.5]),
        Some(Median { value: 1.5, ends: None }),
        "one value says nothing about chance"
    );
}

#[test]
fn a_median_is_read_back_with_its_interval_or_without() {
    for (median, text) in [
        (Median { value: 2.0, ends: None }, r#"{"value":2.0}"#),
        (
            Median { value: 2.0, ends: Some(Ends { low: 1.0, high: 3.0 }) },
            r#"{"value":2.0,"low":1.0,"high":3.0}"#,
        ),
    ] {
        assert_eq!(serde_json::to_string(&median).unwrap(), text);
        assert_eq!(serde_json::from_str::<Median>(text).unwrap(), median);
    }
}

#[test]
fn a_chance_is_the_share_of_resamples() {
    assert_eq!(bootstrap_chance(4, |_| Some(true)), Some(1.0));
    assert_eq!(bootstrap_chance(4, |drawn| Some(drawn.iter().all(|index| *index > 3))), Some(0.0));
    // One of two things, drawn twice: it is among them three times in four.
    let chance = bootstrap_chance(2, |drawn| Some(drawn.contains(&1))).unwrap();
    assert!((chance - 0.75).abs() < 0.05, "{chance}");
    assert_eq!(bootstrap_chance(0, |_| Some(true)), None);
    assert_eq!(bootstrap_chance(3, |_| None), None);
}

#[test]
fn a_figure_of_many_things_is_resampled_as_a_whole() {
    let values = [(10.0, 1.0), (40.0, 4.0), (20.0, 2.0)];
    let of = |noise: f64| {
        bootstrap_figure(values.len(), |drawn| {
            let sum = |of: &dyn Fn(usize) -> f64| drawn.iter().map(|index| of(*index)).sum();
            ratio(sum(&|index| values[index].0 + noise * index as f64), sum(&|index| values[index].1))
        })
        .unwrap()
    };
    assert_eq!(of(0.0), Interval { value: 10.0, low: 10.0, high: 10.0 }, "each has the same ratio");
    let noisy = of(5.0);
    assert!(noisy.low < noisy.value && noisy.value < noisy.high, "{noisy:?}");
    assert_eq!(bootstrap_figure(3, |drawn| (drawn == [0, 1, 2]).then_some(1.0)).unwrap().low, 1.0);
    assert_eq!(bootstrap_figure(0, |_| Some(1.0)), None);
}
