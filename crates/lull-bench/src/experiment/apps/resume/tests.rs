use super::*;
use crate::contender::Contender;
use crate::experiment::apps::tests::{args, program};
use crate::experiment::awake::Awake;
use crate::experiment::ledger::Ledger;
use crate::experiment::measurement::Measurement;
use crate::record::Run;

#[test]
fn a_directory_keeps_its_terms() {
    let dir = tempfile::tempdir().unwrap();
    let terms = |words: &[&str]| args(words).terms();
    same_terms(dir.path(), &terms(&["--seconds", "3"])).unwrap();
    let mut writer = record::Writer::open(dir.path()).unwrap();
    writer.append(&record::Record::Host(Host { terms: terms(&[]), ..Host::default() })).unwrap();
    same_terms(dir.path(), &terms(&["--rounds", "9", "--foreground", "redis"])).unwrap();
    let words = ["--seconds", "3", "--tree-size", "1GiB", "--redis-rate", "9", "--lull-args", "--depth 1"];
    let error = same_terms(dir.path(), &terms(&words)).unwrap_err().to_string();
    let said = "(lull flags none, now --depth 1; redis rate 2000/s, now 9/s; seconds 20 s, now 3 s; tree per instance 512MiB, now 1GiB)";
    assert!(error.contains(said), "{error}");
}

#[test]
fn a_short_measurement_is_not_told_in_hours() {
    assert_eq!(rough(16.0), "16 seconds");
    assert_eq!(rough(448.0), "7 minutes");
    assert_eq!(rough(11_172.0), "3.1 hours");
}

#[test]
fn a_measurement_that_goes_on_says_what_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let words = ["--foreground", "redis", "--background", "tar,memory", "--instances", "2", "--rounds", "2"];
    let out = ["--out", dir.path().to_str().unwrap()];
    let args = args(&[&words[..], &["--seconds", "20", "--warmup", "9", "--settle", "30"], &out].concat());
    let measurement =
        Measurement::with(&args.common, program(), Host::default(), Awake::doze(), Ledger::open);
    let mut bench = Bench {
        args: &args,
        measurement: measurement.unwrap(),
        directory: dir.path().to_owned(),
        contenders: vec![Contender::Alone, Contender::Lull(Vec::new())],
    };
    let cases = args.cases();
    assert_eq!(cases, ["redis-tar-2", "redis-memory-2"]);
    assert_eq!(bench.state(&cases), "about 5 minutes in all");
    let measure = |bench: &mut Bench<'_>, contenders: &[Contender]| {
        let ledger = &mut bench.measurement.ledger;
        ledger.rounds("redis-tar-2", contenders, 1, 2, &mut |_, _| Ok(Run::default())).unwrap();
    };
    measure(&mut bench, &[Contender::Alone]);
    assert_eq!(bench.state(&cases), "2 of 8 runs there already, about 4 minutes for the rest");
    assert!(!bench.is_done("redis-tar-2"));
    let all = bench.contenders.clone();
    measure(&mut bench, &all);
    assert_eq!(bench.state(&cases[..1]), "all 4 runs are there already");
    assert!(bench.is_done("redis-tar-2") && !bench.is_done("redis-memory-2"));
}
