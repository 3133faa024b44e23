use super::*;

const OPENING: Opening = Opening {
    drain_share: Share::percent(5),
    service: Nanos::from_micros(100),
    after: Nanos::from_millis(10),
};

#[test]
fn the_bound_opens_with_the_time_the_foreground_stays_away() {
    let bound = |away| OPENING.depth(3, Some(away));
    assert_eq!(bound(Nanos::ZERO), 3);
    assert_eq!(bound(Nanos(9_999_999)), 3, "gaps of a foreground at work keep the bound");
    assert_eq!(bound(Nanos::from_millis(10)), 5, "5% of 10 ms drains five requests");
    assert_eq!(bound(Nanos::from_secs(1)), 500);
    assert_eq!(bound(Nanos::MAX), u32::MAX);
}

#[test]
fn a_foreground_never_seen_leaves_no_bound() {
    assert_eq!(OPENING.depth(1, None), u32::MAX);
}

#[test]
fn a_fixed_bound_never_opens_and_is_at_least_one() {
    assert_eq!(Opening::NEVER.depth(4, None), 4);
    assert_eq!(Opening::NEVER.depth(4, Some(Nanos::MAX)), 4);
    assert_eq!(Opening::NEVER.depth(0, Some(Nanos::ZERO)), 1);
}
