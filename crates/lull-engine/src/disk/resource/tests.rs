//! Trapped calls beside a foreground on a simulated disk, on a virtual clock.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};

use lull_bpf::record::WAKE_FOREGROUND_END;
use lull_bpf::simulated::SimulatedDevice;
use lull_core::{ClassView, ControlSetting, Hold, HoldSetting, Interval, IntervalChoice, WindowChoice};
use lull_linux::clock;
use lull_linux::job::shared::Shared;
use lull_linux::root::Root;
use lull_linux::seccomp::Trap;
use lull_linux::sense::fallback::{FallbackSensor, JobIo};

use super::super::calls::Terms;
use super::super::start::Sensors;
use super::super::{DiskTraits, Sensor};
use super::*;
use crate::job_processes::JobProcesses;
use crate::memory::exchange::Pages;
use crate::reader::ReadAhead;
use crate::resource::Verdict;

const MILLI: Nanos = Nanos::from_millis(1);
const INTERVAL: Nanos = Nanos::from_millis(10);
/// What a call of the job's reads.
const CALL_BYTES: u64 = 256 << 10;

/// A thread of the job's, that does nothing.
struct Caller {
    tid: u32,
    /// Without it the thread ends.
    _stop: Sender<()>,
}

impl Caller {
    fn new() -> Self {
        let (stop, stopped): (Sender<()>, Receiver<()>) = channel();
        let (told, tid) = channel();
        std::thread::spawn(move || {
            told.send(nix::unistd::gettid().as_raw().unsigned_abs()).unwrap();
            let _ = stopped.recv();
        });
        Self { tid: tid.recv().unwrap(), _stop: stop }
    }
}

/// What is seen of one disk, and the job's calls there.
struct Bench {
    disks: Disks,
    simulated: SimulatedDevice,
    foreground: ClassView,
    shared: Arc<Shared>,
    now: Nanos,
    /// A file that is in no page cache.
    file: File,
    calls: u64,
    folder: tempfile::TempDir,
}

impl Bench {
    /// A disk with a window of so many bytes.
    fn new(window_bytes: u64) -> Self {
        Self::with(window_bytes, |device| Sensor::Bpf(device.device()))
    }

    fn with(window_bytes: u64, sensor: impl FnOnce(&SimulatedDevice) -> Sensor) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("cgroup.procs"), "").unwrap();
        let file = tempfile::tempfile().unwrap();
        file.set_len(64 << 20).unwrap();
        let shared = Arc::new(Shared::new().unwrap());
        let mut disks = Disks::new(Terms {
            job_processes: JobProcesses::of_folder(folder.path()),
            shared: Arc::clone(&shared),
            pages: Pages::default(),
            read_ahead: ReadAhead::default(),
            sleeps: Arc::default(),
            spares_the_oldest: true,
        });
        let simulated = SimulatedDevice::new().unwrap();
        let traits = DiskTraits {
            name: "sim".to_owned(),
            dev: DevT::from_kernel(0),
            rotational: false,
            read_ahead_bytes: 128 << 10,
        };
        let control = ControlSetting {
            interval: IntervalChoice::Fixed(Interval::Finite(INTERVAL)),
            window: WindowChoice::Fixed(window_bytes),
            ..ControlSetting::default()
        };
        let now = clock::now();
        let hold = HoldSetting {
            longest: Nanos::from_millis(100),
            floor: Nanos::from_millis(10),
            ..HoldSetting::default()
        };
        let disk = Disk::new(traits, sensor(&simulated), control, Some(Hold::new(hold)), now);
        disks.watch(Sensors { disks: vec![disk], bpf: None, kind: "simulated", notes: Vec::new() });
        disks.disk_of_dev.insert(file.metadata().unwrap().dev(), Some(0));
        let foreground = ClassView::default();
        Self { disks, simulated, foreground, shared, now, file, calls: 0, folder }
    }

    /// The foreground asks for something.
    fn begin(&mut self) {
        self.foreground.in_service += 1;
        self.foreground.started += 1;
        self.foreground.last_start = self.now;
        self.simulated.set_views(&self.foreground, &ClassView::default());
    }

    /// It has it.
    fn end(&mut self) {
        self.foreground.in_service -= 1;
        self.foreground.ended += 1;
        self.foreground.last_end = self.now;
        self.simulated.set_views(&self.foreground, &ClassView::default());
    }

    /// The job reads; returns the call's number, and what becomes of it.
    fn read(&mut self, caller: &Caller) -> (u64, Verdict) {
        self.calls += 1;
        let id = self.calls;
        let fd = u64::try_from(self.file.as_raw_fd()).unwrap();
        let args = [fd, 0, CALL_BYTES, id * CALL_BYTES, 0, 0];
        assert!(self.shared.list(id));
        let trap = Trap { id, tid: caller.tid, nr: libc::SYS_pread64, args };
        (id, self.disks.on_trap(self.now, &trap))
    }

    /// Time passes, and the disks have their turn.
    fn pass(&mut self, span: Nanos) -> Option<Nanos> {
        self.now = self.now.plus(span);
        let next = self.disks.turn(self.now, false);
        sooner(next, self.disks.follow(self.now, false))
    }

    fn waits(&self, id: u64) -> bool {
        self.disks.waiters.contains_key(&id)
    }
}

