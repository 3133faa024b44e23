use super::*;

const SETTING: WaitingRoomSetting = WaitingRoomSetting { longest: Nanos(100), trickle: 2, batch: 8 };

#[test]
fn nothing_leaves_in_f_and_p_until_the_longest_hold_is_over() {
    let mut parlour = WaitingRoom::new(SETTING);
    for (now, state) in [(10, State::Foreground), (60, State::Interval)] {
        let step = parlour.step(Nanos(now), state, 3);
        assert_eq!((step.pass, step.due), (0, Some(Nanos(110))));
    }
    let trickle = parlour.step(Nanos(110), State::Foreground, 3);
    assert_eq!((trickle.pass, trickle.due), (2, Some(Nanos(210))));
    assert_eq!(parlour.step(Nanos(111), State::Foreground, 1).pass, 0);
}

#[test]
fn it_empties_in_batches_once_background_is_admitted() {
    let mut parlour = WaitingRoom::new(SETTING);
    parlour.step(Nanos(10), State::Interval, 3);
    for state in [State::Idle, State::Background] {
        assert_eq!(parlour.step(Nanos(20), state, 3), WaitingRoomStep { pass: 8, due: None, look: None });
    }
    // The next hold is a new one.
    assert_eq!(parlour.step(Nanos(90), State::Foreground, 3).due, Some(Nanos(190)));
}

#[test]
fn an_empty_room_has_no_hold_and_a_clock_that_steps_back_begins_one() {
    let mut parlour = WaitingRoom::new(SETTING);
    assert_eq!(parlour.step(Nanos(10), State::Foreground, 0).due, None);
    assert_eq!(parlour.step(Nanos(50), State::Foreground, 1).due, Some(Nanos(150)));
    assert_eq!(parlour.step(Nanos(20), State::Foreground, 1).due, Some(Nanos(120)));
}

#[test]
fn the_longer_a_hold_the_rarer_the_looks_for_its_end() {
    let longest = Nanos::from_millis(1);
    let mut parlour = WaitingRoom::new(WaitingRoomSetting { longest, ..SETTING });
    let mut wait_at = |us: u64, state| {
        let now = Nanos::from_micros(us);
        parlour.step(now, state, 1).look.map(|look| look.since(now))
    };
    assert_eq!(wait_at(1_000, State::Foreground), Some(Nanos::from_micros(50)));
    // Trickles meanwhile do not begin a new hold.
    assert_eq!(wait_at(2_600, State::Interval), Some(Nanos::from_micros(100)));
    assert_eq!(wait_at(60_000, State::Foreground), Some(Nanos::from_micros(500)));
    assert_eq!(wait_at(60_100, State::Idle), None);
    assert_eq!(wait_at(60_200, State::Foreground), Some(Nanos::from_micros(50)));
}
