//! The background jobs: shell loops around what people run.
//!
//! Each instance does its work over and over, and says on its standard output how much is done
//! ([`counted_by`]): how many bytes are packed, copied or summed, or, of what can be compared with its own
//! kind only, lines of make. The harness counts. No job sends it files: reading those, at the harness's own
//! priority, would be work that no contender controls.
//!
//! ```text
//!  sh ─┬─ instance 1: while :; do WORK; done
//!      ├─ instance 2: …
//!      └─ waits for the end of its input, which is that of the harness; then ends them all
//! ```
//! Those that read files have a tree of their own for each instance, and drop its pages from the page cache
//! after each pass, as a tree larger than memory would. With one tree for all, an instance would find what
//! another has just read, or take from the cache what another is reading.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::args::AppJob;
use crate::error::Context;
use crate::experiment::cpu::case::Hogs;
use crate::experiment::trial::{Job, Meter};
use crate::load::hog::HogKind;
use crate::process::{Program, shown};
use crate::units::Bytes;
use crate::{Error, corpus};

/// C files of the project that is compiled, and functions in each: small ones, so that lines of make tell the
/// progress within seconds.
const UNITS: (u32, u32) = (160, 6);
/// What bzip2 compresses.
const FILE: Bytes = Bytes(8 * Bytes::MIB);
/// What a flood writes again and again, in one file each, piece by piece: each piece is on the disk before it
/// counts, and the same one is not written again before the others, as it would never get there otherwise.
const FLOOD: Bytes = Bytes(FLOOD_PIECES * FLOOD_PIECE.0);
const FLOOD_PIECES: u64 = 128;
/// Small enough that a job that is held for most of the time still finishes some within a few seconds.
const FLOOD_PIECE: Bytes = Bytes(4 * Bytes::MIB);
/// Every file of a tree: small enough for many files and steady progress.
const TREE_FILE: Bytes = Bytes(256 * Bytes::KIB);
/// What tar says after each MiB of its archive (records of 64 KiB, 16 of them).
const TAR_SAYS: &str = "--record-size=64K --checkpoint=16 --checkpoint-action='echo=1 MiB'";
/// What rsync says of each file: what is done to it, its size, and what was sent. Without the last it would
/// say so before the file is sent.
const RSYNC_SAYS: &str = "--out-format='%i %l %b' --outbuf=L";
/// Memory of each hog.
const HOG: Bytes = Bytes(256 * Bytes::MIB);

/// Where the jobs find and leave things.
#[derive(Clone, Debug)]
pub struct Places {
    /// The trees that are read: `trees/1` by the first instance, and so on.
    pub trees: Vec<corpus::Tree>,
    /// The directory that holds them.
    pub forest: PathBuf,
    /// A C project, not compiled.
    pub project: PathBuf,
    /// A file.
    pub file: PathBuf,
    /// Where jobs write; emptied before and after each run.
    pub scratch: PathBuf,
}

impl Places {
    /// Makes what is not there yet in `directory`, so many trees among it.
    ///
    /// # Errors
    /// When the disk has no room for the trees, or something cannot be made.
    pub fn make(directory: &Path, trees: u32, tree_size: Bytes, seed: u64) -> Result<Self, Error> {
        let sizes = corpus::Sizes::Equal(TREE_FILE);
        let forest = directory.join("trees");
        let root = |number: u32| forest.join(number.to_string());
        let missing = (1..=trees).filter(|number| !root(*number).exists()).count() as u64;
        if let Some(detail) = short_of(directory, Bytes(tree_size.0.saturating_mul(missing))) {
            let detail = format!("{detail}; a smaller --tree-size or fewer --instances need less");
            return Err(Error::Unmet { what: format!("room for {missing} trees of {tree_size}"), detail });
        }
        let plant =
            |number| corpus::tree(&root(number), tree_size, sizes, seed.wrapping_add(u64::from(number)));
        let places = Self {
            trees: (1..=trees).map(plant).collect::<Result<_, _>>()?,
            forest,
            project: directory.join("source"),
            file: directory.join("file"),
            scratch: directory.join("scratch"),
        };
        corpus::project(&places.project, UNITS.0, UNITS.1)?;
        corpus::data_file(&places.file, FILE, seed)?;
        Ok(places)
    }

    /// Makes what so many instances read cold. Returns the share of it that stayed cached.
    ///
    /// # Errors
    /// When a file is gone, or after an interruption.
    pub fn chill(&self, work: AppJob, instances: u32) -> Result<f64, Error> {
        let mut cached = 0.0_f64;
        if work.reads_tree() {
            for (tree, _) in self.trees.iter().zip(0..instances) {
                cached = cached.max(corpus::chill(tree)?);
            }
        }
        Ok(cached)
    }

    /// Empties the place where jobs write.
    ///
    /// # Errors
    /// When something in it cannot be removed, or it cannot be made.
    pub fn clear(&self) -> Result<(), Error> {
        corpus::remove(&self.scratch)?;
        std::fs::create_dir_all(&self.scratch).at("make", &self.scratch)
    }

    fn quoted(path: &Path) -> String {
        shown(&[path.into()])
    }
}

/// Why a program here cannot do what the job asks of it; none if it can, or is not there at all.
pub fn lacks_option(work: AppJob) -> Option<String> {
    if work != AppJob::Rsync {
        return None;
    }
    let help = Command::new("rsync").arg("--help").stdin(Stdio::null()).output().ok()?;
    let knows = String::from_utf8_lossy(&help.stdout).contains("--fsync");
    (!knows).then(|| "this rsync has no --fsync, so its copies need not reach the disk".to_owned())
}

