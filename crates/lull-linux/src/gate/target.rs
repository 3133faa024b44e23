//! Which file a trapped call is about.
//!
//! Looked up only when the call might have to wait, since it costs a system call or two (about 2 µs): as long as every
//! disk admits background work, nobody asks. The descriptor is resolved through `/proc/TID/fd/N`; a call whose
//! target cannot be found (the thread is gone, the descriptor is closed) passes.

use std::io;
use std::mem::MaybeUninit;

use crate::seccomp::Trap;

/// What a descriptor refers to, as far as gating cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A regular file, directory or block device on this device (`st_dev`, or `st_rdev` of a block device).
    Disk {
        /// Device number of the file system or of the block device itself.
        dev: u64,
        /// Inode, to tell files apart.
        inode: u64,
        /// Size in bytes (0 for block devices).
        size_bytes: u64,
    },
    /// All disks: `sync`.
    EveryDisk,
    /// A pipe, socket, terminal, character device, or something that cannot be found: never held.
    Elsewhere,
}

/// One read that a trapped call is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The descriptor, in the calling thread's table.
    pub fd: i32,
    /// Where it begins; `None` for the descriptor's own position.
    pub offset: Option<u64>,
    /// How many bytes at most.
    pub length: u64,
}

#[expect(clippy::cast_possible_truncation, reason = "descriptors are the low half of the argument")]
pub(super) const fn descriptor(arg: u64) -> i32 {
    arg as i32
}

/// The descriptors whose disks decide about the call: what is read, then what is written.
fn deciding_descriptors(trap: &Trap) -> [Option<i32>; 2] {
    let argument = |at: usize| Some(descriptor(trap.args[at]));
    match trap.nr {
        libc::SYS_sync => [None, None],
        // sendfile(out, in, …)
        libc::SYS_sendfile => [argument(1), argument(0)],
        // copy_file_range(in, …, out, …), and splice, where one of them is a pipe
        libc::SYS_copy_file_range | libc::SYS_splice => [argument(0), argument(2)],
        libc::SYS_io_submit => [first_of_io_submit(trap), None],
        _ => [argument(0), None],
    }
}

/// `aio_fildes` of the first request of an `io_submit(ctx, nr, iocbpp)`, read from the caller's memory.
fn first_of_io_submit(trap: &Trap) -> Option<i32> {
    const AIO_FILDES_OFFSET: usize = 20;
    let fildes = read_memory(trap.tid, first_iocb(trap)?.checked_add(AIO_FILDES_OFFSET)?)?;
    Some(i32::from_ne_bytes(fildes))
}

/// Where the first request of an `io_submit(ctx, nr, iocbpp)` lies.
pub(super) fn first_iocb(trap: &Trap) -> Option<usize> {
    let first = read_memory(trap.tid, usize::try_from(trap.args[2]).ok()?)?;
    usize::try_from(u64::from_ne_bytes(first)).ok()
}

pub(super) fn read_memory<const N: usize>(tid: u32, address: usize) -> Option<[u8; N]> {
    let mut bytes = [0_u8; N];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: N };
    let remote = libc::iovec { iov_base: std::ptr::with_exposed_provenance_mut(address), iov_len: N };
    // SAFETY: `local` is our own array; a bad remote address is an error, not a fault.
    let got =
        unsafe { libc::process_vm_readv(tid.cast_signed(), &raw const local, 1, &raw const remote, 1, 0) };
    (usize::try_from(got) == Ok(N)).then_some(bytes)
}

/// How the path of a thread's descriptor is spelled, without allocating.
fn proc_path(tid: u32, fd: i32, space: &mut [u8; 40]) -> Option<*const libc::c_char> {
    use io::Write;
    let mut cursor = io::Cursor::new(space.as_mut_slice());
    write!(cursor, "/proc/{tid}/fd/{fd}\0").ok()?;
    Some(space.as_ptr().cast())
}

fn look_up(tid: u32, fd: i32) -> Target {
    let mut space = [0; 40];
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    let Some(path) = proc_path(tid, fd, &mut space) else { return Target::Elsewhere };
    // SAFETY: a terminated path and room for the answer, which is read only on success.
    let stat = unsafe {
        if libc::stat(path, stat.as_mut_ptr()) != 0 {
            return Target::Elsewhere;
        }
        stat.assume_init()
    };
    let size_bytes = u64::try_from(stat.st_size).unwrap_or(0);
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG | libc::S_IFDIR => Target::Disk { dev: stat.st_dev, inode: stat.st_ino, size_bytes },
        libc::S_IFBLK => Target::Disk { dev: stat.st_rdev, inode: stat.st_ino, size_bytes: 0 },
        _ => Target::Elsewhere,
    }
}

/// The files that a trapped call is about; a copy has two, what is read first.
pub fn targets_of(trap: &Trap) -> impl Iterator<Item = Target> {
    let every = (trap.nr == libc::SYS_sync).then_some(Target::EveryDisk);
    every.into_iter().chain(descriptors_of(trap).map(|(_, target)| target))
}

/// The same with the descriptors, where there are any.
pub fn descriptors_of(trap: &Trap) -> impl Iterator<Item = (i32, Target)> {
    let tid = trap.tid;
    deciding_descriptors(trap).into_iter().flatten().map(move |fd| (fd, look_up(tid, fd)))
}

/// What a descriptor of a process refers to.
pub fn target_of(pid: i32, fd: i32) -> Target {
    look_up(pid.cast_unsigned(), fd)
}

/// Whether a trapped call waits for dirty pages to be written.
pub fn is_sync(trap: &Trap) -> bool {
    [libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_sync_file_range, libc::SYS_syncfs, libc::SYS_sync]
        .contains(&trap.nr)
}

/// The descriptor that a trapped call reads, if it reads.
pub fn source_of(trap: &Trap) -> Option<i32> {
    match trap.nr {
        libc::SYS_read
        | libc::SYS_pread64
        | libc::SYS_readv
        | libc::SYS_preadv
        | libc::SYS_preadv2
        | libc::SYS_copy_file_range
        | libc::SYS_splice => Some(descriptor(trap.args[0])),
        libc::SYS_sendfile => Some(descriptor(trap.args[1])),
        _ => None,
    }
}

/// The read that a trapped call is about to do; `None` for calls that a page cache cannot serve or whose lengths lie
/// in the caller's memory.
pub fn read_of(trap: &Trap) -> Option<Read> {
    let fd = descriptor(trap.args[0]);
    match trap.nr {
        libc::SYS_read => Some(Read { fd, offset: None, length: trap.args[2] }),
        libc::SYS_pread64 => Some(Read { fd, offset: Some(trap.args[3]), length: trap.args[2] }),
        libc::SYS_sendfile => Some(Read { fd: descriptor(trap.args[1]), offset: None, length: trap.args[3] })
            .filter(|_| trap.args[2] == 0),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
