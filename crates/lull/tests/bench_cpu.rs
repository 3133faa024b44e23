//! `lull bench cpu` with lull itself as a contender: the jobs run under `lull run`, its summary is found, nothing is left.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{lull, output};
use serde_json::Value;

#[test]
fn root_lull_is_measured_beside_priorities() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = lull();
    command.args(["bench", "cpu", "--cases", "serve-50-at-20,integer", "--contenders", "sched-idle,lull"]);
    command.args([
        "--rounds",
        "1",
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
    let output = output(command.args(["--hog-memory", "1MiB", "--out"]).arg(dir.path()));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    let study: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cases = study["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 2, "{study}");
    for case in cases {
        let row = case["rows"].as_array().unwrap().iter().find(|row| row["contender"] == "lull").unwrap();
        let command = row["command"].as_str().unwrap();
        assert!(command.contains("run -q --json --summary "), "{command}");
        assert_eq!(row["runs"], 1, "{row}");
        assert!(row["cpu"]["work_per_s"]["median"].as_f64().is_some(), "{row}");
        for figure in ["mean", "service", "control_cpus"] {
            assert!(row["cpu"][figure]["median"].as_f64().unwrap() > 0.0, "{figure}: {row}");
        }
        assert!(!case["targets"].as_array().unwrap().is_empty(), "{case}");
    }
    let records = std::fs::read_to_string(dir.path().join("raw.jsonl")).unwrap();
    assert!(!records.contains("no summary that can be read"), "{records}");
    let names: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("summary-")), "{names:?}");
}
