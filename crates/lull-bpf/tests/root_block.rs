//! The observers on a real block device: a loop device of our own. Needs root and BPF.
//!
//! The kernel skips a program that would interrupt itself, and others may look at a new device at any time: so at least half
//! of the requests must be seen, and those of the idle class, which are ours alone, never as more than there are or as others.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use common::{becomes_readable, wait_until};
use loopdev::{BLOCK, Loop};
use lull_bpf::{BlockSensor, Device, DeviceReport, Protect, Recorder};
use lull_core::Observation;

mod common;
#[path = "common/loopdev.rs"]
mod loopdev;

/// The idle class of I/O priorities.
const IDLE: i32 = 3;

fn set_io_class(class: i32) {
    // SAFETY: ioprio_set takes three integers; 1, 0 is the calling thread.
    assert_eq!(unsafe { libc::syscall(libc::SYS_ioprio_set, 1, 0, class << 13) }, 0);
}

/// Reads `count` blocks in the idle class.
fn read_idle(disk: &Loop, count: u64) {
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                set_io_class(IDLE);
                disk.read(count);
            })
            .join()
            .unwrap();
    });
}

/// What was seen of a device, once that stands still.
fn settled(device: &Device) -> (Observation, DeviceReport) {
    let mut seen = (device.observation(), device.report());
    wait_until("the device is quiet", || {
        let before = seen.0;
        seen = (device.observation(), device.report());
        seen.0 == before && device.observation() == before
    });
    seen
}

fn watched(protect: &Protect) -> Option<(BlockSensor, Loop, Device)> {
    watched_on(protect, Loop::new)
}

fn watched_on(protect: &Protect, disk: impl FnOnce() -> Option<Loop>) -> Option<(BlockSensor, Loop, Device)> {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("SKIPPED: needs root");
        return None;
    }
    let disk = disk()?;
    let mut sensor = match BlockSensor::load(protect) {
        Ok(sensor) => sensor,
        Err(error) if std::path::Path::new("/sys/kernel/btf/vmlinux").exists() => panic!("{error}"),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return None;
        }
    };
    let rdev = std::fs::metadata(&disk.path).unwrap().rdev();
    let device = sensor.watch(libc::major(rdev), libc::minor(rdev)).unwrap();
    Some((sensor, disk, device))
}

#[test]
fn root_classes_are_told_apart() {
    let Some((_sensor, disk, device)) = watched(&Protect::default()) else { return };
    disk.read(50);
    let (before, _) = settled(&device);
    assert!(before.foreground.started >= 25, "{before:?}");
    assert_eq!(before.background.started, 0, "{before:?}");
    read_idle(&disk, 30);
    let (seen, report) = settled(&device);
    assert!((15..=30).contains(&seen.background.started), "{seen:?}");
    // One whose end was skipped is in service for good.
    assert!(seen.foreground.in_service <= 2 && seen.background.in_service <= 2, "{seen:?}");
    assert_eq!(report.quiet.count() + report.loaded.count(), seen.foreground.ended);
    assert_eq!(report.service.count(), seen.background.ended);
    let heads = report.heads.quiet.count + report.heads.loaded.count;
    // Others may read at the same time, and one whose end was skipped is ahead of the next ones.
    assert!((10..=seen.foreground.ended).contains(&heads), "one reader, one request at a time: {heads}");
    assert!(report.heads.quiet.sum_ns <= report.quiet.sum_ns);
    assert!((15..=30).contains(&(report.background_bytes / BLOCK as u64)), "{}", report.background_bytes);
    assert!(seen.background.last_end > before.foreground.last_end);
}

#[test]
fn root_a_background_request_in_an_endless_interval_is_a_leak_and_wakes() {
    let Some((sensor, disk, device)) = watched(&Protect::default()) else { return };
    device.set_policy(lull_core::Interval::Infinite, 0);
    disk.read(20);
    assert_eq!(device.leaks(), 0, "the foreground is free to go");
    device.ask_wake(lull_bpf::record::WAKE_LEAK);
    read_idle(&disk, 20);
    wait_until("leaks are counted", || device.leaks() >= 10);
    assert!(device.leaks() <= 20, "{}", device.leaks());
    assert!(becomes_readable(sensor.wake_fd()));
    sensor.drain();
}

#[test]
fn root_only_what_is_protected_is_foreground() {
    let own = Protect { pids: vec![std::process::id()], cgroup_ids: vec![] };
    let Some((_sensor, disk, device)) = watched(&own) else { return };
    disk.read(20);
    wait_until("foreground", || device.observation().foreground.started >= 10);
    drop((_sensor, disk));
    let other = Protect { pids: vec![1 << 22], cgroup_ids: vec![] };
    let Some((_sensor, disk, device)) = watched(&other) else { return };
    disk.read(20);
    wait_until("neutral", || device.report().neutral >= 10);
    assert_eq!(device.observation().foreground.started, 0);
}

/// A mounted ext4 of the loop device, which writes its journal every second; unmounted when dropped.
struct Mounted<'a> {
    on: tempfile::TempDir,
    _of: &'a Loop,
}

