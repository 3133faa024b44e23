//! `lull bench memory`: what a job's use of memory, page cache and write-back costs the foreground.
//!
//! ```text
//!   small machine: a memory control group (and a swap file)
//!     ├─ the foreground
//!     └─ the contender's command … lull run … the job        limit: in a group of its own, below
//! ```
//! A limited group stands for a small machine: what is in it competes for its memory as on a machine of that size, and the
//! control (lull with all its processes) has to fit in too. Files are read once, then made cold, and what a run wrote is removed and
//! synced, before the next one. Bounds on dirty pages are pinned to the kernel's own for all contenders but `dirty-bytes`, and divided
//! as files are. A run in which the job did nothing beside the cached files or the log is not counted.
//! The quiet cases run to their end without a foreground. With `--figures` the small machine is that of the Linger paper's figures and
//! tables instead ([`figures`]).

use std::ffi::OsString;
use std::path::Path;

use lull_core::Nanos;
use lull_linux::cgroup::GroupName;
use lull_linux::cgroup::memory::MemoryGroup;
use lull_linux::probe::CgroupFacts;
use lull_linux::root::Root;

use super::ledger::{Ledger, Plan};
use super::told::Told;
use super::trial::{self, Foreground, Job, Meter, ProgressFile, Window};
use super::{SETTLE, data_directory, host};
use crate::contender::scheduler::{Guard, SYS_BLOCK};
use crate::contender::setting::{DirtyBounds, DirtyGuard, PROC_VM, SwapFile};
use crate::contender::{Contender, group};
use crate::error::Context;
use crate::process::{HELPERS_END, Options, Proc, Program, shown};
use crate::record::{Background, Run};
use crate::units::{Bytes, whole};
use crate::{Error, clock, corpus, stop};

pub mod args;
pub mod case;
pub mod figures;

pub use args::{FigureArgs, MemoryArgs, MemoryCase, MemoryFigure};

use case::Case;

/// A file counts as cold when less than this share of it is cached.
const COLD: f64 = 0.01;

/// `lull bench memory`: measures, then writes and prints the report.
///
/// # Errors
/// When data files or records cannot be written, or after an interruption.
pub fn run_memory(args: &MemoryArgs, program: &Program) -> Result<(), Error> {
    stop::install()?;
    group::sweep();
    let program = &args.common.program(program)?;
    let directory = data_directory(&args.dir)?;
    let directory = directory.canonicalize().at("find", &directory)?;
    SwapFile::sweep(&directory);
    if let Some(wanted) = &args.figures.figures {
        let measured = figures::run(args, wanted, program, &directory);
        if args.clean {
            std::fs::remove_dir_all(&directory).at("remove", &directory)?;
        }
        return measured;
    }
    let (host, _awake) = args.common.prepare(&directory, program);
    let disk = host.disk.clone();
    let mut bench =
        Bench { args, program, disk, directory: &directory, ledger: Ledger::open(&args.common.out, host)? };
    let measured = bench.all();
    if args.clean {
        std::fs::remove_dir_all(&directory).at("remove", &directory)?;
    }
    args.common.conclude(measured, &bench.ledger)
}

struct Bench<'a> {
    args: &'a MemoryArgs,
    program: &'a Program,
    disk: Option<String>,
    directory: &'a Path,
    ledger: Ledger,
}

impl Bench<'_> {
    fn all(&mut self) -> Result<(), Error> {
        let mut cases = Vec::new();
        for group in &self.args.cases {
            cases.extend(Case::of(*group, self.directory, self.args)?);
        }
        eprintln!("about {} minutes", minutes(self.args, &cases));
        cases.iter().try_for_each(|case| self.case(case))
    }

    fn case(&mut self, case: &Case) -> Result<(), Error> {
        let mut contenders = Vec::new();
        for contender in self.args.contenders().into_iter().filter(|contender| case.takes(contender)) {
            stop::check()?;
            let obstacle = self
                .obstacle(case, &contender)
                .or_else(|| contender.obstacle(self.disk.as_deref(), self.program));
            match obstacle {
                None => contenders.push(contender),
                Some(detail) => self.ledger.unmet(&case.name, Some(&contender), detail)?,
            }
        }
        case.cold.iter().try_for_each(|path| corpus::read_through(path))?;
        // In use for all contenders or for none.
        let _swap = match case.swaps {
            true => match SwapFile::add(self.directory, case::SWAP) {
                Ok(swap) => Some(swap),
                Err(error) => return self.ledger.unmet(&case.name, None, error.to_string()),
            },
            false => None,
        };
        eprintln!("{}: {} contenders, {} rounds", case.name, contenders.len(), self.args.common.rounds);
        let plan = Plan { contenders, seed: self.args.common.seed, rounds: self.args.common.rounds };
        let (args, program, disk) = (self.args, self.program, self.disk.clone());
        self.ledger.rounds(&case.name, &plan, &mut |contender, _| {
            let run = one(args, program, case, contender, disk.as_deref());
            for path in &case.written {
                // The run may have ended before it made them.
                let _ = std::fs::remove_file(path);
            }
            nix::unistd::sync();
            run
        })
    }

    fn obstacle(&self, case: &Case, contender: &Contender) -> Option<String> {
        if case.memory.is_none() && *contender != Contender::MemoryLimit {
            return None;
        }
        LimitedGroup::create(None, Bytes(64 * Bytes::MIB)).err().map(|error| error.to_string())
    }
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

