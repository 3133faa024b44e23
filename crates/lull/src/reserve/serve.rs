//! The FUSE side: requests of the kernel become calls of [`State`].
//!
//! Nothing is cached by the kernel: reservations come and go, and an open file's content is what is true at the read. Files tell no
//! size, as those of `/proc`; reads and writes go straight through, one `write` being one order.

use std::ffi::OsStr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, OpenAccMode, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use super::domains::process_of;
use super::fault::Fault;
use super::files::Node;
use super::state::{Caller, Handle, State};

/// For how long the kernel may believe what it was told.
const NOT_AT_ALL: Duration = Duration::ZERO;

/// The state, and a bell for whoever removes what nobody uses any more.
pub(super) struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    pub(super) const fn new(state: State) -> Self {
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes what nobody uses any more, as soon as it is so, for ever. While nothing waits to go, it sleeps until something changes.
    pub(super) fn keep_collecting(&self, pause: Duration) {
        let mut state = self.lock();
        loop {
            state = if state.collect() {
                self.changed
                    .wait_timeout(state, pause)
                    .map_or_else(|error| error.into_inner().0, |both| both.0)
            } else {
                self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            };
        }
    }
}

/// The file system.
pub(super) struct Files(pub(super) Arc<Shared>);

impl Files {
    /// Does something for whoever asks; a refusal goes to the log.
    fn for_caller<T>(
        &self,
        request: &Request,
        what: impl Fn() -> String,
        action: impl FnOnce(&mut State, Caller) -> Result<T, Fault>,
    ) -> Result<T, Errno> {
        let caller = Caller { user: request.uid(), pid: process_of(request.pid()).unwrap_or(0) };
        let mut state = self.0.lock();
        action(&mut state, caller).map_err(|fault| {
            state.refused(caller, &what(), &fault);
            Errno::from_i32(fault.errno)
        })
    }
}

fn node(inode: INodeNo) -> Result<Node, Fault> {
    Node::of(inode.0).ok_or(Fault::plain(libc::ENOENT))
}

