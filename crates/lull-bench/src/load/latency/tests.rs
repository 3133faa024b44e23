use proptest::prelude::*;

use super::*;

#[test]
fn empty_is_zero() {
    assert_eq!(Recorder::new().summary(), Latency::default());
}

#[test]
fn cleared_is_empty() {
    let mut recorder = Recorder::new();
    recorder.record(Nanos::from_micros(10));
    recorder.clear();
    assert_eq!((recorder.count(), recorder.sum(), recorder.summary()), (0, Nanos::ZERO, Latency::default()));
}

#[test]
fn merged_is_as_if_recorded_by_one() {
    let (mut one, mut other, mut both) = (Recorder::new(), Recorder::new(), Recorder::new());
    for micros in 1..1_000 {
        let half = if micros % 3 == 0 { &mut one } else { &mut other };
        half.record(Nanos::from_micros(micros));
        both.record(Nanos::from_micros(micros));
    }
    one.merge(&other);
    assert_eq!((one.count(), one.sum(), one.summary()), (both.count(), both.sum(), both.summary()));
}

proptest! {
    #[test]
    fn percentiles_are_those_of_the_sorted_values(mut values in prop::collection::vec(1_u64..10_000_000_000, 1..500)) {
        let mut recorder = Recorder::new();
        for value in &values {
            recorder.record(Nanos(*value));
        }
        values.sort_unstable();
        let summary = recorder.summary();
        for (fraction, got) in [(0.5, summary.p50_ns), (0.9, summary.p90_ns), (0.99, summary.p99_ns), (1.0, summary.max_ns)] {
            let rank = usize::try_from(whole((fraction * values.len() as f64).ceil())).unwrap();
            let expected = values[rank.max(1) - 1];
            prop_assert!(got.abs_diff(expected) <= expected / 500 + 1, "{fraction}: {got} for {expected}");
        }
        let mean = values.iter().sum::<u64>() / values.len() as u64;
        prop_assert!(summary.mean_ns.abs_diff(mean) <= 1);
    }
}

#[test]
fn the_distribution_ends_with_everything_and_never_counts_longer_ones() {
    let mut recorder = Recorder::new();
    (1..=10_000_u64).for_each(|n| recorder.record(Nanos(n * 1_000)));
    let points = recorder.distribution();
    assert!(points.len() < 200, "{}", points.len());
    assert_eq!(points.last().map(|(_, count)| *count), Some(10_000));
    for pair in points.windows(2) {
        assert!(pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1);
    }
    for (at, count) in points {
        // Within the histogram's three digits.
        assert!(count * 1_000 <= at + at / 500, "{count} values up to {at}");
    }
    assert!(Recorder::new().distribution().is_empty());
}
