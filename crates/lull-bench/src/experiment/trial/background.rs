//! The background of a trial: a started job and the samples of its counter.
//!
//! Three ways to know how much is done ([`Meter`]): a load generator counts into a mapped file, so the count
//! is right also while the job is held; other jobs are judged by what they write. A load generator's last
//! line says how much processor time it used itself; what its whole tree of processes used beyond that is the
//! cost of the control around it.

use std::any::Any;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::ChildStdout;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use lull_core::Nanos;
use nix::fcntl::{FcntlArg, fcntl};
use tempfile::TempPath;

use crate::beats::{Beat, Beats};
use crate::contender::Contender;
use crate::contender::group::CpuGroup;
use crate::error::Context;
use crate::load::{LoadLine, LoadReport};
use crate::process::{HELPERS_END, LAST_LINE, Options, POLL, Proc, Program};
use crate::progress::{self, Progress};
use crate::record::Background;
use crate::units::{Bytes, whole};
use crate::{Error, clock, stop};

/// How long a background has to move its first byte; one in the idle class waits long for it while others
/// compute.
const FIRST_BYTES: Nanos = Nanos::from_secs(60);

/// How much of a job's work is done.
pub enum Meter {
    /// A load generator counts into this file.
    Progress(Box<ProgressFile>),
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
    /// Whether its standard input is a pipe that closes when the harness is gone.
    pub leash: bool,
    /// Whether the foreground begins beside it at once, instead of once it has moved something: for a control
    /// that learns first.
    pub at_once: bool,
    /// What goes when it has ended.
    pub kept: Option<Box<dyn Any>>,
}

impl Job {
    /// A command whose work is measured like this.
    pub fn of(argv: Vec<OsString>, meter: Meter) -> Self {
        Self { argv, meter, leash: false, at_once: false, kept: None }
    }

    /// A command whose lines stand for bytes.
    pub fn of_lines(argv: Vec<OsString>, bytes: impl FnMut(&str) -> u64 + Send + 'static) -> Self {
        Self::of(argv, Meter::Lines(Box::new(bytes)))
    }

    /// A load generator with these arguments, which counts into a file.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn of_load(mut args: Vec<OsString>, program: &Program) -> Result<Self, Error> {
        let file = ProgressFile::create()?;
        args.extend(["--json".into(), "--progress".into(), file.path().into()]);
        Ok(Self::of(program.load_argv(args), Meter::Progress(Box::new(file))))
    }

    /// The same under a control, and in its group if it has one.
    #[must_use]
    pub fn under(self, control: &Contender, group: Option<&CpuGroup>, program: &Program) -> Self {
        let argv = CpuGroup::wrap_in(group, control.wrap(self.argv, program));
        Self { argv, ..self }
    }
}

/// A progress file that a load and the harness share; removed when dropped.
#[derive(Debug)]
pub struct ProgressFile {
    path: TempPath,
    progress: Progress,
}

impl ProgressFile {
    /// A new one, at zero.
    pub fn create() -> Result<Self, Error> {
        let directory = progress::directory();
        let file = tempfile::Builder::new()
            .prefix(&progress::prefix(std::process::id()))
            .tempfile_in(&directory)
            .at("create a progress file in", &directory)?;
        let path = file.into_temp_path();
        let progress = Progress::create(&path)?;
        Ok(Self { path, progress })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it holds.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }
}

/// A started job and the samples of its counter.
pub(super) struct Running {
    process: Proc,
    counter: Counter,
    started: Nanos,
    /// What the load generator says at its end.
    report: Option<JoinHandle<Option<LoadReport>>>,
    samples: Vec<(Nanos, u64)>,
    /// Whether the leader's processor time is that of the whole job.
    whole_tree: bool,
    ended_at: Option<Nanos>,
    at_once: bool,
    _kept: Option<Box<dyn Any>>,
}

enum Counter {
    Shared(Box<ProgressFile>),
    Counted(Arc<AtomicU64>),
}

impl Counter {
    fn bytes(&self) -> u64 {
        match self {
            Self::Shared(file) => file.progress.bytes(),
            Self::Counted(bytes) => bytes.load(Ordering::Relaxed),
        }
    }
}

