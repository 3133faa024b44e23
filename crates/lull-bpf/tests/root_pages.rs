//! The page-cache observers on real files. Needs root and BPF.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use lull_bpf::{PageSensor, PageSettings, Touched};
use lull_core::PageSet;

const PAGES: u64 = 8;
const PAGE: usize = 4096;

fn sensor() -> Option<PageSensor> {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("SKIPPED: needs root");
        return None;
    }
    // This process itself is watched.
    let settings = PageSettings { job_group: 0, own: std::process::id(), wake_pages: 1 << 20 };
    match PageSensor::load(&settings) {
        Ok(sensor) => Some(sensor),
        Err(error) if std::path::Path::new("/sys/kernel/btf/vmlinux").exists() => panic!("{error}"),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

/// What was touched of this file.
fn touched(sensor: &PageSensor, file: &File) -> Vec<Touched> {
    let inode = file.metadata().unwrap().ino();
    let mut all = sensor.take().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1));
    all.extend(sensor.take().unwrap());
    all.into_iter().filter(|touched| touched.chunk.inode == inode).collect()
}

fn drop_pages(file: &File) {
    file.sync_all().unwrap();
    // SAFETY: advice about an open file.
    assert_eq!(unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) }, 0);
}

#[test]
fn root_pages_that_come_in_are_told_once_and_those_that_are_there_are_not() {
    let Some(sensor) = sensor() else { return };
    let path = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut file = path.reopen().unwrap();
    let all = PageSet::of(0..PAGES);
    file.write_all(&vec![1; PAGE * usize::try_from(PAGES).unwrap()]).unwrap();
    let written = touched(&sensor, &file);
    if file.metadata().unwrap().dev() >> 8 == 0 || written.is_empty() {
        eprintln!("SKIPPED: the file system of the build has no device of its own");
        return;
    }
    let dirtied = written.iter().fold(PageSet::EMPTY, |sum, touched| sum.or(&touched.dirtied));
    assert_eq!(dirtied, all);
    drop_pages(&file);
    let mut bytes = Vec::new();
    path.reopen().unwrap().read_to_end(&mut bytes).unwrap();
    let read = touched(&sensor, &file);
    let filled = read.iter().fold(PageSet::EMPTY, |sum, touched| sum.or(&touched.filled));
    assert_eq!((read.len(), filled, read[0].dirtied), (1, all, PageSet::EMPTY));
    path.reopen().unwrap().read_to_end(&mut bytes).unwrap();
    assert_eq!(touched(&sensor, &file), [], "they were there");
    let counts = sensor.counts();
    assert!(counts.filled >= 2 * PAGES && counts.dirtied >= PAGES && counts.missed == 0, "{counts:?}");
}

#[test]
fn root_a_wake_up_comes_after_as_many_pages_as_were_asked_for() {
    let Some(_) = sensor() else { return };
    let settings = PageSettings { job_group: 0, own: std::process::id(), wake_pages: PAGES };
    let sensor = PageSensor::load(&settings).unwrap();
    let mut file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let is_woken = || {
        let mut poll = libc::pollfd { fd: sensor.wake_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one valid record.
        unsafe { libc::poll(&raw mut poll, 1, 0) == 1 }
    };
    file.write_all(&vec![1; 2 * PAGE * usize::try_from(PAGES).unwrap()]).unwrap();
    if sensor.counts().filled == 0 {
        eprintln!("SKIPPED: the file system of the build has no device of its own");
        return;
    }
    assert!(is_woken());
    sensor.drain();
    assert!(!is_woken());
}
