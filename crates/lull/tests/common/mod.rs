//! What the tests of whole `lull run` processes share: starting lull, finding its helpers and control groups, and waiting
//! with a limit. Limits are generous: they tell a hang from a slow machine, nothing else.

#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub(crate) mod again;
pub(crate) mod cache;
pub(crate) mod classes;
pub(crate) mod foreground;
pub(crate) mod go;
pub(crate) mod loopdev;
pub(crate) mod net;
pub(crate) mod pty;
pub(crate) mod small;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// After this long a test takes lull for hung.
pub(crate) const HANG: Duration = Duration::from_secs(90);
/// The environment variable by which a test finds the processes that it caused.
pub(crate) const MARKER: &str = "LULL_TEST_MARKER";
/// How long helpers may take to end after the last process of a job.
const HELPERS_END: Duration = Duration::from_secs(60);

static MARKERS: AtomicU32 = AtomicU32::new(0);

/// A marker that no other test of this machine has.
pub(crate) fn new_marker() -> String {
    format!("{}-{}", std::process::id(), MARKERS.fetch_add(1, Ordering::Relaxed))
}

/// The program under test.
pub(crate) fn lull() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lull"));
    // The settings of whoever runs the tests do not matter, nor do directories in the path that may not be read.
    command.env("XDG_CONFIG_HOME", "/nonexistent").env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
    command
}

/// `lull run --quiet OPTIONS -- WORDS`.
pub(crate) fn lull_run(options: &[&str], words: &[&str]) -> Command {
    let mut command = lull();
    command.args(["run", "--quiet"]).args(options).arg("--").args(words);
    command
}

/// Runs `command` to its end with empty input, its output caught.
pub(crate) fn output(command: &mut Command) -> Output {
    output_within(HANG, command)
}

/// The same for a command that may take longer than others.
pub(crate) fn output_within(limit: Duration, command: &mut Command) -> Output {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    finish_within(limit, child)
}

/// Waits for the end of `child` and of its output.
pub(crate) fn finish(child: Child) -> Output {
    finish_within(HANG, child)
}

fn finish_within(limit: Duration, child: Child) -> Output {
    let pid = child.id();
    let (done, outcome) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(child.wait_with_output()));
    match outcome.recv_timeout(limit) {
        Ok(output) => output.unwrap(),
        Err(_) => {
            let state = tree(pid);
            send(pid, libc::SIGKILL);
            panic!("process {pid} hangs:\n{state}");
        }
    }
}

/// Waits for the end of `child`, whatever holds its output.
pub(crate) fn wait_for_end(child: &mut Child) -> ExitStatus {
    let mut status = None;
    wait_until("the end of a process", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}

/// The output as text; the error output must be empty.
pub(crate) fn clean_text(output: &Output) -> String {
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Waits until `is_so`.
pub(crate) fn wait_until(what: &str, is_so: impl FnMut() -> bool) {
    wait_at_most(HANG, what, is_so);
}

/// Waits until `is_so`, at most for `limit`.
pub(crate) fn wait_at_most(limit: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < limit, "waited {limit:?} in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal; false when there is no such process.
pub(crate) fn send(pid: u32, signal: i32) -> bool {
    // SAFETY: plain integers.
    unsafe { libc::kill(pid.cast_signed(), signal) == 0 }
}

/// State letter and parent from `/proc/PID/stat`.
pub(crate) fn state_of(pid: u32) -> Option<(char, u32)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// All process ids.
pub(crate) fn processes() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

pub(crate) fn name_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim_end().to_owned()
}

/// The children of `parent` by name, the dead ones left out.
pub(crate) fn children(parent: u32) -> Vec<(String, u32)> {
    let is_child = |pid: &u32| state_of(*pid).is_some_and(|(state, of)| of == parent && state != 'Z');
    processes().into_iter().filter(is_child).map(|pid| (name_of(pid), pid)).collect()
}

/// The living helper of this name.
pub(crate) fn helper(front: u32, name: &str) -> Option<u32> {
    children(front).into_iter().find(|(found, _)| found == name).map(|(_, pid)| pid)
}

/// Whether this process holds so many programs of observers, attached.
fn holds_observers(programs: usize, pid: u32) -> bool {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links.filter(|link| link.to_string_lossy().contains("bpf_link")).count() >= programs
}

/// Waits until the run of this front has attached so many programs.
pub(crate) fn wait_until_observed(front: u32, programs: usize) {
    wait_until("the observers", || {
        helper(front, "lull-supervisor").is_some_and(|pid| holds_observers(programs, pid))
    });
}

/// The job's first process, once it has become the command.
pub(crate) fn job_of(front: u32) -> u32 {
    let mut job = None;
    wait_until("the job to start", || {
        job = children(front).into_iter().find(|(name, _)| !name.starts_with("lull")).map(|(_, pid)| pid);
        job.is_some()
    });
    job.unwrap()
}

/// What a person would want to know of a process that hangs: its state, and where in the kernel its threads are.
fn describe(pid: u32) -> String {
    let mut text = format!("{pid} {} {:?}\n", name_of(pid), state_of(pid));
    for thread in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        // Only root may see the stack.
        let place = ["stack", "wchan"].map(|name| std::fs::read_to_string(thread.path().join(name)));
        let place = place.into_iter().map_while(Result::ok).next().unwrap_or_default();
        text += &format!("  {}:\n{place}\n", thread.file_name().display());
    }
    text
}

/// A process and two generations below it.
fn tree(pid: u32) -> String {
    let mut text = describe(pid);
    for (_, child) in children(pid) {
        text += &describe(child);
        text.extend(children(child).iter().map(|(_, pid)| describe(*pid)));
    }
    text
}

/// Directories of control groups that hold jobs of this front.
pub(crate) fn groups_of(front: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect_groups(Path::new("/sys/fs/cgroup"), &format!("lull-{front}-"), 6, &mut found);
    found
}

fn collect_groups(dir: &Path, prefix: &str, depth: u32, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            found.push(entry.path());
        }
        if depth > 0 {
            collect_groups(&entry.path(), prefix, depth - 1, found);
        }
    }
}

