//! Hosts that give less than lull would like, and jobs that do unusual things. What lull cannot have it does without: the
//! job's output and status stay right, and nothing stays behind.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output};

use common::foreground::{Foreground, Rhythm, wait_until_held};
use common::go::Go;
use common::loopdev::Loop;
use common::{
    READ_ONLY_GROUPS, assert_nothing_left, checksum, clean_text, data_file, finish, helper, in_own_mounts,
    lull_run, needs_root, new_marker, output, send, spawn_marked, wait_until,
};

/// The user and group that own nothing.
const NOBODY: u32 = 65_534;
const CAP_SYS_ADMIN: libc::c_int = 21;
const CAP_PERFMON: libc::c_int = 38;
const CAP_BPF: libc::c_int = 39;

/// A directory in which everyone may read and write.
fn open_directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    dir
}

/// Runs a checksum with every call gated, in the circumstances that `prepare` makes, and returns the summary.
fn checksum_when(prepare: impl FnOnce(&mut Command)) -> serde_json::Value {
    let dir = open_directory();
    let (path, sum) = data_file(dir.path(), 1 << 20);
    let summary = dir.path().join("summary");
    let marker = new_marker();
    let script = format!("{}; exit 11", checksum(&path, "bs=4k"));
    let options = ["--gate", "all", "--json", "--summary", summary.to_str().unwrap()];
    let mut command = lull_run(&options, &["sh", "-c", &script]);
    prepare(&mut command);
    let child = spawn_marked(&mut command, &marker);
    let front = child.id();
    let output = finish(child);
    assert_eq!(clean_text(&output), sum);
    assert_eq!(output.status.code(), Some(11));
    assert_nothing_left(front, &marker);
    serde_json::from_slice(&std::fs::read(&summary).unwrap()).unwrap()
}

fn trapped(summary: &serde_json::Value) -> u64 {
    summary["gate"]["trapped"].as_u64().unwrap()
}

/// Whether the supervisor, itself background work in a nested lull, has had the time to tell its part.
fn is_complete(summary: &serde_json::Value) -> bool {
    if summary["is_complete"] == false {
        assert_noted(summary, "did not answer in time");
        eprintln!("SKIPPED: the machine is too busy for a complete summary");
    }
    summary["sensor"] != ""
}

#[track_caller]
fn assert_noted(summary: &serde_json::Value, word: &str) {
    let notes = summary["notes"].as_array().unwrap();
    assert!(notes.iter().any(|note| note.as_str().unwrap().contains(word)), "no {word:?} in {notes:?}");
}

/// The same command, but by a copy of the program that every user can reach.
fn readable_copy(command: &Command, dir: &Path) -> Command {
    let program = dir.join("lull");
    // One that is there may still be run, and cannot be written then.
    if !program.exists() {
        std::fs::copy(command.get_program(), &program).unwrap();
    }
    let mut copy = Command::new(program);
    copy.args(command.get_args()).env("XDG_CONFIG_HOME", "/nonexistent").current_dir("/");
    copy
}

#[test]
fn every_call_of_a_plain_run_is_gated() {
    let summary = checksum_when(|_| ());
    // 256 reads and as many writes of dd alone.
    assert!(trapped(&summary) > 512, "{summary}");
}

#[test]
fn root_an_ordinary_user_has_the_request_gate() {
    if !needs_root() {
        return;
    }
    let dir = open_directory();
    let summary = checksum_when(|command| {
        *command = readable_copy(command, dir.path());
        command.uid(NOBODY).gid(NOBODY);
    });
    assert!(trapped(&summary) > 512, "{summary}");
    assert_eq!(summary["sensor"], "/proc/diskstats");
    assert_noted(&summary, "the whole job is not held");
    assert_eq!(summary["holds"], 0, "{summary}");
}

#[test]
fn root_an_ordinary_users_job_survives_its_helpers() {
    if !needs_root() {
        return;
    }
    let dir = open_directory();
    let (path, sum) = data_file(dir.path(), 4 << 20);
    let go = Go::new();
    let script = go.script("true", &checksum(&path, "bs=4k"));
    for names in [&["lull-supervisor"][..], &["lull-guardian"], &["lull-supervisor", "lull-guardian"]] {
        let marker = new_marker();
        let mut command = readable_copy(&lull_run(&["--gate", "all"], &["sh", "-c", &script]), dir.path());
        let child = spawn_marked(command.uid(NOBODY).gid(NOBODY), &marker);
        let front = child.id();
        common::job_of(front);
        names.iter().for_each(|name| assert!(send(helper(front, name).unwrap(), libc::SIGKILL)));
        go.give();
        let output = finish(child);
        go.take_back();
        assert_eq!(clean_text(&output), sum, "{names:?}");
        assert!(output.status.success());
        assert_nothing_left(front, &marker);
    }
}

