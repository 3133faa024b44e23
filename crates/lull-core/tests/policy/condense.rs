//! Condensation: a reading stands for all events since the last one. A resource that sees every event and one that
//! sees only some readings agree on the state, at the reading and ever after, and on what starts. And both agree with
//! `derive_state`, which has no memory at all, given the backlog that it assumes.

use crate::history::{DeviceEvent, apply, moments, possible};
use lull_core::{
    AfterBackground, Input, Interval, LEAST_BYTES, Nanos, Observation, Resource, Setting, StartRule, Ticket,
    Variant, derive_state,
};
use proptest::prelude::*;

fn setting() -> impl Strategy<Value = Setting> {
    let interval = prop_oneof![
        1 => Just(Interval::NONE),
        6 => (1..15_u64).prop_map(|length| Interval::Finite(Nanos(length))),
        1 => Just(Interval::Infinite),
    ];
    let variant = prop::sample::select(&Variant::ALL[..]);
    let rule = prop::sample::select(&StartRule::ALL[..]);
    let bound = prop_oneof![
        (1..4_u32).prop_map(|depth| (depth, u64::MAX)),
        (0..4_u64).prop_map(|requests| (u32::MAX, requests * LEAST_BYTES)),
    ];
    (interval, bound, variant, rule).prop_map(|(interval, (depth, window_bytes), variant, start_rule)| {
        Setting { interval, depth, window_bytes, variant, start_rule, settle: Nanos(4), ..Setting::default() }
    })
}

/// Time since the previous event, class, start or end, and whether the coarse resource misses the reading after it.
type Fine = (u64, bool, bool, bool);

fn fine() -> impl Strategy<Value = Vec<Fine>> {
    prop::collection::vec((0..6_u64, any::<bool>(), any::<bool>(), any::<bool>()), 1..80)
}

fn step(resource: &mut Resource, now: Nanos, input: Input) -> Vec<Ticket> {
    let mut started = Vec::new();
    resource.step(now, input, &mut started);
    started
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, ..ProptestConfig::default() })]

    #[test]
    fn without_a_backlog_every_subset_of_readings_gives_the_same_state(setting in setting(), events in fine()) {
        let mut sensor = Observation::default();
        let (mut every, mut some) = (Resource::new(setting), Resource::new(setting));
        let mut now = Nanos(1_000);
        for (pause, background, start, skipped) in events {
            now = now.plus(Nanos(pause));
            if !possible(&sensor, background, start) {
                continue;
            }
            apply(&mut sensor, DeviceEvent { at: now, background, start });
            step(&mut every, now, Input::Observe(sensor));
            if skipped {
                continue;
            }
            step(&mut some, now, Input::Observe(sensor));
            for moment in moments(now, 20) {
                prop_assert_eq!(every.state(moment), some.state(moment), "at {:?}", moment);
                if setting.variant.on_background == AfterBackground::Background {
                    let derived = derive_state(&sensor, setting.interval, setting.variant, setting.start_rule, moment);
                    prop_assert_eq!(some.state(moment), derived, "at {:?}", moment);
                }
                prop_assert_eq!(every.admits(moment), some.admits(moment));
            }
        }
    }

    #[test]
    fn with_a_backlog_the_derived_state_is_that_of_the_variants_that_pause(
        setting in setting(),
        events in prop::collection::vec((0..6_u64, any::<bool>(), any::<bool>(), any::<bool>()), 1..30),
    ) {
        let pausing = Variant { on_background: AfterBackground::Interval, ..setting.variant };
        let setting = Setting { variant: pausing, settle: Nanos(1), ..setting };
        let mut sensor = Observation::default();
        let mut resource = Resource::new(setting);
        let mut now = Nanos(1_000);
        for ticket in 0..100 {
            step(&mut resource, now, Input::Arrive(Ticket(ticket), LEAST_BYTES));
        }
        for (pause, background, start, skipped) in events {
            now = now.plus(Nanos(pause));
            if !possible(&sensor, background, start) {
                continue;
            }
            apply(&mut sensor, DeviceEvent { at: now, background, start });
            if skipped {
                continue;
            }
            step(&mut resource, now, Input::Observe(sensor));
            prop_assert!(resource.waiting() > 0);
            for moment in moments(now.plus(setting.settle), 20) {
                let derived = derive_state(&sensor, setting.interval, setting.variant, setting.start_rule, moment);
                prop_assert_eq!(resource.state(moment), derived, "at {:?}", moment);
            }
        }
    }

    /// With requests waiting, a reading may be missed when it starts nothing and no grant is under way; before any
    /// other input both read, as the engine does before each decision.
    #[test]
    fn with_a_backlog_readings_that_start_nothing_can_be_missed(
        setting in setting(),
        events in prop::collection::vec((0..6_u64, any::<bool>(), any::<bool>(), any::<bool>(), 0..4_u8), 1..80),
    ) {
        let mut sensor = Observation::default();
        let (mut every, mut some) = (Resource::new(setting), Resource::new(setting));
        let mut now = Nanos(1_000);
        let mut tickets = 0;
        for (pause, background, start, skipped, kind) in events {
            now = now.plus(Nanos(pause));
            if kind == 0 {
                prop_assert_eq!(step(&mut every, now, Input::Observe(sensor)), step(&mut some, now, Input::Observe(sensor)));
                tickets += 1;
                let input = Input::Arrive(Ticket(tickets), LEAST_BYTES);
                prop_assert_eq!(step(&mut every, now, input), step(&mut some, now, input));
            } else if possible(&sensor, background, start) {
                let under_way = every.in_service(now) > sensor.background.in_service;
                apply(&mut sensor, DeviceEvent { at: now, background, start });
                let started = step(&mut every, now, Input::Observe(sensor));
                if skipped && started.is_empty() && !under_way {
                    continue;
                }
                prop_assert_eq!(started, step(&mut some, now, Input::Observe(sensor)));
            } else {
                continue;
            }
            prop_assert_eq!(every.waiting(), some.waiting());
            for moment in moments(now, 20) {
                prop_assert_eq!(every.state(moment), some.state(moment), "at {:?}", moment);
                prop_assert_eq!(every.wake(moment), some.wake(moment), "at {:?}", moment);
            }
        }
    }
}