/// Processes that inherited this marker and are lull's, not the job's.
fn helpers_marked(marker: &str) -> Vec<u32> {
    let text = format!("{MARKER}={marker}");
    let is_marked = |pid: &u32| {
        std::fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == text.as_bytes()))
    };
    processes().into_iter().filter(|pid| name_of(*pid).starts_with("lull-") && is_marked(pid)).collect()
}

/// Nothing of lull stays behind: no helper, no control group.
pub(crate) fn assert_nothing_left(front: u32, marker: &str) {
    let mut left = Vec::new();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        wait_at_most(HELPERS_END, "the helpers to end", || {
            left = helpers_marked(marker);
            left.is_empty()
        });
    }));
    assert!(
        ended.is_ok(),
        "helpers of {front} are left:\n{}",
        left.iter().map(|pid| describe(*pid)).collect::<String>()
    );
    wait_at_most(HELPERS_END, "the control groups to go", || groups_of(front).is_empty());
}

pub(crate) fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions.
    unsafe { libc::geteuid() == 0 }
}

/// True for root; otherwise tells that the test is skipped.
pub(crate) fn needs_root() -> bool {
    if !is_root() {
        eprintln!("SKIPPED: needs root");
    }
    is_root()
}

/// A file of `length` bytes that look random, the same ones each time, and their SHA-256 as sha256sum prints it.
pub(crate) fn data_file(dir: &Path, length: usize) -> (String, String) {
    let path = dir.join("data");
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let words = length.div_ceil(8);
    let bytes: Vec<u8> =
        (0..words).flat_map(|_| next_random(&mut state).to_ne_bytes()).take(length).collect();
    std::fs::write(&path, bytes).unwrap();
    let sum = Command::new("sha256sum").stdin(std::fs::File::open(&path).unwrap()).output().unwrap();
    (path.to_str().unwrap().to_owned(), String::from_utf8(sum.stdout).unwrap())
}

/// xorshift64: reproducible, and good enough to scatter moments.
pub(crate) fn next_random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// The file by which a job is held, and what holds it.
pub(crate) fn hold_file(front: u32) -> Option<(PathBuf, &'static str)> {
    file_of(front, [("cpu.max", "1000 100000"), ("cpu.cfs_quota_us", "1000")])
}

/// A file of the job's freezer group, and what freezes it.
pub(crate) fn freezer_file(front: u32) -> Option<(PathBuf, &'static str)> {
    file_of(front, [("cgroup.freeze", "1"), ("freezer.state", "FROZEN")])
}

fn file_of(front: u32, files: [(&'static str, &'static str); 2]) -> Option<(PathBuf, &'static str)> {
    let group_files = |group: PathBuf| files.map(|(name, word)| (group.join(name), word));
    groups_of(front).into_iter().flat_map(group_files).find(|(path, _)| path.exists())
}

/// Is the whole job held now?
pub(crate) fn is_held(front: u32) -> bool {
    hold_file(front)
        .is_some_and(|(file, word)| std::fs::read_to_string(file).is_ok_and(|text| text.trim() == word))
}

/// A checksum job, its parts as a shell runs them: many small calls through a pipe.
pub(crate) fn checksum(path: &str, dd_options: &str) -> String {
    format!("dd if={path} status=none {dd_options} | sha256sum")
}

/// `command` with its output caught, marked for [`assert_nothing_left`].
pub(crate) fn spawn_marked(command: &mut Command, marker: &str) -> Child {
    command.env(MARKER, marker).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// For [`in_own_mounts`]: no control group can be made.
pub(crate) const READ_ONLY_GROUPS: &str = "for place in $(findmnt -rno TARGET -t cgroup,cgroup2); do \
    mount -o remount,bind,ro \"$place\"; done; exec \"$@\"";

/// Puts `script`, which ends in running its arguments, before the command, in a mount namespace of its own.
pub(crate) fn in_own_mounts(command: &Command, script: &str) -> Command {
    let mut outer = Command::new("unshare");
    outer.args(["--mount", "--propagation", "private", "sh", "-ec", script, "sh"]);
    outer.arg(command.get_program()).args(command.get_args()).env("XDG_CONFIG_HOME", "/nonexistent");
    outer
}

/// What a shell does first so that it runs as any other program: an idle job beside a busy machine may not run for minutes. The
/// marks of its traffic stay.
pub(crate) const AWAKE: &str = "{ echo 0 > /sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)/cpu.idle; \
    echo 0 > /sys/fs/cgroup/cpu$(sed -n -e s/^[0-9]*:cpu://p -e s/^[0-9]*:cpu,cpuacct://p /proc/self/cgroup)/cpu.idle; \
    chrt -o -p 0 $$; renice -n 0 $$; } &> /dev/null; ";
