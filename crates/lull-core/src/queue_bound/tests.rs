use super::*;

/// Steps on a full link of this rate, at which `bytes` take so long.
fn settled(bytes_per_us: u32) -> Vec<u32> {
    let mut bound = QueueBound::default();
    let step = |_| {
        bound.step(Nanos::from_micros(u64::from(bound.bytes() / bytes_per_us)));
        bound.bytes()
    };
    (0..20).map(step).collect()
}

#[test]
fn a_slow_link_has_the_least_and_a_very_fast_one_the_most() {
    assert_eq!(settled(12).last(), Some(&LEAST_BYTES));
    assert_eq!(settled(12_500).last(), Some(&MOST_BYTES));
}

#[test]
fn it_settles_between_the_two_times_on_any_link() {
    for bytes_per_us in (1..2_000).step_by(7) {
        let bounds = settled(bytes_per_us);
        assert_eq!(bounds[18], bounds[19], "{bytes_per_us} bytes/us");
        let time = Nanos::from_micros(u64::from(bounds[19] / bytes_per_us));
        assert!(time <= LONG || bounds[19] == LEAST_BYTES, "{bytes_per_us} bytes/us: {time:?}");
        assert!(time >= SHORT || bounds[19] == MOST_BYTES, "{bytes_per_us} bytes/us: {time:?}");
    }
}

#[test]
fn a_link_that_becomes_slow_gets_less() {
    let mut bound = QueueBound(MOST_BYTES);
    (0..8).for_each(|_| bound.step(Nanos::from_millis(5)));
    assert_eq!(bound, QueueBound::default());
}
