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
    let mut bound = QueueBound { bytes: MOST_BYTES, is_fixed: false };
    (0..8).for_each(|_| bound.step(Nanos::from_millis(5)));
    assert_eq!(bound, QueueBound::default());
}

#[test]
fn a_bound_in_packets_stays_on_any_link() {
    for packets in [1, 8, 1_000, u32::MAX] {
        let mut bound = QueueBound::of_packets(packets);
        let given = bound.bytes();
        for time in [Nanos::ZERO, Nanos::from_millis(5), Nanos::from_secs(1)] {
            bound.step(time);
            assert_eq!(bound.bytes(), given, "{packets} packets after {time:?}");
        }
        let frames = packets.saturating_mul(1_514);
        assert!(given >= frames, "{packets} packets: {given} bytes");
    }
    assert!(QueueBound::of_packets(7).bytes() <= LEAST_BYTES);
    assert!(QueueBound::of_packets(60).bytes() > MOST_BYTES);
}
