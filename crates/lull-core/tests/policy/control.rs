//! Automatic control on the virtual clock: what the foreground keeps and what the background gets.
//!
//! The foreground's throughput is compared with that of the same foreground alone, which thinks the same thoughts;
//! the background's with the foreground's idle time, or with background alone.

use lull_core::{ControlSetting, DepthChoice, Interval, IntervalChoice, Nanos, Setting};

use crate::device::{Outcome, Policy, Scene, Think, run};

const SECOND: Nanos = Nanos::from_secs(1);
/// What control finds out first is not counted.
const WARM_UP: Nanos = Nanos::from_secs(4);

/// One request at a time, 20 ms each: the paper's disk.
fn serial(think: Think, threads: usize) -> Scene {
    Scene {
        slots: 1,
        foreground_service: Nanos::from_millis(20),
        background_service: Nanos::from_millis(20),
        jitter: 0.1,
        foreground_drag: 0.0,
        background_drag: 0.0,
        aftermath: 0.0,
        lateness: Nanos::ZERO,
        think,
        threads,
    }
}

/// Sixteen at once: 4 KiB in 35 us beside 64 KiB in 80 us.
fn parallel(think: Think, threads: usize) -> Scene {
    Scene {
        slots: 16,
        foreground_service: Nanos::from_micros(35),
        background_service: Nanos::from_micros(80),
        jitter: 0.3,
        foreground_drag: 0.01,
        background_drag: 0.01,
        aftermath: 0.0,
        lateness: Nanos::ZERO,
        think,
        threads,
    }
}

fn auto() -> Policy {
    Policy::Auto(ControlSetting::default())
}

fn unbounded() -> Policy {
    Policy::Fixed(Setting { depth: u32::MAX, ..Setting::default() })
}

/// Foreground throughput relative to alone, the outcome, and background as a share of the foreground's idle time.
fn on_serial(think: Think, policy: Policy, seed: u64) -> (f64, Outcome, f64) {
    let scene = serial(think, 4);
    let length = SECOND.times(80);
    let alone = run(scene, Policy::Alone, seed, WARM_UP, length);
    let outcome = run(scene, policy, seed, WARM_UP, length);
    let idle = 1.0 - alone.foreground_rate() * scene.foreground_service.as_secs_f64();
    let share = outcome.background_rate() * scene.background_service.as_secs_f64() / idle;
    (outcome.foreground_rate() / alone.foreground_rate(), outcome, share)
}

/// Think times at which the disk is busy for 10, 25, 50 and 75% of the time.
const INTENSITIES: [(u32, Nanos); 4] = [
    (10, Nanos::from_millis(180)),
    (25, Nanos::from_millis(60)),
    (50, Nanos::from_millis(20)),
    (75, Nanos::from_micros(6_667)),
];

#[test]
fn on_a_slow_disk_the_foreground_keeps_its_throughput_and_background_gets_the_rest() {
    let mut background_at_ten = 0.0;
    for (intensity, think) in INTENSITIES {
        for (kind, think) in [("random", Think::Exponential(think)), ("fixed", Think::Fixed(think))] {
            let (foreground, outcome, background) = on_serial(think, auto(), 1);
            assert!(foreground >= 0.945, "{kind} at {intensity}%: foreground {foreground:.3}");
            assert!(background >= 0.10, "{kind} at {intensity}%: background {background:.3}");
            assert_eq!(
                outcome.deepest, 1,
                "{kind} at {intensity}%: a longer queue gains nothing on this disk"
            );
            if intensity == 10 {
                background_at_ten += background / 2.0;
            }
        }
    }
    assert!(background_at_ten >= 0.65, "background at 10%: {background_at_ten:.3} of the idle time");
}

#[test]
fn plain_priority_on_a_slow_disk_costs_what_control_avoids() {
    let (foreground, _, background) = on_serial(Think::Fixed(Nanos::from_millis(20)), unbounded(), 1);
    assert!(foreground < 0.6 && background > 0.9, "foreground {foreground:.3}, background {background:.3}");
}

#[test]
fn gaps_much_shorter_than_the_service_time_are_left_alone() {
    let (foreground, outcome, _) = on_serial(Think::Fixed(Nanos::from_micros(20)), auto(), 1);
    assert!(foreground >= 0.99, "foreground {foreground:.3}");
    assert!(outcome.background_rate() < 0.5, "background {:.2}/s", outcome.background_rate());
}

