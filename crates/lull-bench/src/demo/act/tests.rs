use super::*;

const SECOND: Nanos = Nanos::from_secs(1);

#[test]
fn turns_share_the_time_that_is_there() {
    let time = SECOND.times(90);
    let length = counted(time, 15, SECOND.times(2));
    assert_eq!(length, SECOND.times(4));
    assert_eq!(length.plus(SECOND.times(2)).times(15), time);
}

#[test]
fn turns_are_neither_too_short_to_say_anything_nor_longer_than_it_takes() {
    assert_eq!(counted(Nanos::ZERO, 15, SECOND), COUNTED[0]);
    assert_eq!(counted(SECOND.times(10), 15, SECOND), COUNTED[0]);
    assert_eq!(counted(SECOND.times(10_000), 15, SECOND), COUNTED[1]);
    assert_eq!(counted(SECOND.times(10_000), 0, SECOND), COUNTED[1]);
}
