//! pgbench at a rate, with every transaction in its log.
//!
//! With `--rate` pgbench fixes the times of transactions in advance (Poisson arrivals) and counts each from
//! its scheduled time, the wait for a free session included: an open loop. Its own report knows means only,
//! so the log is read: one line per transaction with its duration and the time at which it ended. What was
//! scheduled within the window is counted.
//!
//! The transactions that come close together make the longest requests, so contenders with different warm-ups
//! are compared by the same ones: a pgbench with the seed begins a second before the window, and the rest of
//! the warm-up is another one's, which ends as it begins.
//!
//! ```text
//!   warm-up: pgbench, other seed, not logged     │ pgbench, the seed ……………………………………………… +2 s
//!   ─────────────────────────────────────────────┼──── LEAD ────┼──── window ────┼──────────▶
//! ```
//!
//! Edge cases: of a warm-up shorter than that there is only the second, and the window holds other
//! transactions than after a longer one. pgbench writes its log when it ends, so it runs for the window's
//! length by itself, and two seconds longer. What it was to begin within the window and had not begun when it
//! ends is never logged: it begins transactions in their order, so these are those after the last one that is
//! logged. They are counted as given up, at the rate, with their age when pgbench ended. A window that is cut
//! short counts what was logged until then; one that is never begun counts nothing. The log's times are of
//! the wall clock, whose distance to the monotonic clock is taken once, at the start: a step of the wall
//! clock within a run would shift the window.
//!
//! Source: <https://www.postgresql.org/docs/current/pgbench.html>, `--rate` and "Per-Transaction Logging".

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use lull_core::Nanos;

use crate::error::Context;
use crate::load::latency::Recorder;
use crate::load::{LoadReport, ShiftArgs, own_cpu_ns};
use crate::process::{Options, Proc};
use crate::{Error, clock};

/// Runs when nobody says for how long.
const DEFAULT_SECONDS: f64 = 10.0;

/// How long pgbench goes on after the window, so that transactions that are late at its end are logged with
/// their delay.
const AFTER: Nanos = Nanos::from_secs(2);

/// How long before the window the counted pgbench begins: its sessions are made and warm when it is counted.
const LEAD: Nanos = Nanos::from_secs(1);

/// Arguments of `load app-pgbench`.
#[derive(Clone, Debug, clap::Args)]
pub struct PgbenchArgs {
    /// When it counts and how it reports.
    #[command(flatten)]
    pub shift: ShiftArgs,
    /// Directory of the server's socket.
    #[arg(long, value_name = "DIR")]
    pub socket: PathBuf,
    /// The server's port, which names its socket.
    #[arg(long, value_name = "PORT")]
    pub port: u16,
    /// Database that `pgbench -i` has filled.
    #[arg(long, value_name = "NAME", default_value = "postgres")]
    pub database: String,
    /// Role.
    #[arg(long, value_name = "NAME", default_value = "postgres")]
    pub user: String,
    /// The program.
    #[arg(long, value_name = "FILE", default_value = "pgbench")]
    pub pgbench: PathBuf,
    /// Transactions per second.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub rate: u64,
    /// Sessions.
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub clients: u32,
    /// Seed of the transactions.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

impl PgbenchArgs {
    /// For a window that ends after so many seconds.
    fn argv(&self, seconds: f64, seed: u64, log: Option<&Path>) -> Vec<OsString> {
        let whole_seconds = (seconds + AFTER.as_secs_f64()).ceil();
        let words = [
            ("--host", self.socket.clone().into_os_string()),
            ("--port", self.port.to_string().into()),
            ("--username", self.user.clone().into()),
            ("--rate", self.rate.to_string().into()),
            ("--client", self.clients.to_string().into()),
            ("--jobs", "1".into()),
            ("--time", format!("{whole_seconds:.0}").into()),
            ("--random-seed", seed.to_string().into()),
        ];
        let mut argv = vec![self.pgbench.clone().into_os_string(), "--no-vacuum".into()];
        argv.extend(words.into_iter().flat_map(|(flag, value)| [flag.into(), value]));
        if let Some(prefix) = log {
            argv.extend(["--log".into(), "--log-prefix".into(), prefix.to_owned().into_os_string()]);
        }
        argv.push(self.database.clone().into());
        argv
    }
}

/// One transaction of the log, in microseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Transaction {
    scheduled_us: u64,
    took_us: u64,
}

impl Transaction {
    /// A line: session, number, duration, script, and the end in seconds and microseconds; perhaps more.
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
        let (took_us, ended_us) = (number(2)?, number(4)?.checked_mul(1_000_000)?.checked_add(number(5)?)?);
        Some(Self { scheduled_us: ended_us.checked_sub(took_us)?, took_us })
    }
}

