use super::*;
use crate::load::{Latency, LoadReport};
use crate::record::Run;
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
    assert!((of(&same, "lull", "p99").ratio - 3.0).abs() < 0.1);
    assert_eq!(of(&same, "lull", "p99").verdict, Verdict::Worse);
    let relative = of(&same, "lull", "p99 / alone");
    assert!((relative.ratio - 1.0).abs() < 1e-3 && relative.verdict == Verdict::Same, "{relative:?}");
    let worse = differences(&records(1.0, 1.1), &records(1.0, 2.2));
    assert!((of(&worse, "lull", "p99 / alone").ratio - 2.0).abs() < 0.01);
    assert_eq!(of(&worse, "lull", "p99 / alone").verdict, Verdict::Worse);
    assert_eq!(of(&worse, "lull", "background / solo").verdict, Verdict::Same);
    let better = differences(&records(1.0, 2.2), &records(1.0, 1.1));
    assert_eq!(of(&better, "lull", "p99 / alone").verdict, Verdict::Better);
}

#[test]
fn three_rounds_say_nothing_and_that_is_said() {
    let few = |records: Vec<Record>| -> Vec<Record> {
        records.into_iter().filter(|record| !matches!(record, Record::Run(run) if run.round > 3)).collect()
    };
    let comparison = Comparison::of(&few(records(1.0, 1.0)), &few(records(1.0, 2.0)));
    assert!(
        comparison.differences.iter().all(|one| one.verdict == Verdict::Unknown && one.interval.is_none())
    );
    let text = text::render(&comparison);
    assert!(text.contains("[too few runs]") && text.contains("more --rounds would"), "{text}");
    assert!(text.contains("0 better, 0 worse"), "{text}");
}

#[test]
fn what_changed_comes_first_and_both_revisions_are_named() {
    let mut after = records(1.0, 2.2);
    after[0] = Record::Host(Host { version: "lull 2".into(), kernel: "7.0".into(), ..Host::default() });
    let text = text::render(&Comparison::of(&records(1.0, 1.1), &after));
    assert!(text.contains("B: , lull 2, Linux 7.0") && text.contains("The machines differ"), "{text}");
    let (worse, table) = (text.find("\nworse:").unwrap(), text.find("\ncase\n").unwrap());
    assert!(worse < table && text[worse..table].contains("p99 / alone"), "{text}");
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

#[test]
fn a_report_holds_its_runs_also_without_anything_beside_it() {
    let (dir, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut writer = Writer::open(dir.path()).unwrap();
    records(1.0, 1.0).iter().for_each(|record| writer.append(record).unwrap());
    crate::report::write(dir.path(), &mut Vec::new()).unwrap();
    let copy = elsewhere.path().join("study.json");
    std::fs::copy(dir.path().join("study.json"), &copy).unwrap();
    let found = differences(&read(&copy).unwrap(), &read(dir.path()).unwrap());
    assert!(found.len() > 5 && found.iter().all(|one| one.ratio == 1.0), "{found:?}");
    // It is the JSON that is read, not what stands beside it.
    records(1.0, 1.0).iter().for_each(|record| writer.append(record).unwrap());
    assert_eq!(read(&dir.path().join("study.json")).unwrap().len(), 19);
}

#[test]
fn other_terms_are_refused_and_other_flags_are_said() {
    let with = |terms: &[(&str, &str)]| {
        let terms = terms.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut records = records(1.0, 1.0);
        records[0] = Record::Host(Host { terms, ..Host::default() });
        records
    };
    let (slow, fast) = (with(&[("redis rate", "1000")]), with(&[("redis rate", "2000")]));
    let problem = other_terms(&slow, &fast).unwrap();
    assert!(problem.contains("redis rate: 1000 and 2000"), "{problem}");
    assert_eq!(other_terms(&slow, &slow), None);
    let flags = ["", "--depth 1"].map(|flags| with(&[(LULL_FLAGS, flags)]));
    assert_eq!(other_terms(&flags[0], &flags[1]), None);
    let text = text::render(&Comparison::of(&flags[0], &flags[1]));
    assert!(text.contains("lull's flags differ: '' and '--depth 1'"), "{text}");
    let text = text::render(&Comparison::of(&slow, &records(1.0, 1.0)));
    assert!(text.contains("B: rates, seconds and sizes are not recorded"), "{text}");
}
