//! kill -9 of lull's processes, at chosen and at random moments: the job's output is right, its status too, nothing
//! stays held, no call fails with ENOSYS, no control group and no helper is left.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::foreground::{Foreground, Rhythm, wait_until_held};
use common::go::Go;
use common::{
    assert_nothing_left, checksum, children, clean_text, data_file, finish, freezer_file, helper, hold_file,
    is_held, lull_run, needs_root, new_marker, next_random, send, spawn_marked, state_of, wait_until,
};

const SUPERVISOR: &str = "lull-supervisor";
const GUARDIAN: &str = "lull-guardian";
/// Moments at which something is killed in the random test.
const MOMENTS: u32 = 200;
/// At most so many for one job.
const MOMENTS_OF_A_JOB: u32 = 4;
const LATEST_MOMENT_US: u64 = 60_000;

/// These tests use both processors and the disk: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Kills the named helpers that live; returns those that did.
fn kill_helpers(front: u32, names: &[&str]) -> Vec<u32> {
    let living = names.iter().filter_map(|name| helper(front, name));
    living.filter(|pid| send(*pid, libc::SIGKILL)).collect()
}

fn is_dead(pid: u32) -> bool {
    state_of(pid).is_none_or(|(state, _)| state == 'Z')
}

/// Starts a job and kills helpers of it at random moments; the number of moments at which one lived.
fn storm(options: &[&str], script: &str, sum: &str, state: &mut u64) -> u32 {
    let marker = new_marker();
    let child = spawn_marked(&mut lull_run(options, &["sh", "-c", script]), &marker);
    let front = child.id();
    let mut moments = 0;
    let mut log = Vec::new();
    for _ in 0..MOMENTS_OF_A_JOB {
        let pause = next_random(state) % LATEST_MOMENT_US;
        std::thread::sleep(Duration::from_micros(pause));
        let names: &[&str] = match next_random(state) % 3 {
            0 => &[SUPERVISOR],
            1 => &[GUARDIAN],
            _ => &[SUPERVISOR, GUARDIAN],
        };
        let killed = kill_helpers(front, names).len();
        log.push(format!("after {pause} us {killed} of {names:?}"));
        moments += u32::from(killed > 0);
    }
    let output = finish(child);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(String::from_utf8_lossy(&output.stdout), sum, "{log:?}: {told}");
    assert!(output.status.success() && told.is_empty(), "{log:?}: {told}");
    assert_nothing_left(front, &marker);
    moments
}

#[test]
fn root_helpers_killed_at_random_moments() {
    if !needs_root() {
        return;
    }
    let _alone = alone();
    let dir = directory();
    let (path, sum) = data_file(dir.path(), 4 << 20);
    let Some(_foreground) = Foreground::start(dir.path(), Rhythm::Bursts) else { return };
    let moments = AtomicU32::new(0);
    let storms = |options: &[&str], dd_options: &str, mut state: u64| {
        while moments.load(Ordering::Relaxed) < MOMENTS {
            let hit = storm(options, &checksum(&path, dd_options), &sum, &mut state);
            moments.fetch_add(hit, Ordering::Relaxed);
        }
    };
    std::thread::scope(|scope| {
        // Many calls, served from the page cache.
        scope.spawn(|| storms(&["--gate", "all"], "bs=4k", 17));
        // Fewer, from the disk, and often held.
        scope.spawn(|| storms(&["--interval", "2ms"], "bs=64k iflag=direct", 18));
    });
    assert!(moments.into_inner() >= MOMENTS);
}

/// A checksum job beside a steady foreground, with a call held for as long as lull lives.
fn held_job(path: &str, marker: &str) -> Child {
    let script = checksum(path, "bs=256k iflag=direct");
    // Only what the test holds is held.
    let options = ["--interval", "inf", "--longest-hold", "off"];
    let child = spawn_marked(&mut lull_run(&options, &["sh", "-c", &script]), marker);
    let shell = common::job_of(child.id());
    let mut dd = None;
    wait_until("the reader to start", || {
        dd = children(shell).into_iter().find(|(name, _)| name == "dd").map(|(_, pid)| pid);
        dd.is_some()
    });
    wait_until_held(dd.unwrap());
    child
}

/// Steps of a test, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// As lull does, by the quota.
    Hold,
    /// As it does when asked to.
    Freeze,
    Kill(&'static str),
    KillBoth,
    /// Until the front has replaced the guardian.
    WaitForGuardian,
}

/// All of them must live, and are dead afterwards.
fn kill_all(front: u32, names: &[&str]) {
    let killed = kill_helpers(front, names);
    assert_eq!(killed.len(), names.len(), "not all of {names:?} live");
    wait_until("the killed to die", || killed.iter().all(|pid| is_dead(*pid)));
}

fn take(front: u32, step: Step) {
    match step {
        Step::Hold | Step::Freeze => {
            let file = if step == Step::Hold { hold_file(front) } else { freezer_file(front) };
            match file {
                Some((file, word)) => std::fs::write(file, word).unwrap(),
                None => eprintln!("SKIPPED: no control group for {step:?}"),
            }
        }
        Step::Kill(name) => kill_all(front, &[name]),
        Step::KillBoth => kill_all(front, &[SUPERVISOR, GUARDIAN]),
        Step::WaitForGuardian => {
            wait_until("another guardian", || helper(front, GUARDIAN).is_some());
        }
    }
}

