use super::*;
use crate::trace::{Traced, parse};

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn question() -> Question {
    Question { budget: Loss::percent(5), device: None, service: None, background_service: None }
}

/// Requests of 10 ms with these gaps before them, over and over.
fn trace(gaps: &[u64], count: usize) -> Trace {
    let (mut now, mut requests) = (Nanos::ZERO, Vec::new());
    for gap in gaps.iter().cycle().take(count) {
        let arrival = now.plus(ms(*gap));
        now = arrival.plus(ms(10));
        requests.push(Traced { arrival, end: now, class: Class::Foreground, bytes: 4_096, device: 0 });
    }
    let devices = vec!["vda".to_owned()];
    Trace { format: Format::Recording, devices, requests, timed: true, resolution: Nanos(1), unmatched: 0 }
}

#[test]
fn bursts_with_long_gaps_want_an_interval_between_the_two() {
    let mut gaps = vec![2; 19];
    gaps.push(500);
    let advice = advise(&trace(&gaps, 1_000), &question()).unwrap();
    let best = advice.recommended.unwrap();
    assert!(best.interval >= ms(2) && best.interval < ms(100), "{best:?}");
    assert!(best.loss <= 0.05 && best.background > 0.5, "{best:?}");
    assert_eq!((advice.slots, best.depth, best.variant), (1, 1, Variant::default()));
    let plain = advice.candidates[0];
    assert!(plain.interval == Nanos::ZERO && plain.loss > 0.15, "plain priority costs a lot here: {plain:?}");
    assert!(advice.automatic.background > 0.5 && advice.automatic.loss < 0.06, "{:?}", advice.automatic);
    assert!(best.on_frontier && plot(&advice).unwrap().contains("budget 5%"));
}

#[test]
fn a_foreground_that_leaves_no_usable_gap_gets_no_background() {
    let advice = advise(&trace(&[1], 1_000), &question()).unwrap();
    assert_eq!(advice.recommended, None, "{:?}", advice.candidates);
}

#[test]
fn a_larger_budget_never_gives_less() {
    let trace = trace(&[3, 40, 7, 90, 15], 600);
    let work = |percent| {
        let question = Question { budget: Loss::percent(percent), ..question() };
        advise(&trace, &question).unwrap().recommended.map_or(0.0, |best| best.background)
    };
    let all: Vec<f64> = [0, 1, 5, 10, 30, 60].map(work).into();
    assert!(all.windows(2).all(|pair| pair[0] <= pair[1]), "{all:?}");
    assert!(all[5] > all[0]);
}

#[test]
fn overlapping_requests_tell_how_the_device_works() {
    let overlapping = |latency: fn(u64) -> u64| {
        let mut requests = Vec::new();
        for round in 0..200_u64 {
            for k in 0..2 {
                let arrival = Nanos(round * 1_000_000 + k * 1_000);
                let end = arrival.plus(Nanos(latency(k)));
                requests.push(Traced { arrival, end, class: Class::Foreground, bytes: 4_096, device: 0 });
            }
        }
        Trace { requests, ..trace(&[1], 1) }
    };
    let serial = advise(&overlapping(|k| 100_000 + k * 99_000), &question()).unwrap();
    assert_eq!(serial.slots, 1);
    let parallel = advise(&overlapping(|k| 100_000 + k * 5_000), &question()).unwrap();
    assert!(parallel.slots > 1 && parallel.drag < 0.1, "{} {}", parallel.slots, parallel.drag);
    assert!(parallel.candidates.iter().any(|candidate| candidate.depth == 8));
}

#[test]
fn what_is_missing_is_asked_for() {
    let iolog = parse("fio version 3 iolog\n5 /f add\n9 /f read 0 4096\n900 /f read 0 4096\n").unwrap();
    let error = advise(&iolog, &question()).unwrap_err().to_string();
    assert!(error.contains("--service"), "{error}");
    let given = Question { service: Some(Nanos::from_micros(100)), ..question() };
    assert!(advise(&iolog, &given).is_ok());
    let wrong = Question { device: Some("sdz".to_owned()), ..question() };
    let error = advise(&trace(&[1], 5), &wrong).unwrap_err().to_string();
    assert!(error.contains("'sdz'") && error.contains("vda"), "{error}");
    let mut background = trace(&[1], 5);
    background.requests.iter_mut().for_each(|request| request.class = Class::Background);
    assert!(advise(&background, &question()).unwrap_err().to_string().contains("no foreground"));
}

#[test]
fn recorded_traces_get_advice() {
    for text in [include_str!("../../tests/traces/fio_lat.log"), include_str!("../../tests/traces/perf.txt")]
    {
        let trace = parse(text).unwrap();
        let advice = advise(&trace, &question()).unwrap();
        assert!(advice.candidates.iter().any(|candidate| candidate.background > 0.1), "{advice:?}");
        assert!(advice.candidates.iter().any(|candidate| candidate.on_frontier));
        assert_eq!(advice, advise(&trace, &question()).unwrap(), "the same each time");
    }
}

#[test]
fn settings_are_round_numbers() {
    for (exact, round) in [(1_234_567, 1_240_000), (999, 999), (1_001, 1_010), (0, 0)] {
        assert_eq!(rounded(Nanos(exact)), Nanos(round));
    }
}
