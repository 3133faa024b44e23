//! `lull run` as a wrapper: exit status, standard streams, descriptors, signal dispositions, options and their mistakes.
//! What a command sees and what its caller sees must be as without lull.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Stdio;

use common::{clean_text, finish, lull, lull_run, output};

/// One line on standard error that holds every one of `words`, and this exit status.
#[track_caller]
fn assert_told(output: &std::process::Output, status: i32, words: &[&str]) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("lull: "), "{text}");
    for word in words {
        assert!(text.contains(word), "no {word:?} in {text}");
    }
    assert!(output.stdout.is_empty());
}

#[test]
fn without_a_terminal_what_the_job_does_is_told_when_that_is_wanted() {
    let told = |options: &[&str]| {
        let output = output(lull().arg("run").args(options).args(["--", "sleep", "10.9"]));
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let (line, nothing) = std::thread::scope(|scope| {
        let quiet = scope.spawn(|| told(&["--status", "always", "--quiet"]));
        (told(&["--status", "always"]), quiet.join().unwrap())
    });
    assert!(line.starts_with("lull: ") && line.matches(" | active ").count() == 1, "{line}");
    assert_eq!(nothing, "");
}

#[test]
fn the_exit_status_is_the_commands() {
    for status in [0, 1, 3, 125, 255] {
        let output = output(&mut lull_run(&[], &["sh", "-c", &format!("exit {status}")]));
        assert_eq!(output.status.code(), Some(status));
        clean_text(&output);
    }
}

#[test]
fn a_command_that_dies_of_a_signal_makes_lull_die_of_it() {
    for signal in [libc::SIGKILL, libc::SIGTERM, libc::SIGINT, libc::SIGSEGV, libc::SIGPIPE] {
        let output = output(&mut lull_run(&[], &["sh", "-c", &format!("kill -{signal} $$; echo survived")]));
        assert_eq!(output.status.signal(), Some(signal));
        assert_eq!(clean_text(&output), "");
    }
}

/// The line of a process's status that says how many filters its calls pass.
const FILTERS: &str = "Seccomp_filters:";

#[test]
fn a_job_without_disks_and_cpus_gets_no_filter() {
    let filters = |status: &str| -> u32 {
        let line = status.lines().find_map(|line| line.strip_prefix(FILTERS));
        line.expect("the kernel counts filters").trim().parse().unwrap()
    };
    let own = filters(&std::fs::read_to_string("/proc/self/status").unwrap());
    let of_job = |options: &[&str]| {
        filters(&clean_text(&output(&mut lull_run(options, &["grep", FILTERS, "/proc/self/status"]))))
    };
    assert_eq!(of_job(&["--resources", "memory", "--gate", "all"]), own);
    assert_eq!(of_job(&["--resources", "cpu"]), own + 1, "what it asks of its CPUs is answered");
    assert_eq!(of_job(&["--resources", "cpu", "--gate", "none"]), own);
    assert_eq!(of_job(&["--resources", "cpu,disk"]), own + 1);
}

#[test]
fn a_missing_command_and_one_that_cannot_be_executed_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let plain = dir.path().join("plain");
    std::fs::write(&plain, "no program").unwrap();
    let plain = plain.to_str().unwrap();
    assert_told(&output(&mut lull_run(&[], &["no-such-command"])), 127, &["no-such-command", "PATH"]);
    assert_told(&output(&mut lull_run(&[], &["/no/such/command"])), 127, &["/no/such/command"]);
    assert_told(&output(&mut lull_run(&[], &[""])), 127, &["''"]);
    assert_told(&output(&mut lull_run(&[], &[plain])), 126, &[plain, "executable"]);
    assert_told(&output(&mut lull_run(&[], &["/"])), 126, &["'/'"]);
}

