//! The interval holds the true slowdown, at every look, whatever the foreground is like.

use lull_core::{Measure, Nanos, Trial, TrialSetting};

use crate::foreground::{Arrivals, Foreground, Service};

const RUNS: u64 = 800;
const POLL: Nanos = Nanos(5_000_000);

pub(crate) fn setting(measure: Measure) -> TrialSetting {
    TrialSetting { measure, washout: Nanos::from_millis(6), ..TrialSetting::default() }
}

/// Runs for `seconds`; calls `look` after each poll.
pub(crate) fn drive(
    trial: &mut Trial,
    foreground: &mut Foreground,
    from: Nanos,
    seconds: u64,
    mut look: impl FnMut(Nanos, &Trial),
) -> Nanos {
    let end = from.plus(Nanos::from_secs(seconds));
    let mut now = from;
    while now < end {
        let reading = foreground.run_until(now, trial.arm());
        trial.record(now, reading, true);
        look(now, trial);
        now = trial
            .next_change()
            .map_or_else(|| now.plus(POLL), |next| next.clamp(now.plus(Nanos(1)), now.plus(POLL)));
    }
    end
}

struct Coverage {
    /// Share of runs in which no look missed the true ratio.
    always: f64,
    /// Share of runs in which the last look did not.
    last: f64,
    /// Median width of the last interval.
    width: f64,
    /// Mean of the last estimates over the true ratio.
    bias: f64,
    ratio: f64,
}

fn cover(measure: Measure, ratio: f64, seconds: u64, make: impl Fn(u64) -> Foreground) -> Coverage {
    let (mut always, mut last) = (0.0, 0.0);
    let mut widths = Vec::new();
    let mut bias = 0.0;
    for seed in 0..RUNS {
        let mut trial = Trial::new(setting(measure), seed);
        let mut foreground = make(1000 + seed);
        let mut missed = false;
        let holds = |trial: &Trial| trial.slowdown().is_none_or(|s| s.low <= ratio && ratio <= s.high);
        drive(&mut trial, &mut foreground, Nanos(1), seconds, |_, trial| missed |= !holds(trial));
        always += f64::from(u8::from(!missed));
        last += f64::from(u8::from(holds(&trial)));
        let slowdown = trial.slowdown().expect("every run has pairs");
        widths.push(slowdown.high - slowdown.low);
        bias += slowdown.ratio / ratio;
    }
    widths.sort_by(f64::total_cmp);
    let runs = RUNS as f64;
    Coverage {
        always: always / runs,
        last: last / runs,
        width: widths[widths.len() / 2],
        bias: bias / runs,
        ratio,
    }
}

fn assert_covers(name: &str, coverage: &Coverage) {
    // Requests that outlast the washout blur great harm; small harm they do not.
    if coverage.ratio <= 1.05 {
        assert!(
            (coverage.bias - 1.0).abs() < 0.01,
            "{name}: estimates are {:.4} of the truth",
            coverage.bias
        );
    }
    assert!(coverage.always >= 0.93, "{name}: {:.3} of runs always covered", coverage.always);
    assert!(coverage.last >= 0.95, "{name}: {:.3} of runs covered at the end", coverage.last);
}

const HARMS: [f64; 5] = [0.0, 0.02, 0.05, 0.2, 1.0];

#[test]
fn it_covers_when_service_times_are_exponential() {
    for harm in HARMS {
        let make = |seed| Foreground::new(Arrivals::Poisson(600.0), Service::Exponential, harm, seed);
        let coverage = cover(Measure::Mean, 1.0 + harm, 10, make);
        assert_covers(&format!("exponential, harm {harm}"), &coverage);
        assert!(coverage.width < 1.2 * (harm + 0.25), "narrow enough to be of use: {:.3}", coverage.width);
    }
}

#[test]
fn it_covers_when_service_times_have_a_heavy_tail() {
    for harm in HARMS {
        let make = |seed| Foreground::new(Arrivals::Poisson(600.0), Service::LogNormal(1.2), harm, seed);
        assert_covers(&format!("lognormal, harm {harm}"), &cover(Measure::Mean, 1.0 + harm, 10, make));
    }
}

#[test]
fn it_covers_when_requests_come_in_bursts() {
    let arrivals = Arrivals::OnOff { per_second: 1500.0, on_ms: 30.0, off_ms: 90.0 };
    for harm in HARMS {
        for service in [Service::Exponential, Service::LogNormal(1.0)] {
            let make = |seed| Foreground::new(arrivals, service, harm, seed);
            assert_covers(
                &format!("bursts, {service:?}, harm {harm}"),
                &cover(Measure::Mean, 1.0 + harm, 10, make),
            );
        }
    }
}

#[test]
fn it_covers_the_rate_of_a_closed_loop() {
    for harm in HARMS {
        let make =
            |seed| Foreground::new(Arrivals::Closed { think_ms: 1.0 }, Service::Exponential, harm, seed);
        let ratio = (1.0 + 1.0 + harm) / 2.0;
        assert_covers(&format!("rate, harm {harm}"), &cover(Measure::Rate, ratio, 10, make));
    }
}

#[test]
fn it_covers_when_the_foreground_slows_down_by_itself() {
    for harm in [0.0, 0.2] {
        let make = |seed| {
            let mut foreground = Foreground::new(Arrivals::Poisson(600.0), Service::Exponential, harm, seed);
            foreground.trend = 0.2;
            foreground
        };
        assert_covers(&format!("trend, harm {harm}"), &cover(Measure::Mean, 1.0 + harm, 10, make));
    }
}
