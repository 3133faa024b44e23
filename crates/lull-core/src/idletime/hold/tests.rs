use proptest::prelude::*;

use super::*;

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn hold() -> Hold {
    Hold::new(HoldSetting::default())
}

#[test]
fn a_leak_in_a_burst_freezes_until_background_is_admitted() {
    for burst in [State::Foreground, State::Interval] {
        for admitted in [State::Idle, State::Background] {
            let mut hold = hold();
            assert_eq!(hold.step(ms(1), 0, burst, true), None, "no leak");
            assert_eq!(hold.step(ms(2), 1, burst, true), Some(HoldAction::Hold));
            assert_eq!(hold.next_wake(ms(2)), Some(ms(102)));
            assert_eq!(hold.step(ms(50), 1, burst, true), None);
            assert_eq!(hold.step(ms(60), 1, admitted, true), Some(HoldAction::Release));
            assert_eq!(hold.state(), HoldState::Floor { until: ms(70) });
        }
    }
}

#[test]
fn a_burst_that_does_not_end_is_left_after_the_longest_hold_and_resumed_after_the_floor() {
    let mut hold = hold();
    hold.step(ms(0), 1, State::Interval, true);
    assert_eq!(hold.step(ms(99), 1, State::Foreground, true), None);
    assert_eq!(hold.step(ms(100), 1, State::Foreground, true), Some(HoldAction::Release));
    assert_eq!(hold.next_wake(ms(100)), None, "nothing to do unless it leaks again");
    assert_eq!(hold.step(ms(105), 2, State::Foreground, true), None, "the floor holds");
    assert_eq!(hold.next_wake(ms(105)), Some(ms(110)));
    assert_eq!(hold.step(ms(110), 2, State::Foreground, true), Some(HoldAction::Hold));
}

#[test]
fn what_does_no_harm_or_belongs_to_an_earlier_burst_does_not_freeze() {
    let mut hold = hold();
    assert_eq!(hold.step(ms(1), 5, State::Interval, false), None);
    assert_eq!(hold.step(ms(2), 5, State::Idle, true), None);
    assert_eq!(hold.step(ms(3), 5, State::Foreground, true), None, "those leaks are of the earlier burst");
    assert_eq!(hold.step(ms(4), 6, State::Foreground, true), Some(HoldAction::Hold));
}

#[test]
fn finish_thaws_what_is_frozen_and_nothing_else() {
    let mut hold = hold();
    assert_eq!(hold.finish(ms(1)), None);
    hold.step(ms(2), 1, State::Interval, true);
    assert_eq!(hold.finish(ms(3)), Some(HoldAction::Release));
    assert_eq!(hold.finish(ms(4)), None);
}

#[test]
fn a_floor_is_never_shorter_than_four_holds_cost() {
    let mut hold = Hold::new(HoldSetting { floor: ms(1), cost: ms(2), ..HoldSetting::default() });
    hold.step(ms(0), 1, State::Interval, true);
    hold.step(ms(1), 1, State::Idle, true);
    assert_eq!(hold.state(), HoldState::Floor { until: ms(9) });
}

#[test]
fn settings_are_read_with_units_and_unknown_keys_are_refused() {
    let setting: HoldSetting = serde_json::from_str(r#"{"longest": "20ms"}"#).unwrap();
    assert_eq!(setting, HoldSetting { longest: ms(20), ..HoldSetting::default() });
    let error = serde_json::from_str::<HoldSetting>(r#"{"longst": "20ms"}"#).unwrap_err().to_string();
    assert!(error.contains("longst"), "{error}");
}

proptest! {
    /// The owner steps at each event and whenever `next_wake` says so.
    #[test]
    fn holds_are_bounded_floors_are_kept_and_every_freeze_is_thawed(
        events in prop::collection::vec((0..40_u64, 0..3_u64, prop::sample::select(&State::ALL[..]), any::<bool>()), 1..200),
    ) {
        let setting = HoldSetting::default();
        let mut hold = Hold::new(setting);
        let (mut now, mut leaks) = (Nanos::ZERO, 0);
        let mut state = State::Idle;
        let mut actions = Vec::new();
        for (pause, leaked, next, harmful) in events {
            let then = now.plus(ms(pause));
            while let Some(due) = hold.next_wake(now).filter(|due| *due < then) {
                prop_assert!(due >= now);
                now = due;
                let before = hold.state();
                actions.extend(hold.step(now, leaks, state, harmful).map(|action| (now, action)));
                prop_assert!(hold.state() != before, "a wake-up that is due changes something");
            }
            now = then;
            leaks += leaked;
            state = next;
            actions.extend(hold.step(now, leaks, state, harmful).map(|action| (now, action)));
        }
        actions.extend(hold.finish(now).map(|action| (now, action)));
        prop_assert!(actions.len() % 2 == 0, "every freeze has its thaw");
        for pair in actions.chunks(2) {
            let [(frozen, HoldAction::Hold), (thawed, HoldAction::Release)] = *pair else {
                return Err(TestCaseError::fail(format!("{actions:?}")));
            };
            prop_assert!(thawed.since(frozen) <= setting.longest);
        }
        for pair in actions.get(1..).unwrap_or_default().chunks(2).filter(|pair| pair.len() == 2) {
            prop_assert!(pair[1].0.since(pair[0].0) >= setting.floor);
        }
    }
}