#[test]
fn on_a_parallel_device_both_run_nearly_as_if_alone() {
    for (think, threads, least) in [
        (Think::Fixed(Nanos::from_micros(200)), 4, 0.7),
        (Think::Exponential(Nanos::from_micros(200)), 4, 0.7),
        (Think::Fixed(Nanos::from_micros(200)), 32, 0.25),
    ] {
        let scene = parallel(think, threads);
        let (from, length) = (Nanos::from_millis(500), Nanos::from_millis(1_500));
        let alone = run(scene, Policy::Alone, 1, from, length);
        let outcome = run(scene, auto(), 1, from, length);
        let absent = Scene { think: Think::Absent, ..scene };
        let solo = run(absent, unbounded(), 1, Nanos::from_millis(10), Nanos::from_millis(60));
        let foreground = outcome.foreground_rate() / alone.foreground_rate();
        let tail = outcome.p99() as f64 / alone.p99() as f64;
        let background = outcome.background_rate() / solo.background_rate();
        assert!(foreground >= 0.98, "{think:?} x{threads}: foreground {foreground:.3}");
        assert!(tail <= 1.10, "{think:?} x{threads}: p99 {tail:.2} of alone");
        assert!(background >= least, "{think:?} x{threads}: background {background:.3} of solo");
    }
}

#[test]
fn without_foreground_background_runs_at_full_speed() {
    for scene in [parallel(Think::Absent, 32), serial(Think::Absent, 4)] {
        let (from, length) = if scene.slots == 1 {
            (SECOND.times(2), SECOND.times(12))
        } else {
            (SECOND, Nanos::from_millis(1_200))
        };
        let free = run(scene, unbounded(), 1, from, length);
        let outcome = run(scene, auto(), 1, from, length);
        let speed = outcome.background_rate() / free.background_rate();
        assert!(speed >= 0.99, "{} slots: {speed:.3}", scene.slots);
    }
}

#[test]
fn control_has_its_bearings_within_a_second_on_a_fast_device_and_twenty_requests_on_a_slow_one() {
    let fast = parallel(Think::Fixed(Nanos::from_micros(200)), 4);
    let found = run(fast, auto(), 1, Nanos::ZERO, Nanos::from_millis(250));
    assert_eq!(
        found.setting.map(|setting| setting.interval),
        Some(Interval::NONE),
        "background does no harm here"
    );

    let slow = serial(Think::Fixed(Nanos::from_millis(20)), 4);
    let alone = run(slow, Policy::Alone, 1, SECOND, SECOND.times(10));
    let found = run(slow, auto(), 1, SECOND, SECOND.times(10));
    let foreground = found.foreground_rate() / alone.foreground_rate();
    assert!(foreground >= 0.93, "{foreground:.3} after the first second");
}

#[test]
fn what_the_user_fixed_stays() {
    let interval = Interval::Finite(Nanos::from_millis(40));
    let fixed = ControlSetting {
        interval: IntervalChoice::Fixed(interval),
        depth: DepthChoice::Fixed(3),
        ..ControlSetting::default()
    };
    let (_, outcome, background) = on_serial(Think::Fixed(Nanos::from_millis(30)), Policy::Auto(fixed), 1);
    let setting = outcome.setting.unwrap();
    assert_eq!((setting.interval, setting.depth, outcome.deepest), (interval, 3, 3));
    assert!(background < 0.02, "gaps of 30 ms are shorter than the interval of 40 ms: {background:.3}");
}

/// Four at once, as a virtual disk: 64 KiB take 200 us alone, 290 us two at a time and 500 us four at a time; a
/// 4 KiB read takes 100 us, and 40 us more for each of these in service.
fn regular(think: Think) -> Scene {
    Scene {
        slots: 8,
        foreground_service: Nanos::from_micros(100),
        background_service: Nanos::from_micros(200),
        jitter: 0.0,
        foreground_drag: 0.4,
        background_drag: 0.48,
        aftermath: 0.0,
        lateness: Nanos::from_micros(30),
        think,
        threads: 4,
    }
}

