//! The table against what can be computed.

use super::*;

#[test]
fn without_switches_a_guest_gets_what_the_owner_leaves() {
    let gaps = Gaps::measure(Nanos::ZERO, 1);
    for load in [0.0, 0.05, 0.25, 0.5, 0.9, 1.0] {
        let (share, delay) = gaps.at(load);
        assert!((share - (1.0 - load)).abs() < 0.03, "{share} at {load}");
        assert_eq!(delay, 0.0);
    }
}

#[test]
fn the_delay_is_a_switch_for_each_burst_that_finds_the_guest_at_work() {
    let switch = Nanos::from_micros(500);
    for load in [0.05, 0.25, 0.5] {
        let gap_s = mean_burst_s(load) * (1.0 - load) / load;
        let expected = 0.0005 * (-0.0005 / gap_s).exp() / mean_burst_s(load);
        let found = delay(load, switch, 8, 20_000, 3);
        assert!((found.mean - expected).abs() < 0.05 * expected, "{found:?} for {expected}");
        assert!(found.low() < found.mean && found.mean < found.high());
    }
    assert_eq!(delay(0.0, switch, 2, 10, 1).mean, 0.0);
    assert!(Gaps::measure(switch, 1).at(1.0).0 < 0.01, "no gaps, nothing for the guest");
}
