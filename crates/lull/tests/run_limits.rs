//! What is the job's alone: its command line, its limits, and what a service manager gave to it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::os::unix::process::CommandExt;

use common::{clean_text, is_root, lull_run, output};
use serde_json::Value;

fn summary_of(words: &[&str]) -> Value {
    let file = tempfile::NamedTempFile::new().unwrap();
    let options = ["--json", "--summary", file.path().to_str().unwrap()];
    clean_text(&output(&mut lull_run(&options, words)));
    serde_json::from_str(&std::fs::read_to_string(file.path()).unwrap()).unwrap()
}

#[test]
fn a_command_line_may_be_as_long_as_the_kernel_lets_it() {
    let word = "x".repeat(120_000);
    let summary = summary_of(&["true", &word, &word, &word]);
    assert_eq!(summary["is_complete"], true);
    assert_eq!(summary["command"][3].as_str().map(str::len), Some(word.len()));
}

/// Shell that prints what it was given, and its own number.
const TELL: &str = "echo $LISTEN_PID $WATCHDOG_PID ${LISTEN_PIDFDID-none} $$";

#[test]
fn what_a_service_manager_gave_to_lull_is_the_commands() {
    let mut command = lull_run(&[], &["sh", "-c", TELL]);
    let inner: Vec<_> = std::iter::once(command.get_program().to_owned())
        .chain(command.get_args().map(ToOwned::to_owned))
        .collect();
    let script = "LISTEN_PID=$$ WATCHDOG_PID=$$ LISTEN_PIDFDID=7 exec \"$@\"";
    command = std::process::Command::new("sh");
    command.args(["-c", script, "sh"]).args(&inner);
    let text = clean_text(&output(&mut command));
    let words: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(words, [words[3], words[3], "none", words[3]], "{text}");
}

#[test]
fn what_was_given_to_somebody_else_is_not() {
    let mut command = lull_run(&[], &["sh", "-c", TELL]);
    command.env("LISTEN_PID", "1").env("WATCHDOG_PID", "1").env("LISTEN_PIDFDID", "7");
    assert!(clean_text(&output(&mut command)).starts_with("1 1 7 "));
}

#[test]
fn helpers_have_none_of_the_limits_that_they_may_leave() {
    let script = "for helper in $(ps -o pid= --ppid $PPID); do [ $helper = $$ ] || grep 'Max cpu time' /proc/$helper/limits; done";
    let mut command = lull_run(&[], &["sh", "-c", script]);
    let set = || {
        let limit = libc::rlimit { rlim_cur: 100, rlim_max: 200 };
        // SAFETY: the kernel reads one rlimit.
        let set = unsafe { libc::setrlimit(libc::RLIMIT_CPU, &raw const limit) };
        (set == 0).then_some(()).ok_or_else(std::io::Error::last_os_error)
    };
    // SAFETY: one system call.
    unsafe { command.pre_exec(set) };
    let text = clean_text(&output(&mut command));
    let soft: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().nth(3)).collect();
    assert_eq!(soft.len(), 2, "{text}");
    // Raising a hard limit needs a capability.
    assert!(soft.iter().all(|soft| ["200", "unlimited"].contains(soft)), "{text}");
}

#[test]
fn root_a_command_runs_as_far_as_its_user_may_have_processes() {
    if !is_root() {
        eprintln!("SKIPPED: only root becomes a user without processes");
        return;
    }
    // A user that nobody is. The program must be readable by it.
    let user = 59_000 + std::process::id() % 1_000;
    let dir = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir()
        .unwrap();
    let program = dir.path().join("lull");
    std::fs::copy(env!("CARGO_BIN_EXE_lull"), &program).unwrap();
    for most in [1, 2, 3, 5, 60] {
        let mut command = std::process::Command::new(&program);
        command.args(["run", "--", "sh", "-c", "echo ran; exit 3"]).current_dir("/").uid(user).gid(user);
        let set = move || {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            // SAFETY: the kernel reads one rlimit.
            let set = unsafe { libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit) };
            (set == 0).then_some(()).ok_or_else(std::io::Error::last_os_error)
        };
        // SAFETY: one system call.
        unsafe { command.pre_exec(set) };
        let output = output(&mut command);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), &*String::from_utf8_lossy(&output.stdout)),
            (Some(3), "ran\n"),
            "{told}"
        );
        assert!(!told.contains("was killed"), "{most}: {told}");
        assert_eq!(told.contains("ulimit -u"), most < 60, "{most}: {told}");
    }
}
