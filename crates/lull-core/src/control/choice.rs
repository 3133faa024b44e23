//! What the user may fix and what is left to [`Control`](super::Control).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::machine::{StartRule, Variant};
use crate::share::{Loss, Share};
use crate::time::{Interval, ParseTimeError};

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

/// What control aims at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ControlSetting {
    /// The preemption interval.
    pub interval: IntervalChoice,
    /// The bound on background requests in service.
    pub depth: DepthChoice,
    /// Foreground throughput that background may cost at most.
    pub budget: Loss,
    /// Foreground throughput that background may cost without asking what it gains.
    pub free: Loss,
    /// Share of the foreground's idle time that background should get before control stops spending the budget.
    pub work_floor: Share,
    /// Which of the four machines.
    pub variant: Variant,
    /// What starts the interval.
    pub start_rule: StartRule,
}

impl Default for ControlSetting {
    fn default() -> Self {
        Self {
            interval: IntervalChoice::Auto,
            depth: DepthChoice::Auto,
            budget: Loss::percent(4),
            free: Loss::percent(1),
            work_floor: Share::percent(75),
            variant: Variant::default(),
            start_rule: StartRule::default(),
        }
    }
}