#[test]
fn root_without_the_right_to_load_bpf_the_kernels_counters_serve() {
    if !needs_root() {
        return;
    }
    let summary = checksum_when(|command| {
        // SAFETY: plain integers.
        unsafe {
            command.pre_exec(|| {
                for capability in [CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN] {
                    if libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 {
                        return Err(std::io::Error::last_os_error());
                    }
                }
                Ok(())
            });
        }
    });
    assert_eq!(summary["sensor"], "/proc/diskstats");
    assert!(summary["notes"].as_array().is_some_and(|notes| !notes.is_empty()));
    assert!(trapped(&summary) > 512, "{summary}");
}

#[test]
fn root_read_only_control_groups_cost_the_hold_only() {
    if !needs_root() {
        return;
    }
    let summary = checksum_when(|command| *command = in_own_mounts(command, READ_ONLY_GROUPS));
    assert_noted(&summary, "the whole job is not held");
    assert_eq!(summary["holds"], 0, "{summary}");
    assert!(trapped(&summary) > 512, "{summary}");
}

/// Makes seccomp(2) fail with `errno` in whatever the command executes.
fn without_seccomp(command: &mut Command, errno: i32) {
    const LOAD_NR: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const JUMP_EQ: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let op = |code: u32, jt, jf, k| libc::sock_filter { code: u16::try_from(code).unwrap(), jt, jf, k };
    let program = [
        op(LOAD_NR, 0, 0, 0),
        op(JUMP_EQ, 0, 1, u32::try_from(libc::SYS_seccomp).unwrap()),
        op(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned()),
        op(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    // SAFETY: system calls only; the program lives in the closure.
    unsafe {
        command.pre_exec(move || {
            let prog = libc::sock_fprog { len: 4, filter: program.as_ptr().cast_mut() };
            let done = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const prog) == 0;
            if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        });
    }
}

#[test]
fn without_seccomp_the_job_runs_ungated() {
    for errno in [libc::ENOSYS, libc::EINVAL, libc::EPERM] {
        let summary = checksum_when(|command| without_seccomp(command, errno));
        assert_eq!(trapped(&summary), 0);
        assert_noted(&summary, "no request gate");
    }
}

#[test]
fn root_a_full_disk_keeps_the_status_and_tells_of_the_summary() {
    if !needs_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("small");
    std::fs::create_dir(&place).unwrap();
    let summary = place.join("summary");
    let script = format!(
        "mount -t tmpfs -o size=16k none {0}; head -c 1M /dev/zero > {0}/full 2>/dev/null || :; exec \"$@\"",
        place.display()
    );
    let words = ["sh", "-c", "echo out; exit 6"];
    let run = lull_run(&["--json", "--summary", summary.to_str().unwrap()], &words);
    let output = output(&mut in_own_mounts(&run, &script));
    assert_eq!(output.status.code(), Some(6));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out\n");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(
        told.starts_with("lull: ") && told.contains("summary") && told.contains("No space left"),
        "{told}"
    );
}

#[test]
fn a_job_may_fork_a_thousand_children() {
    let script = "i=0; while [ $i -lt 1000 ]; do echo $i & i=$((i+1)); done; wait; exit 12";
    let marker = new_marker();
    let child = spawn_marked(&mut lull_run(&["--gate", "all"], &["sh", "-c", script]), &marker);
    let front = child.id();
    let output = finish(child);
    assert_eq!(output.status.code(), Some(12));
    let mut numbers: Vec<u32> = clean_text(&output).lines().map(|line| line.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..1000));
    assert_nothing_left(front, &marker);
}

/// A job that ends with 3 after it has left a process in a session of its own, which makes a checksum once told to.
struct Daemon {
    dir: tempfile::TempDir,
    sum: String,
    marker: String,
    child: Child,
}

impl Daemon {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (path, sum) = data_file(dir.path(), 1 << 20);
        let place = dir.path().display();
        let daemon = format!(
            "until [ -e {place}/go ]; do sleep 0.02; done; {} > {place}/sum.new; mv {place}/sum.new {place}/sum",
            checksum(&path, "bs=4k")
        );
        let script = "setsid sh -c \"$1\" </dev/null >/dev/null 2>&1 & until [ -e \"$2\" ]; do sleep 0.02; done; exit 3";
        let end = dir.path().join("end");
        let words = ["sh", "-c", script, "sh", &daemon, end.to_str().unwrap()];
        let marker = new_marker();
        let child = spawn_marked(&mut lull_run(&["--gate", "all"], &words), &marker);
        Self { dir, sum, marker, child }
    }

    fn tell(&self, word: &str) {
        std::fs::write(self.dir.path().join(word), "").unwrap();
    }

    /// Lets the first process end, then the other one.
    fn finish(self) {
        self.tell("end");
        let Self { dir, sum, marker, child } = self;
        let front = child.id();
        assert_eq!(finish(child).status.code(), Some(3));
        std::fs::write(dir.path().join("go"), "").unwrap();
        wait_until("the daemon's output", || {
            std::fs::read_to_string(dir.path().join("sum")).is_ok_and(|text| text == sum)
        });
        assert_nothing_left(front, &marker);
    }
}

#[test]
fn a_daemon_that_outlives_the_job_is_answered_and_cleaned_up_after() {
    Daemon::start().finish();
}

