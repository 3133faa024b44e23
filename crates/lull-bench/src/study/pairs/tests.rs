use super::*;
use crate::load::{Latency, LoadReport};
use crate::record::{Background, Host};

/// A round of a contender: p99 in milliseconds (none: no foreground) and work.
fn run(contender: &str, round: u32, p99_ms: u64, bytes: u64) -> Record {
    let ns = p99_ms * 1_000_000;
    Record::Run(Run {
        case: "redis-tar-8".into(),
        contender: contender.into(),
        round,
        foreground: (p99_ms > 0).then(|| LoadReport {
            requests: 100,
            seconds: 2.0,
            latency: Some(Latency { mean_ns: ns, p50_ns: ns, p99_ns: ns, ..Latency::default() }),
            ..LoadReport::default()
        }),
        background: (contender != "alone").then(|| Background {
            bytes,
            window_s: 1.0,
            ..Background::default()
        }),
        over_time: (1..=8_u32)
            .map(|n| Moment {
                at_s: f64::from(n) / 2.0,
                background_cpus: f64::from(n),
                other_cpus: 0.1,
                held: n > 6,
            })
            .collect(),
        held_s: (contender == "lull").then_some(1.5),
        controlled_s: Some(6.0),
        counted: true,
        ..Run::default()
    })
}

/// So many rounds, in which nice's work is as given.
fn pair(nice: &[u64]) -> Pair {
    let mut records = vec![Record::Host(Host::default())];
    for (round, bytes) in (1..).zip(nice) {
        records.extend([
            run("alone", round, 10, 0),
            run("solo", round, 0, 1_000),
            run("lull", round, 15, 500),
            run("nice", round, 12, *bytes),
            run("none", round, 60, 900),
        ]);
    }
    Pair::all(&Study::of(&records), &records).remove(0)
}

#[test]
fn who_costs_less_and_does_more_dominates_beyond_chance() {
    let pair = pair(&[600, 610, 620, 630, 640]);
    assert_eq!(
        (pair.foreground.as_str(), pair.background.as_str(), pair.instances, pair.rounds),
        ("redis", "tar", 8, 5)
    );
    let lull = pair.standing("lull").unwrap();
    assert_eq!(lull.dominated_by, [Dominance { by: "nice".into(), rounds: 5, chance: 1.0, certain: true }]);
    assert_eq!(pair.frontier, ["none", "nice"]);
    assert!(
        pair.lull.contains("dominated by nice (p99 1.20, background 0.620; beyond chance)"),
        "{}",
        pair.lull
    );
    assert_eq!(pair.aims[3].got, Some(1.0));
}

#[test]
fn what_few_or_scattered_rounds_say_may_be_chance() {
    let few = pair(&[600, 610, 620]);
    let dominance = &few.standing("lull").unwrap().dominated_by[0];
    assert!(dominance.chance == 1.0 && !dominance.certain, "{dominance:?}");
    assert!(few.lull.contains("rounds: 3, so it may be chance"), "{}", few.lull);
    let aim = |pair: &Pair| (pair.aims[3].got, pair.aims[3].met, pair.aims[3].open);
    assert_eq!(aim(&few), (None, false, true), "three rounds do not tell");
    assert_eq!(aim(&pair(&[400; 3])), (None, false, true), "nor that nobody does");
    assert_eq!(aim(&pair(&[400; 5])), (Some(0.0), true, false));
    let scattered = pair(&[100, 900, 600, 110, 910, 620, 120]);
    let dominance = &scattered.standing("lull").unwrap().dominated_by[0];
    assert!((0.3..0.95).contains(&dominance.chance) && !dominance.certain, "{dominance:?}");
    assert!(scattered.lull.contains("may be chance"), "{}", scattered.lull);
    assert_eq!(aim(&scattered), (Some(0.0), true, false), "what may be chance does not count");
}

#[test]
fn who_does_more_at_more_cost_dominates_nobody() {
    let pair = pair(&[400; 5]);
    assert_eq!(pair.frontier, ["none", "nice", "lull"]);
    assert!(pair.lull.starts_with("lull is not dominated"), "{}", pair.lull);
}

#[test]
fn a_missing_reference_is_said() {
    let records = [run("lull", 1, 15, 500), run("nice", 1, 12, 600)];
    let pair = Pair::all(&Study::of(&records), &records).remove(0);
    assert!(pair.lull.contains("cannot be said") && pair.rounds == 0, "{}", pair.lull);
    assert!(pair.aims.iter().all(|aim| !aim.met && aim.got.is_none() || aim.what.starts_with("foreground")));
}

#[test]
fn a_foreground_that_got_nothing_done_has_no_low_latency() {
    let mut records = vec![run("alone", 1, 10, 0), run("solo", 1, 0, 1_000), run("none", 1, 60, 900)];
    if let Some(Record::Run(Run { foreground: Some(report), .. })) = records.get_mut(2) {
        *report = LoadReport { seconds: 2.0, latency: Some(Latency::default()), ..LoadReport::default() };
    }
    let pair = Pair::all(&Study::of(&records), &records).remove(0);
    let none = pair.standing("none").unwrap();
    assert_eq!((none.mean, none.p99, none.throughput.unwrap().value), (None, None, 0.0));
    assert!(pair.frontier.is_empty(), "{:?}", pair.frontier);
}

#[test]
fn what_is_answered_after_the_window_is_no_throughput() {
    let mut records = vec![run("alone", 1, 10, 0), run("solo", 1, 0, 1_000), run("none", 1, 60, 900)];
    if let Some(Record::Run(Run { foreground: Some(report), .. })) = records.get_mut(2) {
        report.in_time = Some(60);
    }
    let study = Study::of(&records);
    let pair = Pair::all(&study, &records).remove(0);
    assert_eq!(pair.standing("none").unwrap().throughput.unwrap().value, 0.6);
    let row = study.cases[0].rows.iter().find(|row| row.contender == "none").unwrap();
    assert_eq!(row.foreground.unwrap().median, 0.6, "the aims are judged by the same figure");
}

#[test]
fn only_the_counted_time_is_looked_at() {
    let Record::Run(run) = run("lull", 1, 15, 500) else { panic!("a run") };
    // Two seconds of four were counted.
    let at: Vec<f64> = counted(&run).iter().map(|moment| moment.at_s).collect();
    assert_eq!(at, [2.5, 3.0, 3.5, 4.0]);
    let standing = pair(&[400; 5]).standing("lull").cloned().unwrap();
    assert_eq!((standing.held, standing.background_cpus), (Some(0.25), Some(6.5)));
    assert_eq!(pair(&[400; 5]).standing("nice").unwrap().held, None, "nothing holds it");
}