#[test]
fn a_burst_of_the_foreground_closes_the_gate_and_the_interval_after_it_opens_it() {
    let (mut bench, caller) = (Bench::new(u64::MAX), Caller::new());
    bench.pass(MILLI);
    assert_eq!(bench.read(&caller).1, Verdict::Pass, "nobody else is there");
    bench.begin();
    let (call, verdict) = bench.read(&caller);
    assert_eq!(verdict, Verdict::Wait);
    bench.pass(MILLI);
    assert!(bench.waits(call) && bench.simulated.take_wakes() & WAKE_FOREGROUND_END != 0);
    bench.end();
    let next = bench.pass(Nanos::ZERO).unwrap();
    assert!(
        bench.waits(call) && next <= bench.now.plus(INTERVAL),
        "the foreground may go on within the interval"
    );
    bench.pass(INTERVAL);
    assert!(!bench.waits(call));
    assert!(!bench.shared.unanswered().contains(&call));
}

#[test]
fn calls_pass_unseen_only_until_the_foreground_asks_for_something() {
    let mut bench = Bench::new(u64::MAX);
    bench.pass(MILLI);
    let open = bench.disks.open();
    assert!(open.is_open());
    bench.begin();
    assert!(!open.is_open(), "the record says so before anybody has looked");
    bench.end();
    bench.pass(INTERVAL.times(2));
    assert!(open.is_open());
}

#[test]
fn what_does_not_fit_into_the_window_waits_until_what_is_in_it_has_returned() {
    let (mut bench, first, second) = (Bench::new(CALL_BYTES), Caller::new(), Caller::new());
    bench.begin();
    bench.end();
    bench.pass(INTERVAL);
    assert_eq!(bench.read(&first).1, Verdict::Pass);
    let (waiting, verdict) = bench.read(&second);
    assert_eq!(verdict, Verdict::Wait);
    let (next, verdict) = bench.read(&first);
    assert_eq!(verdict, Verdict::Wait, "it asks again, so its first call has returned");
    assert!(!bench.waits(waiting) && bench.waits(next));
}

#[test]
fn what_reads_around_the_gate_is_held_but_not_for_ever() {
    let mut bench = Bench::new(u64::MAX);
    bench.pass(MILLI);
    bench.begin();
    bench.pass(MILLI);
    assert!(!bench.disks.wants_hold(), "the job reads nothing");
    bench.simulated.set_leaks(1);
    bench.pass(MILLI);
    assert!(bench.disks.wants_hold());
    bench.pass(Nanos::from_millis(100));
    assert!(!bench.disks.wants_hold(), "the foreground is still at work, but it was long enough");
    bench.simulated.set_leaks(2);
    bench.pass(MILLI.times(5));
    assert!(!bench.disks.wants_hold(), "a held job runs for a while in between");
    bench.pass(MILLI.times(10));
    assert!(bench.disks.wants_hold());
    bench.end();
    bench.pass(INTERVAL);
    assert!(!bench.disks.wants_hold());
}

#[test]
fn a_sensor_that_has_died_while_the_foreground_was_at_work_stops_no_call_for_ever() {
    let (mut bench, first, second) = (Bench::new(u64::MAX), Caller::new(), Caller::new());
    bench.begin();
    let oldest = bench.read(&first).0;
    bench.pass(MILLI);
    let calls = [oldest, bench.read(&second).0];
    bench.pass(CALL_WAITS_AT_MOST.times(2));
    assert_eq!(calls.map(|call| bench.waits(call)), [false, true], "the oldest one goes");
    bench.pass(CALL_WAITS_AT_MOST);
    assert_eq!(bench.disks.waiting(), 0, "and the next one after as long again");
}

