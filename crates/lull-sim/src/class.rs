//! The two classes of work.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Whose request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Work that must not notice the other.
    Foreground,
    /// Work that runs in the gaps.
    Background,
}

impl Class {
    /// `f` or `b`, as the paper names their events.
    pub const fn letter(self) -> char {
        match self {
            Self::Foreground => 'f',
            Self::Background => 'b',
        }
    }

    /// Position in tables by class.
    pub const fn index(self) -> usize {
        match self {
            Self::Foreground => 0,
            Self::Background => 1,
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Foreground => "foreground",
            Self::Background => "background",
        })
    }
}
