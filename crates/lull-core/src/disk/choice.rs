//! What the user may fix and what is left to [`Control`](super::Control).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::bytes::{self, Bytes, ParseBytesError};
use crate::base::share::Loss;
use crate::base::time::{Interval, Nanos, ParseTimeError};
use crate::idletime::machine::{StartRule, Variant};

/// The preemption interval: found automatically, or fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntervalChoice {
    /// From what is measured.
    #[default]
    Auto,
    /// As given.
    Fixed(Interval),
}

/// Why a text is not an interval.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an interval (auto, none, inf or a time): {0}")]
pub struct ParseIntervalError(#[from] ParseTimeError);

impl FromStr for IntervalChoice {
    type Err = ParseIntervalError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => Ok(Self::Fixed(text.parse()?)),
        }
    }
}

impl fmt::Display for IntervalChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Fixed(interval) => fmt::Display::fmt(interval, f),
        }
    }
}

/// The bound on background requests in service: found automatically, or fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DepthChoice {
    /// From what is measured; open while the foreground is away.
    #[default]
    Auto,
    /// As given, from 1; `u32::MAX` is no bound.
    Fixed(u32),
}

/// Why a text is not a bound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a depth; write auto, none or a number of requests from 1")]
pub struct ParseDepthError {
    text: String,
}

impl FromStr for DepthChoice {
    type Err = ParseDepthError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::Fixed(u32::MAX)),
            _ => match text.parse() {
                Ok(depth) if depth > 0 => Ok(Self::Fixed(depth)),
                _ => Err(ParseDepthError { text: text.to_owned() }),
            },
        }
    }
}

impl fmt::Display for DepthChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Fixed(u32::MAX) => f.pad("none"),
            Self::Fixed(depth) => fmt::Display::fmt(depth, f),
        }
    }
}

/// The bytes of background in service at once: found automatically, or fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowChoice {
    /// From what is measured; open while the foreground is away.
    #[default]
    Auto,
    /// As given, from 1; `u64::MAX` is no bound.
    Fixed(u64),
}

/// Why a text is not a window.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseWindowError {
    /// It is no size.
    #[error("not a window (auto, none or a size): {0}")]
    Size(#[from] ParseBytesError),
    /// Nothing could ever start.
    #[error("'{0}' lets nothing start; write auto, none or a size, like 256KiB")]
    Nothing(String),
}

impl FromStr for WindowChoice {
    type Err = ParseWindowError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::Fixed(u64::MAX)),
            _ => match bytes::size(text)?.0 {
                0 => Err(ParseWindowError::Nothing(text.to_owned())),
                bytes => Ok(Self::Fixed(bytes)),
            },
        }
    }
}

impl fmt::Display for WindowChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.pad("auto"),
            Self::Fixed(u64::MAX) => f.pad("none"),
            // Exactly, since it is read again.
            Self::Fixed(bytes) => match Bytes(*bytes).to_string() {
                rounded if rounded.contains('.') => f.pad(&format!("{bytes}B")),
                exact => f.pad(&exact),
            },
        }
    }
}

macro_rules! by_text {
    ($type:ty) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

by_text!(IntervalChoice);
by_text!(DepthChoice);
by_text!(WindowChoice);

/// What control aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ControlSetting {
    /// The preemption interval.
    pub interval: IntervalChoice,
    /// The bound on the bytes of background in service.
    pub window: WindowChoice,
    /// The bound on background requests in service; fixed, it takes the place of the window.
    pub depth: DepthChoice,
    /// The share of its time at work that the foreground may lose.
    pub budget: Loss,
    /// A request that takes less than this more than the foreground's own 99th percentile is not late.
    pub max_delay: Nanos,
    /// Which of the four machines.
    pub variant: Variant,
    /// What starts the interval.
    pub start_rule: StartRule,
}

impl Default for ControlSetting {
    fn default() -> Self {
        Self {
            interval: IntervalChoice::Auto,
            window: WindowChoice::Auto,
            depth: DepthChoice::Auto,
            budget: Loss::percent(4),
            max_delay: Nanos::from_micros(100),
            variant: Variant::default(),
            start_rule: StartRule::default(),
        }
    }
}
