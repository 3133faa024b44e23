//! Automatic control on the virtual clock: what the foreground keeps and what the background gets.
//!
//! The foreground's throughput is compared with that of the same foreground alone, which thinks the same thoughts;
//! the background's with the foreground's idle time, with background alone, or with the best of many fixed settings.

use lull_core::{
    ControlSetting, DepthChoice, Interval, IntervalChoice, LEAST_BYTES, Loss, Nanos, Setting, WindowChoice,
};

use crate::device::{Outcome, Policy, Scene, Think, run};

const SECOND: Nanos = Nanos::from_secs(1);
/// What control finds out first is not counted.
const WARM_UP: Nanos = Nanos::from_secs(4);

const fn us(micros: u64) -> Nanos {
    Nanos::from_micros(micros)
}

/// One request at a time, 20 ms each: the paper's disk.
fn serial(think: Think) -> Scene {
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
        threads: 4,
    }
}

/// So many at once: 4 KiB in 35 us beside 64 KiB in 80 us, and background for twice as many.
fn fast(slots: usize, drag: f64, aftermath: f64, think: Think) -> Scene {
    Scene {
        slots,
        foreground_service: us(35),
        background_service: us(80),
        jitter: 0.3,
        foreground_drag: drag,
        background_drag: drag,
        aftermath,
        lateness: Nanos::ZERO,
        think,
        threads: 2 * slots + 2,
    }
}

/// As `lull run` aims with `--max-slowdown 5%`.
fn auto() -> Policy {
    aiming_at(4)
}

fn aiming_at(percent: u32) -> Policy {
    Policy::Auto(ControlSetting { budget: Loss::percent(percent), ..ControlSetting::default() })
}

fn unbounded() -> Policy {
    Policy::Fixed(Setting { depth: u32::MAX, ..Setting::default() })
}

/// Foreground throughput relative to alone, and background as a share of the foreground's idle time.
fn shares(scene: Scene, policy: Policy, from: Nanos, length: Nanos) -> (f64, f64, Outcome) {
    let alone = run(scene, Policy::Alone, 1, from, length);
    let outcome = run(scene, policy, 1, from, length);
    let idle = 1.0 - alone.foreground_rate() * scene.foreground_service.as_secs_f64();
    let done = outcome.background_rate() * scene.background_service.as_secs_f64();
    (outcome.foreground_rate() / alone.foreground_rate(), done / idle, outcome)
}

/// Background per second without foreground.
fn solo(scene: Scene) -> f64 {
    let scene = Scene { think: Think::Absent, ..scene };
    let length = scene.background_service.times(400);
    run(scene, unbounded(), 1, Nanos(length.0 / 8), length).background_rate()
}

/// The most background per second with a fixed interval and a fixed depth that leave the foreground this part of its throughput.
fn best_fixed(scene: Scene, least: f64, length: Nanos) -> f64 {
    let alone = run(scene, Policy::Alone, 1, Nanos::ZERO, length).foreground_rate();
    let intervals = [0, 1, 2, 4, 8, 16].map(|services| Nanos(scene.background_service.0 * services / 2));
    let depths = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64].into_iter().filter(|depth| *depth <= 2 * scene.slots);
    let settings = depths.flat_map(|depth| intervals.map(|interval| (depth, interval)));
    let done = settings.map(|(depth, interval)| {
        let depth = u32::try_from(depth).unwrap_or(u32::MAX);
        let setting = Setting { depth, interval: Interval::Finite(interval), ..Setting::default() };
        let outcome = run(scene, Policy::Fixed(setting), 1, Nanos::ZERO, length);
        if outcome.foreground_rate() / alone >= least { outcome.background_rate() } else { 0.0 }
    });
    done.fold(0.0, f64::max)
}

/// Think times at which the disk is busy for 10, 25, 50, 75 and 100% of the time.
const INTENSITIES: [(u32, Nanos); 5] =
    [(10, us(180_000)), (25, us(60_000)), (50, us(20_000)), (75, us(6_667)), (100, us(0))];

