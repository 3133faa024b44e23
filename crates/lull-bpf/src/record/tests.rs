//! The shared C header, compiled natively, against the Rust originals.

use super::net::{STALE, in_queue};
use super::{PAUSE_AFTER_BACKGROUND, PAUSE_AFTER_BACKGROUND_IDLE, RawView, START_ON_REQUEST};
use lull_core::proportional::srp::Amount;
use lull_core::{
    ClassView, Interval, Nanos, Observation, StartRule, State, Variant, base::histogram::bucket_of,
    derive_state, earliest_lull,
};
use proptest::prelude::*;

unsafe extern "C" {
    fn lull_check_bucket_of(value: u64) -> u32;
    fn lull_check_derive_state(
        fg: *const RawView,
        bg: *const RawView,
        interval_ns: u64,
        flags: u32,
        now: u64,
    ) -> u32;
    fn lull_check_earliest_lull(
        fg: *const RawView,
        interval_ns: u64,
        flags: u32,
        leaving_ns: u64,
        now: u64,
    ) -> u64;
    safe fn lull_check_recently_ns() -> u64;
    fn lull_check_in_queue(started: u64, ended: u64, last_start_ns: u64, now: u64) -> u64;
    fn lull_check_takes(room: *const Amount, waiting: *const Amount, bytes: u64) -> i32;
}

fn c_state(observation: &Observation, interval: Interval, flags: u32, now: Nanos) -> u32 {
    let (fg, bg) = (RawView::of(&observation.foreground), RawView::of(&observation.background));
    // SAFETY: both views live through the call, which only reads them.
    unsafe { lull_check_derive_state(&raw const fg, &raw const bg, c_interval(interval), flags, now.0) }
}

fn c_interval(interval: Interval) -> u64 {
    match interval {
        Interval::Finite(length) => length.0,
        Interval::Infinite => super::INFINITE_NS,
    }
}

fn intervals() -> impl Strategy<Value = Interval> {
    prop_oneof![(0_u64..200).prop_map(|ns| Interval::Finite(Nanos(ns))), Just(Interval::Infinite)]
}

fn rule_and_flag(on_request: bool) -> (StartRule, u32) {
    if on_request { (StartRule::Request, START_ON_REQUEST) } else { (StartRule::Completion, 0) }
}

fn view() -> impl Strategy<Value = ClassView> {
    (0_u32..3, 0_u64..300, 0_u64..300).prop_map(|(in_service, last_start, last_end)| ClassView {
        in_service,
        started: 5,
        ended: 5 - u64::from(in_service),
        last_start: Nanos(last_start),
        last_end: Nanos(last_end),
        ..ClassView::default()
    })
}

fn amount() -> impl Strategy<Value = Amount> {
    let number = || prop_oneof![0_u64..10, any::<u64>(), Just(u64::MAX)];
    (number(), number()).prop_map(|(packets, bytes)| Amount { packets, bytes })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn buckets_agree(value: u64, shift in 0_u32..64) {
        let value = value >> shift;
        // SAFETY: a pure function of an integer.
        let c = unsafe { lull_check_bucket_of(value) };
        prop_assert_eq!(c as usize, bucket_of(Nanos(value)));
    }

    #[test]
    fn what_is_in_a_queue_agrees(
        started in 0_u64..5,
        ended in 0_u64..5,
        last_start in 0_u64..10,
        now in prop_oneof![0_u64..10, STALE.0 - 5..STALE.0 + 15],
    ) {
        let view = ClassView { started, ended, last_start: Nanos(last_start), ..ClassView::default() };
        // SAFETY: a pure function of integers.
        let c = unsafe { lull_check_in_queue(started, ended, last_start, now) };
        prop_assert_eq!(c, in_queue(&view, Nanos(now)));
    }

    #[test]
    fn room_at_a_socket_agrees(
        room in amount(),
        waiting in amount(),
        bytes in prop_oneof![0_u64..10, any::<u64>()],
    ) {
        // SAFETY: both amounts live through the call, which only reads them.
        let c = unsafe { lull_check_takes(&raw const room, &raw const waiting, bytes) };
        prop_assert_eq!(c != 0, room.takes(waiting, bytes));
    }

    #[test]
    fn states_agree(
        foreground in view(),
        background in view(),
        interval in intervals(),
        on_request: bool,
        variant in 0_usize..4,
        now in 0_u64..500,
    ) {
        let (name, variant_flags) = [
            ("bb-bi", 0),
            ("bb-bp", PAUSE_AFTER_BACKGROUND_IDLE),
            ("bp-bi", PAUSE_AFTER_BACKGROUND),
            ("bp-bp", PAUSE_AFTER_BACKGROUND | PAUSE_AFTER_BACKGROUND_IDLE),
        ][variant];
        let variant: Variant = name.parse().unwrap();
        let (rule, rule_flag) = rule_and_flag(on_request);
        let observation = Observation { foreground, background };
        let rust = derive_state(&observation, interval, variant, rule, Nanos(now));
        let index = match rust { State::Idle => 0, State::Foreground => 1, State::Background => 2, State::Interval => 3 };
        prop_assert_eq!(c_state(&observation, interval, variant_flags | rule_flag, Nanos(now)), index);
    }

    #[test]
    fn the_earliest_lull_agrees(
        foreground in view(),
        interval in intervals(),
        on_request: bool,
        leaving in 0_u64..50,
        now in 0_u64..500,
    ) {
        let (rule, flags) = rule_and_flag(on_request);
        let view = RawView::of(&foreground);
        // SAFETY: the view lives through the call, which only reads it.
        let c = unsafe { lull_check_earliest_lull(&raw const view, c_interval(interval), flags, leaving, now) };
        prop_assert_eq!(c, earliest_lull(&foreground, interval, rule, Nanos(leaving), Nanos(now)).0);
    }
}

#[test]
fn both_sides_mean_the_same_by_recently() {
    assert_eq!(lull_check_recently_ns(), lull_core::RECENTLY.0);
}
