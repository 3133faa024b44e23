//! `lull run --policy smart` and `manners`: the job is held and let go, its output is right, signals reach it while it is held,
//! and kill -9 of the supervisor leaves nothing held.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};

use common::go::Go;
use common::pty::Terminal;
use common::{
    MARKER, assert_nothing_left, clean_text, finish, helper, is_held, job_of, lull, lull_run, needs_root,
    new_marker, output, send, spawn_marked, wait_for_end, wait_until,
};
use nix::fcntl::{Flock, FlockArg};

/// Windows long enough that a job is seen held, short enough for a test.
const SMART: [&str; 2] = ["--policy", "smart:500ms"];

/// A job that goes on until there is a file, and is held now, to learn the foreground alone.
fn held_job(options: &[&str], go: &Go, marker: &str) -> Child {
    let script = go.script("true", "echo done");
    let child = spawn_marked(&mut lull_run(options, &["sh", "-c", &script]), marker);
    job_of(child.id());
    wait_until("the job to be held", || is_held(child.id()));
    child
}

#[test]
fn root_smart_holds_a_job_while_it_learns_and_lets_it_end() {
    if !needs_root() {
        return;
    }
    let (go, marker) = (Go::new(), new_marker());
    let child = held_job(&SMART, &go, &marker);
    let front = child.id();
    go.give();
    let output = finish(child);
    assert_eq!(clean_text(&output), "done\n");
    assert!(output.status.success());
    assert_nothing_left(front, &marker);
}

#[test]
fn root_the_summary_tells_the_policy_and_its_holds() {
    if !needs_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("summary.json");
    let options = [SMART[0], SMART[1], "--json", "--summary", file.to_str().unwrap()];
    let (go, marker) = (Go::new(), new_marker());
    let child = held_job(&options, &go, &marker);
    go.give();
    let output = finish(child);
    assert!(output.status.success(), "{output:?}");
    let summary: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(summary["policy"], "smart");
    assert!(summary["holds"].as_u64().unwrap() >= 1, "{summary}");
    assert!(summary["job_held_ns"].as_u64().unwrap() > 0, "{summary}");
    assert!(summary["regulation"].as_str().unwrap().starts_with("smart: "), "{summary}");
    assert_eq!(summary["gate"]["trapped"], 0, "no request gate");
}

#[test]
fn root_a_held_job_answers_and_gives_up_its_lock_to_whoever_waits_for_it() {
    if !needs_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lock");
    let script = format!(
        "exec 9>>'{}'; while :; do flock 9; echo locked; read go || exit 0; flock -u 9; echo free; read go || exit 0; done",
        path.display()
    );
    let marker = new_marker();
    // A first hold that is far longer than the whole exchange.
    let mut command = lull_run(&["--policy", "smart:60s"], &["bash", "-c", &script]);
    command.env(MARKER, &marker).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let front = child.id();
    let mut words = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    wait_until("the job to be held", || is_held(front));
    for _ in 0..5 {
        assert_eq!(answers.next().unwrap().unwrap(), "locked");
        let lock = |how| Flock::lock(std::fs::File::options().append(true).open(&path).unwrap(), how);
        assert!(lock(FlockArg::LockExclusiveNonblock).is_err(), "the job has it");
        words.write_all(b"go\n").unwrap();
        let own = lock(FlockArg::LockExclusive).map_err(|(_, error)| error).unwrap();
        assert!(is_held(front));
        drop(own);
        assert_eq!(answers.next().unwrap().unwrap(), "free");
        words.write_all(b"go\n").unwrap();
    }
    assert!(is_held(front), "all of that was in one hold");
    drop(words);
    assert!(finish(child).status.success());
    assert_nothing_left(front, &marker);
}

