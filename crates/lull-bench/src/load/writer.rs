//! Writing through the page cache: a log as a database keeps it (foreground), and a large copy (background).
//!
//! ```text
//!   log:   append a block ── fsync ── think ──┐       latency: from before the write to after the fsync
//!            ▲                                │
//!            └────────────────────────────────┘
//!   copy:  write blocks to the end of the file, then from its beginning again; never fsync, unless asked at the end
//! ```
//! The log grows: each fsync commits the file system's journal too, which waits for whatever else is in the
//! same transaction. Both begin with an empty file and leave it behind: whoever made the place removes it.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;

use lull_core::Nanos;

use crate::error::Context;
use crate::load::latency::Recorder;
use crate::load::tally::Tally;
use crate::load::{CommonArgs, LoadReport, end_after};
use crate::units::Bytes;
use crate::{Error, clock, stop};

/// Arguments of `load disk-log`.
#[derive(Clone, Debug, clap::Args)]
pub struct LogArgs {
    /// What every load takes; the seed has no effect.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Think time between two requests.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub think: Nanos,
    /// Time at the start that is not counted.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub warmup: Nanos,
}

/// Arguments of `load disk-write`.
#[derive(Clone, Debug, clap::Args)]
pub struct WriteArgs {
    /// What every load takes; the seed has no effect.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Length of the file; beyond it writing begins at its start again.
    #[arg(long, value_name = "SIZE", default_value = "4GiB")]
    pub size: Bytes,
    /// Call fsync at the end.
    #[arg(long)]
    pub sync: bool,
}

fn create(common: &CommonArgs) -> Result<(File, Vec<u8>), Error> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(&common.file);
    let mut block = vec![0; common.block.as_usize()];
    fastrand::Rng::with_seed(common.seed).fill(&mut block);
    Ok((file.at("create", &common.file)?, block))
}

/// Appends until stopped.
pub fn log(args: &LogArgs) -> Result<LoadReport, Error> {
    let common = &args.common;
    clock::sharp_timers()?;
    let (mut file, block) = create(common)?;
    let mut all = Recorder::new();
    let mut now = clock::now();
    let begun = now.plus(args.warmup);
    let end = end_after(begun, common.seconds).unwrap_or(Nanos::MAX);
    let mut left = common.requests.unwrap_or(u64::MAX);
    while left > 0 && now < end && !stop::requested() {
        left -= 1;
        let before = clock::now();
        file.write_all(&block).at("append to", &common.file)?;
        file.sync_all().at("write to the disk", &common.file)?;
        now = clock::now();
        if before >= begun {
            all.record(now.since(before));
        }
        if args.think > Nanos::ZERO {
            clock::sleep_until(now.plus(args.think).min(end));
            now = clock::now();
        }
    }
    let ended = now.max(begun);
    Ok(LoadReport {
        bytes: all.count() * common.block.0,
        ..LoadReport::timed("disk-log", &all, [begun, ended])
    })
}

/// Writes until stopped.
pub fn write(args: &WriteArgs) -> Result<LoadReport, Error> {
    let common = &args.common;
    let (file, block) = create(common)?;
    let blocks = (args.size.0 / common.block.0.max(1)).max(1);
    let tally = Tally::of(common)?;
    let mut places = (0..blocks).cycle();
    while tally.goes_on() {
        let place = places.next().unwrap_or(0);
        file.write_all_at(&block, place * common.block.0).at("write", &common.file)?;
        tally.add(common.block.0);
    }
    if args.sync {
        file.sync_all().at("write to the disk", &common.file)?;
    }
    Ok(tally.report("disk-write"))
}

#[cfg(test)]
mod tests;
