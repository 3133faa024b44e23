//! Signals and job control: whoever signals lull, its job, or the terminal sees what they would see without lull.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::foreground::{Foreground, Rhythm, wait_until_held};
use common::go::Go;
use common::pty::{CTRL_C, CTRL_Z, Terminal};
use common::{
    clean_text, finish, helper, job_of, lull_run, new_marker, output, send, state_of, wait_at_most,
    wait_for_end, wait_until,
};

/// Within this a held call must react; a second is meant, the rest is for slow machines.
const REACTION: Duration = Duration::from_secs(10);

/// Starts a shell script under lull and waits for its first line, `ready`.
fn started(script: &str) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut command = lull_run(&[], &["sh", "-c", script]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, reader)
}

fn is_stopped(pid: u32) -> bool {
    state_of(pid).is_some_and(|(state, _)| state == 'T')
}

#[test]
fn a_signal_sent_to_lull_reaches_the_job() {
    for (name, signal) in
        [("TERM", libc::SIGTERM), ("HUP", libc::SIGHUP), ("INT", libc::SIGINT), ("USR1", libc::SIGUSR1)]
    {
        let script =
            format!("trap 'echo got {name}; exit 9' {name}; echo ready; while :; do sleep 0.02; done");
        let (mut child, mut reader) = started(&script);
        assert!(send(child.id(), signal));
        assert_eq!(wait_for_end(&mut child).code(), Some(9));
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, format!("got {name}\n"));
    }
}

/// As a service manager ends a service, and `pkill` whatever has the name.
#[test]
fn a_signal_sent_to_every_process_of_a_run_lets_the_job_finish() {
    let (dir, work) = (tempfile::tempdir().unwrap(), "sleep 0.2; wc -c < data");
    let data = dir.path().join("data");
    std::fs::write(&data, [0; 4096]).unwrap();
    for (name, signal) in
        [("TERM", libc::SIGTERM), ("HUP", libc::SIGHUP), ("INT", libc::SIGINT), ("QUIT", libc::SIGQUIT)]
    {
        let at = dir.path().display();
        let script =
            format!("cd {at}; trap '{work}; exit 9' {name}; echo ready; while :; do sleep 0.02; done");
        let (mut child, mut reader) = started(&script);
        let helpers: Vec<u32> =
            ["lull-supervisor", "lull-guardian"].iter().filter_map(|name| helper(child.id(), name)).collect();
        assert_eq!(helpers.len(), 2);
        assert!(helpers.iter().chain([&child.id()]).all(|pid| send(*pid, signal)));
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "4096\n", "{name}");
        assert_eq!(wait_for_end(&mut child).code(), Some(9));
    }
}

#[test]
fn a_signal_that_the_job_does_not_handle_ends_both_with_it() {
    for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR2] {
        let (mut child, _reader) = started("echo ready; exec sleep 300");
        assert!(send(child.id(), signal));
        assert_eq!(wait_for_end(&mut child).signal(), Some(signal));
    }
}

#[test]
fn an_ignored_hang_up_ends_nothing() {
    let mut command = lull_run(&[], &["sh", "-c", "echo ready; read line; echo $line"]);
    // SAFETY: no handler is involved.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            Ok(())
        });
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut text = String::new();
    reader.read_line(&mut text).unwrap();
    assert!(send(child.id(), libc::SIGHUP) && send(job_of(child.id()), libc::SIGHUP));
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"alive\n").unwrap();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "ready\nalive\n");
    assert!(wait_for_end(&mut child).success());
}

#[test]
fn an_alarm_set_before_lull_began_ends_the_job() {
    let mut command = lull_run(&[], &["sleep", "300"]);
    // SAFETY: alarm only sets a timer, which exec keeps.
    unsafe {
        command.pre_exec(|| {
            libc::alarm(1);
            Ok(())
        });
    }
    assert_eq!(output(&mut command).status.signal(), Some(libc::SIGALRM));
}

