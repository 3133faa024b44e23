//! `lull sim` and `lull advise` as a user runs them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

fn lull(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lull")).args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn example(name: &str) -> String {
    format!("{}/../../examples/scenarios/{name}.toml", env!("CARGO_MANIFEST_DIR"))
}

fn trace(name: &str) -> String {
    format!("{}/../lull-sim/tests/traces/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_figure_is_the_same_each_time_and_another_with_another_seed() {
    let dir = tempfile::tempdir().unwrap();
    let make = |name: &str, seed: &str| {
        let out = dir.path().join(name);
        let done = lull(&["sim", "fig8", "--quick", "--seed", seed, "--out", out.to_str().unwrap()]);
        assert!(done.status.success(), "{}", text(&done.stderr));
        assert!(text(&done.stdout).contains("| sentence | simulated | holds |"));
        let read = |file: &str| std::fs::read_to_string(Path::new(&out).join(file)).unwrap();
        (read("fig8.csv"), read("fig8.svg"))
    };
    let first = make("one", "1");
    assert_eq!(first, make("two", "1"));
    assert_ne!(first.0, make("three", "2").0);
    assert!(first.1.starts_with("<svg"));
}

#[test]
fn a_scenario_runs_and_a_wrong_one_is_told_with_file_and_line() {
    let done = lull(&["sim", "run", "--json", &example("disk")]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(json[0]["name"], "disk");
    assert!(json[0]["background"]["requests_per_s"].as_f64().unwrap() > 0.0);

    let dir = tempfile::tempdir().unwrap();
    let wrong = dir.path().join("wrong.toml");
    std::fs::write(&wrong, std::fs::read_to_string(example("disk")).unwrap().replace("length", "lenght"))
        .unwrap();
    let done = lull(&["sim", "run", wrong.to_str().unwrap()]);
    let error = text(&done.stderr);
    assert!(!done.status.success());
    for word in ["wrong.toml", "line 3", "lenght"] {
        assert!(error.contains(word), "{word}: {error}");
    }
}

#[test]
fn advice_for_a_trace_names_a_command_and_draws_the_frontier() {
    let dir = tempfile::tempdir().unwrap();
    let svg = dir.path().join("frontier.svg");
    let done = lull(&["advise", &trace("perf.txt"), "--budget", "5%", "--svg", svg.to_str().unwrap()]);
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(
        text(&done.stdout).contains("For a budget of 5%: lull run --interval "),
        "{}",
        text(&done.stdout)
    );
    assert!(std::fs::read_to_string(&svg).unwrap().contains("budget 5%"));
    let done = lull(&["advise", &trace("fio.iolog"), "--service", "300us", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(json["format"], "fio-iolog");
    assert!(!json["candidates"].as_array().unwrap().is_empty());
}

#[test]
fn a_file_that_is_no_trace_is_told_with_its_line() {
    let dir = tempfile::tempdir().unwrap();
    let wrong = dir.path().join("letter.txt");
    std::fs::write(&wrong, "\nDear reader,\n").unwrap();
    let done = lull(&["advise", wrong.to_str().unwrap()]);
    let error = text(&done.stderr);
    assert!(!done.status.success());
    for word in ["letter.txt", "line 2", "Dear reader"] {
        assert!(error.contains(word), "{word}: {error}");
    }
}
