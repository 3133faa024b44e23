//! The page cache of a file of our own.

use super::{is_cached, resident_pages};
use crate::gate::target::Read;
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;

const MEGABYTE: usize = 1 << 20;

#[test]
fn written_pages_are_resident_until_dropped() {
    let mut file = tempfile::NamedTempFile::new_in(".").unwrap();
    file.write_all(&vec![1; MEGABYTE]).unwrap();
    file.as_file().sync_all().unwrap();
    let size = MEGABYTE as u64;
    match resident_pages(file.as_file(), 0, size) {
        Err(error) => {
            eprintln!("SKIPPED: cachestat: {error}");
            return;
        }
        Ok((cached, all)) => assert_eq!((all, cached <= all), (256, true)),
    }
    // SAFETY: gettid has no preconditions.
    let tid = unsafe { libc::gettid() }.cast_unsigned();
    let fd = file.as_file().as_raw_fd();
    let read = |offset| Read { fd, offset, length: 65_536 };
    let mut again = [0_u8; 1];
    std::os::unix::fs::FileExt::read_exact_at(file.as_file(), &mut again, 0).unwrap();
    assert!(is_cached(tid, &Read { fd, offset: Some(0), length: 1 }, size, 0));
    assert!(is_cached(tid, &read(Some(size)), size, 131_072), "past the end nothing is read");
    // SAFETY: advice about our own file.
    unsafe { libc::posix_fadvise(fd, 0, 0, libc::POSIX_FADV_DONTNEED) };
    file.seek(SeekFrom::Start(0)).unwrap();
    assert!(!is_cached(tid, &read(None), size, 0));
    assert!(
        !is_cached(tid, &Read { fd: 9999, offset: None, length: 1 }, size, 0),
        "a closed descriptor waits"
    );
}