#[test]
fn a_signal_that_the_job_sends_to_its_group_comes_once() {
    let mut command =
        lull_run(&[], &["sh", "-c", "trap 'echo caught' TERM; kill -TERM 0; sleep 0.5; echo end"]);
    assert_eq!(clean_text(&output(command.process_group(0))), "caught\nend\n");
}

#[test]
fn a_job_stopped_and_continued_by_others_goes_on() {
    let go = Go::new();
    let (mut child, mut reader) = started(&go.script("echo ready", "echo done; exit 5"));
    let job = job_of(child.id());
    assert!(send(job, libc::SIGSTOP));
    wait_until("the job to stop", || is_stopped(job));
    std::thread::sleep(Duration::from_millis(200));
    assert!(is_stopped(job) && !is_stopped(child.id()), "only the job was stopped");
    go.give();
    assert!(send(job, libc::SIGCONT));
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "done\n");
    assert_eq!(wait_for_end(&mut child).code(), Some(5));
}

#[test]
fn a_stop_sent_to_lull_stops_both_and_a_continue_continues_both() {
    let go = Go::new();
    let (mut child, mut reader) = started(&go.script("echo ready", "echo done; exit 5"));
    let job = job_of(child.id());
    assert!(send(child.id(), libc::SIGTSTP));
    wait_until("both to stop", || is_stopped(job) && is_stopped(child.id()));
    go.give();
    assert!(send(child.id(), libc::SIGCONT));
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "done\n");
    assert_eq!(wait_for_end(&mut child).code(), Some(5));
}

fn shell() -> Terminal {
    let mut command = Command::new("bash");
    command.args(["--norc", "--noprofile", "-i"]);
    command.env("PS1", "prompt> ").env("TERM", "dumb").env("LULL", env!("CARGO_BIN_EXE_lull"));
    let shell = Terminal::start(command);
    shell.wait_for("prompt> ", 1);
    shell
}

#[test]
fn ctrl_c_ends_job_and_lull() {
    let mut shell = shell();
    // exec: a shell that has just forked may lose the signal by itself.
    shell.type_in("$LULL run sh -c 'echo rea''dy; exec sleep 300'\n");
    shell.wait_for("ready", 1);
    shell.type_in(CTRL_C);
    assert_eq!(shell.status_of_last(), 128 + libc::SIGINT);
    shell.type_in(
        "$LULL run sh -c 'trap \"echo hand''led; exit 3\" INT; echo go''ing; while :; do sleep 0.02; done'\n",
    );
    shell.wait_for("going", 1);
    shell.type_in(CTRL_C);
    shell.wait_for("handled", 1);
    assert_eq!(shell.status_of_last(), 3);
}

#[test]
fn ctrl_z_stops_job_and_lull_and_fg_continues_both() {
    let mut shell = shell();
    shell.type_in("$LULL run sh -c 'echo rea''dy; read word; echo go''t $word; exit 7'\n");
    for round in 1..=3 {
        if round == 1 {
            shell.wait_for("ready", 1);
        }
        shell.type_in(CTRL_Z);
        shell.wait_for("Stopped", round);
        assert_eq!(shell.status_of_last(), 128 + libc::SIGTSTP);
        shell.type_in("fg\n");
        // fg shows the command that it continues, and the shell gives the terminal away.
        shell.wait_for("fg\r\n", round);
        let front = || common::children(shell.child.id()).into_iter().find(|(name, _)| name == "lull");
        wait_until("lull and its job to run", || {
            front().is_some_and(|(_, front)| !is_stopped(front) && !is_stopped(job_of(front)))
        });
    }
    shell.type_in("word\n");
    shell.wait_for("got word", 1);
    assert_eq!(shell.status_of_last(), 7);
}

#[test]
fn a_job_in_the_background_is_stopped_for_reading_the_terminal() {
    let mut shell = shell();
    shell.type_in("$LULL run cat &\n");
    wait_until("lull to start", || !common::children(shell.child.id()).is_empty());
    let (_, front) = common::children(shell.child.id()).remove(0);
    let job = job_of(front);
    wait_until("both to stop", || is_stopped(front) && is_stopped(job));
    shell.type_in("fg\n");
    wait_until("both to run", || !is_stopped(front) && !is_stopped(job));
    shell.type_in("to and fro\n");
    // Once as the terminal's echo, once from cat.
    shell.wait_for("to and fro", 2);
    shell.type_in("\x04");
    assert_eq!(shell.status_of_last(), 0);
}

