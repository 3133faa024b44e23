//! `lull bench cpu` with lull itself as a contender: the jobs run under `lull run`, its summary is found, nothing is left.
//!
//! Background starves while others compute, so nothing is asked of how much it did. One that cannot end in the time that it is
//! given then is killed, and has no known cost of control: its record says so.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::time::Duration;

use common::{lull, output_within};
use serde_json::Value;

/// Four runs of background that may starve.
const LIMIT: Duration = Duration::from_secs(160);

#[test]
fn root_lull_is_measured_beside_priorities() {
    is_measured_beside_priorities("serve-50-at-20", "memory");
}

#[test]
fn root_lull_is_measured_beside_priorities_that_compute_in_registers() {
    is_measured_beside_priorities("integer", "integer");
}

fn is_measured_beside_priorities(case: &str, kind: &str) {
    let dir = tempfile::tempdir().unwrap();
    let mut command = lull();
    command.args(["bench", "cpu", "--cases", case, "--contenders", "sched-idle,lull", "--rounds", "1"]);
    command.args([
        "--seconds",
        "0.5",
        "--warmup",
        "0",
        "--settle",
        "0",
        "--beat",
        "50ms",
        "--service",
        "50us",
        "--json",
    ]);
    let output = output_within(LIMIT, command.args(["--hog-memory", "1MiB", "--out"]).arg(dir.path()));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let study: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [study_of_case] = study["cases"].as_array().unwrap().as_slice() else {
        panic!("not one case: {study}\n{log}");
    };
    let rows = study_of_case["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["contender"] == "lull");
    let row = row.unwrap_or_else(|| panic!("no row of lull: {study}\n{log}"));
    let command = row["command"].as_str().unwrap();
    assert!(command.contains("run -q --json --summary ") && command.contains(&format!("--kind {kind} ")));
    assert_eq!(row["runs"], 1, "{row}");
    assert!(row["cpu"]["work_per_s"]["median"].as_f64().is_some(), "{row}");
    for figure in ["mean", "service"] {
        assert!(row["cpu"][figure]["median"].as_f64().unwrap() > 0.0, "{figure}: {row}");
    }
    let records = std::fs::read_to_string(dir.path().join("raw.jsonl")).unwrap();
    let mut runs = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let run = runs.rfind(|record| record["contender"] == "lull").unwrap();
    let ended = |note: &Value| note.as_str().unwrap().contains("the background ended with ");
    let was_killed = run["notes"].as_array().is_some_and(|notes| notes.iter().any(ended));
    let control = row["cpu"]["control_cpus"]["median"].as_f64();
    assert!(was_killed || control.is_some_and(|cpus| cpus > 0.0), "{row}\n{run}");
    assert!(!study_of_case["targets"].as_array().unwrap().is_empty(), "{study_of_case}");
    assert!(was_killed || !records.contains("no summary that can be read"), "{records}");
    let names: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("summary-")), "{names:?}");
}