#[test]
fn regular_gaps_on_a_parallel_device_are_used_early_and_left_in_time() {
    let scene = regular(Think::Between(Nanos::from_micros(250), Nanos::from_micros(300)));
    let (from, length) = (Nanos::from_millis(500), SECOND.times(4));
    let alone = run(scene, Policy::Alone, 1, from, length);
    let outcome = run(scene, auto(), 1, from, length);
    let foreground = outcome.foreground_rate() / alone.foreground_rate();
    let per_gap = outcome.background_rate() / alone.foreground_rate();
    assert!(foreground >= 0.98, "foreground {foreground:.3}");
    assert!(outcome.p99() <= alone.p99() * 11 / 10, "p99 {} of {}", outcome.p99(), alone.p99());
    assert!(per_gap > 0.9, "one request of 200 us fits into each gap of 250 us: {per_gap:.3}");
    for interval in (0..350).step_by(25).map(Nanos::from_micros) {
        let setting = Setting { interval: Interval::Finite(interval), ..Setting::default() };
        let fixed = run(scene, Policy::Fixed(setting), 1, from, SECOND);
        let kept = fixed.foreground_rate() / alone.foreground_rate();
        let done = fixed.background_rate() / outcome.background_rate();
        assert!(kept < 0.98 || done < 0.5, "{interval} alone: foreground {kept:.3}, background {done:.3}");
    }
}

#[test]
fn regular_gaps_on_a_slow_disk_are_used_early_and_left_in_time() {
    for (think, least) in [(180, 0.75), (60, 0.6)] {
        let (from, to) = (Nanos::from_millis(think * 9 / 10), Nanos::from_millis(think * 11 / 10));
        for think in [Think::Fixed(Nanos::from_millis(think)), Think::Between(from, to)] {
            let (foreground, outcome, background) = on_serial(think, auto(), 1);
            assert!(foreground >= 0.97, "{think:?}: foreground {foreground:.3}");
            assert!(background >= least, "{think:?}: background {background:.3} of the idle time");
            assert!(outcome.setting.is_some_and(|setting| setting.closing.is_some()), "{think:?}");
        }
    }
}

#[test]
fn long_regular_gaps_let_several_run_at_once_and_end_in_time() {
    let scene = regular(Think::Between(Nanos::from_millis(3), Nanos::from_micros(3_300)));
    let scene = Scene { jitter: 0.2, ..scene };
    let (from, length) = (SECOND, SECOND.times(4));
    let alone = run(scene, Policy::Alone, 1, from, length);
    let solo = run(Scene { think: Think::Absent, ..scene }, unbounded(), 1, Nanos::from_millis(10), SECOND);
    let outcome = run(scene, auto(), 1, from, length);
    let foreground = outcome.foreground_rate() / alone.foreground_rate();
    let background = outcome.background_rate() / solo.background_rate();
    assert!(foreground >= 0.98 && outcome.p99() <= alone.p99() * 11 / 10, "foreground {foreground:.3}");
    assert!(background >= 0.5 && outcome.deepest > 1, "background {background:.3} of solo");
}

#[test]
fn gaps_without_a_usual_length_do_not_close() {
    for think in [Nanos::from_millis(60), Nanos::from_millis(20)] {
        let (_, outcome, _) = on_serial(Think::Exponential(think), auto(), 1);
        assert_eq!(outcome.setting.and_then(|setting| setting.closing), None, "{think}");
    }
}

#[test]
fn gaps_that_are_regular_but_too_short_do_not_close() {
    let scene = regular(Think::Fixed(Nanos::from_micros(120)));
    let (from, length) = (Nanos::from_millis(500), SECOND.times(2));
    let alone = run(scene, Policy::Alone, 1, from, length);
    let outcome = run(scene, auto(), 1, from, length);
    assert_eq!(outcome.setting.and_then(|setting| setting.closing), None);
    let foreground = outcome.foreground_rate() / alone.foreground_rate();
    assert!(foreground >= 0.955, "within the budget: {foreground:.3}");
}

#[test]
fn harm_that_the_sensor_does_not_see_is_found_and_kept_within_the_budget() {
    let scene = Scene { aftermath: 1.0, ..parallel(Think::Fixed(Nanos::from_micros(200)), 4) };
    let (from, length) = (SECOND.times(2), SECOND.times(4));
    let alone = run(scene, Policy::Alone, 1, from, length);
    let plain = run(scene, unbounded(), 1, from, length);
    let auto = run(scene, auto(), 1, from, length);
    let kept = |outcome: &Outcome| outcome.foreground_rate() / alone.foreground_rate();
    assert!(kept(&plain) < 0.9, "plain {:.3}", kept(&plain));
    assert!(kept(&auto) >= 0.95, "auto {:.3}", kept(&auto));
    assert!(auto.background_rate() > 0.0);
}
