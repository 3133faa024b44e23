//! Background: threads that read random blocks, each as fast as the disk answers it.
//!
//! One thread keeps one request in flight, so `--threads` is the depth. O_DIRECT unless `--buffered`.

use std::os::unix::fs::FileExt;
use std::thread;

use crate::Error;
use crate::error::Context;
use crate::load::file::{BlockFile, Buffer};
use crate::load::tally::Tally;
use crate::load::{CommonArgs, LoadReport, joined};

/// Arguments of `load disk-random`.
#[derive(Clone, Debug, clap::Args)]
pub struct RandomArgs {
    /// What every load takes.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Threads, each with one read in flight.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub threads: u64,
    /// Read through the page cache instead of past it.
    #[arg(long)]
    pub buffered: bool,
}

/// Reads until stopped.
pub fn run(args: &RandomArgs) -> Result<LoadReport, Error> {
    let common = &args.common;
    let source = BlockFile::open(&common.file, common.block, !args.buffered)?;
    let tally = Tally::of(common)?;
    let work = |thread: u64| -> Result<(), Error> {
        let mut buffer = Buffer::new(common.block.as_usize())?;
        let mut random = fastrand::Rng::with_seed(common.seed.wrapping_mul(1_000).wrapping_add(thread));
        while tally.goes_on() {
            let offset = source.offset(random.u64(0..source.blocks));
            source.file.read_exact_at(buffer.bytes(), offset).at("read", &common.file)?;
            tally.add(common.block.0);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..args.threads.max(1)).map(|index| scope.spawn(move || work(index))).collect();
        threads.into_iter().try_for_each(|thread| joined(thread.join()))
    })?;
    Ok(tally.report("disk-random"))
}

#[cfg(test)]
mod tests;
