//! Both sides of the memory cases: a process with a working set, as a simulation or a compiler has.
//!
//! ```text
//!   fill every page ──ready──▶ ┌─ touch some random pages, compute ─┐
//!                              └───── latency, one request ◀────────┘
//! ```
//! A page that was taken away comes back by a fault, which the request that touches it pays for: so the rate
//! of requests tells how long the process would take for a fixed amount of work. Pages hold random bytes, and
//! each touch writes to its page, so that pages which go must be written first. With `fill_only` a piece of
//! filling is the request, and the process ends when the set is full: the time in which a new process gets
//! its memory. With `rest` it pauses after every request, from the start or from a given time on, as a
//! process does that waits for a disk: it then uses little of the CPU and of its pages.
//!
//! Units: pages of the kernel; progress is counted in bytes of pages touched.

use std::hint::black_box;

use lull_core::Nanos;
use memmap2::MmapMut;

use crate::error::Context;
use crate::load::hog::Chain;
use crate::load::latency::Recorder;
use crate::load::{LoadLine, LoadReport, ShiftArgs, end_after, own_cpu_ns};
use crate::progress::Progress;
use crate::units::Bytes;
use crate::{Error, clock, stop};

/// Bytes of a page; a larger page of the kernel is touched more than once.
const PAGE: usize = 4096;
/// Pages of one piece of filling: 1 MiB.
const PIECE: usize = 256;

/// Arguments of `load mem-work`.
#[derive(Clone, Debug, clap::Args)]
pub struct WorkingSetArgs {
    /// When it counts and how it reports.
    #[command(flatten)]
    pub shift: ShiftArgs,
    /// The working set.
    #[arg(long, value_name = "SIZE", default_value = "128MiB")]
    pub memory: Bytes,
    /// Pages that a request touches.
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub touches: u64,
    /// Iterations of integer work in a request: some nanoseconds each.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub iterations: u64,
    /// Stop after this many requests [default: no limit].
    #[arg(long, value_name = "N")]
    pub requests: Option<u64>,
    /// Seed of contents and positions.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Say when the set is full, and count from then on.
    #[arg(long)]
    pub ready: bool,
    /// Only fill the set, and report how long its pieces of 1 MiB took.
    #[arg(long)]
    pub fill_only: bool,
    /// Pause this long after every request.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub rest: Nanos,
    /// … but only from this many seconds after the start on.
    #[arg(long, value_name = "SECONDS", default_value = "0")]
    pub rest_after: f64,
    /// Count bytes of touched pages into this mapped file as they are touched, from when the set is full.
    #[arg(long, value_name = "FILE")]
    pub progress: Option<std::path::PathBuf>,
    /// Count the filling into it too.
    #[arg(long)]
    pub count_fill: bool,
}

/// Works until stopped; `emit` is told when the set is full, if that was asked for.
pub fn run(
    args: &WorkingSetArgs,
    emit: &mut dyn FnMut(LoadLine) -> Result<(), Error>,
) -> Result<LoadReport, Error> {
    let progress = args.progress.as_deref().map(Progress::open).transpose()?;
    let count = |pages: usize| {
        if let Some(progress) = &progress {
            progress.add((pages * PAGE) as u64);
        }
    };
    let pages = args.memory.as_usize() / PAGE;
    if pages == 0 {
        return Err(Error::Argument {
            argument: format!("--memory {}", args.memory),
            problem: format!("it must hold at least {PAGE} bytes"),
        });
    }
    let started = clock::now();
    let mut begun = started.plus(args.shift.warmup);
    let mut all = Recorder::new();
    let mut random = fastrand::Rng::with_seed(args.seed);
    // Not zeroed beforehand: a page is there once a piece has filled it.
    let mut set = MmapMut::map_anon(pages * PAGE).to("reserve the working set")?;
    for piece in set.chunks_mut(PIECE * PAGE) {
        if stop::requested() {
            break;
        }
        let before = clock::now();
        random.fill(piece);
        if args.fill_only {
            all.record(clock::now().since(before));
        }
        if args.count_fill {
            count(piece.len() / PAGE);
        }
    }
    if args.ready {
        begun = clock::now().plus(args.shift.warmup);
        emit(LoadLine::Ready)?;
    }
    let mut now = clock::now();
    let end = end_after(begun, args.shift.seconds).unwrap_or(Nanos::MAX);
    let rest_from = end_after(started, Some(args.rest_after)).unwrap_or(started);
    let mut chain = Chain(args.seed);
    let mut left = if args.fill_only { 0 } else { args.requests.unwrap_or(u64::MAX) };
    while left > 0 && now < end && !stop::requested() {
        left -= 1;
        let before = now;
        for _ in 0..args.touches {
            let page = random.usize(0..pages);
            if let Some(byte) = set.get_mut(page * PAGE) {
                *byte = black_box(byte.wrapping_add(1));
            }
        }
        chain.run(args.iterations);
        now = clock::now();
        if before >= begun {
            all.record(now.since(before));
        }
        count(usize::try_from(args.touches).unwrap_or(usize::MAX));
        if args.rest > Nanos::ZERO && now >= rest_from {
            now = clock::wait_until(now.plus(args.rest).min(end));
        }
    }
    let begun = if args.fill_only { started } else { begun };
    let ended = now.max(begun);
    let bytes_each = if args.fill_only { (PIECE * PAGE) as u64 } else { args.touches * PAGE as u64 };
    Ok(LoadReport {
        bytes: all.count() * bytes_each,
        cpu_ns: own_cpu_ns(),
        ..LoadReport::timed("mem-work", &all, [begun, ended])
    })
}

#[cfg(test)]
mod tests;
