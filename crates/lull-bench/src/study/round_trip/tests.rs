use super::*;
use crate::load::net::probe::Probed;
use crate::load::{Latency, LoadReport};
use crate::record::Record;
use crate::study::Study;

fn latency(ms: u64) -> Latency {
    Latency { p50_ns: ms * 500_000, p99_ns: ms * 1_000_000, ..Latency::default() }
}

fn run(case: &str, contender: &str, round: u32, report: LoadReport) -> Record {
    let foreground = Some(LoadReport { seconds: 1.0, requests: 9, ..report });
    Record::Run(Run {
        case: case.to_owned(),
        contender: contender.to_owned(),
        round,
        foreground,
        counted: true,
        ..Run::default()
    })
}

fn probed(ms: u64, sent: u64) -> LoadReport {
    let probe = Some(Box::new(Probed { latency: latency(ms), sent, lost: 0 }));
    LoadReport { load: "net-transfer".to_owned(), probe, ..LoadReport::default() }
}

fn asked(ms: u64) -> LoadReport {
    LoadReport { load: "net-ask".to_owned(), latency: Some(latency(ms)), ..LoadReport::default() }
}

fn of(records: &[Record], contender: &str) -> Option<RoundTrips> {
    let study = Study::of(records);
    study.cases[0].rows.iter().find(|row| row.contender == contender).unwrap().round_trips
}

#[test]
fn what_is_added_is_told_within_the_round() {
    let case = "tcp-tcp-25";
    let records = [
        run(case, "alone", 1, probed(2, 50)),
        run(case, "lull", 1, probed(5, 50)),
        run(case, "alone", 2, probed(10, 50)),
        run(case, "lull", 2, probed(9, 50)),
    ];
    let lull = of(&records, "lull").unwrap();
    let added = lull.added_p99_ns.unwrap();
    assert_eq!((added.min, added.max, added.count), (-1e6, 3e6, 2));
    assert_eq!((lull.p99_ns.unwrap().max, lull.p50_ns.unwrap().max), (9e6, 4.5e6));
    assert_eq!(of(&records, "alone").unwrap().added_p99_ns.unwrap().max, 0.0);
}

#[test]
fn questions_are_round_trips_and_other_latencies_are_none() {
    let records = [run("ask", "alone", 1, asked(1)), run("ask", "lull", 1, asked(3))];
    let lull = of(&records, "lull").unwrap();
    assert_eq!((lull.p99_ns, lull.added_p99_ns.unwrap().median), (None, 2e6));
    let disk = |ms| LoadReport { load: "disk-read".to_owned(), ..asked(ms) };
    let records = [run("parallel", "alone", 1, disk(1)), run("parallel", "lull", 1, disk(3))];
    assert_eq!(of(&records, "lull"), None);
}

#[test]
fn without_a_probe_nothing_is_told() {
    let records = [run("tcp-tcp-25", "alone", 1, probed(0, 0)), run("tcp-tcp-25", "lull", 1, probed(0, 0))];
    assert_eq!(of(&records, "lull"), None);
}

#[test]
fn the_aim_is_at_most_a_millisecond() {
    for (ms, met) in [(2, true), (3, true), (4, false)] {
        let case = "tcp-tcp-25";
        let records = [run(case, "alone", 1, probed(2, 9)), run(case, "lull", 1, probed(ms, 9))];
        let study = Study::of(&records);
        let aim = study.cases[0].aims.iter().find(|aim| aim.what.starts_with("added")).unwrap();
        assert_eq!((aim.met, aim.at_most, aim.wanted), (met, true, 1.0), "{aim:?}");
    }
}
