//! Load generators: each a small process that does one thing and prints one JSON line about it.
//!
//! Separate processes, because that is what a user runs, and because contenders wrap them (`nice`, `ionice`,
//! `chrt`, `lull run`). All of them stop when their time is up or at SIGINT/SIGTERM and then still print
//! their line, so the harness can end a background load whenever the foreground is done.
//!
//! | load | used as | what it does |
//! |---|---|---|
//! | [`reader`] | foreground | closed loop: read a block, think, repeat; every latency into a histogram |
//! | [`random`] | background | threads that read random blocks as fast as they can |
//! | [`aio`] | background | libaio with a fixed number of reads in flight |
//! | [`stream`] | background | one buffered sequential reader that leaves no pages behind |
//! | [`serve`] | foreground | open loop: requests at times fixed in advance, latency from the scheduled arrival |
//! | [`wakeup`] | foreground | sleeps to an instant on every CPU, records how late it woke |
//! | [`hog`] | both | threads that never sleep: streaming over memory, computing in registers, a spinning foreground |
//! | [`working_set`] | both | touches random pages of memory that it has filled |
//! | [`writer`] | both | appends with fsync as a log; writes a large file through the page cache |
//! | [`net`] | both | transfers and requests between two hosts, a sender without end |
//! | [`packets`] | both | datagrams at a rate, and who reads them |
//! | [`client`] | foreground | open loop: requests to Redis or a web server at a constant rate |
//! | [`pgbench`] | foreground | open loop: pgbench at a rate, its transaction log read |
//! | [`edit`] | foreground | a person who edits and compiles |
//! | [`slow_disk`](crate::slowdisk) | device | the spinning-disk test device |
//!
//! Times in reports are nanoseconds of CLOCK_MONOTONIC, sizes are bytes.

use std::io::Write;

use lull_core::Nanos;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::beats::Beats;
use crate::error::Context;
use crate::slowdisk::{AttachArgs, DaemonArgs};
use crate::stats::ratio;
use crate::units::{Bytes, mb_per_s, whole};
use crate::{corpus, stop};

pub mod aio;
pub mod arms;
pub mod arrivals;
pub mod client;
pub mod edit;
pub mod file;
pub mod hog;
pub mod latency;
pub mod net;
pub mod packets;
pub mod pgbench;
pub mod random;
pub mod reader;
pub mod request;
pub mod serve;
pub mod site;
pub mod stream;
pub mod tally;
pub mod think;
pub mod wakeup;
pub mod working_set;
pub mod writer;

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
    /// Append blocks to a log, each with fsync, and report the latencies (foreground).
    DiskLog(writer::LogArgs),
    /// Write a large file through the page cache, over and over (background).
    DiskWrite(writer::WriteArgs),
    /// Touch random pages of a working set, and report how long that takes (foreground and background).
    MemWork(working_set::WorkingSetArgs),
    /// Serve requests that arrive at times fixed in advance, and report the latencies (foreground).
    CpuServe(serve::ServeArgs),
    /// Say how many random reads a request of cpu-serve makes in a given processor time.
    CpuCalibrate(CalibrateArgs),
    /// Wake up every interval on every CPU, and report how late (foreground).
    CpuWakeup(wakeup::WakeupArgs),
    /// Never sleep, and report how long each piece of work took (foreground).
    CpuSpin(hog::SpinArgs),
    /// Stream over memory or compute in registers without end (background).
    CpuHog(hog::HogArgs),
    /// Send between two hosts at an intensity, and report what arrives (foreground).
    NetTransfer(net::TransferArgs),
    /// Ask, wait for the answer, think, and report the latencies (foreground).
    NetAsk(net::AskArgs),
    /// Send as fast as the link takes it (background).
    NetFlood(net::FloodArgs),
    /// Receive as fast as it comes (background).
    NetFetch(net::fetch::FetchArgs),
    /// Ask a server at a constant rate, and report the latencies from the times the requests were due
    /// (foreground).
    AppClient(client::ClientArgs),
    /// Run pgbench at a rate, and report the latencies from the times the transactions were due (foreground).
    AppPgbench(pgbench::PgbenchArgs),
    /// Change a source file, compile, think; report how long each compile took (foreground).
    AppEdit(edit::EditArgs),
    /// Serve pages that are computed, each in a process of its own, as CGI programs are (foreground).
    SiteServe(site::SiteArgs),
    /// Keep a number of clients asking such a site, and report throughput and response times (foreground).
    SiteAsk(site::AskSiteArgs),
    /// Read datagrams, compute for each, and report how many (foreground and background).
    PacketsServe(packets::ServeArgs),
    /// Send datagrams of 10 bytes at a rate, whatever becomes of them (background).
    PacketsSend(packets::SendArgs),
    /// Drop the cached pages of all files in a directory.
    Forget(ForgetArgs),
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