/// Why the disk is too small for what the job writes there; none if it is not.
pub fn lacks_room(work: AppJob, instances: u32, tree_size: Bytes, scratch: &Path) -> Option<String> {
    let each = match work {
        AppJob::Rsync => tree_size.0,
        AppJob::Flood => FLOOD.0,
        _ => return None,
    };
    short_of(scratch.parent().unwrap_or(scratch), Bytes(each.saturating_mul(u64::from(instances))))
}

/// What a place lacks to take so much; none if it can.
fn short_of(place: &Path, wanted: Bytes) -> Option<String> {
    // A tenth more, as a file system gets slow when it is nearly full.
    let needed = Bytes(wanted.0.saturating_mul(11) / 10);
    let room = nix::sys::statvfs::statvfs(place).ok()?;
    let free = Bytes(room.blocks_available().saturating_mul(room.fragment_size()));
    (free.0 < needed.0).then(|| format!("{} has {free} free; {needed} are needed", place.display()))
}

/// The instances of a job, without control. The foreground begins beside them at once.
pub fn prepare(work: AppJob, instances: u32, places: &Places, program: &Program) -> Result<Job, Error> {
    if work == AppJob::Memory {
        let hogs = Hogs { kind: HogKind::Memory, count: u64::from(instances), memory: HOG };
        return Ok(Job { at_once: true, ..hogs.job(program)? });
    }
    let body = body(work, places, program);
    let argv = ["sh", "-c", &script(&body, instances)].map(OsString::from).to_vec();
    let meter = match work {
        AppJob::Tar | AppJob::Flood => Meter::Lines(Box::new(mebibytes)),
        AppJob::Rsync => Meter::Lines(Box::new(copied)),
        AppJob::Checksum => Meter::Lines(Box::new(|_| TREE_FILE.0)),
        AppJob::Compile | AppJob::Bzip2 | AppJob::Memory => Meter::Output,
    };
    Ok(Job { leash: true, at_once: true, ..Job::of(argv, meter) })
}

/// What stands for a job's work in the records.
pub const fn counted_by(work: AppJob) -> &'static str {
    match work {
        AppJob::Tar => "the bytes that tar has packed, by the MiB",
        AppJob::Rsync => "the bytes of the files that rsync has copied",
        AppJob::Checksum => "the bytes of the files whose digests are printed",
        AppJob::Compile => "the bytes of the lines that make prints, one for each file",
        AppJob::Bzip2 => "the bytes that bzip2 has written",
        AppJob::Memory => "the bytes of memory that it has gone through",
        AppJob::Flood => "the bytes that have reached the disk, by 4 MiB",
    }
}

/// What a line that ends in `N MiB` stands for; 0 for any other.
fn mebibytes(line: &str) -> u64 {
    let mut words = line.split_whitespace().rev();
    let count = words.next().filter(|unit| *unit == "MiB").and_then(|_| words.next()?.parse::<u64>().ok());
    count.unwrap_or(0).saturating_mul(Bytes::MIB)
}

/// The size of the file that a line of rsync ([`RSYNC_SAYS`]) is about; 0 for directories, links and any
/// other line.
fn copied(line: &str) -> u64 {
    let size = line.strip_prefix(">f").and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
    size.unwrap_or(0)
}

/// A shell that runs `body` over and over, so many times at once, until its input ends. A body that fails is
/// tried again, but not without a pause.
pub(in crate::experiment) fn script(body: &str, instances: u32) -> String {
    format!(
        "i=0; while [ $i -lt {instances} ]; do i=$((i+1)); \
         ( while :; do {{ {body}; }} || sleep 1; done ) & done; cat > /dev/null; kill 0"
    )
}

/// One pass of instance `$i`.
fn body(work: AppJob, places: &Places, program: &Program) -> String {
    let [forest, project, file, scratch] =
        [&places.forest, &places.project, &places.file, &places.scratch].map(|path| Places::quoted(path));
    let tree = format!("{forest}/$i");
    let forget = format!("{} {tree}", shown(&program.load_argv(["forget"])));
    match work {
        AppJob::Tar => format!(
            "{{ tar -C {tree} {TAR_SAYS} -cf - . 2>&3 | zstd -q -1 -c > /dev/null; }} 3>&1 && {forget}"
        ),
        AppJob::Rsync => format!(
            "rsync -a --whole-file --fsync {RSYNC_SAYS} {tree}/ {scratch}/$i/ && rm -rf {scratch}/$i && {forget}"
        ),
        AppJob::Checksum => {
            // Not the tree's own stamp, which is beside the directories.
            format!("find {tree} -mindepth 2 -type f -print0 | xargs -0 -n 4 sha256sum && {forget}")
        }
        AppJob::Compile => format!(
            "mkdir -p {scratch}/$i && cp {project}/* {scratch}/$i/ && make -C {scratch}/$i -j2 && make -s -C {scratch}/$i clean"
        ),
        AppJob::Bzip2 => format!("bzip2 -c {file}"),
        AppJob::Flood => {
            let count = FLOOD_PIECE.0 / Bytes::MIB;
            format!(
                "flood_piece=$(( (${{flood_piece:-0}} + 1) % {FLOOD_PIECES} )); \
                 dd if=/dev/zero of={scratch}/$i.dat bs=1M count={count} seek=$(( flood_piece * {count} )) \
                 conv=notrunc,fsync 2> /dev/null && echo {count} MiB"
            )
        }
        AppJob::Memory => String::new(),
    }
}

#[cfg(test)]
mod tests;