#[test]
fn mistakes_in_options_are_told_in_one_line() {
    let run = |words: &[&str]| output(lull().arg("run").args(words));
    assert_told(&run(&["--interval", "5", "true"]), 125, &["--interval", "'5'", "unit"]);
    assert_told(&run(&["--interval", "5parsecs", "true"]), 125, &["5parsecs"]);
    assert_told(&run(&["--depth", "0", "true"]), 125, &["--depth", "0"]);
    assert_told(&run(&["--max-slowdown", "much", "true"]), 125, &["--max-slowdown", "much"]);
    assert_told(&run(&["--longest-hold", "7", "true"]), 125, &["--longest-hold", "7"]);
    assert_told(&run(&["--gate", "most", "true"]), 125, &["--gate", "most"]);
    assert_told(&run(&["--no-such-option", "true"]), 125, &["--no-such-option"]);
    assert_told(&run(&["--disk", "no-such-disk", "true"]), 125, &["no-such-disk", "lull doctor"]);
    assert_told(&run(&["--protect", "no-such.service", "true"]), 125, &["no-such.service"]);
    assert_told(&run(&["--summary", "/no/such/place", "true"]), 125, &["/no/such/place"]);
    assert_told(&run(&["--interval", "-5ms", "true"]), 125, &["--interval -5ms:", "less than zero"]);
    assert_told(&run(&["--cpu-floor", "-3%", "true"]), 125, &["--cpu-floor -3%:", "less than zero"]);
    assert_told(&run(&["--interval"]), 125, &["--interval"]);
    assert_told(&run(&[]), 125, &["CMD"]);
}

#[test]
fn a_wrong_option_is_told_with_what_helps() {
    let run = |words: &[&str]| output(lull().arg("run").args(words));
    let unknown = run(&["--zz", "ls"]);
    assert_told(&unknown, 125, &["'--zz'", "options of the command come after its name"]);
    let close = run(&["--intervall", "5ms", "true"]);
    assert_told(&close, 125, &["'--intervall'", "similar", "'--interval'"]);
    for output in [unknown, close] {
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!text.contains("tip") && !text.contains("-- --"), "{text}");
    }
}

#[test]
fn mistakes_of_lull_set_are_told_in_one_line() {
    let set = |words: &[&str]| output(lull().arg("set").args(words));
    assert_told(&set(&["1"]), 2, &["--mem-low", "--mem-high", "lull set --help"]);
    assert_told(&set(&[]), 2, &["PID", "lull set --help"]);
    assert_told(&set(&["all", "--mem-low", "1MiB"]), 2, &["'all'", "PID"]);
    assert_told(&set(&["1", "--mem-low", "-3M"]), 2, &["--mem-low -3M:", "less than zero"]);
    // No process has a number this high.
    assert_told(&set(&["1073741824", "--mem-low", "0"]), 1, &["1073741824", "pgrep"]);
}

#[test]
fn a_time_below_zero_is_told_by_its_option_in_every_command() {
    let told = |words: &[&str]| output(lull().args(words));
    let window = told(&["bench", "apps", "--smart-window", "-5s"]);
    assert_told(&window, 2, &["--smart-window -5s:", "less than zero"]);
    let seconds = told(&["record", "--seconds", "-5s"]);
    assert_told(&seconds, 2, &["--seconds -5s:", "less than zero"]);
}

#[test]
fn mistakes_in_the_configuration_file_are_told_with_its_name_in_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("lull.toml");
    let name = path.to_str().unwrap();
    let run = || output(lull().args(["run", "--config", name, "true"]));
    assert_told(&run(), 125, &[name]);
    for (text, words) in [
        ("[run]\nintervall = \"5ms\"\n", ["intervall", "line 2"]),
        ("[run]\n\ninterval = 5ms\n", ["line 3", name]),
        ("[run]\ninterval = \"5\"\n", ["run.interval", "unit"]),
        ("[run]\ndisk = [\"no-such-disk\"]\n", ["no-such-disk", "lull doctor"]),
        ("[jog]\n", ["jog", "line 1"]),
    ] {
        std::fs::write(&path, text).unwrap();
        assert_told(&run(), 125, &words);
    }
    std::fs::write(&path, "[run]\ninterval = \"7ms\"\ndepth = 3\n").unwrap();
    clean_text(&run());
}

#[test]
fn options_after_the_command_are_its_own() {
    let output = output(lull().args(["run", "-q", "echo", "--json", "-q", "--interval", "--", "--help"]));
    assert_eq!(clean_text(&output), "--json -q --interval -- --help\n");
}

