use super::*;
use crate::load::{Latency, LoadReport};
use crate::record::{Background, Host, Moment, Run, Unmet, Writer};

fn run(case: &str, contender: &str, round: u32, p99_ms: u64, bytes: u64) -> Record {
    let ns = p99_ms * 1_000_000;
    Record::Run(Run {
        case: case.into(),
        contender: contender.into(),
        round,
        command: (!["alone", "again"].contains(&contender))
            .then(|| format!("{contender} -- sh -c 'a < b && c'")),
        control: if contender == "none" { Vec::new() } else { vec!["echo 1 > /group/cpu.idle".into()] },
        foreground_command: Some("load app-client".into()),
        server: vec!["redis-server --port 1 --dir '<there>'".into()],
        foreground: (contender != "solo").then(|| LoadReport {
            requests: 100,
            seconds: 3.0,
            latency: Some(Latency { mean_ns: ns / 2, p50_ns: ns / 2, p99_ns: ns, ..Latency::default() }),
            distribution: vec![(ns / 4, 50), (ns, 100)],
            ..LoadReport::default()
        }),
        background: (!["alone", "again"].contains(&contender)).then(|| Background {
            bytes,
            window_s: 1.0,
            ..Background::default()
        }),
        counted_by: Some("the bytes that tar has packed".into()),
        over_time: (1..4_u32)
            .map(|n| Moment { at_s: f64::from(n), background_cpus: 0.5, other_cpus: 0.5, held: n == 2 })
            .collect(),
        held_s: ["suspend", "smart", "lull"].contains(&contender).then_some(1.0),
        controlled_s: Some(8.0),
        counted: true,
        ..Run::default()
    })
}

/// Redis beside two and eight times tar, three rounds, all alike.
pub(in crate::report) fn records() -> Vec<Record> {
    let mut records = vec![
        Record::Host(Host { kernel: "6.0".into(), ..Host::default() }),
        Record::Unmet(Unmet {
            case: "all".into(),
            contender: Some("bfq".into()),
            detail: "no <bfq> here".into(),
        }),
    ];
    for (case, smart) in [("redis-tar-2", 12), ("redis-tar-8", 20)] {
        for round in 1..=3 {
            for (contender, p99, bytes) in [
                ("alone", 10, 0),
                ("again", 10, 0),
                ("solo", 0, 1_000),
                ("none", 40, 900),
                ("nice", 30, 300),
                ("nice+ionice", 30, 400),
                ("suspend", 20, 500),
                ("smart", smart, 350),
                ("lull", 11, 600),
            ] {
                records.push(run(case, contender, round, p99, bytes));
            }
        }
    }
    records
}

#[test]
fn the_markdown_judges_every_pair_by_the_aims() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path()).unwrap();
    records().iter().for_each(|record| writer.append(record).unwrap());
    crate::report::write(dir.path(), &mut Vec::new()).unwrap();
    let text = std::fs::read_to_string(dir.path().join("report.md")).unwrap();
    for wanted in [
        "| 1.10 [1.10–1.10] | – | 0.60 [0.60–0.60] | – |",
        "Some pairs have only 3 rounds: their intervals say too little.",
        "| redis-tar-8 | 1.00 [1.00–1.00] | 1.00 [1.00–1.00] | 1.00 [1.00–1.00] |",
        "lull is not dominated (p99 1.10 × alone, background 0.600 × solo).",
        "| smart | 1.00 [1.00–1.00] |",
        "- all, bfq: no <bfq> here",
        "5. smart learns the behaviour",
        "| 12% |",
        "*held*: share of the time",
        "Background work is counted by the bytes that tar has packed.",
    ] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    let json = std::fs::read_to_string(dir.path().join(FILE_NAME)).unwrap();
    let findings: Findings = serde_json::from_str(&json).unwrap();
    let beaten = &findings.pairs[1].standing("smart").unwrap().dominated_by;
    assert!(beaten.iter().any(|one| one.by == "lull" && !one.certain), "{beaten:?}");
}

#[test]
fn records_of_other_experiments_get_none_of_this() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path()).unwrap();
    writer.append(&Record::Host(Host::default())).unwrap();
    writer.append(&run("parallel", "alone", 1, 1, 0)).unwrap();
    crate::report::write(dir.path(), &mut Vec::new()).unwrap();
    assert!(!dir.path().join(html::FILE_NAME).exists() && !dir.path().join(FILE_NAME).exists());
}

#[test]
fn the_page_has_how_the_server_was_started() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path()).unwrap();
    records().iter().for_each(|record| writer.append(record).unwrap());
    crate::report::write(dir.path(), &mut Vec::new()).unwrap();
    let page = std::fs::read_to_string(dir.path().join("report.html")).unwrap();
    let text = &page[..page.find("application/json").unwrap()];
    // Once for the application, and once in each pair.
    assert_eq!(text.matches("<code>redis-server --port 1 --dir '&lt;there&gt;'</code>").count(), 3, "{text}");
}

#[test]
fn of_few_requests_the_longest_is_not_called_a_percentile() {
    let few: Vec<Record> = records()
        .into_iter()
        .map(|record| match record {
            Record::Run(run) => {
                let foreground = run.foreground.map(|report| LoadReport { requests: 9, ..report });
                Record::Run(Run { foreground, ..run })
            }
            other => other,
        })
        .collect();
    let of = |records: &[Record]| {
        let study = Study::of(records);
        markdown(&study, &Findings::of(&study, records).unwrap(), "")
    };
    let (many, few) = (of(&records()), of(&few));
    assert!(many.contains("| median | p99 | background |"), "{many}");
    assert!(few.contains("| median | longest | background |") && few.contains("about 9 requests"), "{few}");
}

#[test]
fn both_halves_are_asked_for_and_a_fixed_mask_sets_the_longest_requests() {
    let gentle = |record: Record| match record {
        Record::Run(like) if like.contender == "smart" => run(&like.case, "confined", like.round, 10, 350),
        other => other,
    };
    let records: Vec<Record> = records().into_iter().map(gentle).collect();
    let study = Study::of(&records);
    let text = markdown(&study, &Findings::of(&study, &records).unwrap(), "");
    for aim in [
        "background / solo 0.6 (wanted: at least 0.45)",
        "p99 / alone (wanted: that of confined) 1.1 (wanted: at most 1)",
    ] {
        assert!(text.contains(aim), "{aim} in {text}");
    }
}

#[test]
fn one_round_has_no_interval_and_is_called_one() {
    let first = |record: &Record| !matches!(record, Record::Run(run) if run.round > 1);
    let records: Vec<Record> = records().into_iter().filter(first).collect();
    let study = Study::of(&records);
    let text = markdown(&study, &Findings::of(&study, &records).unwrap(), "");
    assert!(text.contains("Some pairs have only 1 round: their figures may be chance."), "{text}");
    assert!(!text.contains('['), "{text}");
    for aim in [
        "- aim for lull, met: background / solo 0.6 (wanted: at least 0.45)",
        "- aim for lull, open, for too few rounds: contenders that dominate it beyond chance (wanted: none)",
    ] {
        assert!(text.contains(aim), "{aim} in {text}");
    }
}
