//! One run: a background and a foreground side by side, judged in the window that the foreground counts.
//!
//! ```text
//!  background   ├──start──first bytes─────────────────────────────────────┤ SIGTERM
//!  foreground                         ├─warm-up─┼────── counted ──────┤
//!  samples       ·    ·    ·    ·    ·    ·    ·    ·    ·    ·    ·    ·     every 10 ms
//!                                               └── bytes at both ends ┘
//! ```
//! A foreground that [goes first](Foreground::goes_first) is started before the background, and counts from
//! when it has what it needs. The background's bytes at the window's ends are interpolated between samples of
//! its counter, so it needs no protocol with the foreground. With [beats](crate::beats) the job's load is
//! paused and goes on in the counted time. If the background ends first (a `tar` that is done), the
//! foreground is stopped and the window ends there. All time stamps are CLOCK_MONOTONIC, which the processes
//! share.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;

use lull_core::Nanos;

use crate::beats::Beats;
use crate::load::{LoadLine, LoadReport, PeriodReport};
use crate::process::{Options, POLL, Proc, Program, lines, shown};
use crate::record::Run;
use crate::{Error, clock, stop};

mod background;
mod foreground;

pub use background::{Job, Meter, ProgressFile};
pub use foreground::Foreground;

use background::Running;
#[cfg(test)]
use background::at;

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
    /// The process that leads the background, if there is one.
    pub background: Option<i32>,
}

/// Runs them; `observe` is called about every 10 ms. The record has what was started, what was done, and what
/// a reader should know.
pub fn run(
    foreground: Option<&Foreground>,
    job: Option<Job>,
    window: Window,
    program: &Program,
    observe: &mut dyn FnMut(Tick),
) -> Result<Run, Error> {
    let command = job.as_ref().map(|job| shown(&job.argv));
    let foreground_command = foreground.map(|foreground| shown(&foreground.argv(window, program)));
    let first = match foreground {
        Some(foreground) if foreground.goes_first => Some(Started::ready(foreground, window, program)?),
        _ => None,
    };
    let mut background = job.map(Running::start).transpose()?;
    if let Some(running) = &mut background {
        running.await_first_bytes()?;
        let lead = foreground.filter(|_| first.is_none()).map_or(Nanos::ZERO, |foreground| foreground.lead);
        running.work_for(lead)?;
    }
    let beats = foreground.and_then(|foreground| foreground.beats);
    let started = match (first, foreground) {
        (None, Some(foreground)) => Some(Started::new(foreground, window, program)?),
        (first, _) => first,
    };
    let mut cut = false;
    let foreground = match started {
        Some(started) => Some(watch(started, background.as_mut(), &mut cut, observe)?),
        None => None,
    };
    let span = match &foreground {
        Some(report) => (Nanos(report.started_ns), Nanos(report.ended_ns)),
        None => watch_alone(background.as_mut(), window, observe)?,
    };
    let mut notes = Vec::new();
    let background = match background {
        Some(running) => Some(running.finish(span, beats, &mut notes)?),
        None => None,
    };
    if (cut || foreground.is_none()) && span.1.since(span.0) < Nanos(window.length.as_nanos() / 2) {
        notes
            .push(format!("the window was cut to {}: the background had no more work", span.1.since(span.0)));
    }
    Ok(Run { command, foreground_command, foreground, background, counted: true, notes, ..Run::default() })
}

/// A foreground that has been started.
struct Started {
    process: Proc,
    output: Receiver<String>,
    beats: Option<Beats>,
    /// When it begins to count.
    counting: Nanos,
}

impl Started {
    fn new(foreground: &Foreground, window: Window, program: &Program) -> Result<Self, Error> {
        let (process, stdout) =
            Proc::spawn(&foreground.argv(window, program), Options { bound: true, ..Options::default() })?;
        let counting = clock::now().plus(window.warmup);
        Ok(Self { process, output: lines(stdout), beats: foreground.beats, counting })
    }

    /// One that has said that it has what it needs.
    fn ready(foreground: &Foreground, window: Window, program: &Program) -> Result<Self, Error> {
        let mut started = Self::new(foreground, window, program)?;
        loop {
            stop::check()?;
            match started.output.recv_timeout(POLL) {
                Ok(line) if matches!(serde_json::from_str(&line), Ok(LoadLine::Ready)) => {
                    started.counting = clock::now().plus(window.warmup);
                    return Ok(started);
                }
                Err(RecvTimeoutError::Timeout) => {}
                _ => return Err(started.process.failed("it did not get ready")),
            }
        }
    }
}

/// Runs the foreground to its end, or to the background's.
fn watch(
    started: Started,
    mut background: Option<&mut Running>,
    stopping: &mut bool,
    observe: &mut dyn FnMut(Tick),
) -> Result<LoadReport, Error> {
    let Started { mut process, output, beats, counting } = started;
    let mut total = None;
    loop {
        stop::check()?;
        let line = match output.recv_timeout(POLL) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let now = clock::now();
        let mut tick = Tick { foreground: None, background_rate: None, background: None };
        if let Some(running) = &mut background {
            running.sample(now);
            if let Some(beats) = beats.filter(|_| now >= counting) {
                running.follow(beats.at(now));
            }
            tick.background_rate = running.recent_rate();
            tick.background = Some(running.pid());
            if !*stopping && running.ended(now)? {
                *stopping = true;
                process.terminate();
            }
        }
        match line.as_deref().map(serde_json::from_str) {
            None => {}
            Some(Ok(LoadLine::Ready)) => {}
            Some(Ok(LoadLine::Period(period))) => tick.foreground = Some(period),
            Some(Ok(LoadLine::Total(report))) => total = Some(report),
            Some(Ok(LoadLine::Calibration { .. })) => {
                return Err(process.failed("it calibrated instead of running"));
            }
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
        observe(Tick {
            foreground: None,
            background_rate: running.recent_rate(),
            background: Some(running.pid()),
        });
        thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests;
