//! The FUSE file system behind the slow disk: one directory, one file, one thread.
//!
//! The thread takes a request, asks the [model](super::model) when it is done, moves the bytes and sleeps
//! until then; requests behind it wait in the kernel's queue in arrival order. So there is exactly one
//! server. The bytes live in an anonymous memory file: holes cost nothing and no disk is behind it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyWrite, Request, WriteFlags,
};
use nix::sys::memfd::{MFdFlags, memfd_create};

use super::model::{Access, Geometry, Mechanism};
use crate::error::Context;
use crate::units::Bytes;
use crate::{Error, clock};

/// The name of the one file.
pub const FILE_NAME: &str = "disk";
const FILE: INodeNo = INodeNo(2);
const TTL: Duration = Duration::from_secs(3600);

/// The file system.
#[derive(Debug)]
pub struct Server {
    mechanism: Mutex<Mechanism>,
    content: File,
    size: Bytes,
}

impl Server {
    /// An empty disk.
    pub fn new(geometry: Geometry) -> Result<Self, Error> {
        let content =
            File::from(memfd_create(c"lull-slow-disk", MFdFlags::MFD_CLOEXEC).to("make a memory file")?);
        content.set_len(geometry.size.0).to("size the memory file")?;
        Ok(Self { mechanism: Mutex::new(Mechanism::new(geometry)), content, size: geometry.size })
    }

    /// Moves the arm and waits until the request is done.
    fn pass_time(&self, kind: Access, offset: u64, length: u64) {
        let mut mechanism = self.mechanism.lock().unwrap_or_else(PoisonError::into_inner);
        let done = mechanism.serve(clock::now(), kind, offset, length);
        while clock::now() < done {
            clock::sleep_until(done);
        }
    }

    fn attributes(&self, inode: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size) = match inode {
            INodeNo::ROOT => (FileType::Directory, 0o700, 0),
            FILE => (FileType::RegularFile, 0o600, self.size.0),
            _ => return None,
        };
        let epoch = SystemTime::UNIX_EPOCH;
        Some(FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: epoch,
            mtime: epoch,
            ctime: epoch,
            crtime: epoch,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 512,
            flags: 0,
        })
    }
}

impl Filesystem for Server {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Without it the loop device would hand over one request at a time and queue the rest itself. Kernels
        // that do not have it still serve one at a time, in order.
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_background(256);
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.attributes(FILE) {
            Some(attributes) if parent == INodeNo::ROOT && name == FILE_NAME => {
                reply.entry(&TTL, &attributes, Generation(0));
            }
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn read(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if inode != FILE {
            return reply.error(Errno::EISDIR);
        }
        let length = u64::from(size).min(self.size.0.saturating_sub(offset));
        let mut bytes = vec![0; Bytes(length).as_usize()];
        match self.content.read_exact_at(&mut bytes, offset) {
            Ok(()) => {
                self.pass_time(Access::Read, offset, length);
                reply.data(&bytes);
            }
            Err(_) => reply.error(Errno::EIO),
        }
    }

    fn write(
        &self,
        _request: &Request,
        inode: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let (Ok(written), true) = (u32::try_from(data.len()), inode == FILE) else {
            return reply.error(Errno::EINVAL);
        };
        if offset.saturating_add(u64::from(written)) > self.size.0 {
            return reply.error(Errno::ENOSPC);
        }
        match self.content.write_all_at(data, offset) {
            Ok(()) => {
                self.pass_time(Access::Write, offset, u64::from(written));
                reply.written(written);
            }
            Err(_) => reply.error(Errno::ENOSPC),
        }
    }

    fn fsync(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _datasync: bool,
        reply: ReplyEmpty,
    ) {
        // There is no write-back cache to empty.
        reply.ok();
    }
}
