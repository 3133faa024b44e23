//! Traces of pools: when owners were at work, and which guests there were.
//!
//! | format | made with | says |
//! |---|---|---|
//! | CSV | anything; columns `node,time,cpu,mem,owner_active` | owners |
//! | ClassAds of machines | `condor_status -long`, again and again, into one file | owners |
//! | ClassAds of jobs | `condor_history -long` | guests: their work and when they came |
//!
//! CSV: `time` in seconds, rising for each node; `cpu` and `mem` from 0 to 1; `owner_active` 0 or 1. A sample holds until the next of its
//! node. Where the next is more than `longest_gap` later nobody knows what the node did: it counts as fully used by its owner after that time.
//!
//! Reading goes on after a bad line, so that all are named; a file with bad lines is not used.

mod ads;
mod csv;

use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;

use lull_core::Nanos;

use super::owner::{Replay, Sample};

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// Counted from 1.
    pub line: u64,
    /// The line, or its beginning.
    pub text: String,
    /// What is wrong, and what to do.
    pub problem: String,
}

/// Why a text is not a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Some lines are wrong.
    #[error("{}", shown(.0))]
    Lines(Vec<BadLine>),
    /// There is nothing in it.
    #[error("{0}")]
    Nothing(&'static str),
    /// It could not be read.
    #[error("cannot be read to its end: {0}")]
    Read(#[from] std::io::Error),
}

/// A trace spans this at the least: it is repeated to the end of the simulation.
const SPANS: Nanos = Nanos::from_secs(1);
/// So many bad lines are shown.
const SHOWN: usize = 10;

fn shown(lines: &[BadLine]) -> String {
    let mut text: Vec<String> = lines.iter().take(SHOWN).map(BadLine::to_string).collect();
    if lines.len() > SHOWN {
        text.push(format!("and {} more lines", lines.len() - SHOWN));
    }
    text.join("\n")
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: '{}': {}", self.line, self.text, self.problem)
    }
}

/// Bad lines so far.
#[derive(Debug, Default)]
struct Bad(Vec<BadLine>);

impl Bad {
    fn add(&mut self, line: u64, text: &str, problem: impl Into<String>) {
        self.0.push(BadLine { line, text: text.chars().take(100).collect(), problem: problem.into() });
    }

    fn none(self) -> Result<(), TraceError> {
        if self.0.is_empty() { Ok(()) } else { Err(TraceError::Lines(self.0)) }
    }
}

/// What a trace says of owners.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The samples, from the earliest on.
    pub replay: Replay,
    /// Names of the nodes, in their order.
    pub names: Vec<String>,
    /// How many times nothing was known of a node for longer than the longest gap.
    pub gaps: usize,
}

/// What a trace says of guests.
#[derive(Clone, Debug, PartialEq)]
pub struct Guests {
    /// The CPU time of each.
    pub work: Vec<Nanos>,
    /// When each came, since the first.
    pub arrivals: Vec<Nanos>,
    /// How many were removed, or have used no CPU: left out.
    pub left_out: usize,
    /// Where they ran.
    pub hosts: Vec<String>,
}

/// Samples of all nodes, as they are read.
#[derive(Debug, Default)]
struct Nodes {
    index: HashMap<String, usize>,
    names: Vec<String>,
    samples: Vec<Vec<Sample>>,
}

impl Nodes {
    fn of(&mut self, name: &str) -> &mut Vec<Sample> {
        let index = match self.index.get(name) {
            Some(index) => *index,
            None => {
                let index = self.names.len();
                self.index.insert(name.to_owned(), index);
                self.names.push(name.to_owned());
                self.samples.push(Vec::new());
                index
            }
        };
        &mut self.samples[index]
    }

    /// From the earliest sample on, with gaps filled; the last sample of the trace lasts as long as those of its node do on average.
    fn finish(self, longest_gap: Nanos) -> Result<Trace, TraceError> {
        let all = || self.samples.iter().flatten();
        let (Some(first), Some(last)) = (all().map(|s| s.at).min(), all().map(|s| s.at).max()) else {
            return Err(TraceError::Nothing("there is no sample in it"));
        };
        if last.since(first) < SPANS {
            return Err(TraceError::Nothing(
                "its samples span less than a second; a trace has some of several moments",
            ));
        }
        let longest = self.samples.iter().map(Vec::len).max().unwrap_or(1) as u64;
        let step = Nanos(last.since(first).0 / (longest.max(2) - 1)).max(Nanos(1));
        let length = last.since(first).plus(step);
        let mut gaps = 0;
        let mut nodes = Vec::with_capacity(self.samples.len());
        for samples in self.samples {
            let mut filled: Vec<Sample> = Vec::with_capacity(samples.len());
            let begin_again = length.plus(samples.first().map_or(first, |sample| sample.at).since(first));
            for (index, sample) in samples.iter().enumerate() {
                let at = sample.at.since(first);
                filled.push(Sample { at, ..*sample });
                // The last holds until the first of the next round.
                let next = samples.get(index + 1).map_or(begin_again, |next| next.at.since(first));
                if next.since(at) > longest_gap {
                    gaps += 1;
                    filled.push(Sample { at: at.plus(longest_gap), load: 1.0, memory: 1.0, in_use: true });
                }
            }
            nodes.push(filled);
        }
        // A gap of the last sample may reach beyond the end.
        for samples in &mut nodes {
            samples.retain(|sample| sample.at < length);
        }
        Ok(Trace { replay: Replay { nodes, length }, names: self.names, gaps })
    }
}

/// Owners from CSV or from ClassAds of machines, whichever it is.
pub fn owners(mut text: impl BufRead, longest_gap: Nanos) -> Result<Trace, TraceError> {
    let begin = text.fill_buf()?;
    let first = begin.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or(&[]);
    let nodes = if first.contains(&b'=') { ads::machines(text)? } else { csv::read(text)? };
    nodes.finish(longest_gap)
}

/// Guests from ClassAds of jobs.
pub fn guests(text: impl BufRead) -> Result<Guests, TraceError> {
    ads::jobs(text)
}

#[cfg(test)]
mod tests;
