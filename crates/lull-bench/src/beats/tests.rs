use proptest::prelude::*;

use super::*;

fn beats() -> Beats {
    Beats::of(Nanos::from_secs(1)).unwrap()
}

#[test]
fn no_beats_without_a_length() {
    assert_eq!(Beats::of(Nanos::ZERO), None);
}

#[test]
fn both_orders_occur() {
    let first = |pair: u64| beats().at(Nanos::from_secs(2 * pair));
    assert!((0..64).any(|pair| first(pair) == Beat::Loaded));
    assert!((0..64).any(|pair| first(pair) == Beat::Quiet));
}

proptest! {
    #[test]
    fn every_pair_has_one_of_each(pair in 0_u64..1 << 32, within in 0_u64..1_000_000_000) {
        let at = |beat: u64| beats().at(Nanos(Nanos::from_secs(2 * pair + beat).0 + within));
        prop_assert_ne!(at(0), at(1));
    }

    #[test]
    fn what_counts_is_in_its_beat_and_after_a_change_not_at_once(time in 0_u64..1 << 50) {
        let now = Nanos(time);
        if let Some(beat) = beats().counted(now) {
            prop_assert_eq!(beat, beats().at(now));
            // The whole of the washout before it was of the same kind, or over.
            let before = Nanos(time.saturating_sub(199_999_999));
            prop_assert_eq!(beats().at(before), beat);
        }
    }

    #[test]
    fn loaded_time_adds_up(from in 0_u64..1 << 40, a in 0_u64..9_000_000_000, b in 0_u64..9_000_000_000) {
        let [start, middle, end] = [Nanos(from), Nanos(from + a), Nanos(from + a + b)];
        let parts = beats().loaded(start, middle).plus(beats().loaded(middle, end));
        prop_assert_eq!(beats().loaded(start, end), parts);
        prop_assert!(parts <= end.since(start));
        // An even number of beats is half loaded, give or take the ends.
        let off = parts.0.abs_diff((a + b) / 2);
        prop_assert!(off <= 1_000_000_000, "off by {}", off);
    }
}
