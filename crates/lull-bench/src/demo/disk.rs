//! The first act: a reader that waits for the disk beside checksums of cold files.
//!
//! The foreground reads 4 KiB at random, past the page cache, with 200 µs between requests. The background is
//! an ordinary command line; cksum, because it waits for the disk rather than the processor. Each line of its
//! output is one finished file: the demo counts its bytes and drops its pages from the cache at once, so that
//! every pass reads the disk.

use std::path::{Path, PathBuf};

use lull_core::Nanos;

use super::act::{Act, SEED};
use crate::contender::Contender;
use crate::corpus::{self, Sizes};
use crate::experiment::disk::{FILE, checksums, finished_file};
use crate::experiment::trial::{Foreground, Job};
use crate::process::{Program, shown};
use crate::units::{Bytes, mb_per_s};
use crate::{Error, clock};

/// What the foreground reads in.
const AREA: Bytes = Bytes(512 * Bytes::MIB);
/// The job's files are made in pieces of this size, for so long at most: a slow disk gets fewer.
const PIECE: Bytes = Bytes(128 * Bytes::MIB);
const MAKING: Nanos = Nanos::from_secs(20);
const THINK: Nanos = Nanos::from_micros(200);

/// The act with its files.
pub(super) struct Reading {
    file: PathBuf,
    /// Directory of what the job reads.
    files: PathBuf,
}

impl Reading {
    /// Makes the files.
    pub(super) fn prepare(data: &Path, size: Bytes) -> Result<Self, Error> {
        println!("making {} of files in {}", Bytes(size.0 + AREA.0), data.display());
        let file = data.join("reader.dat");
        corpus::data_file(&file, AREA, SEED)?;
        let files = data.join("tree");
        let end = clock::now().plus(MAKING);
        let made = make(&files, size, &|| clock::now() < end)?;
        if made < size {
            println!("the disk is slow: the background has {made} to read");
        }
        Ok(Self { file, files })
    }
}

impl Act for Reading {
    fn title(&self) -> &'static str {
        "a 4 KiB random reader beside cksum of cold files"
    }

    fn about(&self) -> [String; 2] {
        [
            format!("4 KiB random reads of {}, {THINK} between them", self.file.display()),
            shown(&checksums(&self.files)),
        ]
    }

    fn rivals(&self) -> [Contender; 2] {
        [Contender::Unmanaged, Contender::NiceIonice]
    }

    fn warmup(&self) -> Nanos {
        Nanos::from_millis(500)
    }

    fn foreground(&self, _round: u32) -> Foreground {
        Foreground::reader(&self.file, THINK, false, SEED)
    }

    fn job(&self, _program: &Program) -> Result<Job, Error> {
        Ok(Job::of_lines(checksums(&self.files), finished_file))
    }

    fn speed(&self, per_s: f64) -> String {
        format!("{:.0} MB/s", mb_per_s(per_s))
    }
}

/// Makes the job's files, as long as there is time, and makes them cold. Returns how much that is: one piece
/// at least.
fn make(root: &Path, size: Bytes, is_time: &dyn Fn() -> bool) -> Result<Bytes, Error> {
    let (mut made, mut piece) = (Bytes(0), 0);
    while piece == 0 || (made < size && is_time()) {
        let wanted = Bytes(PIECE.0.min(size.0 - made.0));
        let seed = SEED + 1 + piece;
        let tree = corpus::tree(&root.join(piece.to_string()), wanted, Sizes::Equal(FILE.min(wanted)), seed)?;
        corpus::chill(&tree)?;
        (made, piece) = (Bytes(made.0 + tree.bytes().0.min(wanted.0)), piece + 1);
    }
    Ok(made)
}

#[cfg(test)]
mod tests;
