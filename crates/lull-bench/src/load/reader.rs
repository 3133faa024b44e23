//! The foreground: a closed loop of one reader.
//!
//! ```text
//!        ┌──────── read one block ────────┐
//!        │   latency = after - before     ▼
//!      think ◀──────────────────────── record
//!        fixed or exponential, to an absolute time
//! ```
//! Requests issued during the warm-up are served like all others but not counted: they give an automatic
//! controller the time to settle, equally for every contender. A request that was begun before the stop is
//! finished and counted. Its throughput is the foreground's progress: with a think time of 200 µs, a latency
//! that grows by 10 µs costs about 4%.

use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use lull_core::Nanos;

use crate::error::Context;
use crate::load::file::{BlockFile, Buffer};
use crate::load::latency::Recorder;
use crate::load::think::{Spread, Think};
use crate::load::{CommonArgs, LoadLine, LoadReport, PeriodReport, end_after};
use crate::progress::Progress;
use crate::units::Bytes;
use crate::{Error, clock, stop};

/// Arguments of `load disk-read`.
#[derive(Clone, Debug, clap::Args)]
pub struct ReaderArgs {
    /// What every load takes.
    #[command(flatten)]
    pub common: CommonArgs,
    /// Mean think time between two requests.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub think: Nanos,
    /// How think times vary.
    #[arg(long, value_name = "SPREAD", value_enum, default_value_t = Spread::Fixed)]
    pub spread: Spread,
    /// Read random blocks instead of one after the other.
    #[arg(long)]
    pub random: bool,
    /// Read past the page cache (O_DIRECT).
    #[arg(long)]
    pub direct: bool,
    /// Read the whole file into the page cache first, say so, and count which reads find their data there.
    #[arg(long, conflicts_with = "direct")]
    pub hot: bool,
    /// Time at the start that is not counted.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub warmup: Nanos,
    /// Print a line about every period of this length as well.
    #[arg(long, value_name = "TIME")]
    pub every: Option<Nanos>,
}

/// Reads until stopped; `emit` receives a line per period.
pub fn run(
    args: &ReaderArgs,
    emit: &mut dyn FnMut(LoadLine) -> Result<(), Error>,
) -> Result<LoadReport, Error> {
    let common = &args.common;
    clock::sharp_timers()?;
    let source = BlockFile::open(&common.file, common.block, args.direct)?;
    let progress = common.progress.as_deref().map(Progress::open).transpose()?;
    let mut buffer = Buffer::new(common.block.as_usize())?;
    let mut random = fastrand::Rng::with_seed(common.seed);
    let mut think = Think::new(args.think, args.spread, common.seed.wrapping_add(1));
    let (mut all, mut period) = (Recorder::new(), Recorder::new());
    let mut next_block = 0;

    if args.hot {
        bring_in(&source, common)?;
        emit(LoadLine::Ready)?;
    }
    let mut misses = args.hot.then_some(0);
    let mut now = clock::now();
    let mut begun = now.plus(args.warmup);
    let end = end_after(begun, common.seconds);
    let mut period_end = args.every.map(|length| begun.plus(length));
    let mut warm = args.warmup > Nanos::ZERO;
    let mut requests = 0;
    while !stop::requested()
        && end.is_none_or(|end| now < end)
        && common.requests.is_none_or(|most| requests < most)
    {
        if warm && now >= begun {
            begun = now;
            warm = false;
        }
        let block = if args.random { random.u64(0..source.blocks) } else { next_block };
        next_block = (block + 1) % source.blocks;
        let before = clock::now();
        let hit = args.hot && is_cached(&source, block, &mut buffer);
        if !hit {
            source.file.read_exact_at(buffer.bytes(), source.offset(block)).at("read", &common.file)?;
        }
        now = clock::now();
        if !warm {
            requests += 1;
            misses = misses.map(|misses| misses + u64::from(!hit));
            all.record(now.since(before));
            period.record(now.since(before));
        }
        if let Some(progress) = &progress {
            progress.add(common.block.0);
        }
        if let (Some(due), Some(length)) = (period_end, args.every)
            && now >= due
        {
            if period.count() > 0 {
                let (requests, latency) = (period.count(), period.summary());
                emit(LoadLine::Period(PeriodReport { ended_ns: now.as_nanos(), requests, latency }))?;
                period.clear();
            }
            period_end = Some(now.plus(length));
        }
        let span = think.next_span();
        if span > Nanos::ZERO {
            let wake = now.plus(span).min(end.unwrap_or(Nanos::MAX));
            clock::sleep_until(wake);
            now = clock::now();
        }
    }
    // Stopped before the warm-up was over: nothing was counted, and the window is empty rather than negative.
    let ended = now.max(begun);
    Ok(LoadReport {
        requests,
        bytes: requests * common.block.0,
        misses,
        ..LoadReport::timed("disk-read", &all, [begun, ended])
    })
}

/// Reads all of the file, twice: a page that is used again is not the first to be taken.
fn bring_in(source: &BlockFile, common: &CommonArgs) -> Result<(), Error> {
    let mut piece = Buffer::new(Bytes(Bytes::MIB).as_usize())?;
    let end = source.offset(source.blocks);
    for _ in 0..2 {
        let mut offset = 0;
        while offset < end && !stop::requested() {
            let count = source.file.read_at(piece.bytes(), offset).at("read", &common.file)?;
            offset += count.max(1) as u64;
        }
    }
    Ok(())
}

/// Reads a block if all of it is in the page cache (preadv2(2), RWF_NOWAIT).
fn is_cached(source: &BlockFile, block: u64, buffer: &mut Buffer) -> bool {
    let bytes = buffer.bytes();
    let wanted = bytes.len();
    let vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: wanted };
    let offset = i64::try_from(source.offset(block)).unwrap_or(i64::MAX);
    // SAFETY: one vector, of a buffer that lives across the call.
    let count =
        unsafe { libc::preadv2(source.file.as_raw_fd(), &raw const vector, 1, offset, libc::RWF_NOWAIT) };
    usize::try_from(count) == Ok(wanted)
}

#[cfg(test)]
mod tests;