#[test]
fn root_a_daemon_that_outlives_the_job_outlives_lulls_helpers_too() {
    if !needs_root() {
        return;
    }
    for names in [&["lull-supervisor"][..], &["lull-supervisor", "lull-guardian"]] {
        let daemon = Daemon::start();
        let front = daemon.child.id();
        common::job_of(front);
        names.iter().for_each(|name| assert!(send(helper(front, name).unwrap(), libc::SIGKILL)));
        wait_until("a guardian", || helper(front, "lull-guardian").is_some());
        daemon.finish();
    }
}

#[test]
fn a_lull_inside_a_lull_does_the_work() {
    let dir = tempfile::tempdir().unwrap();
    let (path, sum) = data_file(dir.path(), 1 << 20);
    let summary = dir.path().join("summary");
    let lull = env!("CARGO_BIN_EXE_lull");
    let script = checksum(&path, "bs=4k");
    let inner = [lull, "run", "--json", "--summary", summary.to_str().unwrap(), "--", "sh", "-c", &script];
    let marker = new_marker();
    let child = spawn_marked(&mut lull_run(&["--gate", "all"], &inner), &marker);
    let front = child.id();
    let output = finish(child);
    assert_eq!(clean_text(&output), sum);
    assert!(output.status.success());
    let summary = serde_json::from_slice(&std::fs::read(&summary).unwrap()).unwrap();
    if is_complete(&summary) {
        assert_noted(&summary, "outer lull");
    }
    assert_nothing_left(front, &marker);
}

#[test]
fn several_at_once_do_not_disturb_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let (path, sum) = data_file(dir.path(), 1 << 20);
    let script = checksum(&path, "bs=4k");
    let start = |_| {
        let marker = new_marker();
        let child = spawn_marked(&mut lull_run(&["--gate", "all"], &["sh", "-c", &script]), &marker);
        (child, marker)
    };
    let jobs: Vec<(Child, String)> = (0..4).map(start).collect();
    for (child, marker) in jobs {
        let front = child.id();
        let output = finish(child);
        assert_eq!(clean_text(&output), sum);
        assert!(output.status.success());
        assert_nothing_left(front, &marker);
    }
}

#[test]
fn root_a_job_in_namespaces_of_its_own_is_gated_and_answered() {
    if !needs_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (path, sum) = data_file(dir.path(), 1 << 20);
    let summary = dir.path().join("summary");
    let script = format!("test $$ = 1 && {}", checksum(&path, "bs=4k"));
    let options = ["--gate", "all", "--json", "--summary", summary.to_str().unwrap()];
    let words = ["unshare", "--pid", "--mount", "--net", "--fork", "--mount-proc", "sh", "-c", &script];
    let marker = new_marker();
    let child = spawn_marked(&mut lull_run(&options, &words), &marker);
    let front = child.id();
    let output = finish(child);
    assert_eq!(clean_text(&output), sum);
    assert!(output.status.success());
    let summary = serde_json::from_slice(&std::fs::read(&summary).unwrap()).unwrap();
    assert!(trapped(&summary) > 512, "{summary}");
    assert_nothing_left(front, &marker);
}

#[test]
fn root_a_device_that_goes_away_while_a_call_is_held_fails_the_call() {
    if !needs_root() {
        return;
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let Some(device) = Loop::new(dir.path()) else { return };
    let Some(foreground) = Foreground::on(&device.path, Rhythm::Steady) else { return };
    let marker = new_marker();
    let input = format!("if={}", device.path.display());
    // Long enough an interval to remove the device before the call is let go.
    let child = spawn_marked(
        &mut lull_run(
            &["--interval", "10s", "--longest-hold", "off"],
            &["dd", &input, "of=/dev/null", "bs=64k", "iflag=direct"],
        ),
        &marker,
    );
    let front = child.id();
    wait_until_held(common::job_of(front));
    drop(foreground);
    std::fs::File::options().write(true).open(&device.backing).unwrap().set_len(0).unwrap();
    device.detach();
    let Output { status, stderr, .. } = finish(child);
    let told = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(1), "{told}");
    assert!(told.contains("Input/output error") && !told.contains("lull"), "{told}");
    assert_nothing_left(front, &marker);
}

#[test]
fn too_few_descriptors_are_told_or_enough() {
    for limit in [4, 6, 8, 10, 12, 16, 24] {
        let mut command = lull_run(&[], &["sh", "-c", "exit 13"]);
        // SAFETY: one record of our own.
        unsafe {
            command.pre_exec(move || {
                let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
                libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
                Ok(())
            });
        }
        let marker = new_marker();
        let child = spawn_marked(&mut command, &marker);
        let front = child.id();
        let output = finish(child);
        let told = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(13) => assert!(told.is_empty(), "{limit}: {told}"),
            status => {
                assert_eq!(status, Some(125), "{limit}: {told}");
                assert!(told.starts_with("lull: ") && told.lines().count() == 1, "{limit}: {told}");
            }
        }
        assert_nothing_left(front, &marker);
    }
}
