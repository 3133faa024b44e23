//! Memory on a small machine: the foreground gets the job's, and the out-of-memory killer takes the job. And `lull set`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::small::{EXE, MIB, Small, job};
use common::{finish, lull, lull_run, needs_root, new_marker, output, send, spawn_marked, wait_until};

#[test]
fn root_the_out_of_memory_killer_takes_the_job() {
    let Some(small) = Small::machine(96 * MIB) else { return };
    if std::fs::write(small.path().join("memory.swappiness"), "0").is_err() {
        eprintln!("SKIPPED: swapping cannot be turned off for a group here");
        return;
    }
    let words = [EXE, "load", "mem-work", "--memory", "40MiB", "--ready", "--json"];
    let foreground = small.command(&words).spawn().unwrap();
    wait_until("the foreground's working set", || small.0.as_ref().unwrap().usage().unwrap() >= 40 * MIB);
    let dir = tempfile::tempdir().unwrap();
    let job = finish(job(&small, "128MiB", &dir.path().join("summary")));
    assert!(!job.status.success(), "the job has more than there is");
    send(foreground.id(), libc::SIGTERM);
    assert!(finish(foreground).status.success(), "the foreground lives");
}

#[test]
fn root_thresholds_are_set_while_the_job_runs() {
    if !needs_root() {
        return;
    }
    let spawn = |resources: &str| {
        let options = ["--resources", resources];
        spawn_marked(&mut lull_run(&options, &["sleep", "60"]), &new_marker())
    };
    let set = |pid: u32, words: &[&str]| output(lull().args(["set", &pid.to_string()]).args(words));
    let managed = spawn("memory");
    wait_until("the run to answer", || set(managed.id(), &["--mem-high", "200MiB"]).status.success());
    let done = set(managed.id(), &["--mem-low", "10MiB"]);
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "mem-low 10MiB, mem-high 200MiB");
    let refused = set(managed.id(), &["--mem-low", "201MiB"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is above"), "{refused:?}");
    let plain = spawn("disk");
    wait_until("the run to refuse", || {
        String::from_utf8_lossy(&set(plain.id(), &["--mem-low", "1MiB"]).stderr).contains("not managed")
    });
    for child in [managed, plain] {
        send(child.id(), libc::SIGTERM);
        finish(child);
    }
    let gone = set(u32::MAX >> 1, &["--mem-low", "1MiB"]);
    assert!(String::from_utf8_lossy(&gone.stderr).contains("no lull run"), "{gone:?}");
}
