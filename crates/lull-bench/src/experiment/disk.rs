//! `lull bench disk`: what reads, what runs beside it, and on which device; and jobs without a foreground.

use std::ffi::OsString;
use std::path::Path;

use lull_core::Nanos;

use super::measurement::{Measurement, Setup};
use super::quiet::{Quiet, tar};
use super::trial::{self, Foreground, Job, Meter, Window};
use super::{SETTLE, data_directory};
use crate::contender::Contender;
use crate::corpus::{self, COLD, Sizes, Tree};
use crate::load::think;
use crate::process::{Program, words};
use crate::record::Run;
use crate::slowdisk::{self, SlowDisk};
use crate::units::{Bytes, nanos};
use crate::{Error, stop};

pub mod args;

pub use args::{DiskArgs, DiskCase};

/// Mean service time of a random read on the slow disk.
const SLOW_SERVICE: Nanos = Nanos::from_millis(20);
/// Think time of the foreground on a fast disk.
const THINK: Nanos = Nanos::from_micros(200);
/// Size of each file where the background reads many.
pub const FILE: Bytes = Bytes(8 * Bytes::MIB);
/// What a run takes beside its warm-up and its counted time.
const AROUND_S: f64 = 0.3;

/// `lull bench disk`: measures, then writes and prints the report.
pub fn run_disk(args: &DiskArgs, program: &Program) -> Result<(), Error> {
    stop::install()?;
    let directory = data_directory(&args.dir)?;
    let mut bench = Measurement::begin(&args.common, program, &directory)?;
    let measured = measure(args, &directory, &mut bench);
    bench.conclude(measured, args.clean.then_some(&directory))
}

fn measure(args: &DiskArgs, directory: &Path, bench: &mut Measurement<'_>) -> Result<(), Error> {
    if args.cases.iter().any(|case| *case != DiskCase::Slow) {
        eprintln!("making data files in {}", directory.display());
    }
    args.cases.iter().try_for_each(|case| match case {
        DiskCase::Slow => slow(args, bench),
        DiskCase::Quiet => quiet(args, directory, bench),
        fast => with_foreground(args, &Case::fast(*fast, directory, args)?, None, bench),
    })
}

/// What runs in the background of a case.
enum DiskJob {
    /// A load generator with these arguments.
    Load(Vec<OsString>),
    /// A command over a tree, which is made cold first, and how its work is measured.
    Over(Tree, Vec<OsString>, fn() -> Meter),
}

/// One case with a foreground.
struct Case {
    /// Its name in records and tables.
    name: String,
    reader: Foreground,
    work: DiskJob,
    window: Window,
}

impl Case {
    /// One on the disk behind `directory`; its files are made, or found made.
    fn fast(case: DiskCase, directory: &Path, args: &DiskArgs) -> Result<Self, Error> {
        let seed = args.common.seed;
        // Two files, so that no lock of one inode couples what a scheduler cannot part.
        let data = |name: &str, seed| {
            let path = directory.join(name);
            corpus::data_file(&path, args.data_size, seed).map(|()| path)
        };
        let (foreground, background) =
            (data("foreground.dat", seed)?, data("background.dat", seed.wrapping_add(1))?);
        let load = |text: &str| DiskJob::Load(of_file(text, &background));
        let files = || corpus::tree(&directory.join("files"), args.data_size, Sizes::Equal(FILE), seed);
        let (name, work) = match case {
            DiskCase::Libaio => ("libaio", load("disk-aio --block 64KiB --depth 32")),
            DiskCase::Files => {
                let tree = files()?;
                let argv = checksums(&tree.root);
                ("files", DiskJob::Over(tree, argv, || Meter::Lines(Box::new(finished_file))))
            }
            DiskCase::Short => {
                let tree = files()?;
                let argv = dds(&tree.root);
                ("short", DiskJob::Over(tree, argv, || Meter::Lines(Box::new(copied))))
            }
            DiskCase::Sequential => {
                let tree = mixed_tree(directory, args)?;
                let argv = tar(&tree.root);
                ("sequential", DiskJob::Over(tree, argv, || Meter::Output))
            }
            _ => ("parallel", load("disk-random --block 64KiB --threads 4")),
        };
        Ok(Self {
            name: name.to_owned(),
            reader: Foreground::reader(&foreground, THINK, false, seed),
            work,
            window: Window { warmup: nanos(args.warmup), length: nanos(args.common.seconds) },
        })
    }

    /// Random reads on the slow disk, the foreground busy `percent` of the time when alone.
    fn slow(device: &Path, percent: u64, args: &DiskArgs) -> Self {
        let think = think::for_intensity(SLOW_SERVICE, percent);
        Self {
            name: format!("slow-{percent}"),
            reader: Foreground::reader(device, think, true, args.common.seed),
            work: DiskJob::Load(of_file("disk-random --block 4KiB --threads 1 --seed 99", device)),
            window: Window { warmup: nanos(args.warmup), length: nanos(args.slow_seconds) },
        }
    }

    /// The background, made ready: counters at zero, caches cold; and a condition that was not met.
    fn job(&self, program: &Program) -> Result<(Job, Option<String>), Error> {
        match &self.work {
            DiskJob::Load(args) => Ok((Job::of_load(args.clone(), program)?, None)),
            DiskJob::Over(tree, argv, meter) => {
                let cached = corpus::chill(tree)?;
                let fault = (cached > COLD).then(|| {
                    format!("{:.1}% of the tree stayed in the page cache, so it was not cold", cached * 100.0)
                });
                Ok((Job::of(argv.clone(), meter()), fault))
            }
        }
    }
}

