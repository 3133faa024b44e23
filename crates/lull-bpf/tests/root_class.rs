//! Whose a request is: what the job does is background whatever I/O class it sets, and so is what others do for it. Needs root
//! and BPF.
//!
//! Others may look at a new device at any time, and the kernel skips a program that would interrupt itself: at least half of
//! the requests must be seen, and few as the foreground's.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::wait_until;
use loopdev::Loop;
use lull_bpf::{BlockSensor, Device, Job, Protect};

#[expect(dead_code, reason = "waking is for others")]
mod common;
#[path = "common/loopdev.rs"]
#[expect(dead_code, reason = "reading blocks is for others")]
mod loopdev;

/// Requests of others that may come in between.
const STRANGERS: u64 = 6;
/// Parts that the kernel makes of a large read.
const PARTS: u64 = 16;

fn is_root() -> bool {
    // SAFETY: geteuid has no preconditions.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        eprintln!("SKIPPED: needs root");
    }
    is_root
}

/// A disk that takes no more than 64 KiB at a time.
fn disk() -> Option<Loop> {
    let disk = is_root().then(Loop::new).flatten()?;
    let name = disk.path.trim_start_matches("/dev/");
    std::fs::write(format!("/sys/block/{name}/queue/max_sectors_kb"), "64").unwrap();
    Some(disk)
}

fn watched(disk: &Loop, job: Job, protect: &Protect) -> Option<(BlockSensor, Device)> {
    let mut sensor = match BlockSensor::load_for(job, protect) {
        Ok(sensor) => sensor,
        Err(error) if Path::new("/sys/kernel/btf/vmlinux").exists() => panic!("{error}"),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return None;
        }
    };
    let rdev = std::fs::metadata(&disk.path).unwrap().rdev();
    let device = sensor.watch(libc::major(rdev), libc::minor(rdev)).unwrap();
    Some((sensor, device))
}

/// A cgroup v2 group; removed when dropped.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
        let root = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
        let Some(root) = root.filter(|words| words[2] == "cgroup2").map(|words| words[1].to_owned()).next()
        else {
            eprintln!("SKIPPED: no cgroup v2");
            return None;
        };
        let path = Path::new(&root).join(format!("lull-test-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Some(Self(path))
    }

    fn id(&self) -> u64 {
        self.0.metadata().unwrap().ino()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// The disk in one direct read, in a best-effort class that a job may set itself.
fn read_at_once(disk: &Loop) -> String {
    format!("ionice -c2 -n7 dd if={} of=/dev/null iflag=direct bs=1M count=1 status=none", disk.path)
}

fn run(script: &str) {
    assert!(Command::new("sh").args(["-c", script]).status().unwrap().success(), "{script}");
}

fn assert_background(device: &Device) {
    wait_until("the parts are seen", || {
        let seen = device.observation();
        seen.background.started >= PARTS / 2 || seen.foreground.started >= PARTS
    });
    let seen = device.observation();
    assert!(seen.background.started >= PARTS / 2 && seen.foreground.started <= STRANGERS, "{seen:?}");
}

#[test]
fn root_a_job_that_sets_its_own_io_class_is_background_by_its_group() {
    let Some((disk, group)) = disk().and_then(|disk| Some((disk, Group::new()?))) else { return };
    let job = Job { group: Some(group.id()), ..Job::default() };
    let Some((_sensor, device)) = watched(&disk, job, &Protect::default()) else { return };
    run(&read_at_once(&disk));
    wait_until("others are foreground", || device.observation().foreground.started >= PARTS / 2);
    let before = device.observation();
    assert_eq!(before.background.started, 0, "{before:?}");
    run(&format!("echo $$ > {}/cgroup.procs; {}", group.0.display(), read_at_once(&disk)));
    wait_until("the parts are seen", || device.observation().background.started >= PARTS / 2);
    let seen = device.observation();
    assert!(seen.foreground.started <= before.foreground.started + STRANGERS, "{before:?} {seen:?}");
}

#[test]
fn root_a_job_without_a_group_is_background_by_its_descent() {
    let Some(disk) = disk() else { return };
    let own = std::process::id();
    let job = Job { root: own, ..Job::default() };
    // Also under what is protected.
    let protect = Protect { pids: vec![own], cgroup_ids: vec![] };
    let Some((_sensor, device)) = watched(&disk, job, &protect) else { return };
    run(&format!("sh -c '{}; true'", read_at_once(&disk)));
    assert_background(&device);
}

#[test]
fn root_what_the_helper_reads_is_background_and_what_it_starts_is_not() {
    let Some(disk) = disk() else { return };
    let job = Job { helper: std::process::id(), ..Job::default() };
    let Some((_sensor, device)) = watched(&disk, job, &Protect::default()) else { return };
    std::fs::read(&disk.path).unwrap();
    let seen = device.observation();
    assert!(seen.background.started > 0 && seen.foreground.started == 0, "{seen:?}");
    run(&read_at_once(&disk));
    wait_until("others are foreground", || device.observation().foreground.started >= PARTS / 2);
}

/// A process of the foreground that reads the disk each time that it is asked.
struct Server(Child);

impl Server {
    fn of(disk: &Loop) -> Self {
        let read = read_at_once(disk);
        let script = format!("while read question; do {read}; echo answer; done");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        Self(shell.spawn().unwrap())
    }

    fn sleeps(&self) -> bool {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        state.rsplit_once(')').unwrap().1.trim_start().starts_with('S')
    }

    fn ask(&mut self) {
        wait_until("the server waits", || self.sleeps());
        self.0.stdin.as_mut().unwrap().write_all(b"question\n").unwrap();
        let mut answer = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
        assert_eq!(answer, "answer\n");
    }

    /// Asks in the idle class.
    fn ask_idly(&mut self) {
        std::thread::scope(|scope| {
            let idle = || {
                let none = libc::sched_param { sched_priority: 0 };
                // SAFETY: the kernel reads one sched_param; 0 is this thread.
                assert_eq!(unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const none) }, 0);
                self.ask();
            };
            scope.spawn(idle).join().unwrap();
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn root_a_server_is_of_the_class_that_asks_it() {
    let Some(disk) = disk() else { return };
    let Some((_sensor, device)) = watched(&disk, Job::default(), &Protect::default()) else { return };
    let mut server = Server::of(&disk);
    // A server that has no CPU for long counts as foreground: one of a few tries is enough.
    let is_background = (0..5).any(|_| {
        let before = device.observation();
        server.ask_idly();
        let seen = device.observation();
        seen.background.started >= before.background.started + PARTS / 2
    });
    assert!(is_background, "{:?}", device.observation());
    let before = device.observation();
    server.ask();
    let seen = device.observation();
    assert_eq!(seen.background.started, before.background.started, "{before:?} {seen:?}");
    assert!(seen.foreground.started >= before.foreground.started + PARTS / 2, "{before:?} {seen:?}");
}
