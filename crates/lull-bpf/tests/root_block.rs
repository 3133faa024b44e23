//! The observers on a real block device: a loop device of our own. Needs root and BPF.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::process::Command;

use lull_bpf::{BlockSensor, Device, Protect, Recorder};

const BLOCK: usize = 4096;
const BLOCKS: u64 = 256;

/// A loop device over a temporary file; detached when dropped.
struct Loop {
    path: String,
    _file: tempfile::NamedTempFile,
}

impl Loop {
    fn new() -> Option<Self> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![7; BLOCK * usize::try_from(BLOCKS).unwrap()]).unwrap();
        let out = Command::new("losetup").args(["--find", "--show"]).arg(file.path()).output().ok()?;
        if !out.status.success() {
            eprintln!("SKIPPED: no loop device: {}", String::from_utf8_lossy(&out.stderr));
            return None;
        }
        Some(Self { path: String::from_utf8(out.stdout).unwrap().trim().to_owned(), _file: file })
    }

    /// Reads `count` blocks past the page cache, in the calling thread's I/O class.
    fn read(&self, count: u64) {
        let file = File::options().read(true).custom_flags(libc::O_DIRECT).open(&self.path).unwrap();
        let mut space = vec![0_u8; 2 * BLOCK];
        let skip = space.as_ptr().align_offset(BLOCK);
        for block in 0..count {
            file.read_exact_at(&mut space[skip..skip + BLOCK], block * BLOCK as u64).unwrap();
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.path]).status();
    }
}

fn set_io_class(class: i32) {
    // SAFETY: ioprio_set takes three integers; 1, 0 is the calling thread.
    assert_eq!(unsafe { libc::syscall(libc::SYS_ioprio_set, 1, 0, class << 13) }, 0);
}

fn watched(protect: &Protect) -> Option<(BlockSensor, Loop, Device)> {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("SKIPPED: needs root");
        return None;
    }
    let disk = Loop::new()?;
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
    std::thread::scope(|scope| {
        scope.spawn(|| disk.read(50)).join().unwrap();
        scope
            .spawn(|| {
                set_io_class(3);
                disk.read(30)
            })
            .join()
            .unwrap();
    });
    let seen = device.observation();
    let report = device.report();
    assert!((49..=60).contains(&seen.foreground.started), "{seen:?}");
    assert!((29..=30).contains(&seen.background.started), "{seen:?}");
    assert_eq!((seen.foreground.in_service, seen.background.in_service), (0, 0));
    assert_eq!(report.quiet.count() + report.loaded.count(), seen.foreground.ended);
    assert_eq!(report.service.count(), seen.background.ended);
    let heads = report.heads.quiet.count + report.heads.loaded.count;
    assert!((49..=seen.foreground.ended).contains(&heads), "one reader, one request at a time: {heads}");
    assert!(report.heads.quiet.sum_ns <= report.quiet.sum_ns);
    assert!(report.background_bytes >= 29 * BLOCK as u64);
    assert!(seen.background.last_end > seen.foreground.last_end);
}

#[test]
fn root_a_background_request_in_an_endless_interval_is_a_leak_and_wakes() {
    let Some((sensor, disk, device)) = watched(&Protect::default()) else { return };
    device.set_policy(lull_core::Interval::Infinite, 0);
    disk.read(3);
    device.ask_wake(lull_bpf::record::WAKE_LEAK);
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                set_io_class(3);
                disk.read(5)
            })
            .join()
            .unwrap();
    });
    assert!(device.leaks() >= 4, "{}", device.leaks());
    let mut poll = libc::pollfd { fd: sensor.wake_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid pollfd.
    assert_eq!(unsafe { libc::poll(&raw mut poll, 1, 2_000) }, 1);
    sensor.drain();
}

#[test]
fn root_only_what_is_protected_is_foreground() {
    let own = Protect { pids: vec![std::process::id()], cgroup_ids: vec![] };
    let Some((_sensor, disk, device)) = watched(&own) else { return };
    disk.read(20);
    assert!(device.observation().foreground.started >= 19);
    drop((_sensor, disk));
    let other = Protect { pids: vec![1 << 22], cgroup_ids: vec![] };
    let Some((_sensor, disk, device)) = watched(&other) else { return };
    disk.read(20);
    assert_eq!(device.observation().foreground.started, 0);
    assert!(device.report().neutral >= 19);
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
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                set_io_class(3);
                disk.read(30)
            })
            .join()
            .unwrap();
    });
    let requests = recorder.take().unwrap();
    let seen = device.observation();
    assert_eq!(requests.len() as u64, seen.foreground.ended + seen.background.ended);
    assert_eq!(requests.iter().filter(|r| r.background).count() as u64, seen.background.ended);
    let ours = requests.iter().filter(|r| r.bytes == BLOCK as u64).count();
    assert!((79..=90).contains(&ours), "{ours} of {} requests are of one block", requests.len());
    for request in &requests {
        assert!(request.end > request.arrival && request.device == 0, "{request:?}");
    }
    assert!(requests.is_sorted_by_key(|r| r.end), "one reader after the other");
    assert_eq!(device.report().dropped, 0);
    assert!(recorder.missed().is_some(), "the kernel counts what it skips");
    assert_eq!(recorder.take().unwrap(), [], "each only once");
}

#[test]
fn root_requests_without_room_in_the_ring_are_counted() {
    let Some((mut recorder, disk, device)) = recorded(Some(4_096)) else { return };
    disk.read(250);
    let report = device.report();
    let ended = device.observation().foreground.ended;
    let taken = recorder.take().unwrap().len() as u64;
    assert!(taken > 50 && report.dropped > 50, "{taken} taken, {} dropped", report.dropped);
    assert_eq!(taken + report.dropped, ended);
    disk.read(10);
    assert!(recorder.take().unwrap().len() >= 9, "there is room again");
}
