//! Both policies on the real `/proc` and a virtual clock: what they say of themselves. What they decide is tested with them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

/// A job that is this process.
fn job() -> (tempfile::TempDir, JobProcesses) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cgroup.procs"), std::process::id().to_string()).unwrap();
    let job = JobProcesses::of_folder(folder.path());
    (folder, job)
}

fn told(regulator: &Regulator, now: Nanos) -> (String, String) {
    let (mut status, mut report) = (Status::default(), Report::default());
    regulator.status(now, &mut status);
    regulator.report(now, &mut report);
    (status.regulation.unwrap(), report.regulation.unwrap())
}

#[test]
fn smart_holds_the_job_to_learn_the_foreground_alone_then_beside_it() {
    let (_folder, job) = job();
    let mut regulator = Regulator::new(Regulation::Smart(SmartSetting::default()), &[], &job);
    let mut now = Nanos::from_secs(1);
    let mut seen = Vec::new();
    for _ in 0..2_000 {
        now = regulator.turn(now, regulator.wants_hold()).unwrap().max(now.plus(Nanos(1)));
        let (doing, _) = told(&regulator, now);
        if seen.last() != Some(&(doing.clone(), regulator.wants_hold())) {
            seen.push((doing, regulator.wants_hold()));
        }
        if seen.len() >= 3 {
            break;
        }
    }
    assert!(seen[0].0.contains("to learn the foreground alone") && seen[0].1, "{seen:?}");
    assert!(seen.iter().any(|(doing, held)| doing.contains("beside the job") && !held), "{seen:?}");
    regulator.end(now);
    assert!(!regulator.wants_hold());
}

#[test]
fn manners_learns_the_usual_progress_while_the_job_runs() {
    let (_folder, job) = job();
    let mut regulator = Regulator::new(Regulation::Manners(MannersSetting::default()), &[], &job);
    let now = Nanos::from_secs(1);
    let next = regulator.turn(now, false).unwrap();
    let (doing, learnt) = told(&regulator, now);
    assert!(next > now && !regulator.wants_hold());
    assert!(
        doing.contains("to learn its usual progress") && learnt.contains("before its usual progress"),
        "{doing}"
    );
}

#[test]
fn the_foreground_is_everybody_but_the_job_or_what_descends_from_whom_was_named() {
    let (_folder, job) = job();
    let own = i32::try_from(std::process::id()).unwrap();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let everybody = foreground(&job, &[]);
    assert!(everybody.contains(&pid) && !everybody.contains(&own));
    assert_eq!(foreground(&job, &[pid]), [pid]);
    assert!(applications(&[pid]).iter().any(|seen| seen.pid == pid));
    child.kill().unwrap();
    child.wait().unwrap();
}
