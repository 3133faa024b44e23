//! The cases with a foreground: what reads, what runs beside it, and on which device.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use lull_core::Nanos;

use super::trial::{Job, Meter, ProgressFile, Reader, Window};
use crate::Error;
use crate::contender::Contender;
use crate::corpus::{self, Tree};
use crate::load::think;
use crate::process::Program;
use crate::units::{Bytes, whole};

pub mod args;

pub use args::{DiskArgs, DiskCase};

/// Mean service time of a random read on the slow disk.
const SLOW_SERVICE: Nanos = Nanos::from_millis(20);
/// Think time of the foreground on a fast disk.
const THINK: Nanos = Nanos::from_micros(200);
/// A tree counts as cold when less than this share of it is cached.
const COLD: f64 = 0.01;
/// Size of each file where the background reads many.
pub const FILE: Bytes = Bytes(8 * Bytes::MIB);

/// What runs in the background of a case.
#[derive(Clone, Debug)]
pub enum Work {
    /// A load generator with these arguments, without its times.
    Load(Vec<OsString>),
    /// `tar` of a cold tree, into a pipe that the harness empties (GNU tar reads nothing when it writes to /dev/null).
    Tar(Tree),
    /// `cksum` of cold files of 8 MiB, four processes at a time, over and over.
    Checksums(Tree),
    /// A `dd` past the page cache for each of such files, four at a time, over and over.
    Short(Tree),
}

/// One case with a foreground.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its name in records and tables.
    pub name: String,
    /// The foreground.
    pub reader: Reader,
    /// The background.
    pub work: Work,
    /// How long each run is.
    pub window: Window,
}

/// A job ready to run, and what must live as long as it does.
pub struct Prepared {
    /// The job.
    pub job: Job,
    /// The progress file, removed afterwards.
    pub progress: Option<ProgressFile>,
    /// A condition that was not met, for the record; such a run does not count.
    pub fault: Option<String>,
}

impl Work {
    /// Makes the background ready: counters at zero, caches cold.
    pub fn prepare(&self, contender: &Contender, program: &Program) -> Result<Prepared, Error> {
        let command = |argv, meter, tree: &Tree| {
            let cached = corpus::chill(tree)?;
            let fault = (cached > COLD).then(|| {
                format!("{:.1}% of the tree stayed in the page cache, so it was not cold", cached * 100.0)
            });
            let job = Job { argv: contender.wrap(argv, program), meter, leash: false, at_once: false };
            Ok(Prepared { job, progress: None, fault })
        };
        match self {
            Self::Load(args) => {
                let (file, progress) = ProgressFile::create()?;
                let mut args = args.clone();
                args.extend(["--json".into(), "--progress".into(), file.path().as_os_str().to_owned()]);
                let argv = contender.wrap(program.load_argv(args), program);
                let job =
                    Job { argv, meter: Meter::Progress(Box::new(progress)), leash: false, at_once: false };
                Ok(Prepared { job, progress: Some(file), fault: None })
            }
            Self::Tar(tree) => command(tar_argv(&tree.root), Meter::Output, tree),
            Self::Checksums(tree) => {
                command(checksums(&tree.root), Meter::Lines(Box::new(finished_file)), tree)
            }
            Self::Short(tree) => command(dds(&tree.root), Meter::Lines(Box::new(copied)), tree),
        }
    }
}

/// `tar` of a directory to standard output.
pub fn tar_argv(root: &Path) -> Vec<OsString> {
    vec!["tar".into(), "cf".into(), "-".into(), "-C".into(), root.as_os_str().to_owned(), ".".into()]
}

/// A shell that does something to all files of a tree, again and again.
fn again(root: &Path, each: &str) -> Vec<OsString> {
    let script = format!("while :; do find \"$1\" -name 'f*' -type f -print0 | xargs -0 -P 4 {each}; done");
    vec!["sh".into(), "-c".into(), script.into(), "sh".into(), root.as_os_str().to_owned()]
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

fn dds(root: &Path) -> Vec<OsString> {
    again(root, "-I{} dd if={} of=/dev/null iflag=direct bs=64k 2>&1")
}

/// A line of dd: `8388608 bytes (8.4 MB, 8.0 MiB) copied, …`; the others are of records.
fn copied(line: &str) -> u64 {
    line.split_once(" bytes ").and_then(|(bytes, _)| bytes.parse().ok()).unwrap_or(0)
}

fn load_args(load: &str, file: &Path, flags: &[&str]) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec![load.into(), "--file".into(), file.as_os_str().to_owned()];
    args.extend(flags.iter().map(OsString::from));
    args
}

fn seconds(value: f64) -> Nanos {
    Nanos(whole(value * 1e9))
}

/// The data files of the fast cases.
#[derive(Clone, Debug)]
pub struct Data {
    /// Read by the foreground.
    pub foreground: PathBuf,
    /// Read by the background.
    pub background: PathBuf,
}

impl Data {
    /// Makes both, or finds them made. Two files, so that no lock of one inode couples what a scheduler cannot part.
    pub fn make(directory: &Path, args: &DiskArgs) -> Result<Self, Error> {
        let data = Self {
            foreground: directory.join("foreground.dat"),
            background: directory.join("background.dat"),
        };
        corpus::data_file(&data.foreground, args.data_size, args.common.seed)?;
        corpus::data_file(&data.background, args.data_size, args.common.seed.wrapping_add(1))?;
        Ok(data)
    }
}

fn fast(name: &str, data: &Data, work: Work, args: &DiskArgs) -> Case {
    Case {
        name: name.to_owned(),
        reader: Reader {
            file: data.foreground.clone(),
            think: THINK,
            exponential: false,
            seed: args.common.seed,
        },
        work,
        window: Window { warmup: seconds(args.warmup), length: seconds(args.common.seconds) },
    }
}

/// 4 threads of 64 KiB random reads.
pub fn parallel(data: &Data, args: &DiskArgs) -> Case {
    let flags = ["--block", "64KiB", "--threads", "4"];
    fast("parallel", data, Work::Load(load_args("disk-random", &data.background, &flags)), args)
}

/// libaio, depth 32.
pub fn libaio(data: &Data, args: &DiskArgs) -> Case {
    let flags = ["--block", "64KiB", "--depth", "32"];
    fast("libaio", data, Work::Load(load_args("disk-aio", &data.background, &flags)), args)
}

/// Checksums of cold files.
pub fn files(data: &Data, tree: Tree, args: &DiskArgs) -> Case {
    fast("files", data, Work::Checksums(tree), args)
}

/// Many short processes.
pub fn short(data: &Data, tree: Tree, args: &DiskArgs) -> Case {
    fast("short", data, Work::Short(tree), args)
}

/// tar of a cold tree.
pub fn sequential(data: &Data, tree: Tree, args: &DiskArgs) -> Case {
    fast("sequential", data, Work::Tar(tree), args)
}

/// Random reads on the slow disk, the foreground busy `percent` of the time when alone.
pub fn slow(device: &Path, percent: u64, args: &DiskArgs) -> Case {
    let think = think::for_intensity(SLOW_SERVICE, percent);
    Case {
        name: format!("slow-{percent}"),
        reader: Reader { file: device.to_owned(), think, exponential: true, seed: args.common.seed },
        work: Work::Load(load_args(
            "disk-random",
            device,
            &["--block", "4KiB", "--threads", "1", "--seed", "99"],
        )),
        window: Window { warmup: seconds(args.warmup), length: seconds(args.slow_seconds) },
    }
}

#[cfg(test)]
mod tests;
