//! The CPUs as a resource of `lull run`: a job leaves CPUs to a foreground that computes, within its bounds, and whatever is killed
//! meanwhile leaves nothing held and nothing confined.
//!
//! The audit holds the job for moments beside any foreground; so the tests need no real harm.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::{
    READ_ONLY_GROUPS, assert_nothing_left, clean_text, finish, helper, in_own_mounts, job_of, lull_run,
    needs_root, new_marker, output, send, spawn_marked, state_of, wait_until,
};
use serde_json::Value;

/// Computes for a millisecond or two and sleeps as long, over and over: a foreground whose bursts can be compared.
struct Computing(Child);

impl Computing {
    fn start() -> Self {
        let script = "while :; do i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; sleep 0.002; done";
        Self(Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap())
    }

    fn without_a_pause() -> Self {
        Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Computing {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Computes a little at a time for so many seconds, however little it gets, then says that it is done.
fn job(seconds: u32) -> String {
    format!(
        "end=$(($(date +%s) + {seconds})); until [ $(date +%s) -ge $end ]; do \
         sleep 0.01; j=0; while [ $j -lt 1500 ]; do j=$((j+1)); done; done; echo done"
    )
}

/// Computes until the file is there, then says that it is done.
fn job_until(go: &Path) -> String {
    format!(
        "until [ -e {} ]; do j=0; while [ $j -lt 1500 ]; do j=$((j+1)); done; done; echo done",
        go.display()
    )
}

const STRICT: [&str; 6] = ["--resources", "disk,cpu", "--max-slowdown", "0%", "--cpu-floor", "40%"];

fn summary_of(options: &[&str], script: &str) -> Value {
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = file.path().to_str().unwrap();
    let options: Vec<&str> = options.iter().copied().chain(["--json", "--summary", path]).collect();
    assert_eq!(clean_text(&output(&mut lull_run(&options, &["sh", "-c", script]))), "done\n");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn is_held(front: u32) -> bool {
    common::hold_file(front)
        .is_some_and(|(file, word)| std::fs::read_to_string(file).is_ok_and(|text| text.trim() == word))
}

/// The summary of a job that computes until it was held once, for the CPUs' sake: nothing else is watched.
fn summary_after_a_hold() -> Value {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (path, go) = (dir.path().join("summary"), dir.path().join("go"));
    let more = ["--json", "--summary", path.to_str().unwrap()];
    let strict = ["--resources", "cpu", "--max-slowdown", "0%", "--cpu-floor", "40%"];
    let options: Vec<&str> = strict.into_iter().chain(more).collect();
    let marker = new_marker();
    let child = spawn_marked(&mut lull_run(&options, &["sh", "-c", &job_until(&go)]), &marker);
    let front = child.id();
    wait_until("a hold", || is_held(front));
    std::fs::write(&go, "").unwrap();
    assert_eq!(clean_text(&finish(child)), "done\n");
    assert_nothing_left(front, &marker);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn root_the_cpus_are_watched_without_the_disks() {
    if !needs_root() {
        return;
    }
    let _foreground = Computing::start();
    let summary = summary_of(&["--resources", "cpu"], &job(12));
    let cpu = &summary["cpu"];
    assert!(cpu["lent"].as_str().unwrap().contains("CPU"), "{summary}");
    assert!(cpu["background_busy_ns"].as_u64().unwrap() > 0, "{summary}");
    assert!(summary["disks"].as_array().unwrap().is_empty(), "{summary}");
}

#[test]
fn root_a_promise_of_nothing_holds_a_job_beside_the_foreground_and_lets_it_end() {
    if !needs_root() {
        return;
    }
    let _foreground = Computing::start();
    let summary = summary_after_a_hold();
    assert!(summary["holds"].as_u64().unwrap() > 0, "{summary}");
    assert!(summary["cpu"]["foreground_busy_ns"].as_u64().unwrap() > 0, "{summary}");
    assert!((summary["cpu"]["promised"].as_f64().unwrap()).abs() < 1e-9, "{summary}");
}

#[test]
fn root_without_the_resource_nobody_watches_the_cpus() {
    if !needs_root() {
        return;
    }
    for options in [["--resources", "disk"], ["--sensor", "diskstats"]] {
        assert!(summary_of(&options, "echo done")["cpu"].is_null(), "{options:?}");
    }
}

/// The CPUs that a process may use.
fn allowed(pid: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find(|line| line.starts_with("Cpus_allowed_list")).map(str::to_owned)
}

#[test]
fn root_a_job_leaves_a_cpu_to_the_foreground_and_has_it_back_when_that_has_gone() {
    if !needs_root() {
        return;
    }
    if std::thread::available_parallelism().unwrap().get() < 2 {
        eprintln!("SKIPPED: with one CPU there is none to leave");
        return;
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let go = dir.path().join("go");
    // Computes when it is told so, and then sleeps.
    let script = "read go; i=0; while [ $i -lt 2000000 ]; do i=$((i+1)); done; exec sleep 1000";
    let mut foreground =
        Computing(Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap());
    let marker = new_marker();
    // This test itself looks on, and would be at work.
    let pid = foreground.0.id().to_string();
    let options = ["--resources", "cpu", "--longest-hold", "off", "--protect", &pid];
    let child = spawn_marked(&mut lull_run(&options, &["sh", "-c", &job_until(&go)]), &marker);
    let front = child.id();
    let job = job_of(front);
    let all = allowed(job);
    foreground.0.stdin.take().unwrap().write_all(b"go\n").unwrap();
    wait_until("fewer CPUs", || allowed(job) != all);
    wait_until("all CPUs", || allowed(job) == all);
    std::fs::write(&go, "").unwrap();
    assert_eq!(
        clean_text(&finish(child)),
        "done
"
    );
    assert_nothing_left(front, &marker);
}

#[test]
fn root_a_supervisor_killed_while_it_holds_leaves_the_job_running_on_all_cpus() {
    if !needs_root() {
        return;
    }
    let _foreground = Computing::start();
    for name in ["lull-supervisor", "lull-guardian"] {
        let marker = new_marker();
        let child = spawn_marked(&mut lull_run(&STRICT, &["sh", "-c", &job(8)]), &marker);
        let front = child.id();
        let job = job_of(front);
        let before = allowed(job);
        let (held, word) = {
            let mut file = None;
            wait_until("the job's hold", || {
                file = common::hold_file(front);
                file.is_some()
            });
            file.unwrap()
        };
        let is_held = || std::fs::read_to_string(&held).is_ok_and(|text| text.trim() == word);
        wait_until("a hold", || is_held() || state_of(job).is_none());
        send(helper(front, name).unwrap_or(u32::MAX >> 1), libc::SIGKILL);
        if name == "lull-supervisor" && before.is_some() {
            wait_until("all CPUs", || allowed(job).is_none() || (allowed(job) == before && !is_held()));
        }
        assert_eq!(clean_text(&finish(child)), "done\n");
        assert_nothing_left(front, &marker);
    }
}

#[test]
fn root_sessions_and_other_users_of_a_job_are_held_with_it_and_let_go_with_it() {
    if !needs_root() {
        return;
    }
    let _foreground = Computing::start();
    let marker = new_marker();
    let part = job(8);
    let script = format!(
        "setsid sh -c '{part}' & nice -n -5 sh -c '{part}' & setpriv --reuid 65534 sh -c '{part}' & wait"
    );
    let child = spawn_marked(&mut lull_run(&STRICT, &["sh", "-c", &script]), &marker);
    let front = child.id();
    let job = job_of(front);
    let mut file = None;
    wait_until("the job's hold", || {
        file = common::hold_file(front);
        file.is_some()
    });
    let (held, word) = file.unwrap();
    let is_held = || std::fs::read_to_string(&held).is_ok_and(|text| text.trim() == word);
    wait_until("a hold", || is_held() || state_of(job).is_none());
    send(helper(front, "lull-supervisor").unwrap_or(u32::MAX >> 1), libc::SIGKILL);
    assert_eq!(clean_text(&finish(child)), "done\ndone\ndone\n");
    assert_nothing_left(front, &marker);
}

/// Groups of the test's own in every hierarchy, which are removed with it.
struct ForeignGroups(String);

impl ForeignGroups {
    /// What a shell runs to move itself into all of them that take it.
    fn join(&self) -> String {
        let Self(name) = self;
        format!(
            "for place in $(findmnt -rno TARGET -t cgroup,cgroup2); do mkdir -p $place/{name}; \
             echo $$ > $place/{name}/cgroup.procs; done 2>/dev/null"
        )
    }
}

impl Drop for ForeignGroups {
    fn drop(&mut self) {
        let Self(name) = self;
        let remove = format!(
            "for place in $(findmnt -rno TARGET -t cgroup,cgroup2); do rmdir $place/{name}; done 2>/dev/null"
        );
        let _ = Command::new("sh").args(["-c", &remove]).status();
    }
}

#[test]
fn root_a_part_of_the_job_in_groups_of_others_stays_background_and_ends_as_the_rest_does() {
    if !needs_root() {
        return;
    }
    let _foreground = Computing::start();
    let marker = new_marker();
    let groups = ForeignGroups(format!("lull-test-foreign-{}", std::process::id()));
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let summary = dir.path().join("summary");
    let more = ["--json", "--summary", summary.to_str().unwrap()];
    let options: Vec<&str> = STRICT.into_iter().chain(more).collect();
    let part = job(5);
    // The one that left computes for some seconds, the other next to nothing.
    let script = format!(
        "sh -c '{}; j=0; while [ $j -lt 6000000 ]; do j=$((j+1)); done; echo done' & sh -c '{part}' & wait",
        groups.join()
    );
    let child = spawn_marked(&mut lull_run(&options, &["sh", "-c", &script]), &marker);
    let front = child.id();
    assert_eq!(clean_text(&finish(child)), "done\ndone\n");
    assert_nothing_left(front, &marker);
    let summary: Value = serde_json::from_str(&std::fs::read_to_string(&summary).unwrap()).unwrap();
    assert!(summary["cpu"]["background_busy_ns"].as_u64().unwrap() > 1_000_000_000, "{summary}");
}

#[test]
fn root_beside_a_foreground_that_never_sleeps_a_job_ends() {
    if !needs_root() {
        return;
    }
    let cpus = std::thread::available_parallelism().unwrap().get();
    let _spinners: Vec<Computing> = (1..cpus.max(2)).map(|_| Computing::without_a_pause()).collect();
    let summary = summary_after_a_hold();
    assert!(summary["cpu"]["foreground_busy_ns"].as_u64().unwrap() > 0, "{summary}");
}

#[test]
fn root_a_job_without_a_cpu_is_told_for_how_long() {
    if !needs_root() {
        return;
    }
    let cpus = std::thread::available_parallelism().unwrap().get();
    let _spinners: Vec<Computing> = (0..2 * cpus).map(|_| Computing::without_a_pause()).collect();
    // Nobody holds it; it is the kernel that gives it nothing.
    let summary = summary_of(&["--resources", "disk"], &job(3));
    let Some(starved_ns) = summary["starved_ns"].as_u64() else {
        let tells = |file: &str| std::fs::read_to_string(file).is_ok_and(|text| text.contains("full "));
        let mounts = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
        let has_v2 = mounts.iter().any(|mount| Path::new(mount).join("cgroup.controllers").exists());
        assert!(!(has_v2 && tells("/proc/pressure/cpu")), "{summary}");
        eprintln!("SKIPPED: the kernel tells no pressure of control groups here");
        return;
    };
    assert!(starved_ns > 100_000_000 && starved_ns <= summary["wall_ns"].as_u64().unwrap(), "{summary}");
}

#[test]
fn root_without_a_group_signals_hold_who_may_be_frozen_and_whoever_is_killed_nobody_stays_stopped() {
    if !needs_root() {
        return;
    }
    let _foreground = Computing::start();
    for names in [&["lull-supervisor"][..], &["lull-supervisor", "lull-guardian"]] {
        let marker = new_marker();
        let run = lull_run(&[&STRICT[..], &["--hold", "freeze"]].concat(), &["sh", "-c", &job(8)]);
        let child = spawn_marked(&mut in_own_mounts(&run, READ_ONLY_GROUPS), &marker);
        let front = child.id();
        let job = job_of(front);
        wait_until("a hold", || matches!(state_of(job), Some(('T', _)) | None));
        names.iter().for_each(|name| {
            send(helper(front, name).unwrap_or(u32::MAX >> 1), libc::SIGKILL);
        });
        assert_eq!(clean_text(&finish(child)), "done\n", "{names:?}");
        assert_nothing_left(front, &marker);
    }
}

#[test]
fn root_the_user_s_measure_decides_and_ends_with_the_job() {
    if !needs_root() {
        return;
    }
    let marker = new_marker();
    let slo = "while :; do echo 10; sleep 0.2; done";
    let child = spawn_marked(
        &mut lull_run(&["--resources", "cpu", "--slo", slo], &["sh", "-c", "sleep 1; echo done"]),
        &marker,
    );
    let front = child.id();
    assert_eq!(clean_text(&finish(child)), "done\n");
    assert_nothing_left(front, &marker);
    let is_measure = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|words| words.contains("do echo 10; sleep 0.2"))
    };
    wait_until("the measure's end", || !common::processes().iter().any(is_measure));
}

#[test]
fn root_a_measure_that_makes_no_sense_is_refused() {
    for (options, offending) in [
        (["--slo", "https://localhost/metrics x"], "curl"),
        (["--slo", "http://localhost/metrics"], "METRIC"),
        (["--cpu-floor", "2"], "percent"),
        (["--resources", "tape"], "tape"),
        (["--resources=disk", "--slo=echo 1"], "add cpu"),
    ] {
        let told = output(&mut lull_run(&options, &["true"]));
        assert_eq!(told.status.code(), Some(125), "{options:?}");
        let text = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(text.contains(offending), "{options:?}: {text}");
    }
}
