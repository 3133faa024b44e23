//! Time as the policy sees it: whole nanoseconds, always printed and parsed with a unit.
//!
//! [`Nanos`] is both a reading of the monotonic clock and a span; all arithmetic saturates, so a clock that seems
//! to step back yields a span of zero and never a panic.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::decimal;

/// Nanoseconds: a monotonic instant or a span between two of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The end of time.
    pub const MAX: Self = Self(u64::MAX);

    /// From microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// From milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// From seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// The number of nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in seconds, for rates and figures.
    #[expect(clippy::cast_precision_loss, reason = "figures need three digits, not nineteen")]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This instant, `span` later.
    #[must_use]
    pub const fn plus(self, span: Self) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The span from `earlier` to this instant; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// The first instant after this one that is a multiple of `period`: whoever acts then acts together.
    #[must_use]
    pub const fn next_multiple_of(self, period: Self) -> Self {
        let period = if period.0 == 0 { 1 } else { period.0 };
        Self((self.0 / period).saturating_add(1).saturating_mul(period))
    }

    /// The span `factor` times over.
    #[must_use]
    pub const fn times(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

/// Why a text is not a time: the text and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a time: {problem}; write a number with a unit, like 250us, 5ms or 1.5s")]
pub struct ParseTimeError {
    text: String,
    problem: &'static str,
}

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

impl FromStr for Nanos {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |problem| ParseTimeError { text: text.to_owned(), problem };
        let (number, unit) = decimal::split(text);
        if number.is_empty() {
            return Err(fail("it does not start with a number"));
        }
        if unit.is_empty() {
            return if number == "0" { Ok(Self::ZERO) } else { Err(fail("the unit is missing")) };
        }
        let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(fail("the unit is not one of ns, us, ms, s, min, h, d"));
        };
        decimal::scaled(number, *scale).map(Self).map_err(fail)
    }
}

impl fmt::Display for Nanos {
    /// The largest unit that leaves at least one whole, with at most three significant decimals: `1.25ms`, `250us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "us"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let thousandths = u128::from(self.0) * 1_000 / scale;
        let (whole, part) = (thousandths / 1_000, thousandths % 1_000);
        let text = match part {
            _ if whole >= 100 => whole.to_string(),
            0 => whole.to_string(),
            _ if whole >= 10 => format!("{whole}.{}", part / 100),
            _ => format!("{whole}.{:02}", part / 10),
        };
        let text = match text.split_once('.') {
            Some((whole, part)) if part.bytes().all(|b| b == b'0') => whole.to_owned(),
            _ => text,
        };
        f.pad(&format!("{text}{unit}"))
    }
}

impl Serialize for Nanos {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de> Deserialize<'de> for Nanos {
    /// A text with a unit, or a whole number of nanoseconds (as written by this crate into JSON).
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Number(u64),
        }
        match Form::deserialize(deserializer)? {
            Form::Text(text) => text.parse().map_err(serde::de::Error::custom),
            Form::Number(nanos) => Ok(Self(nanos)),
        }
    }
}

/// The length of a preemption interval.
///
/// `Finite(ZERO)` is plain priority queueing, `Infinite` is no background work at all (I-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Interval {
    /// Background waits this long after foreground service.
    Finite(Nanos),
    /// Once a foreground request has been served, background never runs again.
    Infinite,
}

impl Interval {
    /// Plain priority queueing.
    pub const NONE: Self = Self::Finite(Nanos::ZERO);

    /// When an interval that began at `start` ends; `None` for never.
    pub const fn end(self, start: Nanos) -> Option<Nanos> {
        match self {
            Self::Finite(length) => Some(start.plus(length)),
            Self::Infinite => None,
        }
    }
}

impl FromStr for Interval {
    type Err = ParseTimeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "none" => Ok(Self::NONE),
            "inf" | "infinite" => Ok(Self::Infinite),
            _ => text.parse().map(Self::Finite),
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finite(Nanos::ZERO) => f.pad("none"),
            Self::Finite(length) => fmt::Display::fmt(length, f),
            Self::Infinite => f.pad("infinite"),
        }
    }
}

#[cfg(test)]
mod tests;
