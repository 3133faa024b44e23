//! Files of this very process.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use super::{BREAK_OFF_BYTES, BreakOff, MIN_BYTES, OpenFile, marks, slots};
use crate::gate::cached::cache_counts;
use crate::gate::evict::page_bytes;

const MIB: u64 = 1 << 20;
/// Larger than two bursts of any disk's read-ahead.
const LARGE: u64 = 48 * MIB;

fn own_pid() -> i32 {
    std::process::id().cast_signed()
}

#[test]
fn large_files_are_found_and_followed() {
    let mut file = tempfile::NamedTempFile::new_in(".").unwrap();
    file.write_all(&vec![3; usize::try_from(MIN_BYTES).unwrap()]).unwrap();
    let mut reader = file.reopen().unwrap();
    let slot = slots(own_pid()).into_iter().find(|slot| slot.fd == reader.as_raw_fd()).unwrap();
    let open = OpenFile::open(&slot).unwrap();
    assert_eq!((open.position(), open.size_bytes), (Some(0), MIN_BYTES));
    reader.read_exact(&mut [0; 1000]).unwrap();
    assert_eq!(open.position(), Some(1000), "the position is the reader's own");
    open.stop_kernel_read_ahead();
    open.read_ahead(4096, 65_536).unwrap();
    open.restore_kernel_read_ahead();
}

#[test]
fn small_files_pipes_and_writers_are_left_alone() {
    let mut small = tempfile::tempfile().unwrap();
    small.write_all(b"small").unwrap();
    let big = tempfile::NamedTempFile::new_in(".").unwrap();
    let writer = File::options().write(true).open(big.path()).unwrap();
    writer.set_len(MIN_BYTES).unwrap();
    let found = slots(own_pid());
    assert!(found.iter().all(|slot| slot.fd != small.as_raw_fd()));
    let slot = found.iter().find(|slot| slot.fd == writer.as_raw_fd()).unwrap();
    assert!(OpenFile::open(slot).is_none());
}

/// A file that is not in the cache, a reader of it, and that reader as it is found.
fn cold() -> (tempfile::NamedTempFile, File, OpenFile) {
    let mut file = tempfile::NamedTempFile::new_in(".").unwrap();
    file.write_all(&vec![3; usize::try_from(LARGE).unwrap()]).unwrap();
    file.as_file().sync_all().unwrap();
    let reader = file.reopen().unwrap();
    let slot = slots(own_pid()).into_iter().find(|slot| slot.fd == reader.as_raw_fd()).unwrap();
    let open = OpenFile::open(&slot).unwrap();
    open.drop_pages(0, LARGE);
    assert_eq!(cached(&reader, 0, LARGE), 0);
    (file, reader, open)
}

/// Bytes in the cache.
fn cached(file: &File, from: u64, end: u64) -> u64 {
    cache_counts(file, from, end - from).map_or(0, |counts| counts.cached) * page_bytes()
}

/// Reads a range as another program does, without read-ahead.
fn read_elsewhere(file: &tempfile::NamedTempFile, from: u64, end: u64) {
    let other = file.reopen().unwrap();
    // SAFETY: advice about an open file.
    unsafe { libc::posix_fadvise(other.as_raw_fd(), 0, 0, libc::POSIX_FADV_RANDOM) };
    let mut piece = vec![0; usize::try_from(MIB).unwrap()];
    for offset in (from..end).step_by(piece.len()) {
        other.read_exact_at(&mut piece, offset).unwrap();
    }
}

/// Until nothing is under way any more.
fn break_off(open: &OpenFile, position: u64) {
    for from in (position..16 * MIB).step_by(usize::try_from(BREAK_OFF_BYTES).unwrap()) {
        while open.break_off(from, 0, 16 * MIB) == BreakOff::Goes {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

/// A machine that reclaims ahead of need takes some pages at any moment, but hardly at each of three tries.
fn at_one_of_three_tries(left: impl Fn() -> u64, wanted: u64) {
    let tries: Vec<u64> = (0..3).map(|_| left()).take_while(|left| *left != wanted).collect();
    assert!(tries.len() < 3, "{tries:?} instead of {wanted}");
}

#[test]
fn a_file_that_others_have_cached_stays_when_read_ahead_is_broken_off() {
    let left = || {
        let (file, mut reader, open) = cold();
        read_elsewhere(&file, 0, LARGE);
        reader.read_exact(&mut [0; 100_000]).unwrap();
        open.stop_kernel_read_ahead();
        break_off(&open, 100_000);
        open.break_off_unseen(100_000, 16 * MIB);
        cached(&reader, 0, LARGE)
    };
    at_one_of_three_tries(left, LARGE);
}

#[test]
fn root_read_ahead_is_broken_off_and_pages_of_others_stay() {
    let (file, mut reader, open) = cold();
    if let Err(error) = marks::find(&open.file, 0, LARGE) {
        eprintln!("SKIPPED: {error}");
        return;
    }
    // What others have lies within the kernel's reach, and beyond what it has read.
    read_elsewhere(&file, 12 * MIB, 15 * MIB);
    let mut piece = vec![0; 64 << 10];
    for _ in 0..4 {
        reader.read_exact(&mut piece).unwrap();
    }
    open.stop_kernel_read_ahead();
    let position = open.position().unwrap();
    if cached(&reader, position, 12 * MIB) == 0 {
        eprintln!("SKIPPED: this disk reads nothing ahead");
        return;
    }
    break_off(&open, position);
    assert_eq!(marks::find(&open.file, 0, LARGE).unwrap().ranges, [], "nothing starts another burst");
    assert_eq!(cached(&reader, 12 * MIB, 15 * MIB), 3 * MIB);
    let beyond = cached(&reader, 15 * MIB, LARGE);
    while open.position().unwrap() < 15 * MIB {
        reader.read_exact(&mut piece).unwrap();
    }
    assert_eq!(cached(&reader, 15 * MIB, LARGE), beyond, "the kernel reads no further");
}
