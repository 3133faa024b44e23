//! The CPU observers on the real scheduler. Needs root and BPF. Order and counts only: how long anything takes is the
//! machine's business.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{becomes_readable, wait_until};
use lull_bpf::{CpuClass, CpuSensor, CpuSettings, Cpus, Protect};
use lull_core::Nanos;

mod common;

fn now() -> Nanos {
    let time = nix_clock();
    Nanos(u64::try_from(time.tv_sec).unwrap() * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap())
}

fn nix_clock() -> libc::timespec {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills one timespec.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) }, 0);
    time
}

fn loaded(settings: &CpuSettings) -> Option<CpuSensor> {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("SKIPPED: needs root");
        return None;
    }
    match CpuSensor::load(settings, now()) {
        Ok(sensor) => Some(sensor),
        Err(error) if std::path::Path::new("/sys/kernel/btf/vmlinux").exists() => panic!("{error}"),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

/// A process that is killed when dropped.
struct Load(Child);

impl Load {
    fn shell(script: &str) -> Self {
        let child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn pid(&self) -> u32 {
        self.0.id()
    }

    fn pin(&self, cpu: usize) {
        pin(i32::try_from(self.pid()).unwrap(), cpu);
    }

    fn sleeps(&self) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).unwrap();
        state.rsplit_once(')').unwrap().1.trim_start().starts_with('S')
    }

    fn make_idle(&self) {
        let none = libc::sched_param { sched_priority: 0 };
        let pid = i32::try_from(self.pid()).unwrap();
        // SAFETY: the kernel reads one sched_param.
        assert_eq!(unsafe { libc::sched_setscheduler(pid, libc::SCHED_IDLE, &raw const none) }, 0);
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `thread`: 0 is the caller.
fn pin(thread: i32, cpu: usize) {
    // SAFETY: an all-zero cpu_set_t is an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `cpu` is below CPU_SETSIZE.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: the set's size is given.
    assert_eq!(unsafe { libc::sched_setaffinity(thread, size_of::<libc::cpu_set_t>(), &raw const set) }, 0);
}

const SPIN: &str = "while :; do :; done";

/// Protects this one process, so that whatever else runs here counts as neutral.
fn only(pid: u32) -> CpuSettings {
    CpuSettings { protect: Protect { pids: vec![pid], cgroup_ids: vec![] }, ..CpuSettings::default() }
}

fn is_readable(sensor: &CpuSensor, timeout_ms: i32) -> bool {
    let mut poll = libc::pollfd { fd: sensor.wake_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd.
    unsafe { libc::poll(&raw mut poll, 1, timeout_ms) == 1 }
}

fn bursts(cpus: &Cpus) -> u64 {
    let totals = cpus.totals(now());
    totals.quiet.count + totals.loaded.count
}

#[test]
fn root_each_wake_up_of_the_foreground_is_a_burst() {
    let mut echo = Load::shell("while read line; do echo $line; done");
    let Some(sensor) = loaded(&only(echo.pid())) else { return };
    let cpus = sensor.cpus();
    let mut answers = BufReader::new(echo.0.stdout.take().unwrap());
    let mut questions = echo.0.stdin.take().unwrap();
    let asks = 100;
    let mut ask = || {
        let mut line = String::new();
        writeln!(questions, "question").unwrap();
        answers.read_line(&mut line).unwrap();
        assert_eq!(line, "question\n");
    };
    // The verdict on what is protected is taken with the first.
    ask();
    let before = (bursts(&cpus), cpus.totals(now()).began);
    for _ in 0..asks {
        ask();
        // So that it sleeps before the next question comes.
        wait_until("the echo sleeps", || echo.sleeps());
    }
    // A task shows S before it has left its CPU.
    wait_until("the echo has left its CPU", || cpus.running()[0] == 0);
    let counted = bursts(&cpus) - before.0;
    // A question that comes before it has left its CPU goes on with the same burst. A read may be interrupted.
    assert!((asks / 2..=asks * 11 / 10).contains(&counted), "{counted} of {asks}");
    let started = cpus.totals(now()).began - before.1;
    assert!(started >= counted * 9 / 10, "{started} {counted}");
    let report = cpus.report(now());
    assert_eq!(report.response.iter().map(lull_core::Histogram::count).sum::<u64>(), bursts(&cpus));
    let totals = cpus.totals(now());
    assert!(totals.quiet.on_cpu_ns + totals.loaded.on_cpu_ns > 0);
    assert!(
        totals.quiet.response_ns + totals.loaded.response_ns
            >= totals.quiet.on_cpu_ns + totals.loaded.on_cpu_ns
    );
}

#[test]
fn root_a_wait_for_io_is_counted_where_it_ends_and_no_other_sleep_is() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = dir.path().join("file");
    let path = file.display();
    let script = format!(
        "read go; dd if=/dev/zero of={path} bs=64k count=1 status=none; for i in 1 2 3 4 5 6 7 8; do          dd if={path} of=/dev/null bs=64k iflag=direct status=none; done; echo read; read go; sleep 0.05; sleep 0.05; echo slept"
    );
    let mut reader = Load::shell(&script);
    let Some(sensor) = loaded(&only(reader.pid())) else { return };
    let cpus = sensor.cpus();
    let ended = || cpus.io_ended_each().sum::<u64>();
    let mut answers = BufReader::new(reader.0.stdout.take().unwrap());
    let mut questions = reader.0.stdin.take().unwrap();
    let mut go = || {
        let mut line = String::new();
        writeln!(questions, "go").unwrap();
        answers.read_line(&mut line).unwrap();
        line
    };
    if !(go() == "read\n" && ended() > 0) {
        eprintln!("SKIPPED: no direct read from {} has to wait", dir.path().display());
        return;
    }
    let before = ended();
    assert_eq!(go(), "slept\n");
    assert!(ended() - before <= 1, "loading the program sleep may read it: {}", ended() - before);
}

#[test]
fn root_work_that_the_background_asks_for_is_no_burst() {
    let mut echo = Load::shell("while read line; do echo $line; done");
    let Some(sensor) = loaded(&only(echo.pid())) else { return };
    let cpus = sensor.cpus();
    let mut answers = BufReader::new(echo.0.stdout.take().unwrap());
    let script = "while read go; do echo question; done";
    let mut asker = Load(
        Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::from(echo.0.stdin.take().unwrap()))
            .spawn()
            .unwrap(),
    );
    let mut go = asker.0.stdin.take().unwrap();
    let mut ask = |times: u64| {
        for _ in 0..times {
            let mut line = String::new();
            writeln!(go, "go").unwrap();
            answers.read_line(&mut line).unwrap();
            assert_eq!(line, "question\n");
            // A question that comes before it has left its CPU would go on with the same burst.
            wait_until("the echo sleeps", || echo.sleeps());
        }
        bursts(&cpus)
    };
    let asks = 200;
    // The verdict on what is protected is taken with the first.
    let before = ask(1);
    let asked_by_equals = ask(asks) - before;
    asker.make_idle();
    // An interrupt during a wake-up hides who woke, and they may come in swarms.
    let tries = std::array::from_fn::<u64, 3, _>(|_| {
        let before = ask(1);
        ask(asks) - before
    });
    let asked_by_background = tries.into_iter().min().unwrap();
    assert!(asked_by_equals >= asks / 2, "{asked_by_equals} of {asks}");
    assert!(asked_by_background <= asks / 10, "{tries:?} of {asks}");
}

#[test]
fn root_who_is_woken_by_a_timer_above_the_background_is_not_asked_by_it() {
    let Some(sensor) = loaded(&only(std::process::id())) else { return };
    let cpus = sensor.cpus();
    pin(0, 0);
    // An interrupt finds the one in user mode, the other in a system call nearly always.
    for runs in [SPIN, "exec dd if=/dev/zero of=/dev/null bs=1M"] {
        let hog = Load::shell(&format!("read go; {runs}"));
        hog.make_idle();
        hog.pin(0);
        hog.0.stdin.as_ref().unwrap().write_all(b"go\n").unwrap();
        let used = cpus.totals(now()).background_busy;
        let naps = 200;
        let before = bursts(&cpus);
        for _ in 0..naps {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert!(cpus.totals(now()).background_busy > used, "{runs} has the CPU");
        let seen = bursts(&cpus) - before;
        assert!(seen >= naps * 8 / 10, "{seen} of {naps} beside {runs}");
    }
}

#[test]
fn root_a_spinner_is_foreground_until_it_is_gone() {
    let spinner = Load::shell(&format!("read go; {SPIN}"));
    let Some(sensor) = loaded(&only(spinner.pid())) else { return };
    let cpus = sensor.cpus();
    assert_eq!(cpus.running()[0], 0);
    spinner.0.stdin.as_ref().unwrap().write_all(b"go\n").unwrap();
    // Nothing but kernel threads takes the CPU from it for long.
    wait_until("foreground is seen", || cpus.running()[0] == 1);
    wait_until("its CPU is told", || cpus.slots().any(|slot| slot.class == CpuClass::Foreground));
    let busy = |cpus: &Cpus| cpus.totals(now()).foreground_busy;
    let before = busy(&cpus);
    wait_until("its time is counted", || busy(&cpus) > before);
    drop(spinner);
    wait_until("foreground is gone", || cpus.running()[0] == 0);
    assert!(cpus.slots().all(|slot| slot.class != CpuClass::Foreground));
}

#[test]
fn root_an_idle_class_hog_is_background() {
    let Some(sensor) = loaded(&only(1 << 22)) else { return };
    let cpus = sensor.cpus();
    let hog = Load::shell(&format!("read go; {SPIN}"));
    hog.make_idle();
    hog.pin(0);
    hog.0.stdin.as_ref().unwrap().write_all(b"go\n").unwrap();
    // On a machine with other work it runs seldom and for short: what is cumulative tells.
    wait_until("the hog is seen", || cpus.totals(now()).background_busy > Nanos::ZERO);
    let before = cpus.report(now()).busy[0][1];
    wait_until("its time is counted", || cpus.report(now()).busy[0][1] > before);
    assert_eq!(cpus.totals(now()).began, 0, "nothing is protected");
}

#[test]
fn root_a_foreground_that_uses_more_than_was_asked_for_wakes_us_once() {
    let spinner = Load::shell("while read line; do echo $line; done");
    let Some(sensor) = loaded(&only(spinner.pid())) else { return };
    let cpus = sensor.cpus();
    // Background by its group alone, so that it gets its share of a CPU that others want too.
    let hog = Load::shell(&format!("read go; {SPIN}"));
    let Some((_group, id)) = Group::of(hog.pid()) else { return };
    cpus.set_job_group(Some(id));
    hog.pin(0);
    hog.0.stdin.as_ref().unwrap().write_all(b"go\n").unwrap();
    wait_until("the hog runs", || cpus.running()[1] >= 1);
    cpus.wake_above(Some(0), Nanos::ZERO);
    // The foreground shares the hog's CPU: it takes it away at its first wake-up, and once more at each later one.
    spinner.pin(0);
    let mut questions = spinner.0.stdin.as_ref().unwrap();
    wait_until("one CPU more than none wakes us", || {
        questions.write_all(b"question\n").unwrap();
        is_readable(&sensor, 10)
    });
    assert!(becomes_readable(sensor.wake_fd()));
    sensor.drain();
    assert!(!is_readable(&sensor, 0), "asked for once, told once");
    assert!(cpus.take_peak() >= 1, "the peak is told");
    cpus.wake_above(None, Nanos::ZERO);
    wait_until("its bursts are loaded", || {
        questions.write_all(b"question\n").unwrap();
        cpus.totals(now()).loaded.count >= 3
    });
    assert!(!is_readable(&sensor, 0), "nobody asked");
    cpus.set_online(1);
    wait_until("its bursts find no free CPU", || {
        questions.write_all(b"question\n").unwrap();
        cpus.totals(now()).crowded >= 3
    });
    drop(hog);
}

#[test]
fn root_who_computes_since_before_watching_began_is_seen_at_once() {
    let spinner = Load::shell(&format!("read go; {SPIN}"));
    let Some(sensor) = loaded(&only(spinner.pid())) else { return };
    let cpus = sensor.cpus();
    spinner.pin(0);
    spinner.0.stdin.as_ref().unwrap().write_all(b"go\n").unwrap();
    let computes = |cpus: &Cpus| cpus.slots().next().unwrap().class == CpuClass::Foreground;
    wait_until("it computes", || computes(&cpus));
    let other = loaded(&only(spinner.pid())).unwrap().cpus();
    assert!(other.slots().next().unwrap().class != CpuClass::Idle, "the CPU is in use as the programs come");
}

#[test]
fn root_own_processes_and_the_jobs_group_are_told_apart() {
    let spinner = Load::shell(&format!("read go; {SPIN}"));
    let settings = CpuSettings { own: vec![spinner.pid()], ..only(spinner.pid()) };
    let Some(sensor) = loaded(&settings) else { return };
    let cpus = sensor.cpus();
    spinner.pin(0);
    spinner.0.stdin.as_ref().unwrap().write_all(b"go\n").unwrap();
    wait_until("neutral, although protected", || cpus.slots().next().unwrap().class == CpuClass::Neutral);
    cpus.set_own(&[]);
    wait_until("foreground", || cpus.slots().next().unwrap().class == CpuClass::Foreground);
    let Some((_group, id)) = Group::of(spinner.pid()) else { return };
    cpus.set_job_group(Some(id));
    wait_until("in the job's group", || cpus.slots().next().unwrap().class == CpuClass::Background);
    drop(spinner);
}

#[test]
fn root_a_job_that_raises_its_priority_in_an_idle_group_stays_background() {
    let spinner = Load::shell(&format!("read go; {SPIN}"));
    let Some(sensor) = loaded(&only(spinner.pid())) else { return };
    let cpus = sensor.cpus();
    let mounts = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"];
    let Some((group, _)) = Group::below(&mounts, spinner.pid()) else { return };
    if std::fs::write(group.0.join("cpu.idle"), "1").is_err() {
        eprintln!("SKIPPED: no cpu.idle here");
        return;
    }
    // The group above the task's own is idle; the task itself is as eager as it can be.
    // SAFETY: plain integers; the process is this test's own.
    assert_eq!(unsafe { libc::setpriority(libc::PRIO_PROCESS, spinner.pid(), -20) }, 0);
    spinner.0.stdin.as_ref().unwrap().write_all(b"go\n").unwrap();
    wait_until("background is seen", || cpus.totals(now()).background_busy > Nanos::ZERO);
    let before = cpus.totals(now()).background_busy;
    wait_until("its time is counted", || cpus.totals(now()).background_busy > before);
    drop(spinner);
}

/// A control group of a test, removed with what is below it.
struct Group(std::path::PathBuf);

impl Group {
    /// A v2 group of which `pid` is in a child, and its id.
    fn of(pid: u32) -> Option<(Self, u64)> {
        let mounts = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"];
        Self::below(&mounts.map(|mount| if is_v2(mount) { mount } else { "" }), pid)
    }

    /// A group, in the first of `mounts` that takes one, of which `pid` is in a child, and its id.
    fn below(mounts: &[&str], pid: u32) -> Option<(Self, u64)> {
        let takes = |mount: &&&str| std::path::Path::new(mount).join("cgroup.procs").exists();
        let Some(mount) = mounts.iter().find(takes).map(std::path::Path::new) else {
            eprintln!("SKIPPED in part: no control groups of the kind");
            return None;
        };
        let group = Self(mount.join(format!("lull-test-{}", std::process::id())));
        let inside = group.0.join("inside");
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::write(inside.join("cgroup.procs"), pid.to_string()).unwrap();
        let id = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&group.0).unwrap());
        Some((group, id))
    }
}

