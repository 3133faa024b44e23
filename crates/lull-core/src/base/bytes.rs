//! Sizes with units.
//!
//! `KiB`, `MiB`, `GiB` are powers of 1,024, `kB`, `MB`, `GB` powers of 1,000; a bare number is bytes, where [`size`] does not refuse it.
//! Fractions are allowed (`8.2GB`) and rounded down to whole bytes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::base::decimal;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// One kibibyte.
    pub const KIB: u64 = 1 << 10;
    /// One mebibyte.
    pub const MIB: u64 = 1 << 20;
    /// One gibibyte.
    pub const GIB: u64 = 1 << 30;

    /// As a buffer length; saturates on machines with small addresses.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

/// Why a text is not a size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a size: {problem}; write a number with a unit, like 64KiB, 2GiB or 8.2GB")]
pub struct ParseBytesError {
    text: String,
    problem: &'static str,
}

const UNITS: [(&str, u64); 9] = [
    ("", 1),
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
];

impl FromStr for Bytes {
    type Err = ParseBytesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |problem| ParseBytesError { text: text.to_owned(), problem };
        let (number, unit) = decimal::split(text);
        let (_, scale) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| fail("the unit is not one of B, KiB, MiB, GiB, TiB, kB, MB, GB"))?;
        decimal::scaled(number, *scale).map(Self).map_err(fail)
    }
}

/// A size whose unit is said: experiments take sizes of many orders, and a forgotten unit would be no error else.
///
/// # Errors
/// When it is no size, or has no unit.
pub fn size(text: &str) -> Result<Bytes, ParseBytesError> {
    let bytes: Bytes = text.parse()?;
    if bytes.0 > 0 && text.trim().ends_with(|last: char| last.is_ascii_digit() || last == '.') {
        return Err(ParseBytesError { text: text.to_owned(), problem: "the unit is missing" });
    }
    Ok(bytes)
}

impl fmt::Display for Bytes {
    /// The largest binary unit that leaves at least one whole, with one decimal unless it is exact.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0..1_024 => (1, "B"),
            1_024..1_048_576 => (Self::KIB, "KiB"),
            1_048_576..1_073_741_824 => (Self::MIB, "MiB"),
            _ => (Self::GIB, "GiB"),
        };
        if self.0.is_multiple_of(scale) {
            f.pad(&format!("{}{unit}", self.0 / scale))
        } else {
            f.pad(&format!("{:.1}{unit}", self.0 as f64 / scale as f64))
        }
    }
}

#[cfg(test)]
mod tests;
