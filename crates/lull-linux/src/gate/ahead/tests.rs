//! Files of this very process.

use super::{MIN_BYTES, OpenFile, slots};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;

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
    let writer = std::fs::File::options().write(true).open(big.path()).unwrap();
    writer.set_len(MIN_BYTES).unwrap();
    let found = slots(own_pid());
    assert!(found.iter().all(|slot| slot.fd != small.as_raw_fd()));
    let slot = found.iter().find(|slot| slot.fd == writer.as_raw_fd()).unwrap();
    assert!(OpenFile::open(slot).is_none());
}