#[test]
fn ctrl_c_while_lull_starts_is_not_lost() {
    let mut state = 7;
    for _ in 0..20 {
        let mut terminal = Terminal::start(lull_run(&[], &["sleep", "300"]));
        std::thread::sleep(Duration::from_micros(common::next_random(&mut state) % 60_000));
        terminal.type_in(CTRL_C);
        assert_eq!(wait_for_end(&mut terminal.child).signal(), Some(libc::SIGINT));
    }
}

#[test]
fn the_hang_up_of_a_terminal_reaches_the_job() {
    let dir = tempfile::tempdir().unwrap();
    let flag = dir.path().join("flag");
    let script = "trap 'echo hung up > \"$1\"; exit' HUP; echo ready; while :; do sleep 0.02; done";
    let mut terminal = Terminal::start(lull_run(&[], &["sh", "-c", script, "sh", flag.to_str().unwrap()]));
    terminal.wait_for("ready", 1);
    terminal.hang_up();
    wait_until("the job to be told", || std::fs::read_to_string(&flag).is_ok_and(|text| text == "hung up\n"));
}

/// A direct reader whose first call is held for ever, beside a foreground.
fn held_reader(marker: &str) -> Option<(Foreground, tempfile::TempDir, Child, u32)> {
    if !common::needs_root() {
        return None;
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let foreground = Foreground::start(dir.path(), Rhythm::Steady)?;
    let (path, _) = common::data_file(dir.path(), 8 << 20);
    let input = format!("if={path}");
    let words = ["dd", &input, "of=/dev/null", "bs=256k", "iflag=direct"];
    let mut command = lull_run(&["--interval", "inf", "--longest-hold", "off"], &words);
    let child = command.env(common::MARKER, marker).stderr(Stdio::piped()).spawn().unwrap();
    let job = job_of(child.id());
    wait_until_held(job);
    Some((foreground, dir, child, job))
}

#[test]
fn root_a_held_call_reacts_to_signals() {
    let marker = new_marker();
    let Some((_foreground, _dir, mut child, job)) = held_reader(&marker) else { return };
    let report = BufReader::new(child.stderr.take().unwrap());
    let (told, heard) = std::sync::mpsc::channel();
    // Reads to the end: dd would die of a pipe that nobody reads.
    std::thread::spawn(move || report.lines().map_while(Result::ok).try_for_each(|line| told.send(line)));
    // dd answers with its counts: its handler runs while its call is held.
    assert!(send(job, libc::SIGUSR1));
    let line = heard.recv_timeout(REACTION).unwrap();
    assert!(line.contains("records in"), "{line}");
    wait_until_held(job);
    assert!(send(job, libc::SIGINT));
    wait_at_most(REACTION, "the job to end", || state_of(job).is_none_or(|(state, _)| state == 'Z'));
    let front = child.id();
    assert_eq!(finish(child).status.signal(), Some(libc::SIGINT));
    common::assert_nothing_left(front, &marker);
}

#[test]
fn root_a_held_job_can_be_killed_stopped_and_continued() {
    let marker = new_marker();
    let Some((foreground, _dir, child, job)) = held_reader(&marker) else { return };
    let front = child.id();
    assert!(send(job, libc::SIGSTOP));
    wait_at_most(REACTION, "the job to stop", || is_stopped(job));
    assert!(send(job, libc::SIGCONT));
    wait_until_held(job);
    assert!(send(job, libc::SIGKILL));
    wait_at_most(REACTION, "the job to end", || state_of(job).is_none_or(|(state, _)| state == 'Z'));
    assert_eq!(finish(child).status.signal(), Some(libc::SIGKILL));
    drop(foreground);
    common::assert_nothing_left(front, &marker);
}