fn attributes(state: &State, node: Node) -> FileAttr {
    let kind = match node {
        _ if node.is_dir() => FileType::Directory,
        Node::Myself | Node::MyThread => FileType::Symlink,
        _ => FileType::RegularFile,
    };
    let epoch = SystemTime::UNIX_EPOCH;
    FileAttr {
        ino: INodeNo(node.number()),
        size: 0,
        blocks: 0,
        atime: epoch,
        mtime: epoch,
        ctime: epoch,
        crtime: epoch,
        kind,
        perm: node.mode(),
        nlink: if node.is_dir() { 2 } else { 1 },
        uid: state.owner(node),
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Files {
    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let state = self.0.lock();
        let found = Node::of(parent.0).and_then(|parent| state.lookup(parent, name.to_str()?));
        match found {
            Some(node) => reply.entry(&NOT_AT_ALL, &attributes(&state, node), Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        let state = self.0.lock();
        match Node::of(inode.0).filter(|node| state.exists(*node)) {
            Some(node) => reply.attr(&NOT_AT_ALL, &attributes(&state, node)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        request: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        _gid: Option<u32>,
        _size: Option<u64>,
        _atime: Option<TimeOrNow>,
        _mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let done = self.for_caller(
            request,
            || "chown".to_owned(),
            |state, caller| {
                let node = node(inode)?;
                if mode.is_some() {
                    return Err(Fault::new(libc::EPERM, "modes are fixed: domains say who may write"));
                }
                if let Some(user) = uid {
                    state.give(caller, node, user)?;
                }
                Ok(attributes(state, node))
            },
        );
        match done {
            Ok(attributes) => reply.attr(&NOT_AT_ALL, &attributes),
            Err(errno) => reply.error(errno),
        }
    }

    fn readlink(&self, request: &Request, inode: INodeNo, reply: ReplyData) {
        match (Node::of(inode.0), process_of(request.pid())) {
            (Some(Node::Myself), Some(pid)) => reply.data(pid.to_string().as_bytes()),
            (Some(Node::MyThread), Some(pid)) => {
                // Who asks is named by its thread.
                reply.data(format!("{pid}/task/{}", request.pid()).as_bytes());
            }
            (Some(Node::Myself | Node::MyThread), None) => reply.error(Errno::ENOENT),
            _ => reply.error(Errno::EINVAL),
        }
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        reply: ReplyEntry,
    ) {
        let name = name.to_string_lossy();
        let made = self.for_caller(
            request,
            || format!("mkdir {name}"),
            |state, caller| {
                let node = state.make_dir(caller, node(parent)?, &name)?;
                Ok(attributes(state, node))
            },
        );
        match made {
            Ok(attributes) => reply.entry(&NOT_AT_ALL, &attributes, Generation(0)),
            Err(errno) => reply.error(errno),
        }
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.to_string_lossy();
        let what = || format!("rmdir {name}");
        match self.for_caller(request, what, |state, caller| state.remove_dir(caller, node(parent)?, &name)) {
            Ok(()) => reply.ok(),
            Err(errno) => reply.error(errno),
        }
    }

    fn unlink(&self, _request: &Request, _parent: INodeNo, _name: &OsStr, reply: ReplyEmpty) {
        reply.error(Errno::EPERM);
    }

    fn open(&self, request: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let mode = flags.acc_mode();
        let opened = self.for_caller(
            request,
            || "open".to_owned(),
            |state, caller| {
                let handle = state.open(caller, node(inode)?, mode != OpenAccMode::O_RDONLY)?;
                Ok((handle, mode == OpenAccMode::O_RDWR && state.make_stream(handle)))
            },
        );
        self.0.changed.notify_one();
        match opened {
            Ok((handle, is_stream)) => {
                let stream = FopenFlags::FOPEN_STREAM | FopenFlags::FOPEN_NONSEEKABLE;
                let more = if is_stream { stream } else { FopenFlags::empty() };
                reply.opened(FileHandle(handle), FopenFlags::FOPEN_DIRECT_IO | more);
            }
            Err(errno) => reply.error(errno),
        }
    }

    fn read(
        &self,
        _request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.0.lock().read(handle.0, offset, size) {
            Ok(content) => reply.data(&content),
            Err(fault) => reply.error(Errno::from_i32(fault.errno)),
        }
    }

    fn write(
        &self,
        request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        _offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let what = || format!("write '{}'", String::from_utf8_lossy(&data[..data.len().min(80)]).trim());
        let written = self.for_caller(request, what, |state, caller| state.write(caller, handle.0, data));
        self.0.changed.notify_one();
        match (written, u32::try_from(data.len())) {
            (Ok(()), Ok(length)) => reply.written(length),
            (Err(errno), _) => reply.error(errno),
            (_, Err(_)) => reply.error(Errno::EFBIG),
        }
    }

    fn flush(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _owner: LockOwner,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }

    fn fsync(
        &self,
        _request: &Request,
        _inode: INodeNo,
        _handle: FileHandle,
        _data: bool,
        reply: ReplyEmpty,
    ) {
        reply.ok();
    }

    fn release(
        &self,
        _request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        self.0.lock().close(handle.0);
        self.0.changed.notify_one();
        reply.ok();
    }

    fn opendir(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        let mut state = self.0.lock();
        match Node::of(inode.0).filter(|node| state.exists(*node)) {
            Some(node) => reply.opened(FileHandle(state.open_dir(node)), FopenFlags::empty()),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn readdir(
        &self,
        _request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let state = self.0.lock();
        let Some(Handle::Entries(entries)) = state.handle(handle.0) else {
            return reply.error(Errno::EBADF);
        };
        let dots = [".", ".."].map(|name| (inode.0, FileType::Directory, name));
        let rest = entries.iter().map(|(node, name)| {
            let attributes = attributes(&state, *node);
            (attributes.ino.0, attributes.kind, name.as_str())
        });
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        for (at, (number, kind, name)) in dots.into_iter().chain(rest).enumerate().skip(from) {
            if reply.add(INodeNo(number), at as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _request: &Request,
        _inode: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.0.lock().close(handle.0);
        reply.ok();
    }
}
