//! The ways to run background work that are compared.
//!
//! | name | command |
//! |---|---|
//! | `alone` | the foreground with no background: the reference for latency and foreground throughput |
//! | `solo` | the background with no foreground: the reference for background work |
//! | `none` | the background without any control |
//! | `nice+ionice` | `nice -n 19 ionice -c 3 CMD` |
//! | `bfq` | the same, with the disk's scheduler set to BFQ for that run |
//! | `idle` | `chrt -i 0 ionice -c 3 CMD` (SCHED_IDLE) |
//! | `lull` | `lull run -- CMD`; `lull FLAGS` for each further set of flags |

use std::ffi::OsString;
use std::path::Path;
use std::str::FromStr;

use crate::process::{Options, Proc, Program, shown};

pub mod scheduler;

/// One way to run background work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contender {
    /// No background.
    Alone,
    /// No foreground.
    Solo,
    /// No control.
    Unmanaged,
    /// `nice -n 19 ionice -c 3`.
    NiceIonice,
    /// The same under the BFQ scheduler.
    Bfq,
    /// `chrt -i 0 ionice -c 3`.
    Idle,
    /// `lull run` with these flags.
    Lull(Vec<String>),
}

/// A name that is no contender's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a contender; choose from alone, solo, none, nice+ionice, bfq, idle, lull")]
pub struct UnknownContender(String);

impl FromStr for Contender {
    type Err = UnknownContender;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "alone" => Ok(Self::Alone),
            "solo" => Ok(Self::Solo),
            "none" => Ok(Self::Unmanaged),
            "nice+ionice" => Ok(Self::NiceIonice),
            "bfq" => Ok(Self::Bfq),
            "idle" => Ok(Self::Idle),
            "lull" => Ok(Self::Lull(Vec::new())),
            _ => Err(UnknownContender(text.to_owned())),
        }
    }
}

impl Contender {
    /// The name in records and tables.
    pub fn name(&self) -> String {
        match self {
            Self::Alone => "alone".to_owned(),
            Self::Solo => "solo".to_owned(),
            Self::Unmanaged => "none".to_owned(),
            Self::NiceIonice => "nice+ionice".to_owned(),
            Self::Bfq => "bfq".to_owned(),
            Self::Idle => "idle".to_owned(),
            Self::Lull(flags) if flags.is_empty() => "lull".to_owned(),
            Self::Lull(flags) => format!("lull {}", flags.join(" ")),
        }
    }

    /// Whether the foreground runs.
    pub fn has_foreground(&self) -> bool {
        *self != Self::Solo
    }

    /// Whether the background runs.
    pub fn has_background(&self) -> bool {
        *self != Self::Alone
    }

    /// The disk scheduler that it needs.
    pub fn scheduler(&self) -> Option<&'static str> {
        (*self == Self::Bfq).then_some("bfq")
    }

    /// The command line that runs `job` this way.
    pub fn wrap(&self, job: Vec<OsString>, program: &Program) -> Vec<OsString> {
        let mut argv: Vec<OsString> = match self {
            Self::Alone | Self::Solo | Self::Unmanaged => Vec::new(),
            Self::NiceIonice | Self::Bfq => words(&["nice", "-n", "19", "ionice", "-c", "3"]),
            Self::Idle => words(&["chrt", "-i", "0", "ionice", "-c", "3"]),
            Self::Lull(flags) => program.run_argv(flags),
        };
        argv.extend(job);
        argv
    }

    /// What keeps it from running here: a missing tool, right or scheduler. `disk` is the name under `/sys/block`.
    pub fn obstacle(&self, disk: Option<&str>, program: &Program) -> Option<String> {
        if let Some(wanted) = self.scheduler() {
            let Some(disk) = disk else {
                return Some(
                    "no single disk is behind the directory, so no scheduler can be selected".to_owned(),
                );
            };
            if let Some(problem) = scheduler::obstacle(Path::new(scheduler::SYS_BLOCK), disk, wanted) {
                return Some(problem);
            }
        }
        // The cheapest question that answers everything else: does `true` run this way?
        let argv = self.wrap(words(&["true"]), program);
        let tried = Proc::spawn(&argv, Options::default()).and_then(|(mut process, _stdout)| {
            let exit = process.wait()?;
            if exit.status.success() { Ok(()) } else { Err(process.failed(&exit.status.to_string())) }
        });
        tried.err().map(|error| error.to_string())
    }

    /// One line for reports: the name and the command.
    pub fn about(&self, program: &Program) -> String {
        let command = match self {
            Self::Alone => "no background".to_owned(),
            Self::Solo => "no foreground".to_owned(),
            _ => shown(&self.wrap(words(&["CMD"]), program)),
        };
        match self.scheduler() {
            Some(scheduler) => format!("{}: {command}, scheduler {scheduler}", self.name()),
            None => format!("{}: {command}", self.name()),
        }
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests;
