use super::*;
use crate::load::{Latency, LoadReport};
use crate::record::{Background, Host, Moment, Unmet, Writer};

fn run(case: &str, contender: &str, round: u32, p99_ms: u64, bytes: u64) -> Record {
    let ns = p99_ms * 1_000_000;
    Record::Run(Run {
        case: case.into(),
        contender: contender.into(),
        round,
        command: (contender != "alone").then(|| format!("{contender} -- sh -c 'a < b && c'")),
        foreground_command: Some("load app-client".into()),
        foreground: (contender != "solo").then(|| LoadReport {
            requests: 100,
            seconds: 1.0,
            latency: Some(Latency { mean_ns: ns / 2, p50_ns: ns / 2, p99_ns: ns, ..Latency::default() }),
            distribution: vec![(ns / 4, 50), (ns, 100)],
            ..LoadReport::default()
        }),
        background: (contender != "alone").then(|| Background {
            bytes,
            window_s: 1.0,
            ..Background::default()
        }),
        over_time: (1..4_u32)
            .map(|n| Moment { at_s: f64::from(n), background_cpus: 0.5, other_cpus: 0.5, held: n == 2 })
            .collect(),
        counted: true,
        ..Run::default()
    })
}

fn records() -> Vec<Record> {
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
fn the_page_holds_everything_and_needs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path()).unwrap();
    records().iter().for_each(|record| writer.append(record).unwrap());
    let mut told = Vec::new();
    super::super::write(dir.path(), &mut told).unwrap();
    let page = std::fs::read_to_string(dir.path().join(FILE_NAME)).unwrap();
    assert!(String::from_utf8(told).unwrap().contains(FILE_NAME));
    for text in [
        "Linux 6.0",
        "no &lt;bfq&gt; here",
        "a &lt; b &amp;&amp; c",
        "1.100 <small>[1.100–1.100]</small>",
        "aim for lull: p99 / alone at most 1.100: 1.100, <span class=met>met</span>",
        "share of requests",
        "<td>33%",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // Two cases: distribution, bars with frontier, and one picture over time per contender.
    assert_eq!(page.matches("<svg").count(), 2 * (2 + 8));
    assert!(!page.contains("src=") && !page.contains("<link") && !page.contains("<?xml"));
    let json = page.split("id=\"records\">").nth(1).unwrap().split("</script>").next().unwrap();
    let back: Vec<Record> = serde_json::from_str(json).unwrap();
    assert_eq!(back, records());
}

#[test]
fn observations_are_counted_where_they_can_be() {
    let counts = observations::counts(&Study::of(&records())).map(|(_, holds, cases)| (holds, cases));
    // With eight jobs smart is no better than suspend, and much worse than with two.
    assert_eq!(counts, [(1, 2), (2, 2), (2, 2), (0, 1), (2, 2)]);
}

#[test]
fn records_of_other_experiments_get_no_page() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::open(dir.path()).unwrap();
    writer.append(&Record::Host(Host::default())).unwrap();
    writer.append(&run("parallel", "alone", 1, 1, 0)).unwrap();
    super::super::write(dir.path(), &mut Vec::new()).unwrap();
    assert!(!dir.path().join(FILE_NAME).exists());
}
