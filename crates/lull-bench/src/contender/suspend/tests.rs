use super::*;

#[test]
fn the_account_has_past_and_present_freezes() {
    let frozen = Frozen::default();
    let at = Nanos::from_secs;
    assert_eq!(frozen.until(at(9)), Nanos::ZERO);
    frozen.turn(true, at(10));
    assert_eq!(frozen.until(at(11)), at(1), "it is frozen now");
    frozen.turn(false, at(12));
    frozen.turn(true, at(15));
    assert_eq!(frozen.until(at(16)), at(3));
    frozen.turn(false, at(16));
    assert_eq!(frozen.until(at(99)), at(3));
}
