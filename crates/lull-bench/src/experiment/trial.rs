//! One run: a background and a foreground side by side, judged in the window that the foreground counts.
//!
//! ```text
//!  background   ├──start──first bytes─────────────────────────────────────┤ SIGTERM
//!  foreground                         ├─warm-up─┼────── counted ──────┤
//!  samples       ·    ·    ·    ·    ·    ·    ·    ·    ·    ·    ·    ·     every 10 ms
//!                                               └── bytes at both ends ┘
//! ```
//! The background's bytes at the window's ends are interpolated between samples of its counter, so it needs no protocol
//! with the foreground. If the background ends first (a `tar` that is done), the foreground is stopped and the window
//! ends there. All time stamps are CLOCK_MONOTONIC, which the processes share.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ChildStdout;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::thread;

use lull_core::Nanos;
use nix::fcntl::{FcntlArg, fcntl};
use tempfile::TempPath;

use crate::error::Context;
use crate::load::{LoadLine, LoadReport, PeriodReport};
use crate::process::{Options, POLL, Proc, Program, lines};
use crate::progress::{self, Progress};
use crate::record::Background;
use crate::units::{Bytes, whole};
use crate::{Error, clock, stop};

/// How long a background has to move its first byte.
const FIRST_BYTES: Nanos = Nanos::from_secs(20);
/// Period of the foreground's reports for live displays.
const PERIOD: &str = "500ms";

/// How much of a job's work is done.
pub enum Meter {
    /// A load generator counts into this file.
    Progress(Box<Progress>),
    /// Every byte that it writes to its standard output.
    Output,
    /// The function says how many bytes a line of its standard output stands for.
    Lines(Box<dyn FnMut(&str) -> u64 + Send>),
}

/// A background job.
pub struct Job {
    /// The command line, with its control.
    pub argv: Vec<OsString>,
    /// How its work is measured.
    pub meter: Meter,
}

/// A progress file that a load and the harness share; removed when dropped.
#[derive(Debug)]
pub struct ProgressFile {
    path: TempPath,
}

