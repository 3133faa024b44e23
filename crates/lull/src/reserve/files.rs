//! What is a file in the mount, and its inode number.
//!
//! ```text
//!  /            log, status, proc, one directory per resource
//!  /cpu         share, newreserv, newqueue, r0 …, q0 …
//!  /cpu/r0      the same, and collect
//!  /cpu/r0/q0   share, backlog, collect; of an interface also input
//!  /proc        self, thread-self, one directory per process
//!  /proc/PID    rdom, crdom, enter
//!  /proc/PID/fd    one file per descriptor: its queue
//!  /proc/PID/task  one file per thread: its queue of the CPU
//! ```
//!
//! A number says what kind of file it is, then of which resource and reservation, or of which process and descriptor or thread. Those of reservations are never given
//! twice, so an old number means nothing rather than another one.

use lull_core::reserve::Id;

/// A file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    Top,
    Log,
    Status,
    Procs,
    Myself,
    Process(u32),
    Rdom(u32),
    Crdom(u32),
    Enter(u32),
    /// The directory of a process's descriptors.
    Descriptors(u32),
    /// Of a process, its number.
    Descriptor(u32, u32),
    /// The directory of a process's threads.
    Threads(u32),
    /// Of a process, its id.
    Thread(u32, u32),
    MyThread,
    Dir(u8, Id),
    Share(u8, Id),
    NewReserv(u8, Id),
    NewQueue(u8, Id),
    Backlog(u8, Id),
    Collect(u8, Id),
    Input(u8, Id),
}

use Node::{
    Backlog, Collect, Crdom, Descriptor, Descriptors, Dir, Enter, Input, Log, MyThread, Myself, NewQueue,
    NewReserv, Process, Procs, Rdom, Share, Status, Thread, Threads, Top,
};

/// Bits below the first number, which is a resource or a process, and below the second.
const FIRST_SHIFT: u32 = 5;
const SECOND_SHIFT: u32 = 32;
const KIND_MASK: u64 = (1 << FIRST_SHIFT) - 1;
const FIRST_MASK: u64 = (1 << (SECOND_SHIFT - FIRST_SHIFT)) - 1;

impl Node {
    /// Its inode number.
    pub(super) const fn number(self) -> u64 {
        let (kind, first, second) = match self {
            Top => (1, 0, 0),
            Log => (2, 0, 0),
            Status => (3, 0, 0),
            Procs => (4, 0, 0),
            Myself => (5, 0, 0),
            Process(pid) => (6, pid, 0),
            Rdom(pid) => (7, pid, 0),
            Crdom(pid) => (8, pid, 0),
            Enter(pid) => (9, pid, 0),
            Dir(resource, id) => (10, resource as u32, id.0),
            Share(resource, id) => (11, resource as u32, id.0),
            NewReserv(resource, id) => (12, resource as u32, id.0),
            NewQueue(resource, id) => (13, resource as u32, id.0),
            Backlog(resource, id) => (14, resource as u32, id.0),
            Collect(resource, id) => (15, resource as u32, id.0),
            Descriptors(pid) => (16, pid, 0),
            Descriptor(pid, fd) => (17, pid, fd),
            Threads(pid) => (18, pid, 0),
            Thread(pid, tid) => (19, pid, tid),
            MyThread => (20, 0, 0),
            Input(resource, id) => (21, resource as u32, id.0),
        };
        kind | (first as u64) << FIRST_SHIFT | (second as u64) << SECOND_SHIFT
    }

    /// The file with this number.
    pub(super) fn of(number: u64) -> Option<Self> {
        let first = u32::try_from(number >> FIRST_SHIFT & FIRST_MASK).ok()?;
        let second = u32::try_from(number >> SECOND_SHIFT).ok()?;
        let (resource, id) = (u8::try_from(first), Id(second));
        let node = match number & KIND_MASK {
            1 => Top,
            2 => Log,
            3 => Status,
            4 => Procs,
            5 => Myself,
            6 => Process(first),
            7 => Rdom(first),
            8 => Crdom(first),
            9 => Enter(first),
            10 => Dir(resource.ok()?, id),
            11 => Share(resource.ok()?, id),
            12 => NewReserv(resource.ok()?, id),
            13 => NewQueue(resource.ok()?, id),
            14 => Backlog(resource.ok()?, id),
            15 => Collect(resource.ok()?, id),
            16 => Descriptors(first),
            17 => Descriptor(first, second),
            18 => Threads(first),
            19 => Thread(first, second),
            20 => MyThread,
            21 => Input(resource.ok()?, id),
            _ => return None,
        };
        (node.number() == number).then_some(node)
    }

    /// The process of which it is a file.
    pub(super) const fn process(self) -> Option<u32> {
        match self {
            Process(pid)
            | Rdom(pid)
            | Crdom(pid)
            | Enter(pid)
            | Descriptors(pid)
            | Descriptor(pid, _)
            | Threads(pid)
            | Thread(pid, _) => Some(pid),
            _ => None,
        }
    }

    /// Where the kernel has the same of a process.
    pub(super) fn in_proc(self) -> Option<String> {
        match self {
            Descriptor(pid, fd) => Some(format!("/proc/{pid}/fd/{fd}")),
            Thread(pid, tid) => Some(format!("/proc/{pid}/task/{tid}")),
            other => other.process().map(|pid| format!("/proc/{pid}")),
        }
    }

    /// The reservation of which it is a file.
    pub(super) const fn reservation(self) -> Option<(u8, Id)> {
        match self {
            Dir(resource, id)
            | Share(resource, id)
            | NewReserv(resource, id)
            | NewQueue(resource, id)
            | Backlog(resource, id)
            | Collect(resource, id)
            | Input(resource, id) => Some((resource, id)),
            _ => None,
        }
    }

    pub(super) const fn is_dir(self) -> bool {
        matches!(self, Top | Procs | Process(_) | Descriptors(_) | Threads(_) | Dir(..))
    }

    /// Who may do what with it, as far as the mode tells: domains decide beyond it.
    pub(super) const fn mode(self) -> u16 {
        match self {
            Top | Procs | Process(_) | Descriptors(_) | Threads(_) => 0o555,
            Dir(..) => 0o755,
            Log | Status | Rdom(_) => 0o444,
            Myself | MyThread => 0o777,
            Enter(_) => 0o200,
            // Whose domain it is in may write, whatever the user.
            Share(..) | Backlog(..) | Input(..) | NewReserv(..) | NewQueue(..) => 0o666,
            Crdom(_) | Descriptor(..) | Thread(..) | Collect(..) => 0o644,
        }
    }
}

#[cfg(test)]
mod tests;
