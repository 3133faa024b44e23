//! Values of options that are words.

pub(crate) mod policy;
pub(crate) mod qdisc;
pub(crate) mod slo;

use std::str::FromStr;

use clap::ValueEnum;
use lull_core::Nanos;

/// Which sensor observes the disks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SensorChoice {
    /// BPF where it may be loaded, else diskstats.
    #[default]
    Auto,
    /// BPF block events.
    Bpf,
    /// /proc/diskstats, at the millisecond scale.
    Diskstats,
}

/// A kind of resource that is lent in the gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ResourceChoice {
    /// The disks.
    Disk,
    /// The CPUs.
    Cpu,
    /// The memory, with page cache and write-back.
    Memory,
    /// The network interfaces.
    Net,
}

/// Whether the job's memory is written to swap ahead of need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CleanChoice {
    /// In idle disk time, as long as it pays.
    #[default]
    Auto,
    /// Never.
    Never,
}

/// When what the job does is told while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum StatusChoice {
    /// In a line at the bottom of the terminal, when stderr is one.
    #[default]
    Auto,
    /// There, or else as a line on stderr every 10 s.
    Always,
    /// Never.
    Never,
}

/// How the whole job is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HoldChoice {
    /// By a quota of CPU time, which interrupts no call.
    #[default]
    Quota,
    /// By the freezer, or by stop signals: exact, but blocking calls of the job end early.
    Freeze,
}

/// The longest time a job may be held at a stretch, or that it never is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongestHold {
    /// It never is.
    Off,
    /// For so long.
    AtMost(Nanos),
}

impl FromStr for LongestHold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "off" {
            return Ok(Self::Off);
        }
        match text.parse() {
            Ok(Nanos::ZERO) => Ok(Self::Off),
            Ok(longest) => Ok(Self::AtMost(longest)),
            Err(error) => Err(format!("{error}, or off")),
        }
    }
}

#[cfg(test)]
mod tests;
