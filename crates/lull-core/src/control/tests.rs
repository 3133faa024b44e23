use super::*;
use crate::setting::Foreground;
use crate::share::Loss;

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

/// A sensor that is told what happened, and the control that reads it.
struct Device {
    telemetry: Telemetry,
    now: Nanos,
    control: Control,
}

impl Device {
    fn new(aim: ControlSetting) -> Self {
        let mut device = Self { telemetry: Telemetry::default(), now: ms(1_000), control: Control::new(aim) };
        device.control.update(device.now, &device.telemetry);
        device
    }

    /// `n` cycles of a foreground that thinks for `gap` and is served in `latency`; control looks every 50.
    fn cycles(&mut self, n: u64, gap: Nanos, latency: Nanos, meets_background: bool) -> Setting {
        let mut setting = self.control.setting;
        for left in (1..=n.div_ceil(50)).rev() {
            setting = self.chunk(
                if left == 1 { n - (n - 1) / 50 * 50 } else { 50 },
                gap,
                latency,
                meets_background,
            );
        }
        setting
    }

    fn chunk(&mut self, n: u64, gap: Nanos, latency: Nanos, meets_background: bool) -> Setting {
        for _ in 0..n {
            self.now = self.now.plus(gap).plus(latency);
            self.telemetry.gaps.record(gap);
            let histogram =
                if meets_background { &mut self.telemetry.loaded } else { &mut self.telemetry.quiet };
            histogram.record(latency);
            if meets_background {
                self.telemetry.background_started += 1;
                self.telemetry.service.record(latency);
            }
        }
        self.telemetry.foreground_started += n;
        self.telemetry.foreground_last_end = self.now;
        self.control.update(self.now, &self.telemetry)
    }
}

#[test]
fn words_and_numbers_make_choices_and_others_are_named() {
    assert_eq!("auto".parse(), Ok(IntervalChoice::Auto));
    assert_eq!("none".parse(), Ok(IntervalChoice::Fixed(Interval::NONE)));
    assert_eq!("5ms".parse(), Ok(IntervalChoice::Fixed(Interval::Finite(ms(5)))));
    assert_eq!("infinite".parse(), Ok(IntervalChoice::Fixed(Interval::Infinite)));
    assert_eq!("auto".parse(), Ok(DepthChoice::Auto));
    assert_eq!("4".parse(), Ok(DepthChoice::Fixed(4)));
    assert_eq!("none".parse(), Ok(DepthChoice::Fixed(u32::MAX)));
    for text in ["0", "-1", "4.5", "many", ""] {
        let error = text.parse::<DepthChoice>().unwrap_err().to_string();
        assert!(error.contains(&format!("'{text}'")) && error.contains("depth"), "{error}");
    }
    let error = "5".parse::<IntervalChoice>().unwrap_err().to_string();
    assert!(error.contains("'5'") && error.contains("unit") && error.contains("auto"), "{error}");
    for choice in [DepthChoice::Auto, DepthChoice::Fixed(4), DepthChoice::Fixed(u32::MAX)] {
        assert_eq!(choice.to_string().parse(), Ok(choice));
    }
}

