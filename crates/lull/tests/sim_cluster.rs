//! `lull sim cluster` as a user runs it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

fn cluster(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lull")).args(["sim", "cluster"]).args(words).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn who_reads_no_more_ends_it_quietly() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let words = ["sim", "cluster", "--nodes", "2", "--length", "120min", "--runs", "1", "--only", "switch"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_lull"));
    let done = command
        .args(words)
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap();
    assert_eq!(done.status.signal(), Some(libc::SIGPIPE), "{done:?}");
    assert!(done.stderr.is_empty(), "{done:?}");
}

#[test]
fn a_pool_in_json_and_in_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().to_str().unwrap();
    let words = [
        "--nodes", "16", "--length", "1440min", "--runs", "2", "--only", "pool", "--only", "switch",
        "--json", "--out", out,
    ];
    let done = cluster(&words);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    let policies: Vec<&str> =
        json["pool"].as_array().unwrap().iter().map(|row| row["policy"].as_str().unwrap()).collect();
    assert_eq!(
        policies,
        ["linger-longer", "linger-forever", "immediate-eviction", "pause-and-migrate", "suspend-in-place"]
    );
    let gain = |row: usize| json["pool"][row]["gain"]["mean"].as_f64().unwrap();
    assert!(gain(1) > gain(2) && (gain(2) - 1.0).abs() < 1e-9);
    assert!(json["pool"][0]["completion_s"]["half"].as_f64().unwrap() > 0.0);
    assert!(json["parallel"].as_array().unwrap().is_empty());
    for name in ["throughput.svg", "completion.svg", "switch.svg"] {
        assert!(std::fs::read_to_string(dir.path().join(name)).unwrap().starts_with("<svg"), "{name}");
    }
    assert_eq!(done.stdout, cluster(&words).stdout, "the same seed, the same pool");
}

#[test]
fn a_trace_is_replayed_and_a_bad_one_told_by_its_lines() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("owners.csv");
    let file = path.to_str().unwrap();
    let mut csv = "node,time,cpu,mem,owner_active\n".to_owned();
    for minute in 0..600 {
        for node in ["a", "b"] {
            csv += &format!(
                "{node},{},{},0.2,{}\n",
                minute * 60,
                if minute % 60 < 30 { 0.5 } else { 0.0 },
                u8::from(minute % 60 < 30)
            );
        }
    }
    std::fs::write(&path, &csv).unwrap();
    let words = ["--owners", file, "--only", "pool", "--policy", "linger-forever", "--json"];
    let done = cluster(&words);
    assert!(done.status.success(), "{}", text(&done.stderr));
    let json: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(json["nodes"], 2);
    let throughput = json["pool"][0]["throughput"]["mean"].as_f64().unwrap();
    assert!((throughput - 0.75).abs() < 0.03, "half of the time alone, half of it with half: {throughput}");

    std::fs::write(&path, csv + "a,-1,0.5,0.2,1\nc,5,50,0.2,1\n").unwrap();
    let done = cluster(&words);
    let error = text(&done.stderr);
    assert!(!done.status.success());
    for word in ["owners.csv", "line 1202", "negative", "line 1203", "a share from 0 to 1"] {
        assert!(error.contains(word), "{word}: {error}");
    }
}

#[test]
fn parallel_guests_and_wrong_words() {
    let done = cluster(&["--only", "parallel"]);
    assert!(done.status.success());
    let table = text(&done.stdout);
    assert_eq!(
        table.lines().filter(|line| line.starts_with("| sor") || line.starts_with("| fft")).count(),
        16,
        "{table}"
    );
    for (words, needle) in [
        (vec!["--policy", "linger"], "'linger' is not a policy"),
        (vec!["--in-use", "100%"], "owners come and go"),
        (vec!["--owners", "/nowhere"], "does it exist"),
        (vec!["--nodes", "0"], "--nodes: a pool has a node"),
        (vec!["--runs", "0"], "--runs: run it once"),
        (vec!["--length", "0s"], "--length: the pool is simulated"),
        (vec!["--work", "0s"], "--work: a guest has work"),
        (vec!["--guests", "0"], "--guests 0: there is a guest"),
        (vec!["--bandwidth", "0B"], "--bandwidth: nothing could move"),
    ] {
        let done = cluster(&words);
        assert!(!done.status.success() && text(&done.stderr).contains(needle), "{}", text(&done.stderr));
    }
}
