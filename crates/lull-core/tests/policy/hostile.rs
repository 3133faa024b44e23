//! Sensors that restart, miss events or lie, and clocks that jump: nothing panics, every invariant holds, and as
//! soon as views make sense again everything that waits starts, in variants with an interval after each, too.

use lull_core::{
    ClassView, Input, Interval, LEAST_BYTES, Nanos, Observation, Resource, Setting, StartRule, Ticket,
    Variant,
};
use proptest::prelude::*;

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..50_u64, Just(u64::MAX), any::<u64>()]
}

/// Within 146 years of the start: later, no time is left to wait for.
fn clock() -> impl Strategy<Value = u64> {
    prop_oneof![0..2_000_u64, 0..1_u64 << 62]
}

fn class() -> impl Strategy<Value = ClassView> {
    (0..4_u32, number(), number(), number(), number(), (number(), number())).prop_map(
        |(in_service, started, ended, last_start, last_end, (started_bytes, in_service_bytes))| ClassView {
            in_service,
            started,
            ended,
            last_start: Nanos(last_start),
            last_end: Nanos(last_end),
            started_bytes,
            in_service_bytes,
        },
    )
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        (class(), class())
            .prop_map(|(foreground, background)| Input::Observe(Observation { foreground, background })),
        (0..20_u64).prop_map(|ticket| Input::Withdraw(Ticket(ticket))),
        (0..20_u64).prop_map(|ticket| Input::Returned(Ticket(ticket))),
        Just(Input::Tick),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn a_resource_survives_nonsense_and_recovers(
        inputs in prop::collection::vec((clock(), input(), any::<bool>()), 1..40),
        variant in prop::sample::select(&Variant::ALL[..]),
        start_rule in prop::sample::select(&StartRule::ALL[..]),
        depth in 1..4_u32,
        window_bytes in prop_oneof![Just(u64::MAX), 0..1_u64 << 20],
    ) {
        let interval = Nanos(100);
        let setting =
            Setting { interval: Interval::Finite(interval), depth, window_bytes, variant, start_rule, ..Setting::default() };
        let mut resource = Resource::new(setting);
        let mut started = Vec::new();
        let mut tickets = 0;
        for (now, input, arrive) in inputs {
            resource.step(Nanos(now), input, &mut started);
            resource.check_invariants(Nanos(now));
            if arrive {
                tickets += 1;
                resource.step(Nanos(now), Input::Arrive(Ticket(1_000 + tickets), LEAST_BYTES), &mut started);
            }
        }
        tickets += 1;
        let begin = Nanos(1_000_000);
        resource.step(begin, Input::Arrive(Ticket(1_000 + tickets), LEAST_BYTES), &mut started);
        resource.step(begin, Input::Observe(Observation::default()), &mut started);
        let mut now = begin;
        for _ in 0..=tickets {
            now = now.plus(interval).plus(setting.settle);
            resource.step(now, Input::Tick, &mut started);
        }
        prop_assert_eq!(resource.waiting(), 0);
        prop_assert_eq!(started.len() as u64, tickets);
    }
}
