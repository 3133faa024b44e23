use std::io::Write;
use std::os::fd::AsRawFd;

use super::*;

/// A call of this thread.
fn trap(nr: i64, args: [u64; 6]) -> Trap {
    // SAFETY: asks for a number.
    let tid = unsafe { libc::gettid() };
    Trap { id: 1, tid: tid.cast_unsigned(), nr, args }
}

fn number(fd: &impl AsRawFd) -> u64 {
    u64::try_from(fd.as_raw_fd()).unwrap()
}

/// A file of a megabyte on a disk, none of it in the page cache; `None` where pages stay or cannot be counted.
fn cold() -> Option<std::fs::File> {
    let mut file = tempfile::tempfile_in(std::env::current_dir().ok()?).ok()?;
    file.write_all(&vec![7; 1 << 20]).ok()?;
    file.sync_all().ok()?;
    // SAFETY: advice about an open file.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    match resident_pages(&file, 0, 1 << 20) {
        Ok((0, _)) => Some(file),
        other => {
            eprintln!("SKIPPED: pages stay in the cache here, or cannot be counted: {other:?}");
            None
        }
    }
}

#[test]
fn a_read_from_the_disk_is_a_range_and_one_from_the_cache_is_nothing() {
    let Some(file) = cold() else { return };
    let read = trap(libc::SYS_pread64, [number(&file), 0, 300_000, 4_096, 0, 0]);
    let Subject { size_bytes, .. } = subject(&read).unwrap();
    assert_eq!(size_bytes, 1 << 20);
    let ask = Ask::of(&read, size_bytes, |_, _| false).unwrap();
    assert!(matches!(ask, Ask::Read { offset: 4_096, end: 304_096, .. }), "{ask:?}");
    assert_eq!(ask.bytes(), PIECE_BYTES, "a piece at a time");

    let ahead = trap(libc::SYS_pread64, [number(&file), 0, 4_096, 8_192, 0, 0]);
    let ask = Ask::of(&ahead, size_bytes, |_, _| true).unwrap();
    assert!(matches!(ask, Ask::Read { offset: 8_192, end, .. } if end == 8_192 + PIECE_BYTES), "{ask:?}");

    let past = trap(libc::SYS_pread64, [number(&file), 0, 10, 1 << 20, 0, 0]);
    assert!(Ask::of(&past, size_bytes, |_, _| false).is_none(), "nothing lies past the end");
    std::io::copy(&mut &file, &mut std::io::sink()).unwrap();
    // SAFETY: moves the position alone.
    unsafe { libc::lseek(file.as_raw_fd(), 0, libc::SEEK_SET) };
    std::io::copy(&mut &file, &mut std::io::sink()).unwrap();
    assert!(Ask::of(&read, size_bytes, |_, _| false).is_none(), "it is cached");
}

#[test]
fn a_writer_waits_only_with_much_that_is_dirty() {
    let Some(mut file) = cold() else { return };
    let write = trap(libc::SYS_write, [number(&file), 0, 4_096, 0, 0, 0]);
    let sync = trap(libc::SYS_fsync, [number(&file), 0, 0, 0, 0, 0]);
    assert!(Ask::of(&write, 0, |_, _| false).is_none());
    assert!(Ask::of(&sync, 0, |_, _| false).is_none(), "nothing is dirty");
    file.write_all(&vec![1; 2 << 20]).unwrap();
    for call in [write, sync] {
        let ask = Ask::of(&call, 0, |_, _| false);
        // The kernel may have written some of it already.
        assert!(matches!(ask, None | Some(Ask::Clean { bytes: 4_096..=3_145_728, .. })), "{ask:?}");
    }
}

#[test]
fn what_is_no_file_is_not_for_a_disk() {
    let (reader, _writer) = std::io::pipe().unwrap();
    assert_eq!(subject(&trap(libc::SYS_read, [number(&reader), 0, 10, 0, 0, 0])), None);
    assert_eq!(subject(&trap(libc::SYS_sync, [0; 6])), None);
    assert_eq!(subject(&trap(libc::SYS_read, [9_999, 0, 10, 0, 0, 0])), None);
}
