//! Theory against simulation: delay, foreground and background within 15% over the grid.

use super::*;
use crate::class::Class;
use crate::device::{Device, Server};
use crate::policy::Policy;
use crate::workload::Workload;
use crate::world::{Client, World};
use lull_core::Setting;
use proptest::prelude::*;

const SECONDS: u64 = 120;
const WITHIN: f64 = 0.15;

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn as_span(service: ServiceTime) -> Span {
    match service {
        ServiceTime::Fixed(span) => Span::Fixed(span),
        ServiceTime::Exponential(mean) => Span::Exponential(mean),
    }
}

struct Measured {
    foreground_per_s: f64,
    background_per_s: f64,
    latency_ns: f64,
}

fn simulate(
    foreground: Workload,
    service: ServiceTime,
    background: &Background,
    rules: Option<&Rules>,
    seconds: u64,
) -> Measured {
    let device = Device::Server(Server {
        slots: 1,
        foreground: as_span(service),
        background: as_span(background.service),
        drag: 0.0,
    });
    let policy = rules.map_or(Policy::Alone, |rules| {
        Policy::Fixed(Setting { interval: rules.interval, variant: rules.variant, ..Setting::default() })
    });
    let mut world = World::new(1);
    let station = world.add_station(device, &policy);
    let (bytes, work, sequential) = (512, None, false);
    world.add_client(Client {
        station,
        class: Class::Foreground,
        workload: foreground,
        bytes,
        work,
        sequential,
    });
    for _ in 0..if background.think.is_some() { 1 } else { 2 } {
        let workload = Workload::Closed { think: Span::Fixed(background.think.unwrap_or_default()) };
        world.add_client(Client { station, class: Class::Background, workload, bytes, work, sequential });
    }
    world.run_until(Nanos::from_secs(seconds));
    let of = |class| world.tally(station, class);
    let latency = &of(Class::Foreground).latency;
    Measured {
        foreground_per_s: of(Class::Foreground).completed as f64 / seconds as f64,
        background_per_s: of(Class::Background).completed as f64 / seconds as f64,
        latency_ns: latency.sum_ns as f64 / latency.count().max(1) as f64,
    }
}

/// Within 15%; for what is hardly there, within a part of its scale.
fn close(theory: f64, simulated: f64, scale: f64) -> bool {
    (theory - simulated).abs() <= WITHIN * simulated.abs().max(0.05 * scale)
}

fn services() -> impl Strategy<Value = ServiceTime> {
    (2..30_u64, any::<bool>()).prop_map(|(mean, fixed)| {
        if fixed { ServiceTime::Fixed(ms(mean)) } else { ServiceTime::Exponential(ms(mean)) }
    })
}

fn rules() -> impl Strategy<Value = Rules> {
    (0..80_u64, 0..4_usize, 0..20_u32).prop_map(|(interval, variant, never)| Rules {
        interval: if never == 0 { Interval::Infinite } else { Interval::Finite(ms(interval)) },
        variant: Variant::ALL[variant],
    })
}

fn backgrounds() -> impl Strategy<Value = Background> {
    let think = prop_oneof![Just(None), (1..3_u64).prop_map(|think| Some(ms(think)))];
    (services(), think).prop_map(|(service, think)| Background { service, think })
}

fn thinks() -> impl Strategy<Value = Span> {
    (5..200_u64, 0..3_u32).prop_map(|(mean, kind)| match kind {
        0 => Span::Exponential(ms(mean)),
        1 => Span::Between(ms(mean / 2), ms(mean + mean / 2)),
        _ => Span::Pareto { least: ms(mean / 3 + 1), tail: 3.0 },
    })
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 8, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn a_closed_foreground_is_forecast(
        think in thinks(), service in services(), background in backgrounds(), rules in rules(),
    ) {
        let Nanos(mean) = match service { ServiceTime::Fixed(s) | ServiceTime::Exponential(s) => s };
        let forecast = Closed { think, service: Nanos(mean) }.forecast(&background, &rules);
        let seconds = SECONDS * 10;
        let run = |rules| simulate(Workload::Closed { think }, service, &background, rules, seconds);
        let (with, alone) = (run(Some(&rules)), run(None));
        let delay = with.latency_ns - alone.latency_ns;
        let cycle = 1e9 / alone.foreground_per_s;
        prop_assert!(close(forecast.foreground_per_s, with.foreground_per_s, 1.0), "{forecast:?}");
        prop_assert!(
            close(forecast.background_per_s, with.background_per_s, 1e9 / background.service.mean_ns()),
            "{forecast:?}, simulated {}", with.background_per_s
        );
        prop_assert!(close(forecast.delay_ns, delay, cycle), "{forecast:?}, simulated {delay}");
    }

    #[test]
    fn open_foregrounds_are_forecast(
        load in 5..75_u64, service in services(), background in backgrounds(), rules in rules(),
    ) {
        let every = Nanos(nanos_of(service) * 100 / load);
        let open = Open { every, service };
        let forecast = open.forecast(&background, &rules).unwrap();
        let seconds = SECONDS * 40;
        let run = |rules| simulate(Workload::Poisson { every }, service, &background, rules, seconds);
        let (with, alone) = (run(Some(&rules)), run(None));
        let delay = with.latency_ns - alone.latency_ns;
        let latency = alone.latency_ns;
        prop_assert!(close(forecast.foreground_per_s, with.foreground_per_s, 1.0));
        prop_assert!(
            close(forecast.background_per_s, with.background_per_s, 1e9 / background.service.mean_ns()),
            "{forecast:?}, simulated {}", with.background_per_s
        );
        prop_assert!(close(forecast.delay_ns, delay, 2.0 * latency), "{forecast:?}, simulated {delay}");
        let wait = open.wait_alone_ns().unwrap() + nanos_of(service) as f64;
        prop_assert!(close(wait, latency, latency), "alone {wait}, simulated {latency}");
    }
}

fn nanos_of(service: ServiceTime) -> u64 {
    match service {
        ServiceTime::Fixed(span) | ServiceTime::Exponential(span) => span.0,
    }
}

#[test]
fn both_ends_of_the_interval() {
    let background = Background { service: ServiceTime::Fixed(ms(20)), think: None };
    let closed = Closed { think: Span::Fixed(ms(30)), service: ms(20) };
    let of = |interval| closed.forecast(&background, &Rules { interval, variant: Variant::default() });
    let never = of(Interval::Infinite);
    assert_eq!((never.delay_ns, never.foreground, never.background_per_s), (0.0, 1.0, 0.0));
    let plain = of(Interval::NONE);
    assert_eq!(plain.delay_ns, 1e7, "two services of 20 ms in a gap of 30");
    assert!((plain.background_per_s - 2e9 / 6e7).abs() < 1e-9);
    assert!(
        Open { every: ms(5), service: ServiceTime::Fixed(ms(5)) }
            .forecast(&background, &Rules { interval: Interval::NONE, variant: Variant::default() })
            .is_none()
    );
}