#[test]
fn standard_streams_pass_through() {
    let text: Vec<u8> = (0..1_000_000_u32).map(|n| n.to_le_bytes()[0] ^ n.to_le_bytes()[1]).collect();
    let mut command = lull_run(&["--gate", "all"], &["sh", "-c", "cat; echo told >&2"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let sent = text.clone();
    let writer = std::thread::spawn(move || input.write_all(&sent));
    let output = finish(child);
    writer.join().unwrap().unwrap();
    assert!(output.stdout == text, "{} bytes came back", output.stdout.len());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "told\n");
}

#[test]
fn pipes_end_when_the_job_closes_them() {
    let dir = tempfile::tempdir().unwrap();
    let flag = dir.path().join("flag");
    let script = "echo word; exec <&- >&-; until [ -e \"$1\" ]; do sleep 0.05; done";
    let mut command = lull_run(&[], &["sh", "-c", script, "sh", flag.to_str().unwrap()]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "word\n");
    let mut input = child.stdin.take().unwrap();
    common::wait_until("writing to fail", || input.write_all(b"x").is_err());
    assert!(child.try_wait().unwrap().is_none(), "the pipes ended only with lull");
    std::fs::write(&flag, "").unwrap();
    assert!(common::wait_for_end(&mut child).success());
}

#[test]
fn inherited_descriptors_reach_the_job_and_none_of_lulls_do() {
    let (mut reader, writer) = std::io::pipe().unwrap();
    let raw = writer.as_raw_fd();
    let words = ["sh", "-c", "echo through >&9; ls /proc/self/fd"];
    let mut plain = std::process::Command::new(words[0]);
    plain.args(&words[1..]);
    let listings = [&mut lull_run(&[], &words), &mut plain].map(|command| {
        // SAFETY: dup2 is a system call on an open descriptor.
        unsafe {
            command.pre_exec(move || {
                libc::dup2(raw, 9);
                Ok(())
            });
        }
        clean_text(&output(command))
    });
    drop(writer);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "through\nthrough\n");
    assert_eq!(listings[0], listings[1]);
}

/// The signal mask `field` of the job, given what the caller sets up.
fn job_mask(field: &str, set_up: fn()) -> u64 {
    let mut command = lull_run(&[], &["cat", "/proc/self/status"]);
    // SAFETY: the set-ups make system calls only.
    unsafe {
        command.pre_exec(move || {
            set_up();
            Ok(())
        });
    }
    let text = clean_text(&output(&mut command));
    let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap()
}

fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

#[test]
fn ignored_and_blocked_signals_are_as_the_caller_set_them() {
    assert_eq!(job_mask("SigIgn", || ()) & 0x7fff_ffff, 0);
    assert_eq!(job_mask("SigBlk", || ()), 0);
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGCHLD, libc::SIGTSTP] {
        let ignored = job_mask("SigIgn", || {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGCHLD, libc::SIGTSTP] {
                // SAFETY: no handler is involved.
                unsafe { libc::signal(signal, libc::SIG_IGN) };
            }
        });
        assert_ne!(ignored & bit(signal), 0, "signal {signal}: {ignored:x}");
    }
    let blocked = job_mask("SigBlk", || {
        // SAFETY: a local set.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&raw mut set, libc::SIGUSR1);
            libc::sigaddset(&raw mut set, libc::SIGTERM);
            libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        }
    });
    assert_eq!(blocked, bit(libc::SIGUSR1) | bit(libc::SIGTERM));
}

#[test]
fn a_caller_that_ignores_its_children_does_not_make_lull_wait_for_ever() {
    let mut command = lull_run(&[], &["sh", "-c", "exit 7"]);
    // SAFETY: no handler is involved.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            Ok(())
        });
    }
    assert_eq!(output(&mut command).status.code(), Some(7));
}

#[test]
fn environment_and_directory_pass_through() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().canonicalize().unwrap();
    let mut command = lull_run(&[], &["sh", "-c", "pwd; echo \"$WORD\"; umask"]);
    command.current_dir(&place).env("WORD", "a b");
    // SAFETY: umask is a system call.
    unsafe {
        command.pre_exec(|| {
            libc::umask(0o027);
            Ok(())
        });
    }
    assert_eq!(clean_text(&output(&mut command)), format!("{}\na b\n0027\n", place.display()));
}

#[test]
fn the_summary_exists_when_lull_returns() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("summary");
    let name = path.to_str().unwrap();
    clean_text(&output(&mut lull_run(&["--summary", name], &["true"])));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("lull: true in ") && text.contains("own cost"), "{text}");
    let output = output(&mut lull_run(&["--json", "--summary", name], &["sh", "-c", "exit 4"]));
    assert_eq!(output.status.code(), Some(4));
    let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(summary["status"], 4);
    assert_eq!(summary["command"], serde_json::json!(["sh", "-c", "exit 4"]));
    assert!(summary["wall_ns"].as_u64().unwrap() > 0);
}