impl Running {
    pub(super) fn start(job: Job) -> Result<Self, Error> {
        // A harness that is killed leaves no job behind.
        let options = Options { leash: job.leash, bound: true, ..Options::default() };
        let (process, stdout) = Proc::spawn(&job.argv, options)?;
        let started = clock::now();
        let whole_tree = match job.meter {
            Meter::Progress(_) => true,
            // Jobs counted by lines, and those that begin at once, are shell loops: their children die by the
            // same signal, unwaited for.
            Meter::Output => !job.at_once,
            Meter::Lines(_) => false,
        };
        let bytes = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&bytes);
        let mut report = None;
        let counter = match job.meter {
            Meter::Progress(file) => {
                report = Some(thread::spawn(move || last_report(stdout)));
                Counter::Shared(file)
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
        Ok(Self {
            process,
            counter,
            started,
            report,
            samples: Vec::new(),
            whole_tree,
            ended_at: None,
            at_once: job.at_once,
            _kept: job.kept,
        })
    }

    /// The process that leads it.
    pub(super) fn pid(&self) -> i32 {
        self.process.pid().as_raw()
    }

    /// Waits until it works, if that is wanted.
    pub(super) fn await_first_bytes(&mut self) -> Result<(), Error> {
        if self.at_once {
            return Ok(());
        }
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

    /// Lets it work for a while, or to its end.
    pub(super) fn work_for(&mut self, time: Nanos) -> Result<(), Error> {
        let end = clock::now().plus(time);
        while clock::now() < end && !self.ended(clock::now())? {
            stop::check()?;
            thread::sleep(POLL.min(std::time::Duration::from_nanos(end.since(clock::now()).0)));
        }
        Ok(())
    }

    pub(super) fn sample(&mut self, now: Nanos) {
        self.samples.push((now, self.counter.bytes()));
    }

    /// Whether it has ended by itself; an error if it failed.
    pub(super) fn ended(&mut self, now: Nanos) -> Result<bool, Error> {
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

    /// Lets it work, or pauses it, as `beat` says. Only load generators can be paused.
    pub(super) fn follow(&self, beat: Beat) {
        if let Counter::Shared(file) = &self.counter {
            file.progress.pause(beat == Beat::Quiet);
        }
    }

    /// Bytes per second over the last half second of samples.
    pub(super) fn recent_rate(&self) -> Option<f64> {
        let (now, bytes) = *self.samples.last()?;
        let since = now.since(Nanos::from_millis(500));
        let index = self.samples.partition_point(|(at, _)| *at < since);
        let (then, before) = *self.samples.get(index)?;
        let seconds = now.since(then).as_secs_f64();
        (seconds > 0.05).then(|| bytes.saturating_sub(before) as f64 / seconds)
    }

    /// Stops it and counts its work between the two times.
    pub(super) fn finish(
        mut self,
        span: (Nanos, Nanos),
        beats: Option<Beats>,
        notes: &mut Vec<String>,
    ) -> Result<Background, Error> {
        self.sample(clock::now());
        let exit = self.process.stop()?;
        let left = self.process.await_left_behind(HELPERS_END);
        let exit = exit.and(left.usage);
        if !left.all_ended {
            notes.push(format!(
                "the background left processes behind that have not ended after {HELPERS_END}: their processor time is not known"
            ));
        }
        let life = clock::now().since(self.started);
        let status = exit.status;
        use std::os::unix::process::ExitStatusExt;
        let asked_to = status.success()
            || status.signal() == Some(libc::SIGTERM)
            || status.code() == Some(128 + libc::SIGTERM);
        if !asked_to {
            notes.push(self.process.failed(&format!("the background ended with {status}")).to_string());
        }
        let end = self.ended_at.unwrap_or(span.1).min(span.1);
        let time = beats.map_or_else(|| end.since(span.0), |beats| beats.loaded(span.0, end));
        let cpu = self.whole_tree.then_some(exit.cpu);
        let own = self.report.take().and_then(await_report).and_then(|report| report.cpu_ns).map(Nanos);
        // Less than the load's own: the tree was not waited for as a whole.
        let known = cpu.zip(own).filter(|_| left.all_ended);
        let control = known.filter(|(all, own)| all >= own).map(|(all, own)| all.since(own));
        Ok(Background {
            bytes: at(&self.samples, end).saturating_sub(at(&self.samples, span.0)),
            window_s: time.as_secs_f64(),
            wall_s: None,
            cpu_s: cpu.map(Nanos::as_secs_f64),
            control_cpu_s: control.map(Nanos::as_secs_f64),
            life_s: control.map(|_| life.as_secs_f64()),
            peak_bytes: exit.peak_bytes,
        })
    }
}

/// The counter at `time`, between samples in proportion, beyond them as at the nearest.
pub(super) fn at(samples: &[(Nanos, u64)], time: Nanos) -> u64 {
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

/// What the last line of a load generator's output says; none if it was killed before it could say anything.
fn last_report(stdout: ChildStdout) -> Option<LoadReport> {
    match serde_json::from_str(&BufReader::new(stdout).lines().map_while(Result::ok).last()?) {
        Ok(LoadLine::Total(report)) => Some(report),
        _ => None,
    }
}

fn await_report(reader: JoinHandle<Option<LoadReport>>) -> Option<LoadReport> {
    // A process that is left behind may keep the pipe open; it must not block the measurement.
    let deadline = clock::now().plus(LAST_LINE);
    while !reader.is_finished() && clock::now() < deadline {
        thread::sleep(POLL / 10);
    }
    if reader.is_finished() { reader.join().ok().flatten() } else { None }
}

/// Reads to the end and counts.
fn drain(mut stdout: ChildStdout, bytes: &AtomicU64) {
    let wide = i32::try_from(Bytes::MIB).unwrap_or(0);
    // A larger pipe means fewer switches between job and harness; the default size works too.
    let _ = fcntl(&stdout, FcntlArg::F_SETPIPE_SZ(wide));
    let mut chunk = vec![0; Bytes(Bytes::MIB).as_usize()];
    while let Ok(count @ 1..) = stdout.read(&mut chunk) {
        bytes.fetch_add(count as u64, Ordering::Relaxed);
    }
}
