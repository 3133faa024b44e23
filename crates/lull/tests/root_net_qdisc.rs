//! `--qdisc`: two classes in an interface's queue while a job runs, undone whoever is killed, and never in place of somebody's
//! own arrangement.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::PathBuf;
use std::process::{Child, Command, Output};

use common::net::{bed, for_bash, receiver};
use common::{
    assert_nothing_left, clean_text, finish, groups_of, helper, lull_run, new_marker, send, spawn_marked,
    wait_until,
};
use lull_bench::netbed::{self, Bed};

const OPTIONS: [&str; 3] = ["--resources", "net", "--qdisc=net0:50mbit"];
/// The handle of lull's arrangement.
const OURS: &str = "qdisc htb 1077:";

/// A network whose left interface has the queue that the kernel gave it.
fn plain() -> Option<Bed> {
    let bed = bed()?;
    let words = ["qdisc", "del", "dev", netbed::DEVICE, "root"];
    assert!(bed.left.command("tc").args(words).status().unwrap().success());
    Some(bed)
}

fn on_left(bed: &Bed, options: &[&str], words: &[&str]) -> Command {
    let mut command = lull_run(options, words);
    bed.left.namespace().confine(&mut command);
    command
}

fn tc(bed: &Bed, words: &[&str]) -> String {
    String::from_utf8(bed.left.command("tc").args(words).output().unwrap().stdout).unwrap()
}

fn is_arranged(bed: &Bed) -> bool {
    tc(bed, &["qdisc", "show", "dev", netbed::DEVICE]).contains(OURS)
}

#[test]
fn root_the_jobs_packets_are_in_the_last_class_and_all_is_undone() {
    let Some(bed) = plain() else { return };
    let before = tc(&bed, &["qdisc", "show", "dev", netbed::DEVICE]);
    let (to, received) = receiver(&bed, bed.right.v4());
    let script = format!(
        "head -c 300000 /dev/zero > {}; sleep 0.2; tc -s class show dev {}",
        for_bash(to),
        netbed::DEVICE
    );
    let marker = new_marker();
    let child = spawn_marked(&mut on_left(&bed, &OPTIONS, &["bash", "-c", &script]), &marker);
    let front = child.id();
    let shown = clean_text(&finish(child));
    let last = shown.split("class htb ").find(|class| class.starts_with("1077:20 ")).unwrap();
    let sent = last.split_once("Sent ").unwrap().1.split(' ').next().unwrap();
    assert!(sent.parse::<u64>().unwrap() > 100_000, "{shown}");
    assert!(last.contains("ceil 50Mbit"), "{shown}");
    assert_eq!(received.join().unwrap(), 300_000);
    assert_nothing_left(front, &marker);
    assert_eq!(tc(&bed, &["qdisc", "show", "dev", netbed::DEVICE]), before);
}

/// What a run says that is refused, which leaves nothing of lull.
fn refused(bed: &Bed, options: &[&str]) -> Output {
    let marker = new_marker();
    let child = spawn_marked(&mut on_left(bed, options, &["echo", "ran"]), &marker);
    let front = child.id();
    let output = finish(child);
    // At once: the next start of any run takes away what another has left.
    assert_eq!(groups_of(front), [] as [PathBuf; 0]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(125), 0));
    assert_nothing_left(front, &marker);
    output
}