#[test]
fn on_a_slow_disk_the_foreground_keeps_its_throughput_and_background_gets_what_that_leaves() {
    for (intensity, think) in INTENSITIES {
        let scene = serial(Think::Exponential(think));
        let (foreground, background, _) = shares(scene, auto(), WARM_UP, SECOND.times(120));
        assert!(foreground >= 0.95, "at {intensity}%: foreground {foreground:.3}");
        let done = background * (1.0 - f64::from(intensity) / 100.0) / 0.02;
        // Gaps of random length cannot be foreseen: no setting that costs as little does more.
        let best = best_fixed(scene, 0.96, SECOND.times(60));
        assert!(
            done >= 0.85 * best,
            "at {intensity}%: {done:.1} a second, {best:.1} with the best fixed setting"
        );
        assert!(
            intensity > 10 || background >= 0.70,
            "at {intensity}%: background {background:.3} of the idle time"
        );
    }
}

#[test]
fn a_larger_promise_is_worth_more_background() {
    // The paper's headline: foreground 80%, background 70%.
    for think in [us(60_000), us(20_000)] {
        let scene = serial(Think::Exponential(think));
        let (foreground, background, _) = shares(scene, aiming_at(16), WARM_UP, SECOND.times(60));
        assert!(
            foreground >= 0.80 && background >= 0.70,
            "{think}: foreground {foreground:.3}, background {background:.3}"
        );
    }
}

#[test]
fn regular_gaps_are_used_for_as_much_of_the_time_as_the_promise_allows() {
    for (intensity, think) in INTENSITIES {
        let (foreground, background, _) =
            shares(serial(Think::Fixed(think)), auto(), WARM_UP, SECOND.times(80));
        assert!(foreground >= 0.945, "at {intensity}%: foreground {foreground:.3}");
        assert!(intensity == 100 || background >= 0.15, "at {intensity}%: background {background:.3}");
    }
}

#[test]
fn plain_priority_on_a_slow_disk_costs_what_control_avoids() {
    let scene = serial(Think::Fixed(us(20_000)));
    let (foreground, background, _) = shares(scene, unbounded(), WARM_UP, SECOND.times(20));
    assert!(foreground < 0.6 && background > 0.9, "foreground {foreground:.3}, background {background:.3}");
}

#[test]
fn a_foreground_that_never_pauses_loses_no_more_than_the_floor() {
    let (foreground, _, outcome) = shares(serial(Think::Fixed(us(20))), auto(), WARM_UP, SECOND.times(60));
    assert!(foreground >= 0.96, "foreground {foreground:.3}");
    let floor = outcome.background_rate() * 0.02;
    assert!((0.01..0.03).contains(&floor), "background has {floor:.3} of the disk");
}

#[test]
fn bursts_are_left_alone_and_the_silence_between_them_is_used() {
    for (slots, drag, least) in [(1, 0.0, 0.98), (4, 0.05, 0.97), (32, 0.02, 0.97)] {
        let scene = fast(slots, drag, 0.0, Think::Bursts(100, us(1), us(50_000)));
        let (foreground, _, outcome) = shares(scene, auto(), SECOND, SECOND.times(5));
        let idle = 50.0 / (50.0 + 100.0 * 0.035);
        let background = outcome.background_rate() / solo(scene) / idle;
        assert!(foreground >= least, "{slots} at once: foreground {foreground:.3}");
        assert!(background >= 0.85, "{slots} at once: background {background:.3} of the idle time");
    }
}

/// Devices of several widths, some with harm that outlasts background in service, and foregrounds on them.
fn devices() -> Vec<(&'static str, Scene)> {
    let random = |micros| Think::Exponential(us(micros));
    vec![
        ("1 at once", fast(1, 0.0, 0.0, random(1_000))),
        ("1 at once, hidden harm", fast(1, 0.0, 0.5, random(1_000))),
        ("4 at once", fast(4, 0.1, 0.0, Think::Fixed(us(200)))),
        ("4 at once, hidden harm", fast(4, 0.1, 0.5, random(1_000))),
        ("32 at once", fast(32, 0.02, 0.0, Think::Fixed(us(200)))),
        ("32 at once, hidden harm", fast(32, 0.02, 0.3, Think::Fixed(us(1_000)))),
    ]
}

