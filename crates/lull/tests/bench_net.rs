//! `lull bench net` with lull itself as a contender: every contender is measured by what arrives, and nothing is left.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;

use common::{lull, needs_root, output};
use lull_bench::netbed;
use serde_json::Value;

#[test]
fn root_lull_is_measured_beside_marks_and_priorities() {
    if !needs_root() {
        return;
    }
    if let Some(why) = netbed::obstacle() {
        eprintln!("SKIPPED: {why}");
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
    command.args(["--rounds", "1", "--seconds", "0.5", "--warmup", "0.2", "--fast-mbit", "100", "--json"]);
    let output = output(command.arg("--out").arg(dir.path()));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let study: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cases = study["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 4, "{study}");
    for case in cases {
        let rows = case["rows"].as_array().unwrap();
        // Datagrams have no congestion control.
        assert_eq!(rows.len(), if case["case"] == "ask" { 6 } else { 5 }, "{case}");
        // So short a window may fall into one hold of lull's.
        for row in rows.iter().filter(|row| row["contender"] != "alone" && row["contender"] != "lull") {
            assert!(row["bytes_per_s"]["median"].as_f64().unwrap() > 0.0, "{row}");
        }
        let row = rows.iter().find(|row| row["contender"] == "lull").unwrap();
        assert!(row["foreground"]["median"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["command"].as_str().unwrap().contains("--resources net"), "{row}");
        assert!(!case["targets"].as_array().unwrap().is_empty(), "{case}");
    }
}

#[test]
fn root_servers_are_asked_over_the_link_beside_rsync() {
    if !needs_root() {
        return;
    }
    if let Some(why) = netbed::obstacle() {
        eprintln!("SKIPPED: {why}");
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
    let output = output(command.arg("--out").arg(dir.path()));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let study: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cases = study["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 2, "{study}");
    for case in cases {
        let row = |name: &str| {
            let mut rows = case["rows"].as_array().unwrap().iter();
            rows.find(|row| row["contender"] == name).unwrap_or_else(|| panic!("no {name}: {case}")).clone()
        };
        for name in ["solo", "none", "rate"] {
            assert!(row(name)["bytes_per_s"]["median"].as_f64().unwrap() > 0.0, "{name}: {case}");
        }
        for name in ["alone", "rate", "lull"] {
            assert!(row(name)["foreground"]["median"].as_f64().unwrap() > 0.0, "{name}: {case}");
        }
        assert!(row("lull")["command"].as_str().unwrap().contains("rsync://10.77.0.2:"), "{case}");
        assert!(!case["targets"].as_array().unwrap().is_empty(), "{case}");
    }
}
