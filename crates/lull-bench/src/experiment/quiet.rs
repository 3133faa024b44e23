//! The cases without a foreground: what control costs a job that has the machine to itself.
//!
//! Each job runs to its end, without and with lull; the wall-clock time from start to exit is compared.
//! Caches are made cold before tar and sha256sum; the compile starts from `make clean` with warm caches. The
//! checksums that sha256sum prints must be the same under every contender. The start-up case runs `true` many
//! times in one run: its wall-clock time is that of one, the median. The cached-reads case makes [`CALLS`]
//! reads that all hit the page cache: the difference of two runs, divided by their number, is what a gate
//! costs per call.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ChildStdout;
use std::thread;

use crate::contender::Contender;
use crate::corpus::{self, COLD, Tree};
use crate::error::Context;
use crate::process::{HELPERS_END, Options, Proc, Program, shown, words};
use crate::record::Background;
use crate::stats::Summary;
use crate::study::aims::CALLS;
use crate::{Error, clock};

/// How often the start-up is measured in one run.
const STARTS: u32 = 20;

/// A job that runs to its end.
#[derive(Clone, Debug)]
pub enum Quiet {
    /// tar of a cold tree into a pipe.
    Tar(Tree),
    /// sha256sum of every file of a cold tree, one process after the other.
    Checksum(Tree),
    /// `make -j` of a C project in this directory.
    Compile(PathBuf),
    /// [`CALLS`] reads of 4 KiB from this small file, all from the page cache.
    Cached(PathBuf),
    /// `true`: nothing but starting and ending.
    Start,
}

/// One finished job.
#[derive(Debug)]
pub struct Finished {
    /// Times and use.
    pub background: Background,
    /// A hash of what it printed, where that must always be the same.
    pub digest: Option<u64>,
    /// Conditions that were not met; such a run does not count.
    pub faults: Vec<String>,
    /// The command line.
    pub command: String,
}

impl Quiet {
    /// The case's name in records and tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Tar(_) => "quiet-tar",
            Self::Checksum(_) => "quiet-sha256sum",
            Self::Compile(_) => "quiet-compile",
            Self::Cached(_) => "quiet-cached",
            Self::Start => "quiet-start",
        }
    }

    fn argv(&self, program: &Program) -> Vec<OsString> {
        match self {
            Self::Tar(tree) => tar(&tree.root),
            Self::Checksum(tree) => {
                let script = "find \"$1\" -type f -print0 | sort -z | xargs -0 -n 64 sha256sum";
                vec!["sh".into(), "-c".into(), script.into(), "sh".into(), tree.root.clone().into()]
            }
            Self::Compile(directory) => {
                let jobs = thread::available_parallelism().map_or(1, usize::from);
                let mut argv = words("make -s -C");
                argv.extend([directory.into(), format!("-j{jobs}").into()]);
                argv
            }
            Self::Cached(file) => {
                let mut args = words(&format!("disk-random --buffered --json --requests {CALLS} --file"));
                args.push(file.into());
                program.load_argv(args)
            }
            Self::Start => words("true"),
        }
    }

    /// Prepares the caches, runs the job once and measures it.
    pub fn run(&self, contender: &Contender, program: &Program) -> Result<Finished, Error> {
        let mut faults = Vec::new();
        match self {
            Self::Tar(tree) | Self::Checksum(tree) => {
                let cached = corpus::chill(tree)?;
                if cached > COLD {
                    faults.push(format!("{:.1}% of the tree stayed in the page cache", cached * 100.0));
                }
            }
            Self::Compile(directory) => clean(directory)?,
            Self::Cached(file) => {
                // Reading it once puts all of it into the page cache.
                let length = std::fs::read(file).at("read", file)?.len() as u64;
                let cached = corpus::resident(file)?.0;
                if cached < length {
                    faults.push(format!("only {cached} of {length} bytes are in the page cache"));
                }
            }
            Self::Start => {}
        }
        let argv = contender.wrap(self.argv(program), program);
        let times = if matches!(self, Self::Start) { STARTS } else { 1 };
        let hashed = matches!(self, Self::Checksum(_));
        let runs: Vec<(Background, Printed)> =
            (0..times).map(|_| to_the_end(&argv, hashed)).collect::<Result<_, _>>()?;
        let wall = Summary::of(runs.iter().filter_map(|(run, _)| run.wall_s)).map_or(0.0, |wall| wall.median);
        let peak_bytes = runs.iter().map(|(run, _)| run.peak_bytes).max().unwrap_or(0);
        let (last, printed) = runs.into_iter().next_back().unwrap_or_default();
        let bytes = match self {
            Self::Tar(_) => printed.bytes,
            Self::Checksum(tree) => tree.bytes().0,
            Self::Cached(_) => CALLS * 4096,
            Self::Compile(_) | Self::Start => 0,
        };
        Ok(Finished {
            background: Background { bytes, window_s: wall, wall_s: Some(wall), peak_bytes, ..last },
            digest: hashed.then_some(printed.hash),
            faults,
            command: shown(&argv),
        })
    }
}

/// `tar` of a directory into a pipe that the harness empties (GNU tar reads nothing when it writes to
/// /dev/null).
pub fn tar(root: &Path) -> Vec<OsString> {
    let mut argv = words("tar cf - -C");
    argv.extend([root.into(), ".".into()]);
    argv
}

/// What a job printed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Printed {
    bytes: u64,
    hash: u64,
}

/// Runs a command to its end, what it leaves behind included; `hashed` asks for the hash of what it prints.
///
/// # Errors
/// When it cannot be started or fails, or after an interruption.
pub fn to_the_end(argv: &[OsString], hashed: bool) -> Result<(Background, Printed), Error> {
    let begun = clock::now();
    let (mut process, stdout) = Proc::spawn(argv, Options::default())?;
    let reader = thread::spawn(move || consume(stdout, hashed));
    let exit = process.wait()?;
    let wall = clock::now().since(begun).as_secs_f64();
    let exit = exit.and(process.await_left_behind(HELPERS_END).usage);
    let printed = reader.join().unwrap_or_default();
    if !exit.status.success() {
        return Err(process.failed(&format!("it ended with {}", exit.status)));
    }
    let background = Background {
        window_s: wall,
        wall_s: Some(wall),
        cpu_s: Some(exit.cpu.as_secs_f64()),
        peak_bytes: exit.peak_bytes,
        ..Background::default()
    };
    Ok((background, printed))
}

/// Reads to the end; counts, and hashes if asked (a hash of gigabytes would be a load of its own).
fn consume(mut stdout: ChildStdout, hash: bool) -> Printed {
    let (mut bytes, mut hasher) = (0, DefaultHasher::new());
    let mut chunk = vec![0; 1 << 20];
    while let Ok(count @ 1..) = stdout.read(&mut chunk) {
        bytes += count as u64;
        if hash {
            hasher.write(chunk.get(..count).unwrap_or_default());
        }
    }
    Printed { bytes, hash: hasher.finish() }
}

fn clean(directory: &Path) -> Result<(), Error> {
    let status = std::process::Command::new("make").args(["-s", "-C"]).arg(directory).arg("clean").status();
    match status.at("run 'make clean' in", directory)? {
        status if status.success() => Ok(()),
        status => Err(Error::Process { command: "make clean".to_owned(), problem: status.to_string() }),
    }
}
