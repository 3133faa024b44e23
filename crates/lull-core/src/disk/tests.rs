use super::*;
use crate::idletime::setting::Foreground;

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
        for chunk in 0..n.div_ceil(50) {
            for _ in 0..50.min(n - chunk * 50) {
                self.now = self.now.plus(gap).plus(latency);
                self.telemetry.gaps.record(gap);
                let told = &mut self.telemetry;
                if meets_background { &mut told.loaded } else { &mut told.quiet }.record(latency);
                told.foreground_started += 1;
                if meets_background {
                    told.background_started += 1;
                    told.background_bytes += LEAST_BYTES;
                    told.service.record(ms(1));
                    told.is_full = true;
                }
            }
            self.telemetry.foreground_last_end = self.now;
            setting = self.control.update(self.now, &self.telemetry);
        }
        setting
    }
}

#[test]
fn words_and_numbers_make_choices_and_others_are_named() {
    assert_eq!("auto".parse(), Ok(IntervalChoice::Auto));
    assert_eq!("none".parse(), Ok(IntervalChoice::Fixed(Interval::NONE)));
    assert_eq!("5ms".parse(), Ok(IntervalChoice::Fixed(Interval::Finite(ms(5)))));
    assert!("5".parse::<IntervalChoice>().unwrap_err().to_string().contains("unit"));
    assert_eq!("auto".parse(), Ok(DepthChoice::Auto));
    assert_eq!("none".parse(), Ok(DepthChoice::Fixed(u32::MAX)));
    assert_eq!("3".parse(), Ok(DepthChoice::Fixed(3)));
    for text in ["0", "-1", "deep", ""] {
        assert!(text.parse::<DepthChoice>().unwrap_err().to_string().contains(&format!("'{text}'")));
    }
    for (text, bytes) in [
        ("none", u64::MAX),
        ("4096B", 4_096),
        ("256KiB", 256 << 10),
        ("1MiB", 1 << 20),
        ("1.5MiB", 3 << 19),
        ("100kB", 100_000),
    ] {
        assert_eq!(text.parse(), Ok(WindowChoice::Fixed(bytes)));
        assert_eq!(WindowChoice::Fixed(bytes).to_string().parse(), Ok(WindowChoice::Fixed(bytes)));
    }
    assert_eq!(WindowChoice::Fixed(256 << 10).to_string(), "256KiB");
    for text in ["0KiB", "256", "many", "-4KiB"] {
        assert!(text.parse::<WindowChoice>().unwrap_err().to_string().contains(&format!("'{text}'")));
    }
}

#[test]
fn until_anything_is_known_the_claim_of_the_device_decides() {
    for (rotational, interval) in [(false, Nanos::ZERO), (true, START_SLOW)] {
        let mut control = Control::new(ControlSetting::default());
        let setting = control.update(ms(1), &Telemetry { rotational, ..Telemetry::default() });
        assert_eq!(setting.interval, Interval::Finite(interval));
        assert_eq!(setting.window_bytes > LEAST_BYTES, !rotational);
    }
    let mut claims = Device::new(ControlSetting::default());
    claims.telemetry.rotational = true;
    let setting = claims.cycles(50, Nanos::from_micros(200), Nanos::from_micros(40), false);
    assert_eq!(setting.interval, Interval::NONE, "a virtual disk that is fast");
}

#[test]
fn background_waits_until_it_is_known_what_requests_take_without_it() {
    let mut device = Device::new(ControlSetting::default());
    assert_eq!(device.control.in_force().interval, Interval::NONE, "nobody is there");
    assert_eq!(device.cycles(4, ms(1), ms(1), false).interval, Interval::Infinite);
    assert_ne!(device.cycles(8, ms(1), ms(1), false).interval, Interval::Infinite);
    let mut always = Device::new(ControlSetting::default());
    always.cycles(2, ms(10), ms(1), true);
    assert_ne!(always.cycles(50, ms(10), ms(1), true).interval, Interval::Infinite, "not for ever");
}

#[test]
fn a_request_that_met_the_job_has_lost_no_more_than_it_took() {
    let mut device = Device::new(ControlSetting::default());
    // A job that reads ahead by many megabytes: each of its requests is in the device for long.
    for _ in 0..20 {
        device.telemetry.service.record(ms(100));
        device.telemetry.background_started += 4;
        device.telemetry.background_bytes += 16 << 20;
        device.now = device.now.plus(ms(10));
        device.control.update(device.now, &device.telemetry);
    }
    device.cycles(5, ms(5), ms(4), true);
    assert!(device.control.budget().lost() <= ms(20), "{:?}", device.control.budget().lost());
    assert!(!device.control.is_harmful(), "there is credit for more");
}

#[test]
fn what_costs_too_much_makes_background_wait_and_what_costs_nothing_widens_the_window() {
    let us = Nanos::from_micros;
    let mut harmless = Device::new(ControlSetting::default());
    harmless.cycles(200, us(200), us(40), false);
    let setting = harmless.cycles(1_000, us(200), us(41), true);
    assert!(setting.window_bytes > 1 << 20, "{}", setting.window_bytes);
    assert!(!harmless.control.is_harmful() && harmless.control.estimate().unwrap().loss < Loss::percent(1));

    let mut harmful = Device::new(ControlSetting::default());
    harmful.cycles(200, us(200), us(40), false);
    let setting = harmful.cycles(3_000, us(200), us(140), true);
    assert_eq!(setting.window_bytes, LEAST_BYTES);
    assert!(setting.interval > Interval::NONE && harmful.control.is_harmful());
    assert!(harmful.control.budget().kept().worst > 0.1);
}

#[test]
fn the_opening_costs_no_more_than_half_of_the_promise() {
    let mut device = Device::new(ControlSetting::default());
    let setting = device.cycles(200, ms(1), ms(1), true);
    let opening = setting.opening;
    assert_eq!(opening.share, Share::percent(2));
    let wide = opening.window(LEAST_BYTES, Foreground::Away(ms(1_000)));
    let drain = wide as f64 / opening.rate as f64;
    assert!(drain <= 0.021, "{drain}");
}

#[test]
fn a_foreground_that_has_gone_is_not_looked_at_again() {
    let mut device = Device::new(ControlSetting::default());
    device.cycles(300, ms(1), ms(1), false);
    let (window, estimate) = (device.control.window_bytes(), device.control.estimate());
    device.telemetry.background_started += 1_000;
    device.telemetry.service.record(ms(900));
    device.now = device.now.plus(ms(5_000));
    device.control.update(device.now, &device.telemetry);
    assert_eq!((device.control.window_bytes(), device.control.estimate()), (window, estimate));
    assert!(!device.control.withholds() && !device.control.is_harmful());
}

#[test]
fn a_sensor_without_histograms_leaves_the_start_in_force() {
    let mut control = Control::new(ControlSetting::default());
    let mut telemetry = Telemetry::default();
    for look in 1..100 {
        telemetry.foreground_started += 3;
        telemetry.foreground_last_end = ms(look * 10);
        control.update(ms(look * 10), &telemetry);
    }
    assert_eq!(control.window_bytes(), Steering::new().window());
    assert_eq!(control.estimate(), None);
}
