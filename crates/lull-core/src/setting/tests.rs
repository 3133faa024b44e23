use super::*;

const OPENING: Opening = Opening {
    drain_share: Share::percent(5),
    service: Nanos::from_micros(100),
    after: Nanos::from_millis(10),
    unseen: Nanos::from_millis(100),
};

#[test]
fn the_bound_opens_with_the_time_the_foreground_stays_away() {
    let bound = |away| OPENING.depth(3, Foreground::Away(away));
    assert_eq!(OPENING.depth(3, Foreground::Present), 3);
    assert_eq!(bound(Nanos::ZERO), 3);
    assert_eq!(bound(Nanos(9_999_999)), 3, "gaps of a foreground at work keep the bound");
    assert_eq!(bound(Nanos::from_millis(10)), 5, "5% of 10 ms drains five requests");
    assert_eq!(bound(Nanos::from_secs(2)), 1_000);
    assert_eq!(bound(Nanos::from_secs(3)), u32::MAX, "no bound any more");
    assert_eq!(bound(Nanos::MAX), u32::MAX);
}

#[test]
fn a_foreground_never_seen_leaves_no_bound_after_a_moment() {
    let bound = |span| OPENING.depth(1, Foreground::Unseen(Nanos::from_millis(span)));
    assert_eq!((bound(0), bound(4), bound(99), bound(100)), (1, 2, 49, u32::MAX));
}

#[test]
fn a_fixed_bound_never_opens_and_is_at_least_one() {
    for foreground in [Foreground::Present, Foreground::Away(Nanos::MAX), Foreground::Unseen(Nanos::MAX)] {
        assert_eq!(Opening::NEVER.depth(4, foreground), 4);
        assert_eq!(Opening::NEVER.depth(0, foreground), 1);
    }
}

#[test]
fn the_span_after_which_the_bound_exceeds_what_is_taken_is_the_first_one_that_does() {
    for taken in [3, 4, 5, 77, 1_000, 40_000] {
        for foreground in [Foreground::Away, Foreground::Unseen] {
            let span = OPENING.exceeds_after(taken, foreground(Nanos::ZERO)).unwrap();
            assert!(OPENING.depth(3, foreground(span)) > taken);
            assert!(OPENING.depth(3, foreground(Nanos(span.0 - 1))) <= taken);
        }
    }
    assert_eq!(OPENING.exceeds_after(u32::MAX, Foreground::Away(Nanos::ZERO)), None);
    assert_eq!(OPENING.exceeds_after(3, Foreground::Present), None, "not by time alone");
    assert_eq!(Opening::NEVER.exceeds_after(3, Foreground::Away(Nanos::ZERO)), None);
}

#[test]
fn a_gap_is_closed_from_one_age_until_the_other() {
    let closing = Closing { from: Nanos(10), until: Nanos(20) };
    let closed: Vec<u64> = (0..30).filter(|age| closing.holds(Nanos(*age))).collect();
    assert_eq!(closed, (10..20).collect::<Vec<u64>>());
    let empty = Closing { from: Nanos(20), until: Nanos(10) };
    assert!((0..30).all(|age| !empty.holds(Nanos(age))));
}
