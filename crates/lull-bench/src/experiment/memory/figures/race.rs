//! A host and a guest on the small machine, from start to end, and what each has in memory meanwhile.
//!
//! ```text
//!   first   ├─ fills its set ─ready─ works ──────────────────────────┤
//!   second                    │◀─lag─▶├─ fills its set ─ works ──────────┤        limit: from here ──▶
//!   samples   ·   ·   ·   ·   ·   ·   ·   ·   ·   ·   ·   ·   ·   ·   ·   ·
//! ```
//! Host and guest are working sets (`load mem-work`) that do a fixed amount of work. When a party has done
//! it, it says so itself, in its last line; what its control needs to end is not counted. A party that has
//! not done it when the limit is over is stopped: then all that is known is that it takes longer.
//!
//! What a party has in memory is `RssAnon` of the load's own process, found below the command that was
//! started by its command line: a control's memory is not its job's. Units: seconds since the first party was
//! started, bytes.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use lull_core::Nanos;
use lull_linux::sense::processes;
use serde::Serialize;

use crate::load::LoadLine;
use crate::process::{LAST_LINE, Options, Proc, lines, words};
use crate::{Error, clock, stop};

/// How long a party that is done with its work may take to end.
const ENDS_WITHIN: Nanos = Nanos::from_secs(15);
/// How often the parties are looked at.
const LOOK: Duration = Duration::from_millis(5);

/// One party: a working set that says when it is full, and how it is run.
#[derive(Clone, Debug)]
pub(super) struct Party {
    /// The load's own command line.
    pub(super) load: Vec<OsString>,
    /// The same with its control around it.
    pub(super) argv: Vec<OsString>,
}

/// Host or guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// The host.
    Host,
    /// The guest.
    Guest,
}

/// A race to be run. Of two things of both sides, the host's comes first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Race {
    /// Who is first; nobody: both start together.
    pub(super) first: Option<Side>,
    /// From when the first has its set to the start of the second.
    pub(super) lag: Nanos,
    /// From the start of the second; the first has as long to fill its set.
    pub(super) limit: Nanos,
    /// Whose work has to be done for it to be over; nobody's: only by its limit.
    pub(super) until: &'static [Side],
    /// Time between two samples of what they have.
    pub(super) every: Nanos,
}

/// One party's way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Course {
    /// When it was started.
    pub started_s: f64,
    /// When it had done its work; none if it was stopped before.
    pub ended_s: Option<f64>,
    /// Requests that it says it made.
    pub requests: u64,
}

impl Course {
    /// How long it took, if it came to its end.
    pub(super) fn took_s(&self) -> Option<f64> {
        self.ended_s.map(|ended| ended - self.started_s)
    }
}

/// What a process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Memory {
    /// In memory.
    pub resident_bytes: u64,
    /// Swapped out.
    pub swapped_bytes: u64,
}

/// Both at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub(super) struct Sample {
    /// Since the first was started.
    pub at_s: f64,
    /// The host's.
    pub host: Memory,
    /// The guest's.
    pub guest: Memory,
}

/// What became of a race.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Raced {
    /// The host, if there was one.
    pub host: Option<Course>,
    /// The guest, if there was one.
    pub guest: Option<Course>,
    /// What they had.
    pub samples: Vec<Sample>,
    /// Pages of the whole machine that were written to swap and read from it meanwhile.
    pub swapped_pages: [u64; 2],
}

/// A started party.
struct Runner {
    process: Proc,
    output: Receiver<String>,
    load: Vec<u8>,
    pid: Option<i32>,
    started: Nanos,
    ready: Option<Nanos>,
    ended: Option<Nanos>,
    requests: u64,
    exited: Option<Nanos>,
}

impl Runner {
    /// Stops it. One that is done with its work is left to end by itself: a `lull run` sums up then.
    fn stop(mut self) -> Result<(), Error> {
        let deadline = clock::now().plus(ENDS_WITHIN);
        while self.ended.is_some() && self.process.poll()?.is_none() && clock::now() < deadline {
            std::thread::sleep(LOOK);
        }
        self.process.stop()?;
        Ok(())
    }

    fn start(party: &Party) -> Result<Self, Error> {
        let started = clock::now();
        let (process, stdout) = Proc::spawn(&party.argv, Options { bound: true, ..Options::default() })?;
        Ok(Self {
            process,
            output: lines(stdout),
            load: command_line(&party.load),
            pid: None,
            started,
            ready: None,
            ended: None,
            requests: 0,
            exited: None,
        })
    }

    /// Hears what it says, and whether it still runs.
    fn look(&mut self, now: Nanos) -> Result<(), Error> {
        let exit = if self.exited.is_none() { self.process.poll()? } else { None };
        if let Some(exit) = exit {
            if !exit.status.success() {
                return Err(self.process.failed(&format!("it ended with {}", exit.status)));
            }
            self.exited = Some(now);
        }
        for line in self.output.try_iter() {
            match serde_json::from_str(&line) {
                Ok(LoadLine::Ready) => self.ready = Some(now),
                Ok(LoadLine::Total(report)) => {
                    self.ended = Some(Nanos(report.ended_ns));
                    self.requests = report.requests;
                }
                _ => return Err(self.process.failed(&format!("unexpected output: {line}"))),
            }
        }
        if self.ended.is_none() && self.exited.is_some_and(|exited| now.since(exited) > LAST_LINE) {
            return Err(self.process.failed("it ended without a report"));
        }
        Ok(())
    }

