//! Why a call on a file is refused: a number for the caller, words for the log.

use std::io;

use lull_core::reserve::{Denied, Refusal};

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) errno: i32,
    /// Nothing to log where this is empty: the caller knows.
    pub(super) why: String,
}

impl Fault {
    pub(super) fn new(errno: i32, why: impl Into<String>) -> Self {
        Self { errno, why: why.into() }
    }

    /// One that says all by its number, like a name that does not exist.
    pub(super) const fn plain(errno: i32) -> Self {
        Self { errno, why: String::new() }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        let errno = match refusal {
            Refusal::Gone => libc::ENOENT,
            Refusal::Fixed => libc::EPERM,
            Refusal::IsQueue(_) => libc::ENOTDIR,
            Refusal::Exists(_) => libc::EEXIST,
            Refusal::BadName(_) => libc::EINVAL,
            Refusal::Exceeds { .. } => libc::ENOSPC,
            Refusal::Promised { .. } => libc::EBUSY,
            Refusal::HasChildren(_) => libc::ENOTEMPTY,
        };
        Self::new(errno, refusal.to_string())
    }
}

impl From<Denied> for Fault {
    fn from(denied: Denied) -> Self {
        Self::new(libc::EACCES, denied.to_string())
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        let errno = match (error.raw_os_error(), error.kind()) {
            (Some(errno), _) => errno,
            (None, io::ErrorKind::Unsupported) => libc::EOPNOTSUPP,
            (None, _) => libc::EIO,
        };
        Self::new(errno, error.to_string())
    }
}