impl ProgressFile {
    /// A new one, at zero.
    pub fn create() -> Result<(Self, Progress), Error> {
        let directory = progress::directory();
        let file = tempfile::Builder::new()
            .prefix("lull-bench-")
            .tempfile_in(&directory)
            .at("create a progress file in", &directory)?;
        let path = file.into_temp_path();
        let progress = Progress::create(&path)?;
        Ok((Self { path }, progress))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The foreground: arguments of `load disk-read`, without times.
#[derive(Clone, Debug)]
pub struct Reader {
    /// What it reads.
    pub file: PathBuf,
    /// Mean think time.
    pub think: Nanos,
    /// Whether think times are exponential.
    pub exponential: bool,
    /// Seed of its positions and think times.
    pub seed: u64,
}

impl Reader {
    fn argv(&self, window: Window, program: &Program) -> Vec<OsString> {
        let spread = if self.exponential { "exponential" } else { "fixed" };
        let mut args: Vec<OsString> =
            vec!["disk-read".into(), "--file".into(), self.file.clone().into_os_string()];
        for (flag, value) in [
            ("--think", format!("{}ns", self.think.as_nanos())),
            ("--spread", spread.to_owned()),
            ("--seed", self.seed.to_string()),
            ("--warmup", format!("{}ns", window.warmup.as_nanos())),
            ("--seconds", window.length.as_secs_f64().to_string()),
            ("--every", PERIOD.to_owned()),
        ] {
            args.extend([flag.into(), value.into()]);
        }
        args.extend(["--random", "--direct", "--json"].map(OsString::from));
        program.load_argv(args)
    }
}

/// How long a run is watched.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Time at the start that is not counted.
    pub warmup: Nanos,
    /// Counted time, at most.
    pub length: Nanos,
}

/// A look at a run in progress.
#[derive(Clone, Debug)]
pub struct Tick {
    /// The foreground's latest period, if one has ended since the last look.
    pub foreground: Option<PeriodReport>,
    /// The background's bytes per second over the last half second.
    pub background_rate: Option<f64>,
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// The foreground's report.
    pub foreground: Option<LoadReport>,
    /// The background's work in the window.
    pub background: Option<Background>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Runs them; `observe` is called about every 10 ms.
pub fn run(
    reader: Option<&Reader>,
    job: Option<Job>,
    window: Window,
    program: &Program,
    observe: &mut dyn FnMut(Tick),
) -> Result<Outcome, Error> {
    let mut background = job.map(Running::start).transpose()?;
    if let Some(running) = &mut background {
        running.await_first_bytes()?;
    }
    let foreground = match reader {
        Some(reader) => Some(watch_reader(reader, background.as_mut(), window, program, observe)?),
        None => None,
    };
    let span = match &foreground {
        Some(report) => (Nanos(report.started_ns), Nanos(report.ended_ns)),
        None => watch_alone(background.as_mut(), window, observe)?,
    };
    let mut notes = Vec::new();
    let background = match background {
        Some(running) => Some(running.finish(span, &mut notes)?),
        None => None,
    };
    if span.1.since(span.0) < Nanos(window.length.as_nanos() / 2) {
        notes
            .push(format!("the window was cut to {}: the background had no more work", span.1.since(span.0)));
    }
    Ok(Outcome { foreground, background, notes })
}

/// Runs the reader to its end, or to the background's.
fn watch_reader(
    reader: &Reader,
    mut background: Option<&mut Running>,
    window: Window,
    program: &Program,
    observe: &mut dyn FnMut(Tick),
) -> Result<LoadReport, Error> {
    let (mut process, stdout) = Proc::spawn(&reader.argv(window, program), Options::default())?;
    let output = lines(stdout);
    let mut total = None;
    let mut stopping = false;
    loop {
        stop::check()?;
        let line = match output.recv_timeout(POLL) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let now = clock::now();
        let mut tick = Tick { foreground: None, background_rate: None };
        if let Some(running) = &mut background {
            running.sample(now);
            tick.background_rate = running.recent_rate();
            if !stopping && running.ended(now)? {
                stopping = true;
                process.terminate();
            }
        }
        match line.as_deref().map(serde_json::from_str) {
            None => {}
            Some(Ok(LoadLine::Period(period))) => tick.foreground = Some(period),
            Some(Ok(LoadLine::Total(report))) => total = Some(report),
            Some(Err(error)) => return Err(process.failed(&format!("unexpected output: {error}"))),
        }
        observe(tick);
    }
    let exit = process.wait()?;
    match total {
        Some(report) if exit.status.success() => Ok(report),
        _ => Err(process.failed(&format!("the foreground ended with {}", exit.status))),
    }
}

/// Watches a background that has no foreground beside it.
fn watch_alone(
    background: Option<&mut Running>,
    window: Window,
    observe: &mut dyn FnMut(Tick),
) -> Result<(Nanos, Nanos), Error> {
    let begun = clock::now().plus(window.warmup);
    let end = begun.plus(window.length);
    let Some(running) = background else { return Ok((begun, begun)) };
    loop {
        stop::check()?;
        let now = clock::now();
        running.sample(now);
        if now >= end {
            return Ok((begun, end));
        }
        if running.ended(now)? {
            return Ok((begun.min(now), now));
        }
        observe(Tick { foreground: None, background_rate: running.recent_rate() });
        thread::sleep(POLL);
    }
}

/// A started job and the samples of its counter.
struct Running {
    process: Proc,
    counter: Counter,
    samples: Vec<(Nanos, u64)>,
    /// Whether the leader's processor time is that of the whole job.
    whole_tree: bool,
    ended_at: Option<Nanos>,
}

enum Counter {
    Shared(Box<Progress>),
    Counted(Arc<AtomicU64>),
}

impl Counter {
    fn bytes(&self) -> u64 {
        match self {
            Self::Shared(progress) => progress.bytes(),
            Self::Counted(bytes) => bytes.load(Ordering::Relaxed),
        }
    }
}

impl Running {
    fn start(job: Job) -> Result<Self, Error> {
        let (process, stdout) = Proc::spawn(&job.argv, Options::default())?;
        // Jobs counted by lines are shell loops: their children die by the same signal, unwaited for.
        let whole_tree = !matches!(job.meter, Meter::Lines(_));
        let bytes = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&bytes);
        let counter = match job.meter {
            Meter::Progress(progress) => {
                thread::spawn(move || drain(stdout, &counted));
                Counter::Shared(progress)
            }
            Meter::Output => {
                thread::spawn(move || drain(stdout, &counted));
                Counter::Counted(bytes)
            }
            Meter::Lines(mut value_of) => {
                thread::spawn(move || {
                    for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                        counted.fetch_add(value_of(&line), Ordering::Relaxed);
                    }
                });
                Counter::Counted(bytes)
            }
        };
        Ok(Self { process, counter, samples: Vec::new(), whole_tree, ended_at: None })
    }

