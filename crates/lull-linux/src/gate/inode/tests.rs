//! Handles of both forms, and real files opened by number where that is allowed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use lull_core::Nanos;

use super::{FileId, Form, HANDLE_BYTES, Handle, Inodes};
use crate::root::Root;
use crate::topology::DevT;

fn handle(bytes: &[u8]) -> Handle {
    let mut data = [0; HANDLE_BYTES as usize];
    data[..bytes.len()].copy_from_slice(bytes);
    Handle { bytes: u32::try_from(bytes.len()).unwrap(), kind: 1, data }
}

#[test]
fn the_form_is_learnt_from_a_handle_that_names_its_own_inode() {
    let short = handle(&[2, 0, 0, 0, 7, 0, 0, 0]);
    assert_eq!(short.form(2), Some(Form::Short));
    assert_eq!(short.form(3), None);
    let long = handle(&[128, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0]);
    assert_eq!(long.form(128), Some(Form::Long));
    assert_eq!(handle(&[2; 20]).form(0x0202_0202), None);
}

#[test]
fn an_inode_number_that_does_not_fit_has_no_handle() {
    let file = FileId { dev: DevT::new(8, 0), inode: 1 << 40, generation: 3 };
    assert!(handle(&[0; 8]).naming(Form::Short, &file).is_none());
    let named = handle(&[0; 12]).naming(Form::Long, &file).unwrap();
    assert_eq!(named.form(1 << 40), Some(Form::Long));
    assert_eq!(named.data[8], 3);
}

/// FS_IOC_GETVERSION.
fn generation(file: &File) -> u32 {
    let mut version: libc::c_long = 0;
    // SAFETY: the kernel writes an int or a long.
    let outcome = unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETVERSION, &raw mut version) };
    assert_eq!(outcome, 0);
    u32::try_from(version & 0xffff_ffff).unwrap()
}

/// Directories that this process has open, but for the one that is being listed.
fn directories_held() -> usize {
    let entries = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    entries.filter(|entry| std::fs::metadata(entry.path()).is_ok_and(|meta| meta.is_dir())).count()
}

#[test]
fn root_a_file_without_a_name_is_opened_and_one_of_another_generation_is_not() {
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        eprintln!("SKIPPED: needs root");
        return;
    }
    let mut file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    file.write_all(b"found").unwrap();
    let meta = file.metadata().unwrap();
    let id = FileId { dev: DevT::from_stat(meta.dev()), inode: meta.ino(), generation: generation(&file) };
    let mut inodes = Inodes::new(Root::real());
    let before = directories_held();
    let mut found = match inodes.open(Nanos(1), &id) {
        Err(error) if error.kind() == std::io::ErrorKind::Unsupported => {
            eprintln!("SKIPPED: the file system of the sources has no handles of a known form");
            return;
        }
        found => found.unwrap(),
    };
    let mut text = String::new();
    found.read_to_string(&mut text).unwrap();
    assert_eq!(text, "found");
    assert_eq!(directories_held(), before, "nothing of the file system is held open");
    let other = FileId { generation: id.generation.wrapping_add(1), ..id };
    assert_eq!(inodes.open(Nanos(2), &other).unwrap_err().raw_os_error(), Some(libc::ESTALE));
}

#[test]
fn an_open_file_is_named_as_the_kernel_names_it() {
    let file = tempfile::tempfile_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let id = match FileId::of(&file) {
        Ok(id) => id,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
    };
    assert_eq!((id.inode, id.generation), (file.metadata().unwrap().ino(), generation(&file)));
    assert_eq!(handle(&[2, 0, 0, 0, 7, 0, 0, 0]).generation(2), Some(u32::from_ne_bytes([7, 0, 0, 0])));
}
