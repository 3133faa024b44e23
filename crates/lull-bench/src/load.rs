//! Load generators: each a small process that does one thing and prints one JSON line about it.
//!
//! Separate processes, because that is what a user runs, and because contenders wrap them (`nice`, `ionice`, `chrt`,
//! `lull run`). All of them stop when their time is up or at SIGINT/SIGTERM and then still print their line, so the
//! harness can end a background load whenever the foreground is done.
//!
//! | load | used as | what it does |
//! |---|---|---|
//! | [`reader`] | foreground | closed loop: read a block, think, repeat; every latency into a histogram |
//! | [`random`] | background | threads that read random blocks as fast as they can |
//! | [`aio`] | background | libaio with a fixed number of reads in flight |
//! | [`stream`] | background | one buffered sequential reader that leaves no pages behind |
//! | [`slow_disk`](crate::slowdisk) | device | the spinning-disk test device |
//!
//! Times in reports are nanoseconds of CLOCK_MONOTONIC, sizes are bytes.

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::Context;
use crate::slowdisk::{AttachArgs, DaemonArgs};
use crate::stop;
use crate::units::{Bytes, mb_per_s};

pub mod aio;
pub mod file;
pub mod latency;
pub mod random;
pub mod reader;
pub mod stream;
pub mod think;

pub use latency::Latency;

/// The load generators as subcommands.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum LoadCommand {
    /// Read blocks one at a time with a think time between them, and report the latencies (foreground).
    DiskRead(reader::ReaderArgs),
    /// Read random blocks from several threads as fast as the disk gives them (background).
    DiskRandom(random::RandomArgs),
    /// Keep a number of asynchronous random reads in flight with libaio (background).
    DiskAio(aio::AioArgs),
    /// Read a file from start to end through the page cache, over and over (background).
    DiskStream(stream::StreamArgs),
    /// Make a block device that behaves like a spinning disk, print its name, keep it until stopped (root).
    SlowDisk(AttachArgs),
    /// Serve the file behind the slow disk; started by slow-disk.
    #[command(hide = true)]
    SlowDiskDaemon(DaemonArgs),
}

/// What every load takes.
#[derive(Clone, Debug, clap::Args)]
pub struct CommonArgs {
    /// File or block device to read.
    #[arg(long, value_name = "FILE")]
    pub file: std::path::PathBuf,
    /// Bytes per request.
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    pub block: Bytes,
    /// Stop after this many seconds [default: only when signalled].
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<f64>,
    /// Stop after this many requests [default: no limit].
    #[arg(long, value_name = "N")]
    pub requests: Option<u64>,
    /// Seed of the random positions and think times.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Count requests and bytes into this mapped file as they finish.
    #[arg(long, value_name = "FILE")]
    pub progress: Option<std::path::PathBuf>,
    /// Print JSON lines instead of a sentence.
    #[arg(long)]
    pub json: bool,
}

/// What one load did, start to stop (without its warm-up).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// The subcommand's name.
    pub load: String,
    /// Requests finished.
    pub requests: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// When counting began, CLOCK_MONOTONIC.
    pub started_ns: u64,
    /// When counting ended.
    pub ended_ns: u64,
    /// `ended_ns - started_ns` in seconds.
    pub seconds: f64,
    /// Sum of the latencies: how long at least one request of a closed loop was in service.
    pub busy_ns: u64,
    /// Latencies, from just before the system call to just after it; none for loads that do not measure them.
    pub latency: Option<Latency>,
}

impl LoadReport {
    /// What a background load did between two instants: blocks of one size, no latencies.
    fn background(
        load: &str,
        requests: u64,
        block_bytes: u64,
        [begun, ended]: [lull_core::Nanos; 2],
    ) -> Self {
        Self {
            load: load.to_owned(),
            requests,
            bytes: requests * block_bytes,
            started_ns: begun.as_nanos(),
            ended_ns: ended.as_nanos(),
            seconds: ended.since(begun).as_secs_f64(),
            busy_ns: 0,
            latency: None,
        }
    }
}

/// What a reader did in one period, for live displays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeriodReport {
    /// End of the period, CLOCK_MONOTONIC.
    pub ended_ns: u64,
    /// Requests finished in the period.
    pub requests: u64,
    /// Latencies in the period.
    pub latency: Latency,
}

/// One line of a load's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "lowercase")]
pub enum LoadLine {
    /// A finished period; only with `--every`.
    Period(PeriodReport),
    /// The whole run; always last.
    Total(LoadReport),
}

/// Runs one load to its end and prints its report on standard output.
pub fn run_load(command: LoadCommand) -> Result<(), Error> {
    if let LoadCommand::SlowDiskDaemon(args) = command {
        return crate::slowdisk::run_daemon(&args);
    }
    stop::install()?;
    let (report, json) = match command {
        LoadCommand::DiskRead(args) => {
            (reader::run(&args, &mut |line| print_line(&line, args.common.json))?, args.common.json)
        }
        LoadCommand::DiskRandom(args) => (random::run(&args)?, args.common.json),
        LoadCommand::DiskAio(args) => (aio::run(&args)?, args.common.json),
        LoadCommand::DiskStream(args) => (stream::run(&args)?, args.common.json),
        LoadCommand::SlowDisk(args) => return crate::slowdisk::run_attached(&args),
        LoadCommand::SlowDiskDaemon(_) => return Ok(()),
    };
    print_line(&LoadLine::Total(report), json)
}

fn print_line(line: &LoadLine, json: bool) -> Result<(), Error> {
    let text = if json {
        serde_json::to_string(line).map_err(std::io::Error::from).to("write a report as JSON")?
    } else {
        match line {
            LoadLine::Period(period) => format!("{} requests, {}", period.requests, period.latency),
            LoadLine::Total(total) => {
                let rate = mb_per_s(total.bytes as f64 / total.seconds.max(1e-9));
                let latency = total.latency.as_ref().map(|l| format!(", {l}")).unwrap_or_default();
                format!(
                    "{}: {} requests in {:.2} s, {rate:.1} MB/s{latency}",
                    total.load, total.requests, total.seconds
                )
            }
        }
    };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).to("write to standard output")
}