fn is_v2(mount: &str) -> bool {
    std::path::Path::new(mount).join("cgroup.controllers").exists()
}

impl Drop for Group {
    fn drop(&mut self) {
        for path in [self.0.join("inside"), self.0.clone()] {
            let begun = Instant::now();
            while std::fs::remove_dir(&path).is_err()
                && path.exists()
                && begun.elapsed() < Duration::from_secs(5)
            {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

/// The ids of the BPF programs that a process holds.
fn programs_held_by(pid: u32) -> Vec<u32> {
    let infos = std::fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap();
    let texts = infos.filter_map(|info| std::fs::read_to_string(info.unwrap().path()).ok());
    let mut ids: Vec<u32> = texts
        .filter_map(|text| text.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok()))
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Run by the next test in a process of its own.
#[test]
#[ignore = "a helper that holds the sensor until it is killed"]
fn holder() {
    let Some(_sensor) = loaded(&CpuSettings::default()) else { return };
    println!("holding");
    let _ = std::io::stdin().read(&mut [0]);
}

#[test]
fn root_a_killed_loader_leaves_nothing_attached() {
    if loaded(&CpuSettings::default()).is_none() {
        return;
    }
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "holder", "--nocapture"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map(Load)
        .unwrap();
    let mut lines = BufReader::new(holder.0.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("holding")));
    let held = programs_held_by(holder.pid());
    let there = || libbpf_rs::query::ProgInfoIter::default().filter(|info| held.contains(&info.id)).count();
    assert!(held.len() >= 4 && there() == held.len(), "{held:?}");
    drop(holder);
    // Programs are freed after a grace period.
    wait_until("the programs go", || there() == 0);
}
