//! The cases: which foreground, beside which hogs, under which promise.
//!
//! | case | foreground | background |
//! |---|---|---|
//! | `serve-50`, `serve-10`, `serve-80` | request server at that load of one CPU | memory-streaming hogs |
//! | `serve-50-at-20` | the same at 50% | the same; lull may cost 20% |
//! | `wakeup` | a thread per CPU that wakes every millisecond | twice as many memory-streaming hogs |
//! | `integer` | request server at 50% | hogs that compute in registers |
//! | `spin` | threads that never sleep | memory-streaming hogs |

use lull_core::Nanos;

use super::args::{CpuArgs, CpuCase};
use crate::Error;
use crate::beats::Beats;
use crate::experiment::trial::{Foreground, Job};
use crate::load::LoadLine;
use crate::load::hog::HogKind;
use crate::load::think::Spread;
use crate::process::{Options, Proc, Program, lines, words};
use crate::units::{Bytes, name};

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name in records and tables.
    pub name: String,
    foreground: Foreground,
    /// Whether its arrivals depend on a seed.
    seeded: bool,
    /// What runs beside it.
    pub hogs: Hogs,
    /// What lull may cost in this case, if the case says so.
    pub max_slowdown: Option<&'static str>,
}

/// Threads that never sleep.
#[derive(Clone, Copy, Debug)]
pub struct Hogs {
    /// What they take.
    pub kind: HogKind,
    /// How many.
    pub count: u64,
    /// Memory of each.
    pub memory: Bytes,
}

/// The requests of a server.
#[derive(Clone, Copy, Debug)]
pub struct Requests {
    /// Processor time of one when nothing disturbs it.
    pub service: Nanos,
    /// Memory that they read.
    pub buffer: Bytes,
    /// How the gaps between their arrivals vary.
    pub spread: Spread,
    /// Random reads of one.
    pub reads: u64,
}

/// How many random reads over a buffer take this processor time: to be asked once, while nothing else runs.
///
/// # Errors
/// When the load cannot be started, or says nothing of the kind.
pub fn calibrate(service: Nanos, buffer: Bytes, program: &Program) -> Result<u64, Error> {
    let (service, buffer) = (format!("{}ns", service.as_nanos()), buffer.0.to_string());
    let argv = program.load_argv(["cpu-calibrate", "--service", &service, "--buffer", &buffer, "--json"]);
    let (mut process, stdout) = Proc::spawn(&argv, Options::default())?;
    let last = lines(stdout).iter().last().unwrap_or_default();
    let exit = process.wait()?;
    match serde_json::from_str(&last) {
        Ok(LoadLine::Calibration { reads }) if exit.status.success() => Ok(reads),
        _ => Err(process.failed(&format!("the calibration ended with {}", exit.status))),
    }
}

impl Requests {
    /// A server of such requests at that load of one CPU, in percent.
    pub fn served(&self, load: u64) -> Foreground {
        let Self { service, buffer, spread, reads } = self;
        Foreground::of(words(&format!(
            "cpu-serve --load {load} --service {}ns --reads {reads} --buffer {} --spread {}",
            service.as_nanos(),
            buffer.0,
            name(spread)
        )))
    }
}

impl Hogs {
    /// The load, on a leash.
    pub fn job(&self, program: &Program) -> Result<Job, Error> {
        let Self { kind, count, memory } = self;
        let (kind, memory) = (name(kind), memory.0);
        let args = format!("cpu-hog --kind {kind} --hogs {count} --memory {memory} --leash");
        Ok(Job { leash: true, ..Job::of_load(words(&args), program)? })
    }
}

impl Case {
    /// A case with requests of that many reads.
    pub fn of(group: CpuCase, args: &CpuArgs, reads: u64) -> Self {
        let memory = Hogs { kind: HogKind::Memory, count: args.hogs, memory: args.hog_memory };
        let CpuArgs { service, buffer, spread, spinners, .. } = *args;
        let serve = |load| Requests { service, buffer, spread, reads }.served(load);
        let (foreground, hogs, max_slowdown) = match group {
            CpuCase::Serve50 => (serve(50), memory, None),
            CpuCase::Serve50At20 => (serve(50), memory, Some("20%")),
            CpuCase::Serve10 => (serve(10), memory, None),
            CpuCase::Serve80 => (serve(80), memory, None),
            CpuCase::Wakeup => {
                let load = format!("cpu-wakeup --interval {}ns", args.wakeup_interval.as_nanos());
                (Foreground::of(words(&load)), Hogs { count: 2 * args.hogs, ..memory }, None)
            }
            CpuCase::Integer => (serve(50), Hogs { kind: HogKind::Integer, ..memory }, None),
            CpuCase::Spin => (Foreground::of(words(&format!("cpu-spin --threads {spinners}"))), memory, None),
        };
        let seeded = !matches!(group, CpuCase::Wakeup | CpuCase::Spin);
        let foreground = Foreground { beats: Beats::of(args.beat), ..foreground };
        Self { name: name(&group), foreground, seeded, hogs, max_slowdown }
    }

    /// What must not notice, with the arrivals of a round: the same for every contender in it.
    pub fn foreground_in(&self, seed: u64, round: u32) -> Foreground {
        if self.seeded { self.foreground.in_round(seed, round) } else { self.foreground.clone() }
    }
}

#[cfg(test)]
mod tests;