fn mixed_tree(directory: &Path, args: &DiskArgs) -> Result<Tree, Error> {
    corpus::tree(&directory.join("tree"), args.tree_size, Sizes::Mixed, args.common.seed)
}

fn of_file(load: &str, file: &Path) -> Vec<OsString> {
    let mut args = words(load);
    args.extend(["--file".into(), file.into()]);
    args
}

/// A shell that does something to all files of a tree, again and again.
fn again(root: &Path, each: &str) -> Vec<OsString> {
    let script = format!("while :; do find \"$1\" -name 'f*' -type f -print0 | xargs -0 -P 4 {each}; done");
    vec!["sh".into(), "-c".into(), script.into(), "sh".into(), root.into()]
}

/// Checksums of all files of a tree, four processes at a time, again and again.
pub fn checksums(root: &Path) -> Vec<OsString> {
    again(root, "-n 2 cksum")
}

/// A line of cksum: the checksum, the size, the path. Counts the file and makes it cold again.
pub fn finished_file(line: &str) -> u64 {
    let Some(path) = line.splitn(3, ' ').nth(2).map(Path::new) else { return 0 };
    // A page that stays cached makes the job a little faster than the disk; not worth ending a run for.
    let _ = corpus::forget(path);
    path.metadata().map_or(0, |metadata| metadata.len())
}

/// A `dd` past the page cache for each file, four at a time, again and again.
fn dds(root: &Path) -> Vec<OsString> {
    again(root, "-I{} dd if={} of=/dev/null iflag=direct bs=64k 2>&1")
}

/// A line of dd: `8388608 bytes (8.4 MB, 8.0 MiB) copied, …`; the others are of records.
fn copied(line: &str) -> u64 {
    line.split_once(" bytes ").and_then(|(bytes, _)| bytes.parse().ok()).unwrap_or(0)
}

fn slow(args: &DiskArgs, bench: &mut Measurement<'_>) -> Result<(), Error> {
    if let Some(detail) = slowdisk::obstacle() {
        return bench.ledger.unmet("slow", None, detail);
    }
    let device = match SlowDisk::start(&bench.setup.program, None) {
        Ok(device) => device,
        Err(error) => return bench.ledger.unmet("slow", None, error.to_string()),
    };
    args.intensities.iter().try_for_each(|percent| {
        let case = Case::slow(device.path(), *percent, args);
        with_foreground(args, &case, Some(&device.name()), bench)
    })
}

fn with_foreground(
    args: &DiskArgs,
    case: &Case,
    disk: Option<&str>,
    bench: &mut Measurement<'_>,
) -> Result<(), Error> {
    let contenders = bench.able(&case.name, args.contenders(), disk, |_| None)?;
    let run_s = case.window.warmup.plus(case.window.length).as_secs_f64() + AROUND_S;
    bench.rounds(&case.name, &contenders, Some(&|_| run_s), &mut |setup, contender, _| {
        let _guard = setup.select(contender, args.scheduler.as_deref(), disk)?;
        let (mut job, mut fault) = (None, None);
        if contender.has_background() {
            let (made, unmet) = case.job(&setup.program)?;
            let started = setup.started(contender, &[]);
            (job, fault) = (Some(made.under(&started, None, &setup.program)), unmet);
        }
        let reader = contender.has_foreground().then_some(&case.reader);
        // What the previous run left in queues drains before this one begins.
        std::thread::sleep(SETTLE);
        let mut run = trial::run(reader, job, case.window, &setup.program, &mut |_| ())?;
        run.counted = fault.is_none();
        run.notes.extend(fault);
        Ok(run)
    })
}

/// The jobs without a foreground, with and without lull.
fn quiet(args: &DiskArgs, directory: &Path, bench: &mut Measurement<'_>) -> Result<(), Error> {
    let tree = mixed_tree(directory, args)?;
    let project = directory.join("project");
    corpus::project(&project, args.compile_units, corpus::FUNCTIONS)?;
    let cached = directory.join("cached.dat");
    corpus::data_file(&cached, Bytes(16 * Bytes::MIB), args.common.seed)?;
    let jobs = [
        Quiet::Tar(tree.clone()),
        Quiet::Checksum(tree),
        Quiet::Compile(project),
        Quiet::Cached(cached),
        Quiet::Start,
    ];
    let mut among = args.contenders();
    among.retain(|contender| matches!(contender, Contender::Lull(_)));
    among.insert(0, Contender::Unmanaged);
    jobs.iter().try_for_each(|job| {
        let contenders = bench.able(job.name(), among.clone(), None, |_| None)?;
        let mut expected = None;
        bench.rounds(job.name(), &contenders, None, &mut |setup, contender, _| {
            to_its_end(job, setup, contender, &mut expected)
        })
    })
}

fn to_its_end(
    job: &Quiet,
    setup: &Setup<'_>,
    contender: &Contender,
    expected: &mut Option<u64>,
) -> Result<Run, Error> {
    let finished = job.run(&setup.started(contender, &[]), &setup.program)?;
    let mut notes = finished.faults;
    if let Some(digest) = finished.digest
        && *expected.get_or_insert(digest) != digest
    {
        notes.push("its output differs from that of the first run".to_owned());
    }
    Ok(Run {
        command: Some(finished.command),
        background: Some(finished.background),
        counted: notes.is_empty(),
        notes,
        ..Run::default()
    })
}

#[cfg(test)]
mod tests;
