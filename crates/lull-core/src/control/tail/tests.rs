use super::*;

/// `count` latencies, evenly from 30 to 40 us, with one in `rare` taking `slow_us`.
fn latencies(count: u64, rare: u64, slow_us: u64) -> Histogram {
    let mut histogram = Histogram::default();
    for index in 0..count {
        let even = 30_000 + 10_000 * (index % 101) / 100;
        histogram.record(Nanos(if index % rare == 0 { slow_us * 1_000 } else { even }));
    }
    histogram
}

#[test]
fn the_same_latencies_are_fine_however_few() {
    for count in [1, 250, 5_000] {
        assert_eq!(judge(&latencies(5_000, 90, 100), &latencies(count, 90, 100)), Tail::Fine);
        assert_eq!(judge(&latencies(count, 90, 100), &latencies(5_000, 90, 100)), Tail::Fine);
    }
}

#[test]
fn one_request_in_twenty_that_became_slow_is_harm_although_the_mean_hardly_moves() {
    let (quiet, loaded) = (latencies(4_000, 200, 100), latencies(4_000, 20, 100));
    assert!(loaded.mean().unwrap().0 < quiet.mean().unwrap().0 * 11 / 10);
    assert_eq!(judge(&quiet, &loaded), Tail::Suffers);
}

#[test]
fn a_shift_of_all_by_a_little_is_not_harm() {
    let mut shifted = Histogram::default();
    for index in 0..4_000_u64 {
        shifted.record(Nanos(30_500 + 10_000 * (index % 101) / 100));
    }
    assert_ne!(judge(&latencies(4_000, 5_000, 30), &shifted), Tail::Suffers);
}

#[test]
fn too_few_to_tell_is_fine() {
    assert_eq!(judge(&latencies(199, 200, 100), &latencies(4_000, 2, 500)), Tail::Fine);
    assert_eq!(judge(&latencies(4_000, 200, 100), &latencies(99, 2, 500)), Tail::Fine);
}

#[test]
fn quantiles_are_interpolated_within_a_bucket() {
    let even = latencies(10_000, 20_000, 30);
    for (rank, truth) in [(0.5, 35_000.0), (0.95, 39_500.0)] {
        let got = quantile(&even, rank);
        assert!((got / truth - 1.0_f64).abs() < 0.04, "{got} for {truth}");
    }
}