#[test]
fn aims_are_read_as_text_and_unknown_keys_are_refused() {
    let aim: ControlSetting =
        serde_json::from_str(r#"{"interval": "5ms", "depth": "4", "budget": "2%", "variant": "bp-bi"}"#)
            .unwrap();
    assert_eq!(aim.budget, Loss::percent(2));
    assert_eq!(aim.free, ControlSetting::default().free);
    let round: ControlSetting = serde_json::from_str(&serde_json::to_string(&aim).unwrap()).unwrap();
    assert_eq!(round, aim);
    let error = serde_json::from_str::<ControlSetting>(r#"{"budgett": "2%"}"#).unwrap_err().to_string();
    assert!(error.contains("budgett"), "{error}");
}

#[test]
fn nothing_measured_means_the_starting_values() {
    for (rotational, interval) in [(true, START_SLOW), (false, START_FAST)] {
        let mut control = Control::new(ControlSetting::default());
        for at in [0, 25, 50] {
            let telemetry = Telemetry { rotational, foreground_started: at, ..Telemetry::default() };
            let setting = control.update(ms(at), &telemetry);
            assert_eq!((setting.interval, setting.depth), (Interval::Finite(interval), 1));
        }
        assert_eq!(control.estimate(), None);
        assert!(!control.is_harmful());
    }
}

#[test]
fn the_estimate_is_the_delay_of_those_that_met_background_over_the_cycle() {
    let mut device = Device::new(ControlSetting::default());
    device.cycles(150, ms(10), ms(1), false);
    device.cycles(150, ms(10), ms(3), true);
    let estimate = device.control.estimate().unwrap();
    assert!((estimate.met.fraction() - 0.5).abs() < 0.01, "{estimate:?}");
    assert!(estimate.delay.0.abs_diff(2_000_000) < 50_000, "{estimate:?}");
    assert!(estimate.cycle.0.abs_diff(12_000_000) < 100_000, "{estimate:?}");
    assert!((estimate.loss.fraction() - 1.0 / 12.0).abs() < 0.005, "{estimate:?}");
    assert!(device.control.is_harmful(), "background in every gap would cost 15%");
}

#[test]
fn background_that_does_no_harm_is_let_in_at_once_and_is_not_held() {
    let mut device = Device::new(ControlSetting::default());
    device.cycles(150, ms(10), ms(1), false);
    let setting = device.cycles(150, ms(10), ms(1), true);
    assert_eq!(setting.interval, Interval::NONE);
    assert!(!device.control.is_harmful());
}

#[test]
fn a_fixed_interval_is_kept_and_always_worth_holding_for() {
    let interval = Interval::Finite(ms(7));
    let mut device = Device::new(ControlSetting {
        interval: IntervalChoice::Fixed(interval),
        ..ControlSetting::default()
    });
    assert_eq!(device.cycles(500, ms(10), ms(1), false).interval, interval);
    assert!(device.control.is_harmful());
}

#[test]
fn without_a_baseline_background_is_withheld_now_and_then() {
    let mut device = Device::new(ControlSetting::default());
    device.cycles(100, ms(1), Nanos::from_micros(100), false);
    let mut withheld = 0;
    for _ in 0..640 {
        let setting = device.cycles(50, ms(1), Nanos::from_micros(100), true);
        withheld += u32::from(setting.interval > Interval::Finite(ms(3)));
    }
    assert!((5..60).contains(&withheld), "about one epoch in 32 of 640: {withheld}");
}

#[test]
fn the_bound_opens_when_the_foreground_has_gone() {
    let mut device = Device::new(ControlSetting::default());
    device.cycles(500, ms(1), Nanos::from_micros(100), false);
    let setting = device.control.setting;
    let depth = |away| setting.opening.depth(setting.depth, Foreground::Away(away));
    assert_eq!(depth(ms(1)), 1);
    assert!(depth(ms(500)) > 20, "{}", depth(ms(500)));
    assert_eq!(setting.opening.depth(setting.depth, Foreground::Unseen(Nanos::MAX)), u32::MAX);
}

#[test]
fn a_sensor_that_restarts_is_counted_from_zero() {
    let mut device = Device::new(ControlSetting::default());
    device.cycles(500, ms(10), ms(1), false);
    device.cycles(500, ms(10), ms(3), true);
    let before = device.control.estimate().unwrap();
    device.telemetry = Telemetry { foreground_last_end: device.now, ..Telemetry::default() };
    device.control.update(device.now, &device.telemetry);
    device.cycles(10, ms(10), ms(3), true);
    let after = device.control.estimate().unwrap();
    assert!(after.loss.fraction() < 2.0 * before.loss.fraction(), "{before:?}, then {after:?}");
}

#[test]
fn a_disk_that_claims_to_rotate_is_fast_once_it_was_seen_to_be() {
    let mut telemetry = Telemetry { rotational: true, ..Telemetry::default() };
    assert!(is_slow(&telemetry));
    for _ in 0..FEW {
        telemetry.loaded.record(Nanos::from_micros(130));
    }
    assert!(!is_slow(&telemetry), "beside background, too");
    for _ in 0..FEW {
        telemetry.quiet.record(ms(8));
    }
    assert!(is_slow(&telemetry), "latency without background says most");
    telemetry.rotational = false;
    assert!(is_slow(&telemetry), "and more than the claim");
}

#[test]
fn forgotten_costs_leave_what_the_foreground_does_by_itself() {
    let mut device = Device::new(ControlSetting::default());
    device.cycles(150, ms(10), ms(1), false);
    device.cycles(150, ms(10), ms(3), true);
    let harm = device.control.unrestrained;
    device.control.restart_costs();
    assert_eq!(device.control.estimate(), None);
    let setting = device.cycles(50, ms(10), ms(1), false);
    assert!(device.control.unrestrained < harm / 2.0, "the delay is assumed anew");
    assert_eq!(device.control.service(&device.control.window.view(), &device.telemetry), None);
    let counts = device.control.window.view();
    assert!(counts.gaps.count() >= 200 && counts.quiet.count() >= 100 && counts.loaded.count() == 0);
    assert!(setting.interval < Interval::Finite(ms(20)));
    device.cycles(150, ms(10), ms(3), true);
    assert!(device.control.estimate().unwrap().delay.0.abs_diff(2_000_000) < 50_000, "and measured anew");
}

#[test]
fn regular_gaps_close_and_the_bound_does_not_open_before_they_open_again() {
    let mut device = Device::new(ControlSetting::default());
    device.cycles(150, ms(10), ms(1), false);
    let setting = device.cycles(50, ms(10), ms(3), true);
    let closing = setting.closing.unwrap();
    assert_eq!(setting.interval, Interval::NONE);
    assert!(closing.from < ms(10) && closing.until > ms(10), "{closing:?}");
    assert!(setting.opening.after >= closing.until, "{setting:?}");
    let fixed =
        ControlSetting { interval: IntervalChoice::Fixed(Interval::NONE), ..ControlSetting::default() };
    let mut device = Device::new(fixed);
    device.cycles(150, ms(10), ms(1), false);
    assert_eq!(device.cycles(50, ms(10), ms(3), true).closing, None, "a fixed interval is all there is");
}