    fn await_first_bytes(&mut self) -> Result<(), Error> {
        let deadline = clock::now().plus(FIRST_BYTES);
        loop {
            stop::check()?;
            let now = clock::now();
            self.sample(now);
            if self.counter.bytes() > 0 || self.ended(now)? {
                return Ok(());
            }
            if now >= deadline {
                self.process.stop()?;
                return Err(self.process.failed("the background moved nothing although no foreground ran"));
            }
            thread::sleep(POLL / 10);
        }
    }

    fn sample(&mut self, now: Nanos) {
        self.samples.push((now, self.counter.bytes()));
    }

    /// Whether it has ended by itself; an error if it failed.
    fn ended(&mut self, now: Nanos) -> Result<bool, Error> {
        if self.ended_at.is_some() {
            return Ok(true);
        }
        match self.process.poll()? {
            None => Ok(false),
            Some(exit) if exit.status.success() => {
                self.ended_at = Some(now);
                Ok(true)
            }
            Some(exit) => Err(self.process.failed(&format!("the background ended with {}", exit.status))),
        }
    }

    /// Bytes per second over the last half second of samples.
    fn recent_rate(&self) -> Option<f64> {
        let (now, bytes) = *self.samples.last()?;
        let since = now.since(Nanos::from_millis(500));
        let index = self.samples.partition_point(|(at, _)| *at < since);
        let (then, before) = *self.samples.get(index)?;
        let seconds = now.since(then).as_secs_f64();
        (seconds > 0.05).then(|| bytes.saturating_sub(before) as f64 / seconds)
    }

    /// Stops it and counts its work between the two times.
    fn finish(mut self, span: (Nanos, Nanos), notes: &mut Vec<String>) -> Result<Background, Error> {
        self.sample(clock::now());
        let exit = self.process.stop()?;
        let status = exit.status;
        use std::os::unix::process::ExitStatusExt;
        let asked_to = status.success()
            || status.signal() == Some(libc::SIGTERM)
            || status.code() == Some(128 + libc::SIGTERM);
        if !asked_to {
            notes.push(self.process.failed(&format!("the background ended with {status}")).to_string());
        }
        let end = self.ended_at.unwrap_or(span.1).min(span.1);
        Ok(Background {
            bytes: at(&self.samples, end).saturating_sub(at(&self.samples, span.0)),
            window_s: end.since(span.0).as_secs_f64(),
            wall_s: None,
            cpu_s: self.whole_tree.then(|| exit.cpu.as_secs_f64()),
            peak_bytes: exit.peak_bytes,
        })
    }
}

/// The counter at `time`, between samples in proportion, beyond them as at the nearest.
fn at(samples: &[(Nanos, u64)], time: Nanos) -> u64 {
    let after = samples.partition_point(|(when, _)| *when <= time);
    let before = after.checked_sub(1).and_then(|index| samples.get(index));
    match (before, samples.get(after)) {
        (Some((t0, b0)), Some((t1, b1))) => {
            let part = time.since(*t0).as_secs_f64() / t1.since(*t0).as_secs_f64().max(1e-9);
            b0 + whole(b1.saturating_sub(*b0) as f64 * part)
        }
        (Some((_, bytes)), None) | (None, Some((_, bytes))) => *bytes,
        (None, None) => 0,
    }
}

/// Reads to the end and counts.
pub(super) fn drain(mut stdout: ChildStdout, bytes: &AtomicU64) {
    let wide = i32::try_from(Bytes::MIB).unwrap_or(0);
    // A larger pipe means fewer switches between job and harness; the default size works too.
    let _ = fcntl(&stdout, FcntlArg::F_SETPIPE_SZ(wide));
    let mut chunk = vec![0; Bytes(Bytes::MIB).as_usize()];
    while let Ok(count @ 1..) = stdout.read(&mut chunk) {
        bytes.fetch_add(count as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
