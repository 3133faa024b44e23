//! How an attempt ended: a fact about the host, with the system's own answer where it refused.

use std::fmt;

use nix::errno::Errno;
use serde::Serialize;

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "result")]
pub enum Attempt {
    /// It works.
    Works,
    /// The system refused.
    Fails {
        /// The error number; 0 where the reason is not an error of a system call.
        errno: i32,
        /// What that means, in words.
        why: String,
    },
}

impl Attempt {
    /// From an error number, 0 being success.
    pub fn from_errno(errno: i32) -> Self {
        if errno == 0 {
            return Self::Works;
        }
        let known = Errno::from_raw(errno);
        Self::Fails { errno, why: format!("{} ({known:?})", known.desc()) }
    }

    /// From what a library call returned.
    pub fn from_io<T>(result: &std::io::Result<T>) -> Self {
        match result {
            Ok(_) => Self::Works,
            Err(error) => match error.raw_os_error() {
                Some(errno) => Self::from_errno(errno),
                None => Self::fails(error.to_string()),
            },
        }
    }

    /// A failure without a system call.
    pub fn fails(why: impl Into<String>) -> Self {
        Self::Fails { errno: 0, why: why.into() }
    }

    /// Did it work?
    pub const fn works(&self) -> bool {
        matches!(self, Self::Works)
    }

    /// The error number of a failed system call.
    pub const fn errno(&self) -> Option<i32> {
        match self {
            Self::Fails { errno, .. } if *errno != 0 => Some(*errno),
            _ => None,
        }
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Works => f.write_str("works"),
            Self::Fails { why, .. } => f.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests;
