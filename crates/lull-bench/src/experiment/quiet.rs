//! The cases without a foreground: what control costs a job that has the machine to itself.
//!
//! Each job runs to its end, without and with lull; the wall-clock time from start to exit is compared. Caches are made
//! cold before tar and sha256sum; the compile starts from `make clean` with warm caches. The checksums that sha256sum
//! prints must be the same under every contender. The start-up case runs `true` many times in one run: its
//! wall-clock time is that of one, the median. The cached-reads case makes [`CALLS`] reads that all hit the page cache: the
//! difference of two runs, divided by their number, is what a gate costs per call.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ChildStdout;
use std::thread;

use lull_core::Nanos;

use super::disk::tar_argv;
use crate::contender::Contender;
use crate::corpus::{self, Tree};
use crate::error::Context;
use crate::process::{HELPERS_END, Options, Proc, Program};
use crate::record::Background;
use crate::stats::Summary;
use crate::{Error, clock};

/// Reads of the cached-reads case.
pub const CALLS: u64 = 200_000;
/// How often the start-up is measured in one run.
const STARTS: u32 = 20;
/// A tree counts as cold when less than this share of it is cached.
pub(super) const COLD: f64 = 0.01;

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
            Self::Tar(tree) => tar_argv(&tree.root),
            Self::Checksum(tree) => {
                let script = "find \"$1\" -type f -print0 | sort -z | xargs -0 -n 64 sha256sum";
                let mut argv: Vec<OsString> = ["sh", "-c", script, "sh"].map(OsString::from).to_vec();
                argv.push(tree.root.clone().into_os_string());
                argv
            }
            Self::Compile(directory) => {
                let jobs = thread::available_parallelism().map_or(1, usize::from);
                let mut argv: Vec<OsString> = ["make", "-s", "-C"].map(OsString::from).to_vec();
                argv.extend([directory.clone().into_os_string(), format!("-j{jobs}").into()]);
                argv
            }
            Self::Cached(file) => {
                let calls = CALLS.to_string();
                let mut args: Vec<OsString> =
                    ["disk-random", "--buffered", "--json", "--requests"].map(OsString::from).to_vec();
                args.extend([calls.into(), "--file".into(), file.clone().into_os_string()]);
                program.load_argv(args)
            }
            Self::Start => vec!["true".into()],
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
        let mut walls = Vec::new();
        let (mut digest, mut background, mut command) = (None, Background::default(), String::new());
        for _ in 0..times {
            let begun = clock::now();
            let (mut process, stdout) = Proc::spawn(&argv, Options::default())?;
            let keep = matches!(self, Self::Checksum(_));
            let reader = thread::spawn(move || consume(stdout, keep));
            let exit = process.wait()?;
            walls.push(clock::now().since(begun));
            let exit = exit.and(process.await_left_behind(HELPERS_END).usage);
            let (bytes, hash) = reader.join().unwrap_or((0, 0));
            if !exit.status.success() {
                return Err(process.failed(&format!("it ended with {}", exit.status)));
            }
            digest = keep.then_some(hash);
            background = Background {
                bytes: match self {
                    Self::Tar(_) => bytes,
                    Self::Checksum(tree) => tree.bytes().0,
                    Self::Cached(_) => CALLS * 4096,
                    Self::Compile(_) | Self::Start => 0,
                },
                cpu_s: Some(exit.cpu.as_secs_f64()),
                peak_bytes: exit.peak_bytes.max(background.peak_bytes),
                ..background
            };
            command = process.command().to_owned();
        }
        let wall =
            Summary::of(walls.into_iter().map(Nanos::as_secs_f64)).map_or(0.0, |summary| summary.median);
        Ok(Finished {
            background: Background { window_s: wall, wall_s: Some(wall), ..background },
            digest,
            faults,
            command,
        })
    }
}

/// Reads to the end; counts, and hashes if asked (a hash of gigabytes would be a load of its own).
fn consume(mut stdout: ChildStdout, hash: bool) -> (u64, u64) {
    let (mut bytes, mut hasher) = (0, DefaultHasher::new());
    let mut chunk = vec![0; 1 << 20];
    while let Ok(count @ 1..) = stdout.read(&mut chunk) {
        bytes += count as u64;
        if hash {
            hasher.write(chunk.get(..count).unwrap_or_default());
        }
    }
    (bytes, hasher.finish())
}

fn clean(directory: &Path) -> Result<(), Error> {
    let status = std::process::Command::new("make").args(["-s", "-C"]).arg(directory).arg("clean").status();
    match status.at("run 'make clean' in", directory)? {
        status if status.success() => Ok(()),
        status => Err(Error::Process { command: "make clean".to_owned(), problem: status.to_string() }),
    }
}
