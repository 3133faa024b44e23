//! `lull bench memory`: what a job's use of memory, page cache and write-back costs the foreground.
//!
//! ```text
//!   small machine: a memory control group (and a swap file)
//!     ├─ the foreground
//!     └─ the contender's command … lull run … the job        limit: in a group of its own, below
//! ```
//! A limited group stands for a small machine: what is in it competes for its memory as on a machine of that
//! size, and the control (lull with all its processes) has to fit in too. Files are read once, then made
//! cold, and what a run wrote is removed and synced, before the next one. Bounds on dirty pages are pinned to
//! the kernel's own for all contenders but `dirty-bytes`, and divided as files are. A run in which the job
//! did nothing beside the cached files or the log is not counted. The quiet cases run to their end without a
//! foreground. With `--figures` the small machine is that of the Linger paper's figures and tables instead
//! ([`figures`]).

use std::ffi::OsString;
use std::path::Path;

use lull_core::Nanos;
use lull_linux::cgroup::GroupName;
use lull_linux::cgroup::memory::MemoryGroup;
use lull_linux::probe::CgroupFacts;
use lull_linux::root::Root;

use super::measurement::{Measurement, Setup};
use super::quiet::to_the_end;
use super::summary::SummaryFile;
use super::trial::{self, Foreground, Job, Meter, ProgressFile};
use super::{SETTLE, data_directory, host};
use crate::contender::setting::{DirtyBounds, DirtyGuard, PROC_VM, SwapFile};
use crate::contender::{Contender, group};
use crate::corpus::{self, COLD};
use crate::error::Context;
use crate::process::{Program, shown};
use crate::record::{Background, Run};
use crate::units::{Bytes, whole};
use crate::{Error, stop};

pub mod args;
pub mod case;
pub mod figures;

pub use args::{FigureArgs, MemoryArgs, MemoryCase, MemoryFigure};

use case::Case;

/// `lull bench memory`: measures, then writes and prints the report.
///
/// # Errors
/// When data files or records cannot be written, or after an interruption.
pub fn run_memory(args: &MemoryArgs, program: &Program) -> Result<(), Error> {
    stop::install()?;
    group::sweep();
    let directory = data_directory(&args.dir)?;
    let directory = directory.canonicalize().at("find", &directory)?;
    SwapFile::sweep(&directory);
    if let Some(wanted) = &args.figures.figures {
        let measured = figures::run(args, wanted, &args.common.program(program)?, &directory);
        if args.clean {
            std::fs::remove_dir_all(&directory).at("remove", &directory)?;
        }
        return measured;
    }
    let mut bench = Measurement::begin(&args.common, program, &directory)?;
    let measured = measure(args, &directory, &mut bench);
    bench.conclude(measured, args.clean.then_some(&directory))
}

fn measure(args: &MemoryArgs, directory: &Path, bench: &mut Measurement<'_>) -> Result<(), Error> {
    let mut cases = Vec::new();
    for group in &args.cases {
        cases.extend(Case::of(*group, directory, args)?);
    }
    eprintln!("about {} minutes", minutes(args, &cases));
    cases.iter().try_for_each(|case| in_rounds(args, case, directory, bench))
}

fn in_rounds(
    args: &MemoryArgs,
    case: &Case,
    directory: &Path,
    bench: &mut Measurement<'_>,
) -> Result<(), Error> {
    let among = args.contenders().into_iter().filter(|contender| case.takes(contender)).collect();
    let contenders = bench.able(&case.name, among, None, |contender| obstacle(case, contender))?;
    case.cold.iter().try_for_each(|path| corpus::read_through(path))?;
    // In use for all contenders or for none.
    let swap = case.swaps.then(|| SwapFile::add(directory, case::SWAP)).transpose();
    let _swap = match swap {
        Ok(swap) => swap,
        Err(error) => return bench.ledger.unmet(&case.name, None, error.to_string()),
    };
    bench.rounds(&case.name, &contenders, None, &mut |setup, contender, _| {
        let run = one(args, setup, case, contender);
        for path in &case.written {
            // The run may have ended before it made them.
            let _ = std::fs::remove_file(path);
        }
        nix::unistd::sync();
        run
    })
}

fn obstacle(case: &Case, contender: &Contender) -> Option<String> {
    if case.memory.is_none() && *contender != Contender::MemoryLimit {
        return None;
    }
    LimitedGroup::create(None, Bytes(64 * Bytes::MIB)).err().map(|error| error.to_string())
}

/// How long these cases take, about, in minutes.
fn minutes(args: &MemoryArgs, cases: &[Case]) -> u64 {
    let contenders = args.contenders();
    let round = cases.iter().fold(Nanos::ZERO, |sum, case| {
        let taken = contenders.iter().filter(|contender| case.takes(contender)).count();
        sum.plus(case.takes_about().times(taken as u64))
    });
    whole(round.times(args.common.rounds.into()).as_secs_f64() / 60.0).max(1)
}

/// The bounds on dirty pages for a contender, where sizes are divided.
fn dirty_bounds(scale: u64, contender: &Contender) -> DirtyBounds {
    match contender {
        Contender::DirtyBytes => DirtyBounds::Small { scale },
        _ => DirtyBounds::Pinned { scale, memory: host::memory_bytes().map(Bytes) },
    }
}