#[test]
fn root_an_interface_that_is_missing_is_refused() {
    let Some(bed) = plain() else { return };
    let output = refused(&bed, &[OPTIONS[0], OPTIONS[1], "--qdisc=net7"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("net7") && told.lines().count() == 1, "{told}");
}

#[test]
fn root_an_arrangement_of_somebody_elses_is_refused_in_one_line() {
    let Some(bed) = bed() else { return };
    let before = tc(&bed, &["qdisc", "show", "dev", netbed::DEVICE]);
    let options = [OPTIONS[0], OPTIONS[1], "--qdisc=net0"];
    let output = refused(&bed, &options);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("--qdisc: the queue of 'net0' is arranged already (tbf"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert_eq!(tc(&bed, &["qdisc", "show", "dev", netbed::DEVICE]), before);
}

#[test]
fn root_rates_that_contradict_each_other_are_refused() {
    let Some(bed) = plain() else { return };
    let told = |options: &[&str]| String::from_utf8(refused(&bed, options).stderr).unwrap();
    let twice = told(&[&OPTIONS[..], &["--qdisc=net0:90mbit"]].concat());
    assert!(twice.contains("'net0' is named with two rates, 50mbit and 90mbit"), "{twice}");
    assert!(!is_arranged(&bed));
    // And those of two runs.
    let marker = new_marker();
    let (child, job) = running(&bed, &marker);
    let front = child.id();
    let late = told(&[OPTIONS[0], OPTIONS[1], "--qdisc=net0:90mbit"]);
    assert!(late.contains("'net0' at 50mbit, so 90mbit cannot be had"), "{late}");
    assert_eq!((twice.lines().count(), late.lines().count()), (1, 1), "{twice}{late}");
    assert!(is_arranged(&bed));
    assert!(send(job, libc::SIGKILL));
    finish(child);
    assert_nothing_left(front, &marker);
}

#[test]
fn root_the_summary_tells_of_the_arrangement_and_its_end() {
    let Some(bed) = plain() else { return };
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let summarized = [&OPTIONS[..], &["--summary", file.path().to_str().unwrap()]].concat();
    let summary = |options: &[&str]| {
        // Not quiet.
        let mut command = common::lull();
        bed.left.namespace().confine(command.arg("run").args(options).args(["--", "true"]));
        let output = common::output(&mut command);
        assert!(output.status.success());
        (std::fs::read_to_string(file.path()).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (told, said) = summary(&summarized);
    assert!(told.contains("lull: net0: queue with two classes at 50mbit, removed\n"), "{told}");
    assert!(!is_arranged(&bed) && !said.contains("loopback"), "{said}");
    let marker = new_marker();
    let (child, job) = running(&bed, &marker);
    let front = child.id();
    let (told, _) = summary(&summarized);
    assert!(told.contains("net0: queue with two classes at 50mbit, left to another run\n"), "{told}");
    assert!(send(job, libc::SIGKILL));
    finish(child);
    assert_nothing_left(front, &marker);
    // A limit to what programs of one host send each other is said aloud.
    let (told, said) = summary(&[&summarized[..], &["--qdisc=lo:900mbit"]].concat());
    assert!(said.contains("lo is loopback") && said.contains("limited to 900mbit"), "{said}");
    assert!(told.contains("lull: lo: queue with two classes at 900mbit, removed\n"), "{told}");
}

#[test]
fn root_a_command_that_is_missing_leaves_no_arrangement() {
    let Some(bed) = plain() else { return };
    let output = common::output(&mut on_left(&bed, &OPTIONS, &["/no/such/command"]));
    assert_eq!(output.status.code(), Some(127));
    wait_until("the arrangement to go", || !is_arranged(&bed));
}

#[test]
fn root_a_value_that_was_taken_for_the_command_is_told_as_one() {
    let Some(bed) = plain() else { return };
    // As with --qdisc, which would need a default route here.
    let output = common::output(&mut on_left(&bed, &["--net-answer", "no-such.service"], &["true"]));
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), told.lines().count()), (Some(127), 1), "{told}");
    assert!(told.contains("write --net-answer=no-such.service"), "{told}");
}

/// A job that runs until its first process is killed.
fn running(bed: &Bed, marker: &str) -> (Child, u32) {
    let child = spawn_marked(&mut on_left(bed, &OPTIONS, &["sleep", "1000"]), marker);
    // Until it is there, children of the front may be those that arrange the queue.
    let mut job = None;
    wait_until("the job to start", || {
        job = helper(child.id(), "sleep");
        job.is_some()
    });
    assert!(is_arranged(bed));
    (child, job.unwrap())
}

#[test]
fn root_it_is_undone_when_a_part_was_killed() {
    let Some(bed) = plain() else { return };
    for part in ["lull-supervisor", "lull-guardian", "front"] {
        let marker = new_marker();
        let (child, job) = running(&bed, &marker);
        let front = child.id();
        let victim = if part == "front" { front } else { helper(front, part).unwrap() };
        assert!(send(victim, libc::SIGKILL));
        assert!(is_arranged(&bed), "{part}: the job still runs");
        assert!(send(job, libc::SIGKILL));
        finish(child);
        assert_nothing_left(front, &marker);
        wait_until("the arrangement to go", || !is_arranged(&bed));
    }
}

#[test]
fn root_the_next_start_undoes_what_is_left_when_all_were_killed() {
    let Some(bed) = plain() else { return };
    let marker = new_marker();
    let (child, job) = running(&bed, &marker);
    let front = child.id();
    let parts = ["lull-supervisor", "lull-guardian"].map(|name| helper(front, name).unwrap());
    // Stopped first: a front that runs would start another guardian.
    assert!(send(front, libc::SIGSTOP));
    for pid in [parts[0], parts[1], front, job] {
        assert!(send(pid, libc::SIGKILL));
    }
    finish(child);
    wait_until("the helpers to be gone", || {
        parts.iter().all(|pid| common::state_of(*pid).is_none_or(|(state, _)| state == 'Z'))
    });
    assert!(is_arranged(&bed));
    // A thread of a killed helper may still be on its way out, with the lock.
    wait_until("a start to undo it", || {
        assert_eq!(clean_text(&common::output(&mut on_left(&bed, &[], &["echo", "done"]))), "done\n");
        !is_arranged(&bed)
    });
    assert_nothing_left(front, &marker);
}

#[test]
fn root_two_runs_share_it_until_the_last_has_ended() {
    let Some(bed) = plain() else { return };
    let markers = [new_marker(), new_marker()];
    let [(first, first_job), (second, second_job)] = markers.each_ref().map(|marker| running(&bed, marker));
    let (first_front, second_front) = (first.id(), second.id());
    assert!(send(first_job, libc::SIGKILL));
    finish(first);
    assert_nothing_left(first_front, &markers[0]);
    assert!(is_arranged(&bed));
    assert!(send(second_job, libc::SIGKILL));
    finish(second);
    assert_nothing_left(second_front, &markers[1]);
    assert!(!is_arranged(&bed));
}