fn transactions(directory: &Path) -> Result<Vec<Transaction>, Error> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).at("list", directory)? {
        let path = entry.at("list", directory)?.path();
        let text = std::fs::read_to_string(&path).at("read", &path)?;
        all.extend(text.lines().filter_map(Transaction::parse));
    }
    Ok(all)
}

/// What was scheduled within the window, however late it ended; and how many of these ended within it.
fn count(all: &[Transaction], at: impl Fn(u64) -> Nanos, [begun, ended]: [Nanos; 2]) -> (Recorder, u64) {
    let (mut latencies, mut in_time) = (Recorder::new(), 0);
    for transaction in all {
        let scheduled = at(transaction.scheduled_us);
        if scheduled >= begun && scheduled < ended {
            let took = Nanos::from_micros(transaction.took_us);
            latencies.record(took);
            in_time += u64::from(scheduled.plus(took) <= ended);
        }
    }
    (latencies, in_time)
}

/// When the transactions were due within the window that pgbench never began, at its constant mean gap. None
/// if it kept up: then the last one that it began was due after the window, or ended long before pgbench did.
fn never_begun(
    all: &[Transaction],
    at: impl Fn(u64) -> Nanos,
    [begun, ended]: [Nanos; 2],
    rate: u64,
) -> Vec<Nanos> {
    let last = all.iter().max_by_key(|transaction| transaction.scheduled_us);
    let is_late = |last: &Transaction| {
        let over = at(last.scheduled_us).plus(Nanos::from_micros(last.took_us));
        over >= ended.plus(Nanos(AFTER.as_nanos() / 2))
    };
    let from = match last {
        Some(last) if is_late(last) => at(last.scheduled_us).max(begun),
        Some(_) => return Vec::new(),
        None => begun,
    };
    let gap = Nanos(1_000_000_000 / rate.max(1));
    (1..).map(|count| from.plus(gap.times(count))).take_while(|due| *due < ended).collect()
}

/// Has other transactions made than those of the window, for so long; the process goes on.
fn warm_up(args: &PgbenchArgs, length: Nanos) -> Result<Proc, Error> {
    let until = clock::now().plus(length);
    // It ends by being stopped, whole seconds being all that it knows.
    let argv = args.argv(length.as_secs_f64(), !args.seed, None);
    let (mut process, _stdout) = Proc::spawn(&argv, Options::default())?;
    match process.wait_until(until)? {
        Some(exit) => Err(process.failed(&format!("ended with {}", exit.status))),
        None => Ok(process),
    }
}

/// Runs pgbench to its end, or until stopped.
pub fn run(args: &PgbenchArgs) -> Result<LoadReport, Error> {
    let logs = tempfile::tempdir().to("make a directory for pgbench's log")?;
    let length = args.shift.seconds.unwrap_or(DEFAULT_SECONDS);
    let lead = args.shift.warmup.min(LEAD);
    let others = args.shift.warmup.since(lead);
    let others = match (others > Nanos::ZERO).then(|| warm_up(args, others)).transpose() {
        Ok(others) => others,
        Err(Error::Interrupted) => {
            let now = clock::now();
            return Ok(LoadReport::timed("app-pgbench", &Recorder::new(), [now, now]));
        }
        Err(error) => return Err(error),
    };
    let started = clock::now();
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    let wall_us = u64::try_from(wall).unwrap_or(u64::MAX);
    let begun = started.plus(lead);
    let planned = begun.plus(Nanos(crate::units::whole(length * 1e9)));
    let argv = args.argv(lead.as_secs_f64() + length, args.seed, Some(&logs.path().join("log")));
    let (mut process, _stdout) = Proc::spawn(&argv, Options::default())?;
    if let Some(mut others) = others {
        others.stop()?;
    }
    let is_whole = match process.wait() {
        Ok(exit) if exit.status.success() => true,
        Ok(exit) => return Err(process.failed(&format!("ended with {}", exit.status))),
        Err(Error::Interrupted) => {
            process.stop()?;
            false
        }
        Err(error) => return Err(error),
    };
    let now = clock::now();
    let ended = planned.min(now).max(begun);
    let at = |scheduled_us: u64| started.plus(Nanos::from_micros(scheduled_us.saturating_sub(wall_us)));
    let (all, window) = (transactions(logs.path())?, [begun, ended]);
    let (mut latencies, in_time) = count(&all, at, window);
    let given_up = if is_whole { never_begun(&all, at, window, args.rate) } else { Vec::new() };
    given_up.iter().for_each(|due| latencies.record(now.since(*due)));
    Ok(LoadReport {
        unfinished: given_up.len() as u64,
        in_time: Some(in_time),
        distribution: latencies.distribution(),
        cpu_ns: own_cpu_ns(),
        ..LoadReport::timed("app-pgbench", &latencies, [begun, ended])
    })
}

#[cfg(test)]
mod tests;
