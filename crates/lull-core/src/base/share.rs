//! A share of a whole: what the foreground may lose, what of the idle time the background should get.
//!
//! Unit: parts per million, so that a share is exact, ordered and hashable; read and written as a percentage
//! (`4%`, `0.5%`).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::time::Nanos;

/// Between nothing and everything, in parts per million.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u32);

/// A share of the foreground's throughput that background work costs it.
pub type Loss = Share;

const WHOLE: u32 = 1_000_000;

/// Why a text is not a share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a share: {problem}; write a percentage from 0% to 100%, like 4% or 0.5%")]
pub struct ParseShareError {
    text: String,
    problem: &'static str,
}

impl Share {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// Everything.
    pub const ALL: Self = Self(WHOLE);

    /// From whole percents; more than 100 is everything.
    pub const fn percent(percent: u32) -> Self {
        if percent >= 100 { Self::ALL } else { Self(percent * 10_000) }
    }

    /// From parts per million; more than a million is everything.
    pub const fn ppm(ppm: u32) -> Self {
        if ppm >= WHOLE { Self::ALL } else { Self(ppm) }
    }

    /// In parts per million.
    pub const fn as_ppm(self) -> u32 {
        self.0
    }

    /// From 0 to 1.
    pub fn fraction(self) -> f64 {
        f64::from(self.0) / f64::from(WHOLE)
    }

    /// This share of a span, rounded down.
    pub const fn of(self, span: Nanos) -> Nanos {
        let whole = span.0 / WHOLE as u64;
        let rest = span.0 % WHOLE as u64;
        Nanos(whole * self.0 as u64 + rest * self.0 as u64 / WHOLE as u64)
    }

    /// The shortest span of which this share is at least `part`; none is long enough for a share of nothing.
    pub fn spans(self, part: Nanos) -> Option<Nanos> {
        let span = (u128::from(part.0) * u128::from(WHOLE)).div_ceil(u128::from(self.0).max(1));
        if self == Self::ZERO { None } else { u64::try_from(span).ok().map(Nanos) }
    }
}

impl FromStr for Share {
    type Err = ParseShareError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |problem| ParseShareError { text: text.to_owned(), problem };
        let number = text.trim().strip_suffix('%').ok_or_else(|| fail("the percent sign is missing"))?.trim();
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(part) {
            return Err(fail("the number is not a plain decimal"));
        }
        if part.len() > 4 {
            return Err(fail("more than four decimals are too fine"));
        }
        let whole: u32 = whole.parse().map_err(|_| fail("it is too large"))?;
        let part: u32 = format!("{part:0<4}").parse().map_err(|_| fail("it is too fine"))?;
        match whole.checked_mul(10_000).and_then(|ppm| ppm.checked_add(part)) {
            Some(ppm) if ppm <= WHOLE => Ok(Self(ppm)),
            _ => Err(fail("it is more than the whole")),
        }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / 10_000, self.0 % 10_000);
        let text = if part == 0 { format!("{whole}") } else { format!("{whole}.{part:04}") };
        let text = if part == 0 { &text } else { text.trim_end_matches('0') };
        f.pad(&format!("{text}%"))
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