impl<'a> Mounted<'a> {
    fn new(disk: &'a Loop) -> Self {
        let run = |program: &str, args: &[&str]| {
            let out = Command::new(program).args(args).output().unwrap();
            assert!(out.status.success(), "{program}: {}", String::from_utf8_lossy(&out.stderr));
        };
        let on = tempfile::tempdir().unwrap();
        // Nothing is left to be set up behind our back.
        let at_once = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        run("mkfs.ext4", &["-q", "-J", "size=4", "-E", at_once, &disk.path]);
        run("mount", &["-t", "ext4", "-o", "commit=1", &disk.path, on.path().to_str().unwrap()]);
        Self { on, _of: disk }
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.on.path()).status();
    }
}

#[test]
fn root_a_journal_is_foreground_while_the_foreground_waits_for_it() {
    let of_a_file_system = || {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(64 << 20).unwrap();
        Loop::over(file)
    };
    let Some((_sensor, disk, device)) = watched_on(&Protect::default(), of_a_file_system) else { return };
    // So that each request is seen twice: when it is queued, and when it is issued.
    let name = disk.path.trim_start_matches("/dev/");
    std::fs::write(format!("/sys/block/{name}/queue/scheduler"), "mq-deadline").unwrap();
    let mounted = Mounted::new(&disk);
    // Nobody waits: the journal's thread writes that there are new files when its time has come. Somebody else may wait for another
    // file system just then, so one of a few tries is enough.
    let is_neutral = (0..5).any(|attempt| {
        let (before, report) = settled(&device);
        for file in 0..20 {
            std::fs::write(mounted.on.path().join(format!("{attempt}-{file}")), b"new").unwrap();
        }
        wait_until("the journal was written", || {
            let written = device.report().neutral - report.neutral;
            written + device.observation().foreground.started >= before.foreground.started + 3
        });
        let (seen, _) = settled(&device);
        seen.foreground.started <= before.foreground.started + 2
    });
    assert!(is_neutral, "nobody waited for the journal");
    let (seen, _) = settled(&device);
    // The same with somebody who waits: the record of each new file, its end, and the flush before it.
    for file in 0..20 {
        File::create(mounted.on.path().join(format!("synced-{file}"))).unwrap().sync_all().unwrap();
    }
    let (after, _) = settled(&device);
    assert!(after.foreground.started >= seen.foreground.started + 30, "{seen:?} {after:?}");
}

/// A recorder of a loop device of its own.
fn recorded(ring_bytes: Option<u32>) -> Option<(Recorder, Loop, Device)> {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("SKIPPED: needs root");
        return None;
    }
    let disk = Loop::new()?;
    let loaded = match ring_bytes {
        Some(bytes) => Recorder::with_ring(&Protect::default(), bytes),
        None => Recorder::load(&Protect::default()),
    };
    let mut recorder = match loaded {
        Ok(recorder) => recorder,
        Err(error) if std::path::Path::new("/sys/kernel/btf/vmlinux").exists() => panic!("{error}"),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return None;
        }
    };
    let rdev = std::fs::metadata(&disk.path).unwrap().rdev();
    let device = recorder.watch(libc::major(rdev), libc::minor(rdev)).unwrap();
    Some((recorder, disk, device))
}

#[test]
fn root_a_recording_holds_every_request_with_its_class_and_size() {
    let Some((mut recorder, disk, device)) = recorded(None) else { return };
    disk.read(50);
    read_idle(&disk, 30);
    let mut requests = Vec::new();
    wait_until("each that ended is in the recording", || {
        requests.extend(recorder.take().unwrap());
        let seen = device.observation();
        requests.len() as u64 == seen.foreground.ended + seen.background.ended
    });
    let of_class = |background| requests.iter().filter(move |r| r.background == background);
    let ours = of_class(true).count();
    assert_eq!(ours as u64, device.observation().background.ended);
    assert!((15..=30).contains(&ours), "{ours} of {} requests are background", requests.len());
    assert!(of_class(true).all(|r| r.bytes == BLOCK as u64), "{requests:?}");
    let blocks = of_class(false).filter(|r| r.bytes == BLOCK as u64).count();
    assert!(blocks >= 25, "{blocks} foreground requests are of one block: {requests:?}");
    for request in &requests {
        assert!(request.end > request.arrival && request.device == 0, "{request:?}");
    }
    assert!(of_class(true).is_sorted_by_key(|r| r.end), "one reader after the other");
    assert_eq!(device.report().dropped, 0);
    assert!(recorder.missed().is_some(), "the kernel counts what it skips");
    assert!(recorder.take().unwrap().iter().all(|r| !r.background), "each only once");
}

#[test]
fn root_requests_without_room_in_the_ring_are_counted() {
    let Some((mut recorder, disk, device)) = recorded(Some(4_096)) else { return };
    disk.read(250);
    let mut taken = recorder.take().unwrap().len() as u64;
    let dropped = device.report().dropped;
    assert!(taken > 25 && dropped > 25, "{taken} taken, {dropped} dropped");
    wait_until("what ended was taken or dropped", || {
        taken += recorder.take().unwrap().len() as u64;
        taken + device.report().dropped == device.observation().foreground.ended
    });
    disk.read(10);
    assert!(recorder.take().unwrap().len() >= 5, "there is room again");
}