#[test]
fn a_file_of_the_summary_is_emptied_unless_the_job_writes_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let name = path.to_str().unwrap();
    std::fs::write(&path, "old\n".repeat(10_000)).unwrap();
    clean_text(&output(&mut lull_run(&["--summary", name], &["true"])));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("lull: true in ") && !text.contains("old"), "{text}");
    for summary in ["/dev/stdout", name] {
        let mut file = std::fs::File::create(&path).unwrap();
        writeln!(file, "before").unwrap();
        let mut command = lull_run(&["--summary", summary], &["echo", "said"]);
        let mut child = command.stdin(Stdio::null()).stdout(file).stderr(Stdio::null()).spawn().unwrap();
        assert!(common::wait_for_end(&mut child).success());
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("before\nsaid\nlull: echo in "), "{text}");
    }
}

#[test]
fn what_was_named_and_cannot_be_had_is_told_beside_a_file_of_the_summary_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("summary");
    let options =
        ["--resources", "cpu", "--sensor", "diskstats", "--json", "--summary", path.to_str().unwrap()];
    let output = output(lull().arg("run").args(options).args(["--", "true"]));
    assert_told(&output, 0, &["--resources cpu: ", "BPF", "lull doctor"]);
    let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert!(summary["unmet"][0].as_str().unwrap().starts_with("--resources cpu: "), "{summary}");
    assert!(summary["cpu"].is_null(), "{summary}");
}

#[test]
fn a_measure_that_ends_is_told_when_it_happens_and_in_the_summary() {
    let dir = tempfile::tempdir().unwrap();
    let (path, go) = (dir.path().join("summary"), dir.path().join("go"));
    std::fs::write(dir.path().join("measure"), "echo 3; exit 9").unwrap();
    let measure = "sh ./measure";
    let wait = format!("until [ -e {} ]; do sleep 0.05; done", go.display());
    let options = ["--slo", measure, "--json", "--summary", path.to_str().unwrap()];
    let mut command = lull_run(&options, &["sh", "-c", &wait]);
    command.current_dir(dir.path());
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // Said while the job is at work: it ends only now.
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    let is_told =
        |line: &String| line.starts_with("lull: --slo: 'sh ./measure' ended with status 9 after 1 values");
    assert!(lines.by_ref().map(Result::unwrap).any(|line| is_told(&line)));
    std::fs::write(&go, "").unwrap();
    assert!(common::wait_for_end(&mut child).success());
    assert_eq!(lines.map(Result::unwrap).filter(is_told).count(), 0, "told once");
    let summary: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let notes = summary["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().contains("nothing is promised")), "{summary}");
    assert!(summary["cpu"]["kept"].is_null(), "{summary}");
}

#[test]
fn a_reader_of_messages_that_has_gone_costs_the_job_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (path, go) = (dir.path().join("summary"), dir.path().join("go"));
    // The measure has ended when the job goes on.
    let measure = format!("(sleep 1; touch {}) > /dev/null & exit 9", go.display());
    let wait = format!("until [ -e {} ]; do sleep 0.05; done; exit 7", go.display());
    let mut command =
        lull_run(&["--slo", &measure, "--summary", path.to_str().unwrap()], &["sh", "-c", &wait]);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(common::wait_for_end(&mut child).code(), Some(7));
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("lull: "));
}

#[test]
fn json_without_a_file_goes_to_standard_error() {
    let output = output(lull().args(["run", "--json", "--", "echo", "out"]));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out\n");
    let summary: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(summary["status"], 0);
}

#[test]
fn without_a_terminal_nothing_is_said() {
    assert_eq!(clean_text(&output(lull().args(["run", "echo", "out"]))), "out\n");
}

#[test]
fn a_summary_that_cannot_be_written_keeps_the_status() {
    let output = output(&mut lull_run(&["--summary", "/dev/full"], &["sh", "-c", "exit 6"]));
    assert_told(&output, 6, &["summary", "No space left"]);
}

#[test]
fn every_gate_and_sensor_leaves_the_output_alone_and_nothing_behind() {
    for options in [
        ["--gate", "none", "--sensor", "auto"],
        ["--gate", "all", "--sensor", "diskstats"],
        ["--gate", "none", "--sensor", "diskstats"],
        ["--gate", "large", "--longest-hold", "off"],
    ] {
        let marker = common::new_marker();
        let mut command = lull_run(&options, &["sh", "-c", "echo a | cat; echo b"]);
        command
            .env(common::MARKER, &marker)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let front = child.id();
        assert_eq!(clean_text(&finish(child)), "a\nb\n", "{options:?}");
        common::assert_nothing_left(front, &marker);
    }
}
