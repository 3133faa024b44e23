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

use super::args::{CpuArgs, CpuCase};
use crate::beats::Beats;
use crate::experiment::trial::{Foreground, Window};
use crate::load::hog::Kind;
use crate::process::Program;
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

/// Arguments of the load that calibrates requests.
pub fn calibration(args: &CpuArgs) -> Vec<String> {
    let (service, buffer) = (format!("{}ns", args.service.as_nanos()), args.buffer.0.to_string());
    owned(&["cpu-calibrate", "--service", &service, "--buffer", &buffer, "--json"])
}

impl Front {
    fn of(args: Vec<String>, seeded: bool, asked: &CpuArgs) -> Self {
        Self { args, seeded, beats: Beats::of(asked.beat) }
    }

    fn serve(load: u64, args: &CpuArgs, reads: u64) -> Self {
        let service = format!("{}ns", args.service.as_nanos());
        let [load, buffer, reads] = [load, args.buffer.0, reads].map(|number| number.to_string());
        let mut words = owned(&["cpu-serve", "--load", &load, "--service", &service]);
        words.extend(owned(&["--reads", &reads, "--buffer", &buffer, "--spread", &word(&args.spread)]));
        Self::of(words, true, args)
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
        let serve = |load| Front::serve(load, args, reads);
        let (foreground, hogs, max_slowdown) = match group {
            CpuCase::Serve50 => (serve(50), memory, None),
            CpuCase::Serve50At20 => (serve(50), memory, Some("20%")),
            CpuCase::Serve10 => (serve(10), memory, None),
            CpuCase::Serve80 => (serve(80), memory, None),
            CpuCase::Wakeup => {
                let interval = format!("{}ns", args.wakeup_interval.as_nanos());
                let front = Front::of(owned(&["cpu-wakeup", "--interval", &interval]), false, args);
                (front, Hogs { count: 2 * args.hogs, ..memory }, None)
            }
            CpuCase::Integer => (serve(50), Hogs { kind: Kind::Integer, ..memory }, None),
            CpuCase::Spin => {
                let threads = args.spinners.to_string();
                (Front::of(owned(&["cpu-spin", "--threads", &threads]), false, args), memory, None)
            }
        };
        Self { name: word(&group), foreground, hogs, max_slowdown }
    }
}

#[cfg(test)]
mod tests;
