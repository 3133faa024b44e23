//! Descriptors of this very process, seen through /proc.

#![expect(clippy::cast_sign_loss, reason = "open descriptors are positive")]

use super::{Read, Target, read_of, targets_of};
use crate::seccomp::Trap;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

fn trap(nr: i64, args: [u64; 6]) -> Trap {
    // SAFETY: gettid has no preconditions.
    Trap { id: 1, tid: unsafe { libc::gettid() }.cast_unsigned(), nr, args }
}

fn on_fd(nr: i64, fd: &impl AsRawFd) -> Trap {
    trap(nr, [fd.as_raw_fd() as u64, 0, 4096, 8192, 0, 0])
}

/// The first of them that has a disk.
fn target_of(trap: &Trap) -> Target {
    targets_of(trap).find(|target| *target != Target::Elsewhere).unwrap_or(Target::Elsewhere)
}

#[test]
fn a_copy_is_about_what_is_read_and_what_is_written() {
    let [from, to] = [(); 2].map(|()| tempfile::NamedTempFile::new().unwrap());
    let [read, written] = [&from, &to].map(|file| file.as_file().as_raw_fd() as u64);
    let inodes = [&from, &to].map(|file| file.as_file().metadata().unwrap().ino());
    let sendfile = trap(libc::SYS_sendfile, [written, read, 0, 4096, 0, 0]);
    let copy = trap(libc::SYS_copy_file_range, [read, 0, written, 0, 4096, 0]);
    for call in [sendfile, copy] {
        let found: Vec<_> = targets_of(&call).collect();
        let inode = |target: &Target| match target {
            Target::Disk { inode, .. } => *inode,
            _ => 0,
        };
        assert_eq!(found.iter().map(inode).collect::<Vec<_>>(), inodes);
    }
}

#[test]
fn files_name_their_disk_and_pipes_pass() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let meta = file.as_file().metadata().unwrap();
    assert_eq!(
        target_of(&on_fd(libc::SYS_read, file.as_file())),
        Target::Disk { dev: meta.dev(), inode: meta.ino(), size_bytes: 0 }
    );
    let (reader, writer) = std::io::pipe().unwrap();
    assert_eq!(target_of(&on_fd(libc::SYS_read, &reader)), Target::Elsewhere);
    let splice =
        trap(libc::SYS_splice, [file.as_file().as_raw_fd() as u64, 0, writer.as_raw_fd() as u64, 0, 4096, 0]);
    assert!(matches!(target_of(&splice), Target::Disk { .. }));
    let back =
        trap(libc::SYS_splice, [reader.as_raw_fd() as u64, 0, file.as_file().as_raw_fd() as u64, 0, 4096, 0]);
    assert!(matches!(target_of(&back), Target::Disk { .. }));
    assert_eq!(target_of(&trap(libc::SYS_sync, [0; 6])), Target::EveryDisk);
    assert_eq!(target_of(&trap(libc::SYS_read, [9999, 0, 1, 0, 0, 0])), Target::Elsewhere);
}

#[test]
fn the_first_libaio_request_names_the_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut iocb = [0_u8; 64];
    iocb[20..24].copy_from_slice(&file.as_file().as_raw_fd().to_ne_bytes());
    let list = [iocb.as_ptr()];
    let submit = trap(libc::SYS_io_submit, [1, 1, list.as_ptr().expose_provenance() as u64, 0, 0, 0]);
    assert!(matches!(target_of(&submit), Target::Disk { .. }));
    let wild = trap(libc::SYS_io_submit, [1, 1, 8, 0, 0, 0]);
    assert_eq!(target_of(&wild), Target::Elsewhere);
}

#[test]
fn reads_know_their_range() {
    assert_eq!(
        read_of(&trap(libc::SYS_pread64, [3, 0, 4096, 8192, 0, 0])),
        Some(Read { fd: 3, offset: Some(8192), length: 4096 })
    );
    assert_eq!(read_of(&trap(libc::SYS_fsync, [3, 0, 0, 0, 0, 0])), None);
}