/// A limited group that goes when dropped.
struct LimitedGroup(Option<MemoryGroup>);

impl LimitedGroup {
    fn create(parent: Option<&Self>, limit: Bytes) -> Result<Self, Error> {
        let root = Root::real();
        let name = GroupName::next(&root);
        let made = match parent.and_then(|parent| parent.0.as_ref()) {
            Some(parent) => MemoryGroup::create_in(parent.path(), &name),
            None => MemoryGroup::create(&name, &CgroupFacts::read(&root, true)),
        };
        let unmet = |detail: String| Error::Unmet { what: "a memory control group".to_owned(), detail };
        let group = made.map_err(|error| unmet(error.to_string()))?;
        let limited = group.set_limit(Some(limit.0));
        let path = group.path().to_owned();
        // From here on it is removed.
        let this = Self(Some(group));
        limited.at("set the memory limit of", &path)?;
        Ok(this)
    }
}

/// The command line in a group, if there is one.
fn wrapped(limited: Option<&LimitedGroup>, argv: Vec<OsString>) -> Vec<OsString> {
    match limited.and_then(|limited| limited.0.as_ref()) {
        Some(memory) => group::entering(memory.path(), argv),
        None => argv,
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.0.take().map(MemoryGroup::remove) {
            eprintln!("lull bench: {error}");
        }
    }
}

/// One contender's run.
fn one(args: &MemoryArgs, setup: &Setup<'_>, case: &Case, contender: &Contender) -> Result<Run, Error> {
    let _scheduler = setup.select(contender, None, None)?;
    let _dirty = DirtyGuard::set(Path::new(PROC_VM), dirty_bounds(args.scale, contender))?;
    let mut warm = Vec::new();
    for path in &case.cold {
        corpus::forget(path)?;
        let length = path.metadata().at("examine", path)?.len();
        let cached = corpus::resident(path)?.0;
        if cached as f64 > length as f64 * COLD {
            warm.push(format!("{} of {} stayed in the page cache", Bytes(cached), path.display()));
        }
    }
    // Dropped after everything that runs in them, the inner one first.
    let machine = case.memory.map(|memory| LimitedGroup::create(None, memory)).transpose()?;
    let limited = match contender {
        Contender::MemoryLimit => Some(LimitedGroup::create(machine.as_ref(), case.limit)?),
        _ => None,
    };
    let within = limited.as_ref().or(machine.as_ref());
    let file = ProgressFile::create()?;
    let summary_file = SummaryFile::create(&args.common.out)?;
    let job = setup.program.load_argv(case.job(contender, file.path()));
    let argv = wrapped(within, setup.started(contender, &summary_file.flags()).wrap(job, &setup.program));
    std::thread::sleep(SETTLE);
    let Some(foreground) = &case.foreground else {
        let (background, _) = to_the_end(&argv, false)?;
        let background = Some(Background { bytes: file.progress().bytes(), ..background });
        let mut run = Run { command: Some(shown(&argv)), background, ..Run::default() };
        run.counted = had(args, contender, &summary_file, &mut run.notes) && warm.is_empty();
        run.notes.splice(0..0, warm);
        return Ok(run);
    };
    let job = contender.has_background().then(|| Job::of(argv, Meter::Progress(Box::new(file))));
    let foreground = Foreground { before: wrapped(machine.as_ref(), Vec::new()), ..foreground.clone() };
    let foreground = contender.has_foreground().then_some(&foreground);
    let written_bytes = || setup.disk.as_deref().and_then(host::written_bytes);
    let before = written_bytes();
    let mut run = trial::run(foreground, job, case.window, &setup.program, &mut |_| ())?;
    let written = before.zip(written_bytes()).map(|(before, after)| after.saturating_sub(before));
    run.disk_written_bytes = written.filter(|_| !case.written.is_empty());
    let did_work = does_work(case, run.background.as_ref(), &mut run.notes);
    run.counted = had(args, contender, &summary_file, &mut run.notes) && did_work && warm.is_empty();
    run.notes.splice(0..0, warm);
    Ok(run)
}

/// Whether a run is one of its contender. At its defaults lull leaves a job that is young or small to the
/// kernel: that is told, and counts.
fn had(
    args: &MemoryArgs,
    contender: &Contender,
    summary_file: &SummaryFile,
    notes: &mut Vec<String>,
) -> bool {
    let is_default = *contender == Contender::Lull(Vec::new()) && args.common.lull_args.is_empty();
    if !is_default {
        return summary_file.had(contender, "memory", notes);
    }
    let (summary, is_complete) = summary_file.of(contender, notes);
    if summary.is_some_and(|summary| summary.get("memory").is_none_or(serde_json::Value::is_null)) {
        notes.push("lull left the job's memory to the kernel: the job was young or small".to_owned());
    }
    is_complete
}

/// Whether the job, if there is one, did what it is there for while the foreground was counted.
fn does_work(case: &Case, background: Option<&Background>, notes: &mut Vec<String>) -> bool {
    let idle = case.must_work && background.is_some_and(|background| background.bytes == 0);
    if idle {
        notes.push("the background did nothing in the window".to_owned());
    }
    !idle
}

#[cfg(test)]
mod tests;
