use super::*;

const ALL: [Contender; 3] = [Contender::Alone, Contender::Solo, Contender::Unmanaged];

fn run(ledger: &mut Ledger, rounds: u32, limit: usize) -> Vec<(String, u32)> {
    let mut made = Vec::new();
    let ended = ledger.rounds("case", &ALL, 3, rounds, &mut |contender, round| {
        if made.len() == limit {
            return Err(Error::Interrupted);
        }
        made.push((contender.name(), round));
        Ok(Run { counted: true, ..Run::default() })
    });
    assert_eq!(ended.is_err(), made.len() == limit, "{ended:?}");
    made
}

#[test]
fn a_measurement_that_was_killed_goes_on_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let host = |date: &str| Host { date: date.into(), seed: 3, ..Host::default() };
    let first = run(&mut Ledger::resume(dir.path(), host("monday")).unwrap(), 2, 4);
    // Killed within a line.
    let path = dir.path().join(record::FILE_NAME);
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.push_str("{\"record\":\"run\",\"case");
    std::fs::write(&path, text).unwrap();
    let second = run(&mut Ledger::resume(dir.path(), host("tuesday")).unwrap(), 2, 100);
    let whole: Vec<(String, u32)> = (1..=2)
        .flat_map(|round| shuffled(&ALL, "case", 3, round).into_iter().map(move |c| (c.name(), round)))
        .collect();
    assert_eq!([first, second].concat(), whole, "each once, in the order of one go");
    let hosts = record::read(dir.path()).unwrap().iter().filter(|r| matches!(r, Record::Host(_))).count();
    assert_eq!(hosts, 1, "one measurement");
    // Another seed is another measurement.
    let mut other = Ledger::resume(dir.path(), Host { seed: 4, ..host("monday") }).unwrap();
    assert_eq!(run(&mut other, 1, 100).len(), 3);
}

#[test]
fn what_is_not_measured_is_recorded_once_however_often_it_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let mut ledger = Ledger::resume(dir.path(), Host::default()).unwrap();
        ledger.unmet("all", Some(&Contender::Bfq), "no bfq".into()).unwrap();
        ledger.unmet("case", Some(&Contender::Bfq), "no bfq".into()).unwrap();
    }
    let records = record::read(dir.path()).unwrap();
    assert_eq!(records.iter().filter(|record| matches!(record, Record::Unmet(_))).count(), 2);
}

#[test]
fn nothing_measured_is_no_success() {
    let dir = tempfile::tempdir().unwrap();
    let mut ledger = Ledger::open(dir.path(), Host::default()).unwrap();
    ledger.unmet("case", None, "no disk".into()).unwrap();
    assert!(ledger.ensure_measured().unwrap_err().to_string().contains("raw.jsonl"));
    run(&mut ledger, 1, 100);
    ledger.ensure_measured().unwrap();
}
