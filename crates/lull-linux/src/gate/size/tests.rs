use std::io::Write;
use std::os::fd::AsRawFd;

use super::*;

/// A call that this thread might make.
fn trap(nr: libc::c_long, args: [u64; 6]) -> Trap {
    // SAFETY: it only says who we are.
    let tid = unsafe { libc::gettid() }.cast_unsigned();
    Trap { tid, id: 1, nr, args }
}

fn address<T>(of: &T) -> u64 {
    std::ptr::from_ref(of).addr() as u64
}

#[test]
fn plain_calls_say_it_in_their_arguments() {
    assert_eq!(bytes_of(&trap(libc::SYS_read, [3, 0, 65_536, 0, 0, 0])), Some(65_536));
    assert_eq!(bytes_of(&trap(libc::SYS_sendfile, [4, 3, 0, 1 << 20, 0, 0])), Some(1 << 20));
    assert_eq!(bytes_of(&trap(libc::SYS_copy_file_range, [3, 0, 4, 0, 77, 0])), Some(77));
    assert_eq!(bytes_of(&trap(libc::SYS_sync, [0; 6])), None);
}

#[test]
fn vectors_and_submitted_requests_are_read_from_the_callers_memory() {
    let mut space = [0_u8; 24];
    let vectors = [8, 16].map(|iov_len| libc::iovec { iov_base: space.as_mut_ptr().cast(), iov_len });
    assert_eq!(bytes_of(&trap(libc::SYS_preadv, [3, address(&vectors), 2, 0, 0, 0])), Some(24));
    assert_eq!(bytes_of(&trap(libc::SYS_preadv, [3, 8, 2, 0, 0, 0])), None, "no such memory");
    let mut iocb = [0_u64; 8];
    iocb[4] = 4_096;
    let list = [address(&iocb), address(&iocb)];
    assert_eq!(bytes_of(&trap(libc::SYS_io_submit, [1, 2, address(&list), 0, 0, 0])), Some(8_192));
}

#[test]
fn a_sync_is_as_large_as_what_is_dirty() {
    let mut file = tempfile::NamedTempFile::new_in(".").unwrap();
    file.write_all(&[7; 3 * 4_096]).unwrap();
    let fd = u64::try_from(file.as_file().as_raw_fd()).unwrap();
    let sync = trap(libc::SYS_fdatasync, [fd, 0, 0, 0, 0, 0]);
    let Some(dirty) = bytes_of(&sync) else { return println!("SKIPPED: no cachestat here") };
    assert!([0, 3 * 4_096].contains(&dirty), "all of it, unless somebody has written it: {dirty}");
    file.as_file().sync_all().unwrap();
    assert_eq!(bytes_of(&sync), Some(0));
}
