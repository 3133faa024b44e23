use super::*;
use crate::load::{Latency, LoadReport};
use crate::record::{Background, Host, Writer};

/// Rounds in which alone has a p99 of 1 ms times `machine`, and lull one that is `slower` times as long.
fn records(machine: f64, slower: f64) -> Vec<Record> {
    let run = |contender: &str, round: u32, p99: f64, bytes: u64| {
        let p99_ns = crate::units::whole(p99 * (1.0 + f64::from(round) / 100.0) * 1e6);
        Record::Run(Run {
            case: "case".into(),
            contender: contender.into(),
            round,
            foreground: Some(LoadReport {
                requests: 100,
                seconds: 1.0,
                latency: Some(Latency { p99_ns, ..Latency::default() }),
                ..LoadReport::default()
            }),
            background: Some(Background { bytes, window_s: 1.0, ..Background::default() }),
            counted: true,
            ..Run::default()
        })
    };
    let host = std::iter::once(Record::Host(Host::default()));
    let rounds = (1..=6).flat_map(|round| {
        [
            run("alone", round, machine, 0),
            run("lull", round, machine * slower, 500),
            run("solo", round, machine, 1_000),
        ]
    });
    host.chain(rounds).collect()
}

fn of<'a>(all: &'a [Difference], contender: &str, figure: &str) -> &'a Difference {
    all.iter().find(|d| d.contender == contender && d.figure == figure).unwrap_or_else(|| panic!("{all:?}"))
}

#[test]
fn a_slower_machine_is_told_apart_from_a_slower_program() {
    let same = differences(&records(1.0, 1.1), &records(3.0, 1.1));
    assert!((of(&same, "lull", "p99").ratio.value - 3.0).abs() < 0.01);
    assert!(of(&same, "lull", "p99").is_clear());
    let relative = of(&same, "lull", "p99 / alone");
    assert!((relative.ratio.value - 1.0).abs() < 1e-3 && relative.ratio.high - relative.ratio.low < 1e-3);
    let worse = differences(&records(1.0, 1.1), &records(1.0, 2.2));
    assert!((of(&worse, "lull", "p99 / alone").ratio.value - 2.0).abs() < 0.01);
    assert!((of(&worse, "lull", "background / solo").ratio.value - 1.0).abs() < 1e-9);
    assert!(table(&worse).contains("p99 / alone"));
}

#[test]
fn a_report_stands_for_the_records_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let study = dir.path().join("study.json");
    std::fs::write(&study, "{}").unwrap();
    assert!(read(&study).unwrap_err().to_string().contains(FILE_NAME));
    let mut writer = Writer::open(dir.path()).unwrap();
    records(1.0, 1.0).iter().for_each(|record| writer.append(record).unwrap());
    let from: Vec<usize> =
        [study.as_path(), dir.path(), &dir.path().join(FILE_NAME)].map(|p| read(p).unwrap().len()).into();
    assert_eq!(from, [19, 19, 19]);
}

#[test]
fn nothing_in_common_is_an_error() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for dir in [&a, &b] {
        Writer::open(dir.path()).unwrap().append(&Record::Host(Host::default())).unwrap();
    }
    let args = CompareArgs { a: a.path().into(), b: b.path().into(), json: false };
    assert!(run_compare(&args).unwrap_err().to_string().contains("in common"));
}
