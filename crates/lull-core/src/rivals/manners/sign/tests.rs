use proptest::prelude::*;

use super::*;

#[test]
fn the_tails_are_those_of_the_table() {
    for (k, n, p) in [(0, 5, 0.03125), (1, 8, 0.03515625), (4, 8, 0.63671875), (8, 8, 1.0)] {
        assert!((at_most(k, n) - p).abs() < 1e-12, "{k} of {n}");
    }
}

#[test]
fn five_poor_samples_in_a_row_are_a_proof_and_four_are_not() {
    let mut test = SignTest::new(0.05, 0.2);
    let verdicts: Vec<_> = (0..5).map(|_| test.add(true)).collect();
    assert_eq!(verdicts, [None, None, None, None, Some(Sign::Poor)]);
    assert_eq!(test.add(true), None, "evidence begins anew");
}

proptest! {
    #[test]
    fn there_is_always_a_verdict_in_the_end(samples in prop::collection::vec(any::<bool>(), 64)) {
        let mut test = SignTest::new(0.05, 0.2);
        prop_assert!(samples.into_iter().any(|is_poor| test.add(is_poor).is_some()));
    }

    #[test]
    fn more_poor_samples_never_make_it_look_better(n in 1_u32..64, k in 0_u32..63) {
        let k = k.min(n - 1);
        prop_assert!(at_most(k, n) <= at_most(k + 1, n) + 1e-12);
    }
}