/// The foreground on the small machine.
struct Front<'a> {
    case: &'a Case,
    machine: Option<&'a LimitedGroup>,
}

impl Foreground for Front<'_> {
    fn argv(&self, window: Window, program: &Program) -> Vec<OsString> {
        let mut args = self.case.foreground.clone();
        args.extend(window.args());
        args.push("--json".into());
        let argv = program.load_argv(args);
        wrapped(self.machine, argv)
    }

    fn goes_first(&self) -> bool {
        self.case.goes_first
    }

    fn lead(&self) -> Nanos {
        self.case.lead
    }
}

/// One contender's run.
fn one(
    args: &MemoryArgs,
    program: &Program,
    case: &Case,
    contender: &Contender,
    disk: Option<&str>,
) -> Result<Run, Error> {
    let _scheduler = match (contender.scheduler(), disk) {
        (Some(wanted), Some(disk)) => Some(Guard::select(Path::new(SYS_BLOCK), disk, wanted)?),
        _ => None,
    };
    let _dirty = DirtyGuard::set(Path::new(PROC_VM), dirty_bounds(args.scale, contender))?;
    let mut notes = Vec::new();
    for path in &case.cold {
        corpus::forget(path)?;
        let length = path.metadata().at("examine", path)?.len();
        let cached = corpus::resident(path)?.0;
        if cached as f64 > length as f64 * COLD {
            notes.push(format!("{} of {} stayed in the page cache", Bytes(cached), path.display()));
        }
    }
    // Dropped after everything that runs in them, the inner one first.
    let machine = case.memory.map(|memory| LimitedGroup::create(None, memory)).transpose()?;
    let limited = match contender {
        Contender::MemoryLimit => Some(LimitedGroup::create(machine.as_ref(), case.limit)?),
        _ => None,
    };
    let within = limited.as_ref().or(machine.as_ref());
    let (file, progress) = ProgressFile::create()?;
    let told = Told::create(&args.common.out)?;
    let job = program.load_argv(case.job(contender, file.path()));
    let argv = args.common.equipped(contender, &told.flags()).wrap(job, program);
    let argv = wrapped(within, argv);
    std::thread::sleep(SETTLE);
    let counted = notes.is_empty();
    let run = Run {
        case: case.name.clone(),
        contender: contender.name(),
        command: contender.has_background().then(|| shown(&argv)),
        counted,
        ..Run::default()
    };
    if case.foreground.is_empty() {
        let background = Some(timed(&argv, || progress.bytes())?);
        let counted = had(args, contender, &told, &mut notes) && counted;
        return Ok(Run { background, counted, notes, ..run });
    }
    let job = contender.has_background().then(|| Job {
        argv,
        meter: Meter::Progress(Box::new(progress)),
        leash: false,
        at_once: false,
    });
    let front = Front { case, machine: machine.as_ref() };
    let foreground = contender.has_foreground().then_some(&front as &dyn Foreground);
    let before = disk.and_then(host::written_bytes);
    let outcome = trial::run(foreground, job, case.window, program, &mut |_| ())?;
    let written =
        before.zip(disk.and_then(host::written_bytes)).map(|(before, after)| after.saturating_sub(before));
    notes.extend(outcome.notes);
    let did_work = does_work(case, outcome.background.as_ref(), &mut notes);
    let counted = had(args, contender, &told, &mut notes) && did_work && counted;
    Ok(Run {
        foreground_command: foreground.map(|foreground| shown(&foreground.argv(case.window, program))),
        foreground: outcome.foreground,
        background: outcome.background,
        disk_written_bytes: written.filter(|_| !case.written.is_empty()),
        counted,
        notes,
        ..run
    })
}

/// Whether a run is one of its contender. At its defaults lull leaves a job that is young or small to the kernel: that is told, and counts.
fn had(args: &MemoryArgs, contender: &Contender, told: &Told, notes: &mut Vec<String>) -> bool {
    let is_default = *contender == Contender::Lull(Vec::new()) && args.common.lull_args.is_empty();
    if !is_default {
        return told.had(contender, "memory", notes);
    }
    let (summary, is_complete) = told.of(contender, notes);
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

/// Runs a job to its end.
fn timed(argv: &[OsString], bytes: impl Fn() -> u64) -> Result<Background, Error> {
    let begun = clock::now();
    let (mut process, stdout) = Proc::spawn(argv, Options::default())?;
    let exit = process.wait()?;
    drop(stdout);
    if !exit.status.success() {
        return Err(process.failed(&format!("it ended with {}", exit.status)));
    }
    let wall = clock::now().since(begun).as_secs_f64();
    let exit = exit.and(process.await_left_behind(HELPERS_END).usage);
    Ok(Background {
        bytes: bytes(),
        window_s: wall,
        wall_s: Some(wall),
        cpu_s: Some(exit.cpu.as_secs_f64()),
        peak_bytes: exit.peak_bytes,
        ..Background::default()
    })
}

#[cfg(test)]
mod tests;
