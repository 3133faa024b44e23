//! What is a file in the mount, and its inode number.
//!
//! ```text
//!  /            log, status, proc, one directory per resource
//!  /cpu         share, newreserv, newqueue, r0 …, q0 …
//!  /cpu/r0      the same, and collect
//!  /cpu/r0/q0   share, backlog, collect; of an interface also input
//!  /proc        self, one directory per process
//!  /proc/PID    rdom, crdom, enter
//! ```
//!
//! A number says what kind of file it is, of which resource, and of which reservation or process. Those of reservations are never given
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
    Dir(u8, Id),
    Share(u8, Id),
    NewReserv(u8, Id),
    NewQueue(u8, Id),
    Backlog(u8, Id),
    Collect(u8, Id),
    Input(u8, Id),
}

use Node::{
    Backlog, Collect, Crdom, Dir, Enter, Input, Log, Myself, NewQueue, NewReserv, Process, Procs, Rdom,
    Share, Status, Top,
};

/// Bits below the number of a reservation or process: what kind of file, then which resource.
const KIND_BITS: u32 = 5;
const ID_SHIFT: u32 = 13;

impl Node {
    /// Its inode number.
    pub(super) const fn number(self) -> u64 {
        let (kind, resource, id) = match self {
            Top => return 1,
            Log => (2, 0, 0),
            Status => (3, 0, 0),
            Procs => (4, 0, 0),
            Myself => (5, 0, 0),
            Process(pid) => (6, 0, pid),
            Rdom(pid) => (7, 0, pid),
            Crdom(pid) => (8, 0, pid),
            Enter(pid) => (9, 0, pid),
            Dir(resource, id) => (10, resource, id.0),
            Share(resource, id) => (11, resource, id.0),
            NewReserv(resource, id) => (12, resource, id.0),
            NewQueue(resource, id) => (13, resource, id.0),
            Backlog(resource, id) => (14, resource, id.0),
            Collect(resource, id) => (15, resource, id.0),
            Input(resource, id) => (16, resource, id.0),
        };
        kind | (resource as u64) << KIND_BITS | (id as u64) << ID_SHIFT
    }

    /// The file with this number.
    pub(super) fn of(number: u64) -> Option<Self> {
        let resource = u8::try_from(number >> KIND_BITS & 0xff).ok()?;
        let value = u32::try_from(number >> ID_SHIFT).ok()?;
        let id = Id(value);
        let node = match number & ((1 << KIND_BITS) - 1) {
            1 => Top,
            2 => Log,
            3 => Status,
            4 => Procs,
            5 => Myself,
            6 => Process(value),
            7 => Rdom(value),
            8 => Crdom(value),
            9 => Enter(value),
            10 => Dir(resource, id),
            11 => Share(resource, id),
            12 => NewReserv(resource, id),
            13 => NewQueue(resource, id),
            14 => Backlog(resource, id),
            15 => Collect(resource, id),
            16 => Input(resource, id),
            _ => return None,
        };
        (node.number() == number).then_some(node)
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
        matches!(self, Top | Procs | Process(_) | Dir(..))
    }

    /// Who may do what with it, as far as the mode tells: domains decide beyond it.
    pub(super) const fn mode(self) -> u16 {
        match self {
            Top | Procs | Process(_) => 0o555,
            Dir(..) => 0o755,
            Log | Status | Rdom(_) => 0o444,
            Myself => 0o777,
            Enter(_) => 0o200,
            // Whose domain it is in may write, whatever the user.
            Share(..) | Backlog(..) | Input(..) | NewReserv(..) | NewQueue(..) => 0o666,
            Crdom(_) | Collect(..) => 0o644,
        }
    }
}

#[cfg(test)]
mod tests;
