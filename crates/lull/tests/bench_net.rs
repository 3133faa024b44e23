//! `lull bench net` with lull itself as a contender: every contender is measured by what arrives, and nothing is left.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::time::Duration;

use common::net::has_bed;
use common::{lull, output, output_within};
use serde_json::Value;

/// Two dozen runs, with a network for each.
const LIMIT: Duration = Duration::from_secs(160);

#[test]
fn root_lull_is_measured_beside_marks_and_priorities() {
    if !has_bed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut command = lull();
    command.args([
        "bench",
        "net",
        "--cases",
        "udp-udp,tcp-udp-far,ask,tcp-down",
        "--contenders",
        "htb,rate,cubic,lull",
    ]);
    command.args(["--rounds", "1", "--seconds", "1", "--warmup", "0.2", "--fast-mbit", "100", "--json"]);
    let output = output_within(LIMIT, command.arg("--out").arg(dir.path()));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let study: Value = serde_json::from_slice(&output.stdout).unwrap();
    let all = records(dir.path());
    let cases = study["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 4, "{study}");
    for case in cases {
        let rows = case["rows"].as_array().unwrap();
        // Datagrams have no congestion control.
        assert_eq!(rows.len(), if case["case"] == "ask" { 6 } else { 5 }, "{case}");
        // So short a window may fall into one hold of lull's.
        for row in rows.iter().filter(|row| row["contender"] != "alone" && row["contender"] != "lull") {
            assert!(is_positive(&row["bytes_per_s"]), "{row}");
        }
        let row = rows.iter().find(|row| row["contender"] == "lull").unwrap();
        assert!(is_positive(&row["foreground"]) || is_left_out(&all, case, "lull"), "{row}");
        assert!(row["command"].as_str().unwrap().contains("--resources net"), "{row}");
        assert!(!case["targets"].as_array().unwrap().is_empty(), "{case}");
    }
}

/// One run of a case in the records.
fn runs<'a>(records: &'a [Value], case: &'a str, contender: &'a str) -> impl Iterator<Item = &'a Value> {
    records.iter().filter(move |record| {
        record["record"] == "run" && record["case"] == case && record["contender"] == contender
    })
}

fn is_positive(figure: &Value) -> bool {
    figure["median"].as_f64().is_some_and(|median| median > 0.0)
}

/// Whether a contender's run of a case, or the one that it is compared with, was not counted, so that figures are missing.
fn is_left_out(records: &[Value], case: &Value, contender: &str) -> bool {
    let case = case["case"].as_str().unwrap();
    let left_out = |name| runs(records, case, name).any(|run| run["counted"] == false);
    left_out(contender) || left_out("alone")
}