#[test]
fn on_devices_of_any_width_control_does_most_of_what_the_best_fixed_setting_does() {
    for (name, scene) in devices() {
        let (foreground, _, outcome) = shares(scene, auto(), SECOND, SECOND.times(4));
        let best = best_fixed(scene, 0.96, SECOND);
        let done = outcome.background_rate();
        assert!(foreground >= 0.955, "{name}: foreground {foreground:.3}");
        assert!(done >= 0.85 * best, "{name}: {done:.0} a second, {best:.0} with the best fixed setting");
    }
}

#[test]
fn the_window_is_found_within_two_hundred_requests_and_stays() {
    for (name, scene) in devices() {
        let outcome = run(scene, auto(), 1, Nanos::ZERO, SECOND.times(4));
        let windows = outcome
            .windows
            .iter()
            .filter(|(requests, _)| *requests > 200)
            .map(|(_, window)| window / LEAST_BYTES);
        let (least, most) =
            windows.fold((u64::MAX, 0), |(least, most), window| (least.min(window), most.max(window)));
        assert!(most <= 2 * least, "{name}: from {least} to {most} requests of 64 KiB");
    }
}

#[test]
fn on_a_parallel_device_both_run_nearly_as_if_alone() {
    for think in [Think::Fixed(us(200)), Think::Exponential(us(200))] {
        let scene = Scene { threads: 4, ..fast(16, 0.01, 0.0, think) };
        let (foreground, _, outcome) = shares(scene, auto(), us(500_000), SECOND.times(2));
        let background = outcome.background_rate() / solo(scene);
        let alone = run(scene, Policy::Alone, 1, us(500_000), SECOND.times(2));
        let tail = outcome.p99() as f64 / alone.p99() as f64;
        assert!(tail <= 1.10, "{think:?}: p99 {tail:.2} of alone");
        assert!(foreground >= 0.98, "{think:?}: foreground {foreground:.3}");
        assert!(background >= 0.90, "{think:?}: background {background:.3} of solo");
    }
}

#[test]
fn without_foreground_background_runs_at_full_speed() {
    for scene in [fast(16, 0.01, 0.0, Think::Absent), serial(Think::Absent)] {
        let (from, length) =
            if scene.slots == 1 { (SECOND, SECOND.times(12)) } else { (SECOND, us(1_200_000)) };
        let free = run(scene, unbounded(), 1, from, length);
        let outcome = run(scene, auto(), 1, from, length);
        let speed = outcome.background_rate() / free.background_rate();
        assert!(speed >= 0.99, "{} slots: {speed:.3}", scene.slots);
    }
}

#[test]
fn harm_that_follows_background_is_found_and_kept_within_the_promise() {
    let scene = Scene { aftermath: 1.0, threads: 4, ..fast(16, 0.01, 0.0, Think::Fixed(us(200))) };
    let (plain, ..) = shares(scene, unbounded(), SECOND, SECOND.times(3));
    let (kept, background, _) = shares(scene, auto(), SECOND, SECOND.times(3));
    assert!(plain < 0.9, "plain {plain:.3}");
    assert!(kept >= 0.95, "auto {kept:.3}");
    assert!(background > 0.05, "background {background:.3}");
}

#[test]
fn what_the_user_fixed_stays() {
    let interval = Interval::Finite(us(40_000));
    let fixed = ControlSetting {
        interval: IntervalChoice::Fixed(interval),
        depth: DepthChoice::Fixed(3),
        ..ControlSetting::default()
    };
    let scene = serial(Think::Fixed(us(30_000)));
    let (_, background, outcome) = shares(scene, Policy::Auto(fixed), WARM_UP, SECOND.times(20));
    let setting = outcome.setting.unwrap();
    assert_eq!((setting.interval, setting.depth, setting.window_bytes), (interval, 3, u64::MAX));
    assert!(background < 0.02, "gaps of 30 ms are shorter than the interval of 40 ms: {background:.3}");

    let window = ControlSetting { window: WindowChoice::Fixed(2 * LEAST_BYTES), ..ControlSetting::default() };
    let scene = fast(16, 0.0, 0.0, Think::Fixed(us(200)));
    let outcome = run(scene, Policy::Auto(window), 1, SECOND, SECOND.times(2));
    let two_at_once = outcome.background_rate() * 80e-6;
    assert_eq!(outcome.setting.unwrap().window_bytes, 2 * LEAST_BYTES);
    assert!((1.0..2.01).contains(&two_at_once), "{two_at_once:.2} at a time");
}
