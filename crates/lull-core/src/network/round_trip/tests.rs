use proptest::prelude::*;

use super::*;

const MS: fn(u64) -> Nanos = Nanos::from_millis;

fn fresh() -> RoundTrips {
    RoundTrips::new(RoundTripSetting::default(), MS(0))
}

#[test]
fn a_quarter_more_than_the_largest_round_trip() {
    let mut trips = fresh();
    assert_eq!(trips.step(MS(1), Some(MS(20)), None), Interval::Finite(MS(25)));
    assert_eq!(trips.step(MS(2), Some(MS(4)), None), Interval::Finite(MS(25)));
    assert_eq!(trips.step(MS(3), None, None), Interval::Finite(MS(25)));
}

#[test]
fn a_round_trip_is_forgotten_after_one_to_two_spans() {
    let mut trips = fresh();
    trips.step(MS(900), Some(MS(20)), None);
    assert_eq!(trips.step(MS(1_000), Some(MS(4)), None), Interval::Finite(MS(25)));
    assert_eq!(trips.step(MS(1_999), None, None), Interval::Finite(MS(25)));
    assert_eq!(trips.step(MS(2_000), None, None), Interval::Finite(MS(5)));
    assert_eq!(trips.step(MS(9_000), None, None), Interval::Finite(RoundTripSetting::default().least));
}

#[test]
fn what_a_preemption_costs_shortens_the_interval_and_not_the_whole_one() {
    let mut trips = fresh();
    assert_eq!(trips.step(MS(1), Some(MS(20)), Some(MS(1))), Interval::Finite(MS(4)));
    assert_eq!(trips.whole(), Interval::Finite(MS(25)));
    trips.step(MS(3_000), None, Some(MS(1)));
    assert_eq!(trips.whole(), Interval::Finite(RoundTripSetting::default().least));
}

#[test]
fn a_clock_that_steps_back_forgets_nothing() {
    let mut trips = RoundTrips::new(RoundTripSetting::default(), MS(5_000));
    trips.step(MS(5_001), Some(MS(20)), None);
    assert_eq!(trips.step(MS(1), None, None), Interval::Finite(MS(25)));
}

proptest! {
    #[test]
    fn the_interval_is_within_its_bounds(steps in prop::collection::vec((0_u64..3_000, prop::option::of(any::<u64>())), 1..30)) {
        let setting = RoundTripSetting::default();
        let mut trips = fresh();
        let mut now = MS(0);
        for (pause, trip) in steps {
            now = now.plus(MS(pause));
            let Interval::Finite(interval) = trips.step(now, trip.map(Nanos), None) else { panic!() };
            prop_assert!((setting.least..=setting.most).contains(&interval));
            if let Some(trip) = trip {
                prop_assert!(interval >= Nanos(trip).min(setting.most));
            }
        }
    }
}

#[test]
fn where_a_preemption_costs_little_a_few_times_the_cost_is_enough() {
    let ms = Nanos::from_millis;
    let mut trips = RoundTrips::new(RoundTripSetting::default(), Nanos::ZERO);
    let mut with = |cost| trips.step(ms(1), Some(ms(20)), cost);
    assert_eq!(with(Some(Nanos::from_micros(800))), Interval::Finite(Nanos::from_micros(3_200)));
    assert_eq!(with(Some(ms(1))), Interval::Finite(ms(4)));
    // More than a twentieth of the round trip.
    assert_eq!(with(Some(Nanos::from_micros(1_001))), Interval::Finite(ms(25)));
    assert_eq!(with(Some(Nanos(1))), Interval::Finite(RoundTripSetting::default().least));
}
