//! Programs of the job that ask for their CPUs, or choose them, beside a foreground: they are answered as without lull, though the job
//! has but one CPU at that moment.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::{Child, Command, Output, Stdio};

use common::{
    READ_ONLY_GROUPS, assert_nothing_left, finish, helper, in_own_mounts, lull_run, needs_root, new_marker,
    output, send, spawn_marked, wait_until,
};

/// Computes for a millisecond or two and sleeps as long, over and over.
struct Foreground(Child);

impl Foreground {
    fn start() -> Self {
        let script = "while :; do i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; sleep 0.002; done";
        Self(Command::new("sh").args(["-c", script]).stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until the job has fewer CPUs than it began with, computing meanwhile; says `never` when that does not come about.
const CONFINED: &str = "all=$(grep Cpus_allowed: /proc/self/status); n=0; \
    while [ \"$(grep Cpus_allowed: /proc/self/status)\" = \"$all\" ]; do \
    n=$((n+1)); [ $n -gt 20000 ] && echo never && exit 1; done; ";

/// Asks and chooses, over and over, and says what it was told: each line once.
const PROGRAM: &str = "i=0; while [ $i -lt $ROUNDS ]; do i=$((i+1)); \
    nproc; \
    for cpu in $(seq 0 $((ALL-1))); do taskset -c $cpu sh -c 'nproc; taskset -pc $$ | sed \"s/.*: *//\"' || echo \"no $cpu\"; done; \
    done | sort | uniq -c | awk '{print $1, $2}'";

const PYTHON: &str = "import multiprocessing, os, sys
all = int(sys.argv[1])
def ask(cpu):
    os.sched_setaffinity(0, {cpu % all})
    return len(os.sched_getaffinity(0))
assert len(os.sched_getaffinity(0)) == all, os.sched_getaffinity(0)
with multiprocessing.Pool() as pool:
    assert pool._processes == all or sys.version_info < (3, 13), pool._processes
    assert set(pool.map(ask, range(200), 1)) == {1}
assert len(os.sched_getaffinity(0)) == all, os.sched_getaffinity(0)
print('python', all)
";

fn cpus() -> Option<usize> {
    let count = std::thread::available_parallelism().unwrap().get();
    if count < 2 {
        eprintln!("SKIPPED: with one CPU there is none to lend");
    }
    (count > 1).then_some(count)
}

fn text(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{} {}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Each time: all of them, asked as it is; and for each CPU one, and which one.
fn expected(cpus: usize, rounds: usize) -> String {
    let others = (0..=cpus).filter(|cpu| *cpu != 1).map(|cpu| format!("{rounds} {cpu}"));
    let mut lines: Vec<String> = others.chain([format!("{} 1", rounds * (cpus + 1))]).collect();
    lines.sort();
    lines.join("\n") + "\n"
}

fn answers(
    rounds: usize,
    options: &[&str],
    wrap: impl Fn(&Command) -> Option<Command>,
) -> Option<(String, String)> {
    let cpus = cpus()?;
    let _foreground = Foreground::start();
    let script = format!("ALL={cpus}; ROUNDS={rounds}; {CONFINED} {PROGRAM}");
    let mut run = lull_run(options, &["sh", "-c", &script]);
    let output = match wrap(&run) {
        Some(mut wrapped) => output(&mut wrapped),
        None => output(&mut run),
    };
    let mut lines: Vec<String> = text(&output).lines().map(str::to_owned).collect();
    lines.sort();
    Some((lines.join("\n") + "\n", expected(cpus, rounds)))
}

#[test]
fn root_who_asks_for_its_cpus_sees_all_and_may_choose_any() {
    if !needs_root() {
        return;
    }
    for options in [&["--resources", "cpu"][..], &["--resources", "disk,cpu"]] {
        let Some((told, expected)) = answers(40, options, |_| None) else { return };
        assert_eq!(told, expected, "{options:?}");
    }
}

#[test]
fn root_so_it_is_where_each_thread_is_confined() {
    if !needs_root() {
        return;
    }
    let wrap = |run: &Command| Some(in_own_mounts(run, READ_ONLY_GROUPS));
    let Some((told, expected)) = answers(5, &["--resources", "cpu"], wrap) else { return };
    assert_eq!(told, expected);
}

#[test]
fn root_no_answer_is_wrong_when_the_supervisor_is_killed() {
    if !needs_root() {
        return;
    }
    let Some(cpus) = cpus() else { return };
    let _foreground = Foreground::start();
    let dir = tempfile::tempdir().unwrap();
    let ready = dir.path().join("ready");
    let script = format!("ALL={cpus}; ROUNDS=40; {CONFINED} touch {}; {PROGRAM}", ready.display());
    let marker = new_marker();
    let child = spawn_marked(&mut lull_run(&["--resources", "cpu"], &["sh", "-c", &script]), &marker);
    let front = child.id();
    wait_until("the job to be confined", || ready.exists());
    send(helper(front, "lull-supervisor").unwrap(), libc::SIGKILL);
    let output = finish(child);
    let mut lines: Vec<String> = text(&output).lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines.join("\n") + "\n", expected(cpus, 40));
    assert_nothing_left(front, &marker);
}

#[test]
fn root_runtimes_count_all_cpus() {
    if !needs_root() {
        return;
    }
    let Some(cpus) = cpus() else { return };
    let _foreground = Foreground::start();
    let script = format!("{CONFINED} exec python3 -c \"$0\" {cpus}");
    let told = text(&output(&mut lull_run(&["--resources", "cpu"], &["sh", "-c", &script, PYTHON])));
    assert_eq!(told, format!("python {cpus}\n"));
}