/// What every foreground load of the CPU takes.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct ShiftArgs {
    /// Time at the start that is not counted.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub warmup: Nanos,
    /// Stop after this many counted seconds [default: only when signalled].
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<f64>,
    /// Print JSON lines instead of a sentence.
    #[arg(long)]
    pub json: bool,
}

impl ShiftArgs {
    /// When it ends, if counting begins at `begun`; none for never.
    fn end(&self, begun: Nanos) -> Option<Nanos> {
        end_after(begun, self.seconds)
    }
}

/// What every foreground load of the CPU takes that can run with and without background in turns.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct BeatArgs {
    /// Count requests apart by whether background runs, which changes after this time; 0 for no beats.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub beat: Nanos,
}

impl BeatArgs {
    fn arms(self) -> arms::Arms {
        arms::Arms::new(Beats::of(self.beat))
    }
}

/// What a thread returned; its panic goes on.
fn joined<T>(result: std::thread::Result<T>) -> T {
    result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The instant `seconds` after `begun`; none for no limit.
fn end_after(begun: Nanos, seconds: Option<f64>) -> Option<Nanos> {
    seconds.map(|seconds| begun.plus(Nanos(whole(seconds * 1e9))))
}

/// Processor time of this process so far, user and system, and of the children that it has waited for.
fn own_cpu_ns() -> Option<u64> {
    let nanos = |time: TimeVal| u64::try_from(time.num_nanoseconds()).ok();
    let used = |who| {
        let usage = getrusage(who).ok()?;
        nanos(usage.user_time())?.checked_add(nanos(usage.system_time())?)
    };
    used(UsageWho::RUSAGE_SELF)?.checked_add(used(UsageWho::RUSAGE_CHILDREN)?)
}

/// Arguments of `load cpu-calibrate`.
#[derive(Clone, Debug, clap::Args)]
pub struct CalibrateArgs {
    /// Processor time of a request when nothing disturbs it.
    #[arg(long, value_name = "TIME", default_value = "800us")]
    pub service: Nanos,
    /// Memory that the requests read.
    #[arg(long, value_name = "SIZE", default_value = "16MiB")]
    pub buffer: Bytes,
    /// Print JSON lines instead of a sentence.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `load forget`.
#[derive(Clone, Debug, clap::Args)]
pub struct ForgetArgs {
    /// The directory; what is not a file in it or below is left alone.
    pub directory: std::path::PathBuf,
}

/// What one load did, start to stop (without its warm-up).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// The subcommand's name.
    pub load: String,
    /// Requests finished.
    pub requests: u64,
    /// Requests among them that were given up; their latency is only known to be longer than was counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unfinished: u64,
    /// Requests among them that were answered before the counted time ended; none for loads in which that is
    /// all of them. An open loop counts every arrival, however late its answer, so its throughput is in this
    /// number only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_time: Option<u64>,
    /// Requests among those of quiet [beats](crate::beats) that waited in a queue that had not been empty
    /// since a loaded beat.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub carried: u64,
    /// Bytes moved; of integer work, iterations.
    pub bytes: u64,
    /// When counting began, CLOCK_MONOTONIC.
    pub started_ns: u64,
    /// When counting ended.
    pub ended_ns: u64,
    /// `ended_ns - started_ns` in seconds.
    pub seconds: f64,
    /// Sum of the latencies: how long at least one request of a closed loop was in service.
    pub busy_ns: u64,
    /// Stretches of requests without a pause between them; zero for loads that do not measure them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bursts: u64,
    /// The sum of their lengths, each from the arrival of the first request to the end of the last.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub burst_ns: u64,
    /// The same by pair of [beats](crate::beats); empty without beats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beats: Vec<BeatBursts>,
    /// Latencies: of a read, from just before the system call to just after it; of an open loop, from the
    /// scheduled arrival; of a wake-up, from the time it was due. None for loads that do not measure them.
    pub latency: Option<Latency>,
    /// Reads among the requests that did not find all of their data in the page cache; none if it does not
    /// tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misses: Option<u64>,
    /// Latencies in nanoseconds, and how many requests took at most as long; empty for loads that do not
    /// tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distribution: Vec<(u64, u64)>,
    /// Round trips of small datagrams beside a transfer; none if none were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Box<net::probe::Probed>>,
    /// Processor time of the load's own process and of those that it has started, user and system, from its
    /// start; none if it does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// What it did in the [quiet beats](crate::beats) of the run; the rest of the report is that of loaded
    /// beats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<Box<Self>>,
}

/// Bursts that began in the beat of one kind in a pair of beats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BeatBursts {
    /// The pair's number, by which a loaded beat finds its quiet one.
    pub pair: u64,
    /// How many.
    pub bursts: u64,
    /// The sum of their lengths.
    pub burst_ns: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl LoadReport {
    /// Whether more came than the load could serve, so that quiet [beats](crate::beats) tell nothing: most of
    /// their requests waited for what had piled up in loaded ones, or some requests of the run were given up.
    pub fn is_overrun(&self) -> bool {
        let quiet = self.quiet.as_deref();
        let is_carried = quiet.is_some_and(|quiet| 2 * quiet.carried > quiet.requests);
        is_carried || self.unfinished > 0 || quiet.is_some_and(|quiet| quiet.unfinished > 0)
    }

    /// Requests answered in the counted time, per second.
    pub fn requests_per_s(&self) -> Option<f64> {
        ratio(self.in_time.unwrap_or(self.requests) as f64, self.seconds)
    }

    /// What a load with latencies did between two instants.
    fn timed(load: &str, latencies: &latency::Recorder, window: [Nanos; 2]) -> Self {
        Self {
            requests: latencies.count(),
            busy_ns: latencies.sum().as_nanos(),
            latency: Some(latencies.summary()),
            ..Self::between(load, window)
        }
    }

    /// A load of which only the time is known yet.
    fn between(load: &str, [begun, ended]: [Nanos; 2]) -> Self {
        Self {
            load: load.to_owned(),
            started_ns: begun.as_nanos(),
            ended_ns: ended.as_nanos(),
            seconds: ended.since(begun).as_secs_f64(),
            ..Self::default()
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
#[expect(clippy::large_enum_variant, reason = "one at a time, on its way to or from a line")]
pub enum LoadLine {
    /// It has what it needs in memory and begins now; only if asked for.
    Ready,
    /// A finished period; only with `--every`.
    Period(PeriodReport),
    /// The whole run; always last.
    Total(LoadReport),
    /// A finished calibration.
    Calibration {
        /// Random reads that take the time asked for.
        reads: u64,
    },
}

/// Runs one load to its end and prints its report on standard output.
pub fn run_load(command: LoadCommand) -> Result<(), Error> {
    if let LoadCommand::SlowDiskDaemon(args) = command {
        return crate::slowdisk::run_daemon(&args);
    }
    if let LoadCommand::SiteServe(args) = command {
        return site::serve(&args);
    }
    stop::install()?;
    let (report, json) = match command {
        LoadCommand::DiskRead(args) => {
            (reader::run(&args, &mut |line| print_line(&line, args.common.json))?, args.common.json)
        }
        LoadCommand::DiskRandom(args) => (random::run(&args)?, args.common.json),
        LoadCommand::DiskAio(args) => (aio::run(&args)?, args.common.json),
        LoadCommand::DiskStream(args) => (stream::run(&args)?, args.common.json),
        LoadCommand::DiskLog(args) => (writer::log(&args)?, args.common.json),
        LoadCommand::DiskWrite(args) => (writer::write(&args)?, args.common.json),
        LoadCommand::MemWork(args) => {
            (working_set::run(&args, &mut |line| print_line(&line, args.shift.json))?, args.shift.json)
        }
        LoadCommand::CpuServe(args) => (serve::run(&args)?, args.shift.json),
        LoadCommand::CpuWakeup(args) => (wakeup::run(&args)?, args.shift.json),
        LoadCommand::CpuSpin(args) => (hog::spin(&args)?, args.shift.json),
        LoadCommand::CpuHog(args) => (hog::run(&args)?, args.json),
        LoadCommand::NetTransfer(args) => (net::transfer(&args)?, args.shift.json),
        LoadCommand::NetAsk(args) => (net::ask(&args)?, args.shift.json),
        LoadCommand::NetFlood(args) => (net::flood(&args)?, args.json),
        LoadCommand::NetFetch(args) => (net::fetch::fetch(&args)?, args.json),
        LoadCommand::AppClient(args) => (client::run(&args)?, args.shift.json),
        LoadCommand::AppPgbench(args) => (pgbench::run(&args)?, args.shift.json),
        LoadCommand::AppEdit(args) => (edit::run(&args)?, args.shift.json),
        LoadCommand::SiteAsk(args) => (site::ask(&args)?, args.shift.json),
        LoadCommand::PacketsServe(args) => (packets::serve(&args)?, args.shift.json),
        LoadCommand::PacketsSend(args) => (packets::send(&args)?, args.shift.json),
        LoadCommand::Forget(args) => return corpus::forget_all(&args.directory),
        LoadCommand::CpuCalibrate(args) => {
            let reads = request::calibrate(args.service, args.buffer)?;
            return print_line(&LoadLine::Calibration { reads }, args.json);
        }
        LoadCommand::SlowDisk(args) => return crate::slowdisk::run_attached(&args),
        LoadCommand::SlowDiskDaemon(_) | LoadCommand::SiteServe(_) => return Ok(()),
    };
    print_line(&LoadLine::Total(report), json)
}

fn print_line(line: &LoadLine, json: bool) -> Result<(), Error> {
    let text = if json {
        serde_json::to_string(line).map_err(std::io::Error::from).to("write a report as JSON")?
    } else {
        match line {
            LoadLine::Period(period) => format!("{} requests, {}", period.requests, period.latency),
            LoadLine::Ready => "ready".to_owned(),
            LoadLine::Calibration { reads } => format!("{reads} random reads"),
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
