//! Spans of time drawn at random, and the generator they are drawn with.
//!
//! A [`Span`] is written as text in scenarios: `20ms` (always the same), `10ms..30ms` (each as likely), `exponential 20ms`
//! (the mean), `pareto 2ms 1.5` (the least, and the exponent of the tail: the smaller, the heavier). Draws depend on
//! nothing but the seed, so a run can be repeated.

use std::fmt;
use std::str::FromStr;

use lull_core::Nanos;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A seeded sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// The sequence of `seed` for the stream `stream`: different streams do not resemble each other.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut mix = fastrand::Rng::with_seed(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ stream);
        Self(fastrand::Rng::with_seed(mix.u64(..)))
    }

    /// From 0 to 1, without 1.
    pub fn uniform(&mut self) -> f64 {
        self.0.f64()
    }

    /// Below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.0.u64(..bound) }
    }

    /// One of `len` places; 0 if there are none.
    pub fn index(&mut self, len: usize) -> usize {
        if len == 0 { 0 } else { self.0.usize(..len) }
    }

    /// With this mean, as the time between independent events.
    pub fn exponential(&mut self, mean: Nanos) -> Nanos {
        nanos(-(1.0 - self.uniform()).ln() * mean.0 as f64)
    }

    /// A value of `span`.
    pub fn draw(&mut self, span: Span) -> Nanos {
        match span {
            Span::Fixed(length) => length,
            Span::Between(from, to) => {
                Nanos(from.0 + self.below(to.0.saturating_sub(from.0).saturating_add(1)))
            }
            Span::Exponential(mean) => self.exponential(mean),
            Span::Pareto { least, tail } => nanos(least.0 as f64 * (1.0 - self.uniform()).powf(-1.0 / tail))
                .min(least.times(LONGEST_PARETO)),
        }
    }
}

/// Draws of a Pareto span are cut at this multiple of the least, so that their mean exists.
const LONGEST_PARETO: u64 = 10_000;

/// Nanoseconds from a figure; below 0 and undefined is 0.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float to int casts saturate")]
pub fn nanos(ns: f64) -> Nanos {
    Nanos(ns as u64)
}

/// How long something takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Span {
    /// Always the same.
    Fixed(Nanos),
    /// From one to the other, each as likely.
    Between(Nanos, Nanos),
    /// As the time between independent events, with this mean.
    Exponential(Nanos),
    /// Mostly short, sometimes very long.
    Pareto {
        /// The shortest.
        least: Nanos,
        /// The exponent of the tail, above 1.
        tail: f64,
    },
}

impl Span {
    /// Nothing.
    pub const ZERO: Self = Self::Fixed(Nanos::ZERO);

    /// The mean, in nanoseconds; of a Pareto span without its cut.
    pub fn mean_ns(&self) -> f64 {
        match *self {
            Self::Fixed(length) | Self::Exponential(length) => length.0 as f64,
            Self::Between(from, to) => (from.0 as f64 + to.0 as f64) / 2.0,
            Self::Pareto { least, tail } => least.0 as f64 * tail / (tail - 1.0),
        }
    }
}

/// Why a text is not a span.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a span: {problem}; write 20ms, 10ms..30ms, exponential 20ms or pareto 2ms 1.5")]
pub struct ParseSpanError {
    text: String,
    problem: String,
}

impl FromStr for Span {
    type Err = ParseSpanError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |problem: String| ParseSpanError { text: text.to_owned(), problem };
        let time = |text: &str| text.parse::<Nanos>().map_err(|error| fail(error.to_string()));
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        match words[..] {
            ["exponential", mean] => Ok(Self::Exponential(time(mean)?)),
            ["pareto", least, tail] => match tail.parse() {
                Ok(tail) if tail > 1.0 && tail < 1e6 => Ok(Self::Pareto { least: time(least)?, tail }),
                _ => Err(fail(format!("the tail '{tail}' is not a number above 1"))),
            },
            [one] => match one.split_once("..") {
                None => Ok(Self::Fixed(time(one)?)),
                Some((from, to)) => match (time(from)?, time(to)?) {
                    (from, to) if from <= to => Ok(Self::Between(from, to)),
                    _ => Err(fail("it ends before it begins".to_owned())),
                },
            },
            _ => Err(fail("it has the wrong number of words".to_owned())),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(length) => write!(f, "{length}"),
            Self::Between(from, to) => write!(f, "{from}..{to}"),
            Self::Exponential(mean) => write!(f, "exponential {mean}"),
            Self::Pareto { least, tail } => write!(f, "pareto {least} {tail}"),
        }
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
