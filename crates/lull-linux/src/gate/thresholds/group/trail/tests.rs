use proptest::prelude::*;

use super::{End, MOST_PIECE, TRIES, Trail, WORTH_NAMING};

const MIB: u64 = 1 << 20;

/// All of it, where each piece gives what it is asked for: the limits on the way, and the end.
fn walk(mut trail: Trail) -> (Vec<u64>, End) {
    let mut limits = Vec::new();
    while let Some(piece) = trail.next() {
        limits.extend(trail.named(piece).map(|limit| limit / MIB));
    }
    (limits, trail.end())
}

#[test]
fn the_limit_follows_one_piece_behind() {
    let (limits, end) = walk(Trail::new(88 * MIB, 128 * MIB, 0));
    assert_eq!(limits, [120, 112, 104, 96]);
    assert_eq!(end, End { limit: 96 * MIB, in_flight: 8 * MIB });
    // The next call takes the rest, and names nothing again.
    assert_eq!(Trail::new(88 * MIB, 96 * MIB, end.in_flight).next(), None);
    assert_eq!(Trail::new(88 * MIB, 96 * MIB, end.in_flight).end().limit, 88 * MIB);
}

#[test]
fn a_single_piece_is_waited_for() {
    let (limits, end) = walk(Trail::new(10 * MIB, 11 * MIB, 0));
    assert_eq!((limits.len(), end), (0, End { limit: 10 * MIB, in_flight: 0 }));
}

#[test]
fn what_goes_by_itself_is_not_named() {
    assert_eq!(Trail::new(60 * MIB, 100 * MIB, 40 * MIB).next(), None);
    assert_eq!(Trail::new(60 * MIB, 100 * MIB, 140 * MIB).next(), None);
    assert_eq!(Trail::new(60 * MIB, 100 * MIB, 36 * MIB).next(), Some(MIB));
}

#[test]
fn where_nothing_can_be_named_the_limit_takes_what_it_can() {
    let mut trail = Trail::new(60 * MIB, 100 * MIB, 0);
    trail.named(8 * MIB);
    trail.named(8 * MIB);
    for _ in 0..TRIES {
        assert!(trail.next().is_some());
        assert_eq!(trail.named(0), None);
    }
    assert_eq!(trail.next(), None);
    assert_eq!(trail.end(), End { limit: 60 * MIB, in_flight: 0 });
}

#[test]
fn out_of_time_before_the_first_piece_it_stays_where_it_is() {
    let trail = Trail::new(60 * MIB, 100 * MIB, 20 * MIB);
    assert_eq!(trail.end(), End { limit: 80 * MIB, in_flight: 0 });
}

proptest! {
    #[test]
    fn limits_fall_to_the_target_and_never_below(
        target in 0..256 * MIB,
        more in 0..256 * MIB,
        going in 0..64 * MIB,
        gives in proptest::collection::vec(0..3 * MOST_PIECE, 0..100),
    ) {
        let mut trail = Trail::new(target, target + more, going);
        let mut lowest = u64::MAX;
        for given in gives {
            if trail.next().is_none() {
                break;
            }
            if let Some(limit) = trail.named(given) {
                prop_assert!(limit >= target && limit <= lowest);
                lowest = limit;
            }
        }
        let done = trail.next().is_none();
        let end = trail.end();
        prop_assert!(end.limit >= target && end.limit <= lowest.max(target));
        // What is not waited for is the rest of it.
        prop_assert!(!done || end.limit < target + end.in_flight + 3 * MOST_PIECE + WORTH_NAMING);
    }
}