fn records(dir: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.join("raw.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn root_a_sweep_gives_the_papers_figure_from_its_records() {
    if !has_bed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    // In two measurements into one directory: the figure is that of all records.
    let measured = ["25", "75"].map(|percent| {
        let mut command = lull();
        command.args(["bench", "net", "--figure", "9", "--intensity", percent, "--intervals", "0,5ms,auto"]);
        command.args(["--rounds", "1", "--seconds", "0.5", "--warmup", "0.2", "--fast-mbit", "100"]);
        let measured = output_within(LIMIT, command.arg("--out").arg(dir.path()));
        assert!(measured.status.success(), "{}", String::from_utf8_lossy(&measured.stderr));
        assert_eq!(dir.path().join("fig9.svg").exists(), percent == "75", "one intensity is no figure");
        measured
    });
    let log = measured.each_ref().map(|one| String::from_utf8_lossy(&one.stderr)).join("\n");
    let own = ["none", "lull --interval 0ns", "lull --interval 5ms", "lull"];
    let all = records(dir.path());
    for case in ["udp-udp-25", "udp-udp-75"] {
        for contender in ["alone", "solo"].iter().chain(&own) {
            assert_eq!(runs(&all, case, contender).count(), 1, "{case}, {contender}: {log}");
        }
        for contender in own.iter().filter(|name| name.starts_with("lull")) {
            let run = runs(&all, case, contender).next().unwrap();
            assert_eq!(run["counted"], true, "{run}");
        }
        let fixed = runs(&all, case, "lull --interval 5ms").next().unwrap();
        assert!(fixed["command"].as_str().unwrap().contains("--interval 5ms"), "{fixed}");
    }
    let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
    let points: Vec<String> = read("fig9.csv").lines().skip(1).map(str::to_owned).collect();
    let places: Vec<String> =
        points.iter().map(|line| line.split(',').take(3).collect::<Vec<_>>().join(",")).collect();
    let wanted = ["25", "75"]
        .iter()
        .flat_map(|percent| ["none", "0", "5", "auto"].iter().map(move |held| format!("{percent},{held},1")));
    assert_eq!(places, wanted.collect::<Vec<_>>());
    let (page, picture) = (read("figures.md"), read("fig9.svg"));
    let printed = String::from_utf8_lossy(&measured[1].stdout);
    for text in [page.as_str(), &printed] {
        assert!(text.contains("| P < 0.05 ms: foreground 50% |"), "{text}");
        assert!(
            text.contains("| P > 0.05 ms: foreground 60-80% below 10% | from 0.08 ms on: foreground no point | not judged |"),
            "{text}"
        );
    }
    assert!(picture.starts_with("<svg") && picture.contains("Figure 9, measured"), "{picture}");
    // All of it comes from the records.
    std::fs::remove_file(dir.path().join("fig9.svg")).unwrap();
    let again = output(lull().args(["bench", "report"]).arg(dir.path()));
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!((read("figures.md"), read("fig9.svg")), (page, picture));
}

#[test]
fn root_round_trips_are_probed_beside_a_connection() {
    if !has_bed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut command = lull();
    command.args(["bench", "net", "--cases", "tcp-tcp,ask", "--contenders", "lp,lull", "--json"]);
    command.args(["--rounds", "1", "--seconds", "1", "--warmup", "0.2", "--probe", "10ms"]);
    let output = output_within(LIMIT, command.arg("--out").arg(dir.path()));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let all = records(dir.path());
    for contender in ["alone", "lull"] {
        let run = runs(&all, "tcp-tcp-25", contender).next().unwrap();
        let probe = &run["foreground"]["probe"];
        let [sent, lost] = ["sent", "lost"].map(|name| probe[name].as_u64().unwrap());
        // At least 5 ms lie between two of them.
        assert!((1..=201).contains(&sent) && lost <= sent, "{run}");
        assert!(probe["latency"]["p99_ns"].as_u64() >= probe["latency"]["p50_ns"].as_u64(), "{run}");
        assert!(runs(&all, "ask", contender).all(|run| run["foreground"]["probe"].is_null()), "{run}");
    }
    let study: Value = serde_json::from_slice(&output.stdout).unwrap();
    for case in study["cases"].as_array().unwrap() {
        let mut rows = case["rows"].as_array().unwrap().iter();
        let lull = rows.find(|row| row["contender"] == "lull").unwrap();
        if !is_left_out(&all, case, "lull") {
            assert!(lull["round_trips"]["added_p99_ns"]["median"].is_f64(), "{lull}");
            assert_eq!(lull["round_trips"]["p99_ns"].is_null(), case["case"] == "ask", "{lull}");
        }
        let mut targets = case["targets"].as_array().unwrap().iter();
        assert!(targets.any(|target| target["what"] == "added round trip at p99 in ms"), "{case}");
        // What the kernel lacks is said, and nothing else is lost by it.
        let name = case["case"].as_str().unwrap();
        let is_measured = runs(&all, name, "lp").count() == 1;
        let is_told = study["unmet"].as_array().unwrap().iter().any(|unmet| {
            let detail = unmet["detail"].as_str().unwrap();
            unmet["case"] == name && unmet["contender"] == "lp" && detail.contains("'lp'")
        });
        assert!(is_measured != is_told, "{log}");
    }
}

#[test]
fn root_servers_are_asked_over_the_link_beside_rsync() {
    if !has_bed() {
        return;
    }
    let programs = ["redis-server", "nginx", "rsync"];
    let is_there =
        |program: &&str| ["/usr/bin", "/usr/sbin"].iter().any(|dir| Path::new(dir).join(program).exists());
    if let Some(missing) = programs.iter().find(|program| !is_there(program)) {
        eprintln!("SKIPPED: no {missing}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut command = lull();
    command.args(["bench", "net", "--cases", "net-redis,net-nginx", "--contenders", "none,rate,lull"]);
    command.args(["--rounds", "1", "--seconds", "1", "--warmup", "0.5", "--json"]);
    let output = output_within(LIMIT, command.arg("--out").arg(dir.path()));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let study: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cases = study["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 2, "{study}");
    let all = records(dir.path());
    for case in cases {
        let row = |name: &str| {
            let mut rows = case["rows"].as_array().unwrap().iter();
            rows.find(|row| row["contender"] == name).unwrap_or_else(|| panic!("no {name}: {case}")).clone()
        };
        for name in ["solo", "none", "rate"] {
            assert!(is_positive(&row(name)["bytes_per_s"]), "{name}: {case}");
        }
        for name in ["alone", "rate", "lull"] {
            let measured = is_positive(&row(name)["foreground"]) || is_left_out(&all, case, name);
            assert!(measured, "{name}: {case}");
        }
        assert!(row("lull")["command"].as_str().unwrap().contains("rsync://10.77.0.12:"), "{case}");
        assert!(!case["targets"].as_array().unwrap().is_empty(), "{case}");
    }
}
