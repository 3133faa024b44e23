//! Buckets cover every value once, in order.

use super::{BUCKETS, Histogram, bucket_of, lower_bound};
use crate::base::time::Nanos;
use proptest::prelude::*;

#[test]
fn each_bucket_starts_where_it_says() {
    for index in 0..BUCKETS {
        assert_eq!(bucket_of(lower_bound(index)), index);
        if index > 0 {
            assert_eq!(bucket_of(Nanos(lower_bound(index).0 - 1)), index - 1);
        }
    }
    assert_eq!(bucket_of(Nanos::MAX), BUCKETS - 1);
}

#[test]
fn the_bulk_of_the_time_may_lie_in_few_long_values() {
    let of = |times: &[(u64, u64)]| {
        let mut histogram = Histogram::default();
        times
            .iter()
            .for_each(|(micros, n)| (0..*n).for_each(|_| histogram.record(Nanos::from_micros(*micros))));
        histogram.bulk(0.1).unwrap()
    };
    let stalls = of(&[(20, 9_900), (200, 60), (2_000, 5)]);
    assert!(stalls >= Nanos::from_micros(15) && stalls < Nanos::from_micros(200), "{stalls}");
    let work = of(&[(20, 9_900), (20_000, 100)]);
    assert!(work >= Nanos::from_millis(15), "{work}");
    assert_eq!(Histogram::default().bulk(0.1), None);
}

proptest! {
    #[test]
    fn quantiles_are_close_and_means_exact(mut values in prop::collection::vec(1_u64..1_000_000_000, 1..200), f in 0.0_f64..1.0) {
        let mut histogram = Histogram::default();
        values.iter().for_each(|v| histogram.record(Nanos(*v)));
        values.sort_unstable();
        let rank = (1..=values.len()).find(|rank| *rank as f64 >= f * values.len() as f64).unwrap_or(values.len());
        let truth = values[rank - 1];
        let got = histogram.quantile(f).unwrap().0;
        prop_assert!(got.abs_diff(truth) * 8 <= truth + 8, "rank {rank}: {got} for {truth}");
        prop_assert_eq!(histogram.mean().unwrap().0, values.iter().sum::<u64>() / values.len() as u64);
    }
}
