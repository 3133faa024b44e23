//! The foreground: a closed loop of one reader.
//!
//! ```text
//!        ┌──────── read one block ────────┐
//!        │   latency = after - before     ▼
//!      think ◀──────────────────────── record
//!        fixed or exponential, to an absolute time
//! ```
//! Requests issued during the warm-up are served like all others but not counted: they give an automatic controller the
//! time to settle, equally for every contender. A request that was begun before the stop is finished and counted. Its
//! throughput is the foreground's progress: with a think time of 200 µs, a latency that grows by 10 µs costs about 4%.

use std::os::unix::fs::FileExt;

use lull_core::Nanos;

use crate::error::Context;
use crate::load::file::{Buffer, Target};
use crate::load::latency::Recorder;
use crate::load::think::{Spread, Think};
use crate::load::{CommonArgs, LoadLine, LoadReport, PeriodReport, end_after};
use crate::progress::Progress;
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
    let target = Target::open(&common.file, common.block, args.direct)?;
    let progress = common.progress.as_deref().map(Progress::open).transpose()?;
    let mut buffer = Buffer::new(common.block.as_usize())?;
    let mut random = fastrand::Rng::with_seed(common.seed);
    let mut think = Think::new(args.think, args.spread, common.seed.wrapping_add(1));
    let (mut all, mut period) = (Recorder::new(), Recorder::new());
    let mut next_block = 0;

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
        let block = if args.random { random.u64(0..target.blocks) } else { next_block };
        next_block = (block + 1) % target.blocks;
        let before = clock::now();
        target.file.read_exact_at(buffer.bytes(), target.offset(block)).at("read", &common.file)?;
        now = clock::now();
        if !warm {
            requests += 1;
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
        load: "disk-read".to_owned(),
        requests,
        bytes: requests * common.block.0,
        started_ns: begun.as_nanos(),
        ended_ns: ended.as_nanos(),
        seconds: ended.since(begun).as_secs_f64(),
        busy_ns: all.sum().as_nanos(),
        latency: Some(all.summary()),
        ..LoadReport::default()
    })
}

#[cfg(test)]
mod tests;
