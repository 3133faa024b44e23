//! A person who edits and compiles: change one file, `make`, look at the result, think.
//!
//! ```text
//!  edit unit k ──▶ make: compiles one file, links ──▶ latency ──▶ think (exponential) ──▶ edit unit k + 1 …
//! ```
//! A closed loop, as people are: who waits for the compiler does not edit meanwhile. So the rate falls when
//! it is slow, and both are reported. A compile takes a large part of a second, so a window of ten seconds
//! holds few; its p99 is its longest.
//!
//! Edge cases: think times begin anew with the counting, so that they do not depend on how long the warm-up
//! was. A compile that is running when the window ends is finished and counted. Each edit adds a comment line
//! to the file; the project is made anew when it is gone.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use lull_core::Nanos;

use crate::error::Context;
use crate::load::latency::Recorder;
use crate::load::think::{Spread, Warmed};
use crate::load::{LoadReport, ShiftArgs, own_cpu_ns};
use crate::process::{Options, Proc};
use crate::{Error, clock, corpus, stop};

/// Arguments of `load app-edit`.
#[derive(Clone, Debug, clap::Args)]
pub struct EditArgs {
    /// When it counts and how it reports.
    #[command(flatten)]
    pub shift: ShiftArgs,
    /// Where the project is; made if it is not there.
    #[arg(long, value_name = "DIR")]
    pub project: PathBuf,
    /// Source files in it.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    pub units: u32,
    /// Mean think time.
    #[arg(long, value_name = "TIME", default_value = "500ms")]
    pub think: Nanos,
    /// Seed of the think times.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

fn make(directory: &Path) -> Result<(), Error> {
    let argv = ["make", "--silent"].map(OsString::from);
    let (mut process, _stdout) =
        Proc::spawn(&argv, Options { directory: Some(directory), ..Options::default() })?;
    let exit = process.wait()?;
    if exit.status.success() { Ok(()) } else { Err(process.failed(&exit.status.to_string())) }
}

fn edit(directory: &Path, unit: u32, count: u64) -> Result<(), Error> {
    let path = directory.join(format!("unit{unit}.c"));
    let file = std::fs::OpenOptions::new().append(true).open(&path);
    file.and_then(|mut file| writeln!(file, "/* edit {count} */")).at("edit", &path)
}

/// Edits until stopped.
pub fn run(args: &EditArgs) -> Result<LoadReport, Error> {
    clock::sharp_timers()?;
    if !args.project.join("Makefile").exists() {
        corpus::project(&args.project, args.units, corpus::FUNCTIONS)?;
    }
    make(&args.project)?;
    let begun = clock::now().plus(args.shift.warmup);
    let end = args.shift.end(begun);
    let mut think = Warmed::new(begun, args.think, Spread::Exponential, args.seed);
    let mut latencies = Recorder::new();
    for count in 0.. {
        let wake = think.next_after(clock::now());
        let now = clock::wait_until(end.map_or(wake, |end| wake.min(end)));
        if stop::requested() || end.is_some_and(|end| now >= end) {
            break;
        }
        edit(&args.project, u32::try_from(count % u64::from(args.units)).unwrap_or(0), count)?;
        let from = clock::now();
        match make(&args.project) {
            Err(Error::Interrupted) => break,
            made => made?,
        }
        if from >= begun {
            latencies.record(clock::now().since(from));
        }
    }
    let ended = clock::now().max(begun);
    Ok(LoadReport {
        distribution: latencies.distribution(),
        cpu_ns: own_cpu_ns(),
        ..LoadReport::timed("app-edit", &latencies, [begun, ended])
    })
}

#[cfg(test)]
mod tests;
