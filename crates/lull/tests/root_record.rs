//! `lull record` on a loop device of the test's own, and `lull advise` on what it wrote. Needs root and BPF.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use common::loopdev::Loop;
use common::{clean_text, finish, lull, needs_root, output, send};

/// `lull record`, once it has said that it records; `None` where the kernel has no BTF.
fn recording(disk: &str, words: &[&str]) -> Option<(Child, BufReader<std::process::ChildStderr>)> {
    let mut command = lull();
    command.args(["record", "--disk", disk]).args(words);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    if !line.contains("recording") {
        assert!(!Path::new("/sys/kernel/btf/vmlinux").exists(), "{line}");
        eprintln!("SKIPPED: {line}");
        child.wait().unwrap();
        return None;
    }
    assert!(line.contains(disk), "{line}");
    Some((child, stderr))
}

/// Reads this many blocks of 4 KiB past the page cache, under a command like `ionice -c 3`.
fn read_blocks(device: &Path, count: u32, under: &[&str]) {
    let [input, count] = [format!("if={}", device.display()), format!("count={count}")];
    let dd = ["dd", &input, &count, "of=/dev/null", "bs=4k", "iflag=direct", "status=none"];
    let words: Vec<&str> = under.iter().copied().chain(dd).collect();
    assert!(Command::new(words[0]).args(&words[1..]).status().unwrap().success());
}

#[test]
fn root_a_recording_ended_by_ctrl_c_is_whole_and_can_be_advised_on() {
    if !needs_root() {
        return;
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(device) = Loop::new(dir.path()) else { return };
    let name = device.path.file_name().unwrap().to_str().unwrap();
    let out = dir.path().join("recording.txt");
    let words = ["--until-ctrl-c", "--out", out.to_str().unwrap()];
    let Some((child, mut stderr)) = recording(name, &words) else { return };
    read_blocks(&device.path, 300, &[]);
    read_blocks(&device.path, 100, &["ionice", "-c", "3"]);
    send(child.id(), libc::SIGINT);
    let mut page = String::new();
    stderr.read_to_string(&mut page).unwrap();
    assert!(finish(child).status.success(), "{page}");
    assert!(page.contains("dropped 0") && page.contains("events missed"), "{page}");
    assert!(page.ends_with(&format!("next: lull advise {}\n", out.display())), "{page}");

    let text = std::fs::read_to_string(&out).unwrap();
    let of_class = |class: &str| text.lines().filter(|line| line.split(' ').nth(2) == Some(class)).count();
    // Events may be missed, and something else may look at a new device; but nobody else is in the idle class.
    assert!(of_class("f") >= 150, "{} foreground:\n{page}", of_class("f"));
    assert!((50..=100).contains(&of_class("b")), "{} background:\n{page}", of_class("b"));
    assert!(text.lines().last().unwrap().starts_with("# "), "the summary is in the file, too");

    let json = clean_text(&output(lull().arg("advise").arg(&out).arg("--json")));
    let advice: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((advice["format"].as_str(), advice["device"].as_str()), (Some("recording"), Some(name)));
    assert_eq!(advice["foreground_requests"].as_u64(), Some(of_class("f") as u64));
    assert_eq!(advice["background_requests"].as_u64(), Some(of_class("b") as u64));
}

#[test]
fn root_a_recording_ends_with_its_time_and_can_go_through_a_pipe() {
    if !needs_root() {
        return;
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(device) = Loop::new(dir.path()) else { return };
    let name = device.path.file_name().unwrap().to_str().unwrap();
    let Some((child, mut stderr)) = recording(name, &["--seconds", "3", "--out", "-"]) else { return };
    // Read until it has ended: a reader may take long to begin.
    let end = std::thread::spawn(move || finish(child));
    while !end.is_finished() {
        read_blocks(&device.path, 20, &[]);
    }
    let done = end.join().unwrap();
    let mut page = String::new();
    stderr.read_to_string(&mut page).unwrap();
    assert!(done.status.success(), "{page}");
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.starts_with("# lull-recording 1\n"), "{text}");
    assert!(text.lines().filter(|line| !line.starts_with('#')).count() >= 10, "{text}");
}

#[test]
fn a_disk_that_does_not_exist_is_named_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("recording.txt");
    let done = output(lull().args(["record", "--disk", "nosuchdisk", "--out"]).arg(&out));
    let error = String::from_utf8(done.stderr).unwrap();
    assert!(!done.status.success() && error.lines().count() == 1, "{error}");
    assert!(error.contains("nosuchdisk"), "{error}");
    assert!(!out.exists());
}

#[test]
fn root_without_rights_there_is_one_line_that_says_so() {
    if !needs_root() {
        return;
    }
    let nobody = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new("setpriv");
    command.args(nobody).arg(env!("CARGO_BIN_EXE_lull")).args(["record", "--out"]).arg(dir.path().join("x"));
    let done = output(&mut command);
    let error = String::from_utf8(done.stderr).unwrap();
    assert!(!done.status.success() && error.lines().count() == 1, "{error}");
    assert!(error.contains("needs root") && error.contains("sudo lull record"), "{error}");
}
