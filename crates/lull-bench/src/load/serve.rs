//! Foreground: an open-loop request server.
//!
//! ```text
//!  generator: sleep until the next arrival ──▶ pipe ──▶ server: wait, work, record
//!             (absolute time, slack 1 ns)                latency = end of work - scheduled arrival
//! ```
//! Two threads with a pipe between them, so that every request has a real wake-up, as in a server. Latency
//! counts from the *scheduled* arrival: what the generator lost by being preempted, what the request waited
//! in the pipe, and what the work itself took. Arrivals are those of [`arrivals`](crate::load::arrivals), the
//! work is that of [`request`](crate::load::request).
//!
//! Arrivals during the warm-up are served but not counted. At the end of the window the server goes on with
//! what is in the pipe, for at most [`DRAIN`]; a request that is not begun by then counts with its age, which
//! is less than its latency would have been, and is told as unfinished.

use std::fs::File;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use lull_core::Nanos;
use nix::fcntl::{FcntlArg, fcntl};

use crate::error::Context;
use crate::load::arms::{Arms, Served};
use crate::load::arrivals::{Arrivals, gap_for_load};
use crate::load::request::{RandomReads, calibrate};
use crate::load::think::Spread;
use crate::load::{BeatArgs, LoadReport, ShiftArgs, joined, own_cpu_ns};
use crate::units::Bytes;
use crate::{Error, clock, stop};

/// How long the server goes on with its backlog after the last arrival.
pub const DRAIN: Nanos = Nanos::from_secs(5);
/// Time for the threads to start before the first arrival.
const START: Nanos = Nanos::from_millis(20);
/// Room for arrivals that wait, in bytes.
const PIPE: i32 = 1 << 20;

/// Arguments of `load cpu-serve`.
#[derive(Clone, Debug, clap::Args)]
pub struct ServeArgs {
    /// When it counts and how it reports.
    #[command(flatten)]
    pub shift: ShiftArgs,
    /// Whether it counts by beats.
    #[command(flatten)]
    pub beats: BeatArgs,
    /// Share of one CPU that the requests take when nothing disturbs them, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub load: u64,
    /// Processor time of a request when nothing disturbs it.
    #[arg(long, value_name = "TIME", default_value = "800us")]
    pub service: Nanos,
    /// Random reads per request [default: as many as take the time of --service now].
    #[arg(long, value_name = "N")]
    pub reads: Option<u64>,
    /// Memory that the requests read.
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    pub buffer: Bytes,
    /// How the gaps between arrivals vary; exponential gaps make Poisson arrivals.
    #[arg(long, value_name = "SPREAD", value_enum, default_value_t = Spread::Exponential)]
    pub spread: Spread,
    /// Seed of the arrivals.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// Serves until stopped.
pub fn run(args: &ServeArgs) -> Result<LoadReport, Error> {
    let reads = match args.reads {
        Some(reads) => reads,
        None => calibrate(args.service, args.buffer)?,
    };
    // Threads inherit the slack of the thread that starts them.
    clock::sharp_timers()?;
    let (reading, writing) = nix::unistd::pipe().to("make a pipe")?;
    // The default size works too; a longer queue keeps the generator from waiting under overload.
    let _ = fcntl(&writing, FcntlArg::F_SETPIPE_SZ(PIPE));
    let work = RandomReads::new(args.buffer, args.seed)?;
    let start = clock::now().plus(START);
    let begun = start.plus(args.shift.warmup);
    let end = args.shift.end(begun);
    let arrivals =
        Arrivals::new([start, begun], gap_for_load(args.service, args.load), args.spread, args.seed);
    let give_up = AtomicU64::new(Nanos::MAX.as_nanos());
    let (generated, served) = thread::scope(|scope| {
        let server =
            scope.spawn(|| serve(File::from(reading), work, reads, begun, &give_up, args.beats.arms()));
        let generated = generate(File::from(writing), arrivals, end, &give_up);
        (generated, server.join())
    });
    let ended = generated?.max(begun);
    let served = joined(served)?;
    Ok(LoadReport { cpu_ns: own_cpu_ns(), ..served.report("cpu-serve", begun, ended) })
}

/// Sends every arrival at its time; returns when the window ended. Dropping the pipe tells the server.
fn generate(
    mut pipe: File,
    arrivals: Arrivals,
    end: Option<Nanos>,
    give_up: &AtomicU64,
) -> Result<Nanos, Error> {
    let mut ended = clock::now();
    for arrival in arrivals {
        ended = clock::wait_until(end.map_or(arrival, |end| arrival.min(end)));
        if stop::requested() {
            break;
        }
        if let Some(end) = end.filter(|end| arrival >= *end) {
            ended = end;
            break;
        }
        pipe.write_all(&arrival.as_nanos().to_ne_bytes()).to("hand a request to the server")?;
    }
    give_up.store(clock::now().plus(DRAIN).as_nanos(), Ordering::Relaxed);
    Ok(ended)
}

fn serve(
    mut pipe: File,
    mut work: RandomReads,
    reads: u64,
    begun: Nanos,
    give_up: &AtomicU64,
    mut arms: Arms,
) -> Result<Arms, Error> {
    let mut message = [0; size_of::<u64>()];
    loop {
        match pipe.read_exact(&mut message) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(arms),
            Err(error) => return Err(error).to("take a request"),
        }
        let arrival = Nanos(u64::from_ne_bytes(message));
        let from = clock::now();
        let late = from.as_nanos() >= give_up.load(Ordering::Relaxed);
        if !late {
            work.run(reads);
        }
        let to = if late { from } else { clock::now() };
        if arrival >= begun {
            arms.record(&Served { arrival, from, to, given_up: late });
        }
    }
}

#[cfg(test)]
mod tests;