#[test]
fn root_a_held_or_frozen_job_goes_on_whoever_is_killed() {
    use Step::{Freeze, Hold, Kill, KillBoth, WaitForGuardian};
    if !needs_root() {
        return;
    }
    let _alone = alone();
    let dir = directory();
    let (path, sum) = data_file(dir.path(), 4 << 20);
    let Some(_foreground) = Foreground::start(dir.path(), Rhythm::Steady) else { return };
    let cases: [&[Step]; 9] = [
        &[Kill(SUPERVISOR)],
        &[KillBoth],
        &[Kill(GUARDIAN), WaitForGuardian, Kill(SUPERVISOR)],
        &[Kill(GUARDIAN), WaitForGuardian, Kill(GUARDIAN), WaitForGuardian, KillBoth],
        &[Hold, Kill(SUPERVISOR)],
        &[Freeze, Kill(SUPERVISOR)],
        &[Hold, KillBoth],
        &[Freeze, KillBoth],
        &[Hold, Freeze, Kill(GUARDIAN), WaitForGuardian, KillBoth],
    ];
    for steps in cases {
        let marker = new_marker();
        let child = held_job(&path, &marker);
        let front = child.id();
        steps.iter().for_each(|step| take(front, *step));
        wait_until("the end of the hold", || !is_held(front));
        let output = finish(child);
        assert_eq!(clean_text(&output), sum, "{steps:?}");
        assert!(output.status.success(), "{steps:?}");
        assert_nothing_left(front, &marker);
    }
}

#[test]
fn root_the_job_outlives_the_front() {
    if !needs_root() {
        return;
    }
    let _alone = alone();
    let dir = directory();
    let (path, sum) = data_file(dir.path(), 4 << 20);
    let out = dir.path().join("sum");
    let go = Go::new();
    // It does its work after the kills, however late they come.
    let script = go.script("true", &format!("{} > {}", checksum(&path, "bs=4k"), out.display()));
    for names in [&[][..], &[SUPERVISOR], &[GUARDIAN]] {
        let marker = new_marker();
        let mut child = spawn_marked(&mut lull_run(&["--gate", "all"], &["sh", "-c", &script]), &marker);
        let front = child.id();
        common::job_of(front);
        let helpers: Vec<u32> = names.iter().map(|name| helper(front, name).unwrap()).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        helpers.iter().for_each(|pid| assert!(send(*pid, libc::SIGKILL)));
        go.give();
        wait_until("the job's output", || std::fs::read_to_string(&out).is_ok_and(|text| text == sum));
        go.take_back();
        std::fs::remove_file(&out).unwrap();
        assert_nothing_left(front, &marker);
    }
}

#[test]
fn root_the_loss_of_the_supervisor_is_told() {
    if !needs_root() {
        return;
    }
    let _alone = alone();
    let go = Go::new();
    let marker = new_marker();
    let mut command = common::lull();
    let child = spawn_marked(command.args(["run", "--", "sh", "-c", &go.script("true", "exit 3")]), &marker);
    let front = child.id();
    common::job_of(front);
    let supervisor = helper(front, SUPERVISOR).unwrap();
    assert!(send(supervisor, libc::SIGKILL));
    // A job that ends before the front knows of it has lost nothing.
    wait_until("the supervisor's end", || !std::path::Path::new(&format!("/proc/{supervisor}")).exists());
    go.give();
    let output = finish(child);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.starts_with("lull: the supervisor was killed") && told.lines().count() == 1, "{told}");
    assert_eq!(output.status.code(), Some(3));
    assert_nothing_left(front, &marker);
}

#[test]
fn root_a_held_job_outlives_the_front_and_the_supervisor() {
    if !needs_root() {
        return;
    }
    let _alone = alone();
    let dir = directory();
    let (path, sum) = data_file(dir.path(), 4 << 20);
    let Some(_foreground) = Foreground::start(dir.path(), Rhythm::Steady) else { return };
    let marker = new_marker();
    let mut child = held_job(&path, &marker);
    let front = child.id();
    let supervisor = helper(front, SUPERVISOR).unwrap();
    take(front, Step::Freeze);
    take(front, Step::Hold);
    child.kill().unwrap();
    assert!(send(supervisor, libc::SIGKILL));
    assert_eq!(clean_text(&finish(child)), sum);
    assert_nothing_left(front, &marker);
}

#[test]
fn root_leftovers_of_a_power_cut_are_cleaned_by_the_next_start() {
    if !needs_root() {
        return;
    }
    let _alone = alone();
    let marker = new_marker();
    // Without request gate: with all three dead, nobody could answer.
    let mut child = spawn_marked(&mut lull_run(&["--gate", "none"], &["sleep", "300"]), &marker);
    let front = child.id();
    let job = common::job_of(front);
    let files: Vec<_> = hold_file(front).into_iter().chain(freezer_file(front)).collect();
    let helpers = [SUPERVISOR, GUARDIAN].map(|name| helper(front, name).unwrap());
    files.iter().for_each(|(file, word)| std::fs::write(file, word).unwrap());
    child.kill().unwrap();
    helpers.iter().for_each(|pid| assert!(send(*pid, libc::SIGKILL)));
    child.wait().unwrap();
    let next = || assert!(common::output(&mut lull_run(&[], &["true"])).status.success());
    next();
    if files.is_empty() {
        eprintln!("SKIPPED: no control group: the job was not held");
    }
    for (file, _) in files {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            ["0", "THAWED", "-1", "max 100000"].contains(&text.trim()),
            "still held: {}: {text}",
            file.display()
        );
    }
    assert!(state_of(job).is_some(), "the job lives on");
    assert!(send(job, libc::SIGKILL));
    wait_until("the job to end", || is_dead(job));
    next();
    assert_nothing_left(front, &marker);
}
