//! Device numbers.
//!
//! Three encodings of the same pair are in use: `st_dev` of stat(2) (split across 64 bits by the C library), the text
//! `major:minor` of sysfs and mountinfo, and the kernel's own 32 bits (12 of major above 20 of minor), which is what
//! block events carry.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// The number of a block device or file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DevT {
    /// Which driver.
    pub major: u32,
    /// Which of its devices.
    pub minor: u32,
}

impl DevT {
    /// From `major:minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// From the `st_dev` or `st_rdev` that stat(2) gives.
    pub const fn from_stat(raw: u64) -> Self {
        Self { major: libc::major(raw), minor: libc::minor(raw) }
    }

    /// From the kernel's own form, as in block events.
    pub const fn from_kernel(raw: u32) -> Self {
        Self { major: raw >> 20, minor: raw & 0xf_ffff }
    }

    /// The kernel's own form, as in block events.
    pub const fn to_kernel(self) -> u32 {
        self.major << 20 | self.minor & 0xf_ffff
    }
}

impl fmt::Display for DevT {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// A text that is not a device number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a device number; write major:minor, like 8:0")]
pub struct ParseDevError(String);

impl FromStr for DevT {
    type Err = ParseDevError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let pair = text.trim().split_once(':');
        let parsed =
            pair.and_then(|(major, minor)| Some(Self::new(major.parse().ok()?, minor.parse().ok()?)));
        parsed.ok_or_else(|| ParseDevError(text.to_owned()))
    }
}

impl Serialize for DevT {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
