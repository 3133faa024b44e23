use proptest::prelude::*;

use super::*;
use crate::load::{Latency, LoadReport};
use crate::record::Background;

fn run(contender: &str, round: u32, requests: u64, p99_ns: u64, bytes: u64) -> Run {
    let foreground = (requests > 0).then(|| LoadReport {
        load: "disk-read".to_owned(),
        requests,
        bytes: requests * 4096,
        started_ns: 0,
        ended_ns: 2_000_000_000,
        seconds: 2.0,
        busy_ns: 500_000_000,
        latency: Some(Latency { p50_ns: p99_ns / 2, p99_ns, ..Latency::default() }),
        ..LoadReport::default()
    });
    let background = (bytes > 0).then(|| Background { bytes, window_s: 2.0, ..Background::default() });
    Run {
        case: "parallel".to_owned(),
        contender: contender.to_owned(),
        round,
        position: 0,
        command: None,
        foreground,
        background,
        counted: true,
        notes: Vec::new(),
        ..Run::default()
    }
}

fn round(number: u32, pace: u64) -> Vec<Record> {
    // A slow minute halves everything in the round alike; the ratios do not change.
    [
        run("lull", number, 990 * pace, 1_050 * 4 / pace, 600 * pace),
        run("alone", number, 1_000 * pace, 1_000 * 4 / pace, 0),
        run("none", number, 300 * pace, 9_000 * 4 / pace, 900 * pace),
        run("bfq", number, 980 * pace, 1_300 * 4 / pace, 200 * pace),
        run("solo", number, 0, 0, 1_000 * pace),
    ]
    .map(Record::Run)
    .to_vec()
}

fn study() -> CaseStudy {
    let records: Vec<Record> =
        [(1, 4), (2, 2), (3, 4)].into_iter().flat_map(|(n, pace)| round(n, pace)).collect();
    Study::of(&records).cases.remove(0)
}

fn row_of<'a>(case: &'a CaseStudy, name: &str) -> &'a Row {
    case.rows.iter().find(|row| row.contender == name).unwrap()
}

#[test]
fn ratios_are_taken_within_rounds() {
    let case = study();
    let lull = row_of(&case, "lull");
    let near = |summary: Option<Summary>, wanted: f64| {
        let summary = summary.unwrap();
        assert!((summary.median - wanted).abs() < 1e-3 && summary.mad < 1e-3, "{summary:?} for {wanted}");
        assert_eq!(summary.count, 3);
    };
    near(lull.foreground, 0.99);
    near(lull.p99, 1.05);
    near(lull.background, 0.6);
    assert_eq!(lull.idle_used, None, "only a disk with one server has idle time");
    near(lull.over_bfq, 3.0);
    assert_eq!(row_of(&case, "solo").p99, None);
    assert_eq!(row_of(&case, "alone").background, None);
}

#[test]
fn rows_come_in_the_usual_order_and_aims_are_judged() {
    let case = study();
    let names: Vec<&str> = case.rows.iter().map(|row| row.contender.as_str()).collect();
    assert_eq!(names, ["alone", "solo", "none", "bfq", "lull"]);
    assert_eq!(case.aims.len(), 3);
    assert!(case.aims.iter().all(|aim| aim.met), "{:?}", case.aims);
}

#[test]
fn bfq_is_dominated_and_the_others_are_not() {
    let case = study();
    assert_eq!(row_of(&case, "bfq").dominated_by, ["lull"]);
    for name in ["none", "lull", "alone", "solo"] {
        assert!(row_of(&case, name).dominated_by.is_empty(), "{name}");
    }
}

#[test]
fn runs_that_do_not_count_and_rounds_without_reference_give_nothing() {
    let mut cold = run("lull", 1, 5, 5, 5);
    cold.counted = false;
    let records = [cold, run("lull", 2, 10, 10, 10)].map(Record::Run);
    let case = Study::of(&records).cases.remove(0);
    let lull = row_of(&case, "lull");
    assert_eq!((lull.runs, lull.left_out, lull.foreground, lull.background), (1, 1, None, None));
    assert_eq!(lull.requests_per_s.unwrap().median, 5.0);
    assert!(case.aims.iter().all(|aim| !aim.met));
}

#[test]
fn measurements_appended_to_one_file_keep_their_rounds_apart() {
    let mut records = vec![Record::Host(Host::default())];
    records.extend(round(1, 4));
    records.push(Record::Host(Host::default()));
    records.extend(round(1, 2));
    let study = Study::of(&records);
    assert_eq!(study.hosts.len(), 2);
    assert_eq!(row_of(&study.cases[0], "lull").foreground.unwrap().count, 2);
}

#[test]
fn what_a_gated_call_costs_is_the_difference_over_the_calls() {
    let timed = |contender: &str, wall: f64| {
        let mut run = run(contender, 1, 0, 0, 1);
        run.case = "quiet-cached".to_owned();
        run.background = Some(Background { bytes: 1, wall_s: Some(wall), ..Background::default() });
        Record::Run(run)
    };
    let case = Study::of(&[timed("none", 0.1), timed("lull", 0.9)]).cases.remove(0);
    let aim = &case.aims[0];
    assert!((aim.got.unwrap() - 4.0).abs() < 1e-9 && aim.met, "{aim:?}");
}

proptest! {
    #[test]
    fn no_two_contenders_dominate_each_other(
        rows in prop::collection::vec((0.1_f64..1.2, 0.9_f64..20.0, 0.01_f64..1.2), 2..8),
    ) {
        let summary = |value| Summary::of([value]);
        let rows: Vec<Row> = rows.iter().enumerate().map(|(index, (foreground, p99, background))| Row {
            contender: index.to_string(),
            foreground: summary(*foreground),
            p99: summary(*p99),
            background: summary(*background),
            ..Row::default()
        }).collect();
        for a in &rows {
            for b in &rows {
                prop_assert!(!(dominates("parallel", a, b) && dominates("parallel", b, a)));
            }
        }
    }
}
