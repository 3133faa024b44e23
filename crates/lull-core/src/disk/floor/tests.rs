use super::*;

const SECOND: Nanos = Nanos::from_secs(1);
const RATE: f64 = 2e6;

#[test]
fn background_that_gets_nothing_is_owed_a_fiftieth_and_not_more_than_half_a_second_of_it() {
    let mut floor = Floor::default();
    floor.look(SECOND, 0, Nanos::ZERO, RATE);
    assert!(!floor.is_due());
    floor.look(SECOND.times(2), 0, SECOND, RATE);
    assert!(floor.is_due());
    floor.look(SECOND.times(90), 0, SECOND.times(88), RATE);
    floor.look(SECOND.times(90), 1_000_000, Nanos::ZERO, RATE);
    assert!(!floor.is_due(), "a megabyte was owed");
}

#[test]
fn background_that_gets_more_is_owed_nothing_and_saves_nothing_up() {
    let mut floor = Floor::default();
    let mut got = 0;
    floor.look(SECOND, got, Nanos::ZERO, RATE);
    for second in 2..21 {
        got += 3_000_000;
        floor.look(SECOND.times(second), got, SECOND, RATE);
        assert!(!floor.is_due());
    }
    floor.look(SECOND.times(21), got, SECOND.times(2), RATE);
    assert!(floor.is_due(), "what it had before does not count for long");
}

#[test]
fn while_the_foreground_is_away_nothing_is_due() {
    let mut floor = Floor::default();
    for second in 1..20 {
        floor.look(SECOND.times(second), 0, Nanos::ZERO, RATE);
        assert!(!floor.is_due());
    }
}
