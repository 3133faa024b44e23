//! Background and never-sleeping foreground: threads that compute without end.
//!
//! | kind | what a thread does | what is counted |
//! |---|---|---|
//! | memory | adds one to every word of a large buffer, front to back, over and over | bytes passed, by the megabyte |
//! | integer | a chain of multiplications in registers | iterations, by the million |
//!
//! A memory hog reads and writes every cache line: it takes the memory bus and the shared cache from everyone
//! on any CPU. An integer hog takes nothing but its CPU. Both count into the progress file piece by piece
//! ([`PIECE`]), so the count is right at any time, also while they are frozen or after they were killed.
//!
//! As a foreground that never sleeps ([`spin`]) a piece is a request: its latency is the time that the piece
//! took.

use std::hint::black_box;
use std::io::Read;
use std::thread;

use lull_core::Nanos;

use crate::load::arms::{Arms, Served};
use crate::load::tally::Tally;
use crate::load::{BeatArgs, LoadReport, ShiftArgs, joined, own_cpu_ns};
use crate::units::Bytes;
use crate::{Error, clock, stop};

/// Bytes or iterations of one piece of work.
pub const PIECE: u64 = 1_000_000;
/// Iterations of one piece of the spinning foreground: some 100 µs.
const SPIN_PIECE: u64 = 100_000;

/// What a hog takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum HogKind {
    /// The memory bus and the shared cache.
    Memory,
    /// Only a CPU.
    Integer,
}

/// Arguments of `load cpu-hog`.
#[derive(Clone, Debug, clap::Args)]
pub struct HogArgs {
    /// What the hogs take.
    #[arg(long, value_name = "KIND", value_enum, default_value_t = HogKind::Memory)]
    pub kind: HogKind,
    /// Hogs: threads that never sleep.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub hogs: u64,
    /// Memory that each memory hog streams over.
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    pub memory: Bytes,
    /// Stop after this many seconds [default: only when signalled].
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<f64>,
    /// Stop after this many pieces of a million bytes or iterations [default: no limit].
    #[arg(long, value_name = "N")]
    pub pieces: Option<u64>,
    /// Count pieces, and bytes or iterations, into this mapped file.
    #[arg(long, value_name = "FILE")]
    pub progress: Option<std::path::PathBuf>,
    /// Stop when standard input is closed: when whoever started the hogs is gone.
    #[arg(long)]
    pub leash: bool,
    /// Print JSON lines instead of a sentence.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `load cpu-spin`.
#[derive(Clone, Debug, clap::Args)]
pub struct SpinArgs {
    /// When it counts and how it reports.
    #[command(flatten)]
    pub shift: ShiftArgs,
    /// Whether it counts by beats.
    #[command(flatten)]
    pub beats: BeatArgs,
    /// Threads that never sleep.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub threads: u64,
}

/// Works until stopped.
pub fn run(args: &HogArgs) -> Result<LoadReport, Error> {
    let words = args.memory.as_usize() / size_of::<u64>();
    if args.kind == HogKind::Memory && words == 0 {
        return Err(Error::Argument {
            argument: format!("--memory {}", args.memory),
            problem: "it must hold at least 8 bytes".to_owned(),
        });
    }
    if args.leash {
        // Reads to the end and nothing else; the process ends whether or not it is still waiting.
        thread::spawn(|| {
            let mut rest = [0; 64];
            while matches!(std::io::stdin().read(&mut rest), Ok(1..)) {}
            stop::request();
        });
    }
    let tally = Tally::begin(args.progress.as_deref(), args.seconds, args.pieces)?;
    thread::scope(|scope| {
        for seed in 0..args.hogs {
            let tally = &tally;
            scope.spawn(move || {
                let mut stream = Stream::new(if args.kind == HogKind::Memory { words } else { 0 });
                let mut chain = Chain(seed);
                while tally.goes_on() {
                    match args.kind {
                        HogKind::Memory => stream.run(PIECE),
                        HogKind::Integer => chain.run(PIECE),
                    }
                    tally.add(PIECE);
                }
            });
        }
    });
    Ok(tally.report_with_cpu("cpu-hog"))
}

/// Spins until stopped.
pub fn spin(args: &SpinArgs) -> Result<LoadReport, Error> {
    let start = clock::now();
    let begun = start.plus(args.shift.warmup);
    let end = args.shift.end(begun).unwrap_or(Nanos::MAX);
    let spin = |seed: u64| {
        let (mut arms, mut chain, mut now) = (args.beats.arms(), Chain(seed), start);
        while now < end && !stop::requested() {
            let before = now;
            chain.run(SPIN_PIECE);
            now = clock::now();
            if before >= begun {
                arms.record(&Served { arrival: before, from: before, to: now, given_up: false });
            }
        }
        arms
    };
    let recorders: Vec<Arms> = thread::scope(|scope| {
        let threads: Vec<_> = (0..args.threads).map(|seed| scope.spawn(move || spin(seed))).collect();
        threads.into_iter().map(|thread| joined(thread.join())).collect()
    });
    let mut all = args.beats.arms();
    recorders.into_iter().for_each(|arms| all.merge(arms));
    let ended = clock::now().min(end).max(begun);
    Ok(LoadReport { cpu_ns: own_cpu_ns(), ..all.report("cpu-spin", begun, ended) })
}

/// A buffer that is passed from front to back.
struct Stream {
    words: Vec<u64>,
    next: usize,
}

impl Stream {
    fn new(words: usize) -> Self {
        // Written, not only zeroed: otherwise all of it would be one shared page of zeros.
        let mut buffer = vec![0; words];
        // In parts: who is starved needs long for it, and may be asked to end meanwhile.
        for part in buffer.chunks_mut(Bytes(Bytes::MIB).as_usize()) {
            if stop::requested() {
                break;
            }
            part.fill(1);
        }
        Self { words: buffer, next: 0 }
    }

    /// Passes that many bytes, from the front again after the end.
    fn run(&mut self, bytes: u64) {
        let mut left = usize::try_from(bytes).unwrap_or(usize::MAX) / size_of::<u64>();
        while left > 0 {
            let end = self.words.len().min(self.next.saturating_add(left));
            for word in self.words.get_mut(self.next..end).unwrap_or_default() {
                *word = word.wrapping_add(1);
            }
            left -= end - self.next;
            self.next = if end == self.words.len() { 0 } else { end };
        }
        black_box(self.words.first());
    }
}

/// A number that is multiplied over and over.
pub(super) struct Chain(pub(super) u64);

impl Chain {
    pub(super) fn run(&mut self, iterations: u64) {
        let mut state = self.0;
        for _ in 0..iterations {
            // The shift keeps the compiler from folding two multiplications into one.
            state = (state ^ (state >> 29)).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        }
        self.0 = black_box(state);
    }
}

#[cfg(test)]
mod tests;