/// What a summary says of the policy, after a job beside a protected shell that starts a program once it has been learnt,
/// or does not. When that is so, and when it has been noticed, the status line says.
fn regulation(newcomer: Option<&std::path::Path>, dir: &std::path::Path) -> String {
    let [begin, go, file] = ["begin", "go", "summary.json"].map(|name| dir.join(name));
    let program = newcomer.map_or_else(
        || "sleep 600".to_owned(),
        |path| format!("'{}' -c 'while :; do :; done'", path.display()),
    );
    let script = format!("while [ ! -e '{}' ]; do sleep 0.05; done; exec {program}", begin.display());
    let mut protected =
        std::process::Command::new("sh").args(["-c", &script]).process_group(0).spawn().unwrap();
    let pid = protected.id().to_string();
    let job = format!("while [ ! -e '{}' ]; do sleep 0.05; done", go.display());
    let marker = new_marker();
    let mut command = lull();
    command.args(["run", "--policy", "smart:200ms", "--protect", &pid, "--json", "--summary"]);
    command.arg(&file).args(["--", "sh", "-c", &job]).env(MARKER, &marker).env("TERM", "xterm");
    let mut terminal = Terminal::start(command);
    // Calm, or busy.
    terminal.wait_for("the foreground is ", 1);
    std::fs::write(&begin, "").unwrap();
    match newcomer {
        Some(_) => terminal.wait_for("to learn the foreground anew", 1),
        // As many windows again as the learning took.
        None => std::thread::sleep(std::time::Duration::from_secs(3)),
    }
    std::fs::write(&go, "").unwrap();
    assert!(wait_for_end(&mut terminal.child).success());
    assert_nothing_left(terminal.child.id(), &marker);
    // SAFETY: the group is that of the child, which has not been waited for.
    unsafe { libc::killpg(i32::try_from(protected.id()).unwrap(), libc::SIGKILL) };
    protected.wait().unwrap();
    let summary: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    summary["regulation"].as_str().unwrap().to_owned()
}

#[test]
fn root_smart_learns_anew_when_an_application_is_added_and_only_then() {
    if !needs_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let quiet = regulation(None, dir.path());
    assert!(!quiet.contains("learnt anew"), "{quiet}");
    let dir = tempfile::tempdir().unwrap();
    let newcomer = dir.path().join("newcomer");
    std::fs::copy("/bin/sh", &newcomer).unwrap();
    let changed = regulation(Some(&newcomer), dir.path());
    assert!(changed.contains("learnt anew") && changed.contains("newcomer"), "{changed}");
}

#[test]
fn root_a_held_job_handles_its_signals() {
    if !needs_root() {
        return;
    }
    let marker = new_marker();
    // Ten minutes of learning: only the signal can end it.
    let options = ["--policy", "smart:100s"];
    let script = "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.1; done";
    let mut child = spawn_marked(lull_run(&options, &["sh", "-c", script]).stdout(Stdio::piped()), &marker);
    let front = child.id();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    wait_until("the job to be held", || is_held(front));
    // A job that was held before it could set its trap dies of the signal instead; both are handling it.
    assert!(send(front, libc::SIGTERM));
    let status = wait_for_end(&mut child);
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stdout, &mut text).unwrap();
    use std::os::unix::process::ExitStatusExt;
    let caught = text.ends_with("caught\n") && status.code() == Some(3);
    let died = !text.contains("ready") && status.signal() == Some(libc::SIGTERM);
    assert!(caught || died, "{text:?} {status:?}");
    assert_nothing_left(front, &marker);
}

#[test]
fn root_kill_of_the_supervisor_lets_a_held_job_go() {
    if !needs_root() {
        return;
    }
    let (go, marker) = (Go::new(), new_marker());
    // Ten minutes of learning: only the guardian can end the hold.
    let child = held_job(&["--policy", "smart:100s"], &go, &marker);
    let front = child.id();
    assert!(helper(front, "lull-supervisor").is_some_and(|pid| send(pid, libc::SIGKILL)));
    // The job itself waits for the word to end.
    wait_until("the end of the hold", || !is_held(front));
    go.give();
    let output = finish(child);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "done\n");
    assert!(output.status.success(), "{output:?}");
    assert_nothing_left(front, &marker);
}

#[test]
fn root_manners_leaves_an_undisturbed_job_and_its_output_alone() {
    if !needs_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("summary.json");
    let options = ["--policy", "manners:50ms", "--json", "--summary", file.to_str().unwrap()];
    let output = output(&mut lull_run(&options, &["sh", "-c", "sleep 3; echo slept"]));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "slept\n");
    let summary: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(summary["policy"], "manners");
    // On probation it rests now and then; who sleeps is in nobody's way and never suspended.
    let told = summary["regulation"].as_str().unwrap();
    assert!(told.contains("before its usual progress") || told.contains("would last 250ms"), "{summary}");
}

#[test]
fn root_options_of_idletime_are_refused() {
    if !needs_root() {
        return;
    }
    let output = output(&mut lull_run(&["--policy", "smart", "--depth", "2"], &["true"]));
    assert_eq!(output.status.code(), Some(125));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("--depth") && told.contains("smart") && told.trim().lines().count() == 1, "{told}");
}