#[test]
fn calls_pass_while_another_waits_for_a_lock_that_the_job_has() {
    let (mut bench, caller, second) = (Bench::new(u64::MAX), Caller::new(), Caller::new());
    let file = tempfile::NamedTempFile::new().unwrap();
    let flock = |options: &[&str], script: &str| {
        let mut flock = std::process::Command::new("flock");
        let flock = flock.args(options).arg(file.path()).args(["-c", script]);
        flock.stdin(std::process::Stdio::piped()).spawn().unwrap()
    };
    let mut holder = flock(&[], "read -r end");
    while flock(&["-n"], "true").wait().unwrap().success() {
        assert!(holder.try_wait().unwrap().is_none());
    }
    std::fs::write(bench.folder.path().join("cgroup.procs"), format!("{}\n", holder.id())).unwrap();
    bench.begin();
    let call = bench.read(&caller).0;
    bench.pass(SIGNAL_CHECK.times(2));
    assert!(bench.waits(call), "nobody waits for the job");
    let mut waiter = flock(&[], "true");
    let job = [holder.id().cast_signed()];
    while !locks::is_awaited(&Root::real(), || job.to_vec()) {
        assert!(waiter.try_wait().unwrap().is_none());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    bench.pass(SIGNAL_CHECK);
    assert!(!bench.waits(call));
    assert_eq!(bench.read(&second).1, Verdict::Pass, "nor do others, for a while");
    drop(holder.stdin.take());
    for mut process in [holder, waiter] {
        process.wait().unwrap();
    }
    bench.pass(AWAITED);
    let (call, verdict) = bench.read(&caller);
    assert_eq!(verdict, Verdict::Wait);
    bench.pass(SIGNAL_CHECK);
    assert!(bench.waits(call), "nobody waits any more");
}

#[test]
fn a_disk_that_has_vanished_stops_no_call_for_ever() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sys/block/sda");
    std::fs::create_dir_all(&folder).unwrap();
    let counters = |served: u64, in_service: u64| {
        let stat = format!("{served} 0 {served} 0 0 0 0 0 {in_service} 0 0\n");
        std::fs::write(folder.join("stat"), stat).unwrap();
        std::fs::write(folder.join("inflight"), format!("{in_service} 0\n")).unwrap();
    };
    counters(0, 0);
    let (mut bench, caller) = (
        Bench::with(u64::MAX, |_| Sensor::Fallback {
            sensor: Box::new(FallbackSensor::new("sda", Root::at(root.path()))),
            latest: lull_core::Observation::default(),
            due: Nanos::ZERO,
            job_io: Box::new(JobIo::default),
        }),
        Caller::new(),
    );
    bench.pass(MILLI.times(5));
    counters(1, 1);
    bench.pass(MILLI.times(5));
    let (call, verdict) = bench.read(&caller);
    assert_eq!(verdict, Verdict::Wait);
    std::fs::remove_dir_all(&folder).unwrap();
    bench.pass(MILLI.times(5));
    assert!(bench.waits(call), "what was seen last counts");
    bench.pass(CALL_WAITS_AT_MOST.times(2));
    assert_eq!(bench.disks.waiting(), 0);
}

#[test]
fn a_call_goes_when_its_thread_is_gone_or_the_machine_is_about_to_sleep() {
    let (mut bench, lives, dies) = (Bench::new(u64::MAX), Caller::new(), Caller::new());
    bench.begin();
    let (waiting, orphan) = (bench.read(&lives).0, bench.read(&dies).0);
    let tid = dies.tid;
    drop(dies);
    while std::path::Path::new(&format!("/proc/{tid}")).exists() {
        std::thread::yield_now();
    }
    bench.pass(SIGNAL_CHECK);
    assert!(bench.waits(waiting) && !bench.waits(orphan));
    bench.disks.terms.sleeps.store(true, Ordering::Relaxed);
    bench.pass(MILLI);
    assert_eq!(bench.disks.waiting(), 0);
    assert_eq!(bench.read(&lives).1, Verdict::Pass);
}

#[test]
fn everybody_is_let_go_at_the_end_and_told_of() {
    let (mut bench, caller) = (Bench::new(u64::MAX), Caller::new());
    bench.begin();
    bench.read(&caller);
    bench.disks.end(bench.now);
    assert_eq!(bench.disks.waiting(), 0);
    let mut report = Report::default();
    bench.disks.report(bench.now, &mut report);
    assert_eq!((report.gate.trapped, report.gate.waited, report.disks.len()), (1, 1, 1));
    assert_eq!(report.disks[0].foreground_requests, 1);
}
