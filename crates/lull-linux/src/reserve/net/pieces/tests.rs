use proptest::prelude::*;

use super::*;

#[test]
fn the_slower_the_line_the_smaller_the_piece() {
    assert_eq!(largest(1_250_000), LEAST_PIECE_BYTES, "10 Mb/s");
    assert_eq!(largest(12_500_000), 12_500, "100 Mb/s");
    assert_eq!(largest(1_250_000_000), MOST_PIECE_BYTES, "10 Gb/s");
}

#[test]
fn the_size_is_the_number_after_its_name() {
    let shown = "2: net1@if2: <UP> mtu 1500 qdisc noqueue\n    link/ether numrxqueues 1 gso_max_size 65536 gso_max_segs 65535";
    assert_eq!(largest_in(shown), Some(65_536));
    assert_eq!(largest_in("2: net1: mtu 1500"), None);
    assert_eq!(largest_in("gso_max_size"), None);
}

proptest! {
    /// As long as the range of turns allows, turns are as weights, within a byte.
    #[test]
    fn turns_are_as_weights(lightest in 1_u64..1_000, times in 1_u64..125, rate in 0_u64..20_000_000_000) {
        let heaviest = lightest * times;
        let [light, heavy] = [lightest, heaviest].map(|weight| turn(weight, lightest, heaviest, rate));
        prop_assert!(heavy <= MOST_TURN_BYTES && light >= LEAST_TURN_BYTES);
        prop_assert!(heavy.abs_diff(light * times) <= times, "{light} and {heavy} for 1 to {times}");
    }

    /// Whatever the weights, a turn is a packet at least and no longer than need be.
    #[test]
    fn turns_are_bounded(weights: [u32; 3], rate in 0_u64..1_600_000) {
        let [a, b, c] = weights.map(u64::from);
        let (lightest, heaviest) = (a.min(b).min(c), a.max(b).max(c));
        for weight in [a, b, c] {
            let turn = turn(weight, lightest, heaviest, rate);
            prop_assert!((LEAST_TURN_BYTES..=MOST_TURN_BYTES).contains(&turn));
            prop_assert!(lightest == 0 || turn <= (LEAST_TURN_BYTES * heaviest).div_ceil(lightest));
        }
    }
}
