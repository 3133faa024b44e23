//! Background: one buffered sequential reader, as a copy or a checksum is, always cold.
//!
//! The page cache reads ahead for it. What it has passed is dropped ([`DROP_BEHIND`] at a time), so that the
//! next pass comes from the disk again and other files keep their pages. With `keep` nothing is dropped.

use std::os::unix::fs::FileExt;

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};

use crate::Error;
use crate::error::Context;
use crate::load::file::{BlockFile, Buffer};
use crate::load::tally::Tally;
use crate::load::{CommonArgs, LoadReport};
use crate::units::Bytes;

/// How many bytes are left in the page cache before they are dropped.
pub const DROP_BEHIND: u64 = 8 * Bytes::MIB;

/// Arguments of `load disk-stream`.
#[derive(Clone, Debug, clap::Args)]
pub struct StreamArgs {
    /// What every load takes; the seed has no effect.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Leave the pages in the page cache, as most programs do.
    #[arg(long)]
    pub keep: bool,
}

/// Reads until stopped, from the start again after the end.
pub fn run(args: &StreamArgs) -> Result<LoadReport, Error> {
    let common = &args.common;
    let source = BlockFile::open(&common.file, common.block, false)?;
    let mut buffer = Buffer::new(common.block.as_usize())?;
    let tally = Tally::of(common)?;
    let (mut block, mut dropped) = (0, 0);
    while tally.goes_on() {
        let offset = source.offset(block);
        source.file.read_exact_at(buffer.bytes(), offset).at("read", &common.file)?;
        tally.add(common.block.0);
        block = (block + 1) % source.blocks;
        let passed = offset + common.block.0;
        if args.keep {
            continue;
        }
        if passed - dropped >= DROP_BEHIND || block == 0 {
            let length = if block == 0 { 0 } else { passed - dropped };
            let [from, length] = [dropped, length].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
            posix_fadvise(&source.file, from, length, PosixFadviseAdvice::POSIX_FADV_DONTNEED)
                .at("drop cached pages of", &common.file)?;
            dropped = if block == 0 { 0 } else { passed };
        }
    }
    Ok(tally.report("disk-stream"))
}