    fn held(&mut self) -> Memory {
        if self.pid.is_none() {
            self.pid = find(self.process.pid().as_raw(), &self.load);
        }
        let status = |pid| std::fs::read_to_string(format!("/proc/{pid}/status")).ok();
        self.pid.and_then(status).map(|text| held_of(&text)).unwrap_or_default()
    }

    fn course(&self, from: Nanos) -> Course {
        let since = |instant: Nanos| instant.since(from).as_secs_f64();
        Course { started_s: since(self.started), ended_s: self.ended.map(since), requests: self.requests }
    }
}

/// As the kernel shows it in `/proc/PID/cmdline`.
fn command_line(argv: &[OsString]) -> Vec<u8> {
    let mut all = argv.iter().map(|word| word.as_bytes()).collect::<Vec<_>>().join(&0);
    all.push(0);
    all
}

/// The process below `top`, or `top` itself, with this command line.
fn find(top: i32, wanted: &[u8]) -> Option<i32> {
    let is_it = |pid: &i32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted);
    processes::family(top).into_iter().find(is_it)
}

/// From `/proc/PID/status`.
fn held_of(status: &str) -> Memory {
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
    };
    Memory { resident_bytes: bytes("RssAnon"), swapped_bytes: bytes("VmSwap") }
}

/// Pages written to swap and read from it since the machine was started, from `/proc/vmstat`.
fn swapped(vmstat: &str) -> [u64; 2] {
    ["pswpout ", "pswpin "]
        .map(|name| vmstat.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok()).unwrap_or(0))
}

fn swapped_now() -> [u64; 2] {
    swapped(&std::fs::read_to_string("/proc/vmstat").unwrap_or_default())
}

impl Race {
    fn is_over(&self, parties: &[Option<Party>; 2], runners: &[Option<Runner>; 2]) -> bool {
        let is_done = |side: &Side| {
            let runner = runners[*side as usize].as_ref();
            parties[*side as usize].is_none() || runner.is_some_and(|runner| runner.ended.is_some())
        };
        !self.until.is_empty() && self.until.iter().all(is_done)
    }

    /// Whether a party is to be started now, beside the other if there is one.
    fn is_due(&self, side: Side, other: Option<&Option<Runner>>, now: Nanos) -> bool {
        let Some(other) = other.filter(|_| self.first.is_some_and(|first| first != side)) else {
            return true;
        };
        let ready = other.as_ref().and_then(|other| other.ready);
        ready.is_some_and(|ready| now.since(ready) >= self.lag)
    }

    /// Runs it.
    pub(super) fn run(&self, parties: &[Option<Party>; 2]) -> Result<Raced, Error> {
        let mut runners: [Option<Runner>; 2] = [None, None];
        let begun = clock::now();
        let before = swapped_now();
        let (mut samples, mut next_sample) = (Vec::new(), begun);
        loop {
            stop::check()?;
            let now = clock::now();
            for side in [Side::Host, Side::Guest] {
                let (own, other) = (side as usize, 1 - side as usize);
                if let Some(party) = parties[own].as_ref().filter(|_| runners[own].is_none())
                    && self.is_due(side, parties[other].as_ref().map(|_| &runners[other]), now)
                {
                    runners[own] = Some(Runner::start(party)?);
                }
            }
            for runner in runners.iter_mut().flatten() {
                runner.look(now)?;
            }
            if now >= next_sample {
                let [host, guest] = runners.each_mut().map(|one| one.as_mut().map(Runner::held));
                let [host, guest] = [host, guest].map(Option::unwrap_or_default);
                samples.push(Sample { at_s: now.since(begun).as_secs_f64(), host, guest });
                next_sample = next_sample.plus(self.every).max(now);
            }
            if self.is_over(parties, &runners) {
                break;
            }
            let is_missing =
                parties.iter().zip(&runners).any(|(party, one)| party.is_some() && one.is_none());
            let last = runners.iter().flatten().map(|runner| runner.started).max().unwrap_or(begun);
            if is_missing && now.since(last) >= self.limit.plus(self.lag) {
                let first = runners.iter_mut().flatten().next();
                let told = first.map(|first| first.process.failed("it did not get ready"));
                return Err(told.unwrap_or(Error::Interrupted));
            }
            if !is_missing && now.since(last) >= self.limit {
                break;
            }
            std::thread::sleep(LOOK);
        }
        let [[out, back], [out_before, back_before]] = [swapped_now(), before];
        let swapped_pages = [out.saturating_sub(out_before), back.saturating_sub(back_before)];
        let [host, guest] = runners.each_ref().map(|one| one.as_ref().map(|one| one.course(begun)));
        // The guest first: a host that is stopped would leave it the machine.
        runners.into_iter().rev().flatten().try_for_each(Runner::stop)?;
        Ok(Raced { host, guest, samples, swapped_pages })
    }
}

/// Arguments of a working set that says when it is full and what it did.
pub(super) fn working_set(text: &str) -> Vec<OsString> {
    words(&format!("mem-work {text} --ready --json"))
}

#[cfg(test)]
mod tests;
