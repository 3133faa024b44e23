//! The cases: which foreground, beside which hogs, under which promise.
//!
//! | case | foreground | background |
//! |---|---|---|
//! | `serve-50`, `serve-10`, `serve-80` | request server at that load of one CPU | memory-streaming hogs |
//! | `serve-50-at-20` | the same at 50% | the same; lull may cost 20% |
//! | `wakeup` | a thread per CPU that wakes every millisecond | twice as many memory-streaming hogs |
//! | `integer` | request server at 50% | hogs that compute in registers |
//! | `spin` | threads that never sleep | memory-streaming hogs |

use std::ffi::OsString;
use std::path::Path;

use clap::ValueEnum;
use lull_core::Nanos;

use super::args::{CpuArgs, CpuCase};
use crate::Error;
use crate::beats::Beats;
use crate::experiment::trial::{Foreground, Window};
use crate::load::LoadLine;
use crate::load::hog::Kind;
use crate::load::think::Spread;
use crate::process::{Options, Proc, Program, lines};
use crate::units::Bytes;

/// One case.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name in records and tables.
    pub name: String,
    /// What must not notice.
    pub foreground: Front,
    /// What runs beside it.
    pub hogs: Hogs,
    /// What lull may cost in this case, if the case says so.
    pub max_slowdown: Option<&'static str>,
}

/// A foreground load without its times.
#[derive(Clone, Debug)]
pub struct Front {
    args: Vec<String>,
    /// Whether its arrivals depend on a seed.
    seeded: bool,
    beats: Option<Beats>,
}

/// Threads that never sleep.
#[derive(Clone, Copy, Debug)]
pub struct Hogs {
    /// What they take.
    pub kind: Kind,
    /// How many.
    pub count: u64,
    /// Memory of each.
    pub memory: Bytes,
}

fn word(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
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

impl Front {
    /// A request server at that load of one CPU, in percent.
    pub fn serve(load: u64, requests: &Requests, beats: Option<Beats>) -> Self {
        let service = format!("{}ns", requests.service.as_nanos());
        let [load, buffer, reads] =
            [load, requests.buffer.0, requests.reads].map(|number| number.to_string());
        let mut args = owned(&["cpu-serve", "--load", &load, "--service", &service]);
        args.extend(owned(&["--reads", &reads, "--buffer", &buffer, "--spread", &word(&requests.spread)]));
        Self { args, seeded: true, beats }
    }

    /// The same with the arrivals of this round: the same for every contender in it.
    #[must_use]
    pub fn in_round(&self, seed: u64, round: u32) -> Self {
        let mut front = self.clone();
        if self.seeded {
            let seed = seed.wrapping_mul(1_000).wrapping_add(u64::from(round));
            front.args.extend(["--seed".to_owned(), seed.to_string()]);
        }
        front
    }
}

impl Foreground for Front {
    fn argv(&self, window: Window, program: &Program) -> Vec<OsString> {
        let mut args: Vec<OsString> = self.args.iter().map(OsString::from).collect();
        if let Some(beats) = self.beats {
            args.extend(["--beat".into(), format!("{}ns", beats.length().as_nanos()).into()]);
        }
        args.extend(window.args());
        args.push("--json".into());
        program.load_argv(args)
    }

    fn beats(&self) -> Option<Beats> {
        self.beats
    }
}

impl Hogs {
    /// Arguments of the load, counting into this file.
    pub fn args(&self, progress: &Path) -> Vec<OsString> {
        let [count, memory] = [self.count, self.memory.0].map(|number| number.to_string());
        let mut args: Vec<OsString> =
            owned(&["cpu-hog", "--kind", &word(&self.kind), "--hogs", &count, "--memory", &memory])
                .into_iter()
                .map(OsString::from)
                .collect();
        args.extend(["--leash".into(), "--json".into(), "--progress".into(), progress.into()]);
        args
    }
}

impl Case {
    /// A case with requests of that many reads.
    pub fn of(group: CpuCase, args: &CpuArgs, reads: u64) -> Self {
        let memory = Hogs { kind: Kind::Memory, count: args.hogs, memory: args.hog_memory };
        let beats = Beats::of(args.beat);
        let CpuArgs { service, buffer, spread, .. } = *args;
        let serve = |load| Front::serve(load, &Requests { service, buffer, spread, reads }, beats);
        let unseeded = |words: &[&str]| Front { args: owned(words), seeded: false, beats };
        let (foreground, hogs, max_slowdown) = match group {
            CpuCase::Serve50 => (serve(50), memory, None),
            CpuCase::Serve50At20 => (serve(50), memory, Some("20%")),
            CpuCase::Serve10 => (serve(10), memory, None),
            CpuCase::Serve80 => (serve(80), memory, None),
            CpuCase::Wakeup => {
                let interval = format!("{}ns", args.wakeup_interval.as_nanos());
                let front = unseeded(&["cpu-wakeup", "--interval", &interval]);
                (front, Hogs { count: 2 * args.hogs, ..memory }, None)
            }
            CpuCase::Integer => (serve(50), Hogs { kind: Kind::Integer, ..memory }, None),
            CpuCase::Spin => {
                let threads = args.spinners.to_string();
                (unseeded(&["cpu-spin", "--threads", &threads]), memory, None)
            }
        };
        Self { name: word(&group), foreground, hogs, max_slowdown }
    }
}

#[cfg(test)]
mod tests;
