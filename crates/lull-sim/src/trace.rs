//! Traces of block requests, in the formats that people have.
//!
//! Problem: to say what an interval would cost on a disk one needs its requests: when each arrived, when it was over,
//! whose it was. Tools write that down in many ways.
//!
//! Approach: [`parse`] looks at the first line that says something, finds the format, and hands over to its module. The
//! result is one list of requests in the order of their arrival, with times from the first one on.
//!
//! | format | module | times | class |
//! |---|---|---|---|
//! | lull recording | [`recording`] | ns | in the file |
//! | fio latency log (`write_lat_log`) | `fio_log` | whole milliseconds, latency in ns | priority field, if any |
//! | fio iolog, version 2 and 3 (`write_iolog`) | `iolog` | µs, arrivals only | foreground |
//! | `blkparse` text | `blkparse` | ns | by command |
//! | `perf script` of block events | `perf` | µs or ns | ioprio class idle, or by command |
//!
//! Edge cases: a request without an end (the trace stopped) or without a beginning is counted as unmatched and left
//! out. Times that run backwards are sorted. No input may make a parser panic; a property test tries.

mod blkparse;
mod error;
mod fio_log;
mod iolog;
mod pairs;
mod perf;
pub mod recording;

use std::fmt;

use lull_core::Nanos;
use serde::Serialize;

pub use error::{Fault, TraceError};

use crate::class::Class;

/// Where a trace came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Written by `lull record`.
    Recording,
    /// Written by fio with `write_lat_log`.
    FioLatencyLog,
    /// Written by fio with `write_iolog`.
    FioIolog,
    /// Written by `blkparse`.
    Blkparse,
    /// Written by `perf script`.
    PerfScript,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Recording => "lull recording",
            Self::FioLatencyLog => "fio latency log",
            Self::FioIolog => "fio iolog",
            Self::Blkparse => "blkparse text",
            Self::PerfScript => "perf script block events",
        })
    }
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// When it arrived, from the first arrival of the trace on.
    pub arrival: Nanos,
    /// When it was over; the same as `arrival` where the format does not know.
    pub end: Nanos,
    /// Whose it was.
    pub class: Class,
    /// How much it moved.
    pub bytes: u64,
    /// Position of its device in [`Trace::devices`].
    pub device: usize,
}

/// The requests of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// How it was written.
    pub format: Format,
    /// The devices (or files) named in it.
    pub devices: Vec<String>,
    /// In the order of their arrival.
    pub requests: Vec<Traced>,
    /// Whether ends are known.
    pub timed: bool,
    /// What times are rounded to.
    pub resolution: Nanos,
    /// Requests of which only one side was seen.
    pub unmatched: u64,
}

/// What the trace itself does not tell.
#[derive(Clone, Debug, Default)]
pub struct ParseOptions {
    /// Requests of these commands are background, in formats that name commands.
    pub background_commands: Vec<String>,
}

/// Finds the format and reads the whole text.
pub fn parse(text: &str) -> Result<Trace, TraceError> {
    parse_with(text, &ParseOptions::default())
}

/// As [`parse`], with what the user knows beyond the trace.
pub fn parse_with(text: &str, options: &ParseOptions) -> Result<Trace, TraceError> {
    match detect(text)? {
        Format::Recording => parse_recording(text),
        Format::FioLatencyLog => fio_log::parse(text),
        Format::FioIolog => iolog::parse(text),
        Format::Blkparse => blkparse::parse(text, options),
        Format::PerfScript => perf::parse(text, options),
    }
}

/// The format, from the first line that says something.
fn detect(text: &str) -> Result<Format, TraceError> {
    if text.starts_with(recording::MAGIC) {
        return Ok(Format::Recording);
    }
    let says = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let Some((index, line)) = text.lines().enumerate().find(|(_, line)| says(line)) else {
        return Err(TraceError::Nothing {
            what: "the trace is empty",
            hint: "did the program that wrote it see any request?",
        });
    };
    if line.starts_with(iolog::MAGIC) {
        Ok(Format::FioIolog)
    } else if fio_log::looks_like(line) {
        Ok(Format::FioLatencyLog)
    } else if blkparse::looks_like(line) {
        Ok(Format::Blkparse)
    } else if text.contains(perf::MARK) {
        Ok(Format::PerfScript)
    } else {
        Err(TraceError::Unknown { line: index + 1, text: error::cut(line) })
    }
}

fn parse_recording(text: &str) -> Result<Trace, TraceError> {
    let mut lines = text.lines().enumerate();
    recording::check_header(lines.next().map_or("", |(_, line)| line))?;
    let mut builder = Builder::new(Format::Recording, Nanos(1));
    for (index, line) in lines {
        if let Some(record) = recording::parse_line(index + 1, line)? {
            builder.add(record.arrival, record.end, record.class, record.bytes, record.device);
        }
    }
    builder.finish()
}

/// Collects requests in any order.
struct Builder {
    trace: Trace,
}

impl Builder {
    fn new(format: Format, resolution: Nanos) -> Self {
        let (devices, requests) = (Vec::new(), Vec::new());
        Self { trace: Trace { format, devices, requests, timed: true, resolution, unmatched: 0 } }
    }

    fn add(&mut self, arrival: Nanos, end: Nanos, class: Class, bytes: u64, device: &str) {
        let devices = &mut self.trace.devices;
        let place = devices.iter().position(|name| name == device).unwrap_or_else(|| {
            devices.push(device.to_owned());
            devices.len() - 1
        });
        self.trace.requests.push(Traced { arrival, end: end.max(arrival), class, bytes, device: place });
    }

    /// Sorts, and counts times from the first arrival on.
    fn finish(mut self) -> Result<Trace, TraceError> {
        let requests = &mut self.trace.requests;
        requests.sort_by_key(|request| (request.arrival, request.end));
        let Some(origin) = requests.first().map(|request| request.arrival) else {
            return Err(TraceError::Nothing {
                what: "the trace holds no complete request",
                hint: "trace for longer, and both the beginning and the end of requests",
            });
        };
        for request in requests {
            request.arrival = request.arrival.since(origin);
            request.end = request.end.since(origin);
        }
        Ok(self.trace)
    }
}

/// Seconds with a fraction, as tracers print them, in nanoseconds.
fn seconds(text: &str) -> Option<Nanos> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<9}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction).map(Nanos)
}

#[cfg(test)]
mod tests;
