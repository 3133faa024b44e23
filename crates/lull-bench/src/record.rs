//! What a measurement leaves behind: one JSON line per fact, appended at once.
//!
//! `raw.jsonl` begins with the host; then come runs and whatever could not be done, in the order of time. A
//! line is written and flushed as soon as its run ends, so a later failure loses nothing; a second
//! measurement into the same directory appends its own host line and its own runs. Tables and pictures are
//! made from this file alone ([`study`](crate::study)).

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::Context;
use crate::load::LoadReport;
use crate::stats::ratio;

mod reported;
mod terms;

pub use reported::{Reported, reported_cpu_slowdown};
pub use terms::{LULL_FLAGS, differing, term, terms_line};

/// Name of the record file in an output directory.
pub const FILE_NAME: &str = "raw.jsonl";

/// One line of the record file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "lowercase")]
#[expect(clippy::large_enum_variant, reason = "most records are runs, and there are hundreds at most")]
pub enum Record {
    /// Where and when the following runs were made.
    Host(Host),
    /// Something that could not be measured.
    Unmet(Unmet),
    /// One run.
    Run(Run),
}

/// Facts of the machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// UTC, RFC 3339.
    pub date: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Processors online.
    pub cpus: usize,
    /// Main memory.
    pub ram_bytes: u64,
    /// Disk behind the work directory, as under `/sys/block`; none if there is not exactly one.
    pub disk: Option<String>,
    /// Its scheduler when the measurement began.
    pub scheduler: Option<String>,
    /// Whether it says that it rotates.
    pub rotational: Option<bool>,
    /// Whether the measurement ran as root.
    pub root: bool,
    /// Whether idle CPUs were kept awake.
    #[serde(default)]
    pub awake: bool,
    /// Whether the kernel gives each session the same share of the CPUs, so that nice and SCHED_IDLE count
    /// only within one; none if it was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autogroup: Option<bool>,
    /// What has to be the same in measurements that are compared, by name; empty in records of older
    /// versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub terms: BTreeMap<String, String>,
    /// What the measured program says of its version.
    pub version: String,
    /// The commit of the source tree the measurement was started in.
    pub commit: Option<String>,
    /// The seed of order and random numbers.
    pub seed: u64,
}

impl Host {
    /// What idle CPUs did, in words.
    pub const fn idle_cpus(&self) -> &'static str {
        if self.awake { "idle CPUs kept awake" } else { "idle CPUs asleep" }
    }
}

/// A case or contender that was left out, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Unmet {
    /// The case.
    pub case: String,
    /// The contender; none if it concerns the whole case.
    pub contender: Option<String>,
    /// What is missing and what would help.
    pub detail: String,
}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = self.contender.as_deref().map(|name| format!(", {name}")).unwrap_or_default();
        write!(f, "{}{who}: {}", self.case, self.detail)
    }
}

/// One contender in one round of one case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The case.
    pub case: String,
    /// The contender.
    pub contender: String,
    /// Round, from 1.
    pub round: u32,
    /// Position within the round, from 0.
    pub position: usize,
    /// The background's command line, with its control.
    pub command: Option<String>,
    /// What was set around the background for this run, as one would type it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub control: Vec<String>,
    /// The foreground's command line; older records of the experiments on disks lack it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreground_command: Option<String>,
    /// How the server of the foreground was made and started, as one would type it; only recorded with real
    /// applications.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<String>,
    /// What the foreground did.
    pub foreground: Option<LoadReport>,
    /// What the background did in the same time.
    pub background: Option<Background>,
    /// What the background's work is counted by, in words; only recorded with real applications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_by: Option<String>,
    /// What the control itself says that it cost the foreground.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported: Option<Reported>,
    /// What else ran on the machine meanwhile; not recorded by the experiments on disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbance: Option<Disturbance>,
    /// The machine while it ran; only recorded by the experiments with real applications.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_time: Vec<Moment>,
    /// What the disk wrote from the job's start to its end, whoever it was for; only recorded where page
    /// cache is written back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_written_bytes: Option<u64>,
    /// How long the background was held, as the control says; none if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_s: Option<f64>,
    /// How long the control was there, to compare `held_s` with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controlled_s: Option<f64>,
    /// All that the control says of the run; only recorded with real applications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<serde_json::Value>,
    /// Whether the foreground was driven beyond its limit, so that its quiet [beats](crate::beats) were as
    /// late as the others and their ratio shows nothing; only known of the experiments on CPUs.
    #[serde(default, skip_serializing_if = "is_false")]
    pub overrun: bool,
    /// Whether it may be used; false when the notes say that a condition was not met.
    pub counted: bool,
    /// Anything a reader of the numbers should know.
    pub notes: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// One look at a run in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Since the run began.
    pub at_s: f64,
    /// CPUs that the background used since the last look.
    pub background_cpus: f64,
    /// CPUs that everything else used.
    pub other_cpus: f64,
    /// Whether the background was suspended at that moment.
    pub held: bool,
}

/// CPUs that neither foreground nor background had, on average over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// Used by other processes, the kernel's threads and the harness; none if the background's use is not
    /// known.
    pub others_cpus: Option<f64>,
    /// Taken by the hypervisor.
    pub stolen_cpus: f64,
}

/// What the background did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Background {
    /// Bytes moved within the window; of integer work, iterations.
    pub bytes: u64,
    /// Length of the window: that of the foreground's counted time (with [beats](crate::beats), of loaded
    /// ones), or the whole run where there is no foreground.
    pub window_s: f64,
    /// Start to exit, for jobs that run to their end.
    pub wall_s: Option<f64>,
    /// Processor time, user and system, of the job and its control, over its whole life; none for jobs whose
    /// processes are stopped before they were waited for.
    pub cpu_s: Option<f64>,
    /// Processor time of the control alone: what the whole tree of processes used beyond what the load
    /// generator says that it used itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_cpu_s: Option<f64>,
    /// How long the job and its control lived, to compare `control_cpu_s` with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life_s: Option<f64>,
    /// Largest resident set of one of its processes.
    pub peak_bytes: u64,
}

impl Record {
    /// What figures are made of: without what only a page shows.
    #[must_use]
    pub fn figures(&self) -> Self {
        let Self::Run(run) = self else { return self.clone() };
        let foreground =
            run.foreground.clone().map(|report| LoadReport { distribution: Vec::new(), ..report });
        Self::Run(Run {
            command: None,
            control: Vec::new(),
            foreground_command: None,
            server: Vec::new(),
            foreground,
            over_time: Vec::new(),
            summary: None,
            counted_by: None,
            ..run.clone()
        })
    }
}

impl Run {
    /// Says so where requests of the foreground were given up.
    pub fn note_given_up(&mut self) {
        let given_up = self.foreground.as_ref().map_or(0, |report| report.unfinished);
        if given_up > 0 {
            self.notes.push(format!("{given_up} requests were given up, so latencies are underestimated"));
        }
    }

    /// Share of the time in which the background was held, by the control's own account; none if there is
    /// none.
    pub fn held_share(&self) -> Option<f64> {
        // Records of older versions have the time in the control's summary only.
        let told = || Some(self.summary.as_ref()?.get("wall_ns")?.as_f64()? / 1e9);
        ratio(self.held_s?, self.controlled_s.or_else(told)?)
    }
}

impl Background {
    /// Bytes per second in the window.
    pub fn rate(&self) -> f64 {
        if self.window_s > 0.0 { self.bytes as f64 / self.window_s } else { 0.0 }
    }
}

/// Appends records to a file.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
}

impl Writer {
    /// Opens `directory`/raw.jsonl for appending; makes the directory.
    pub fn open(directory: &Path) -> Result<Self, Error> {
        std::fs::create_dir_all(directory).at("create", directory)?;
        let path = directory.join(FILE_NAME);
        let file = OpenOptions::new().append(true).create(true).open(&path).at("open", &path)?;
        Ok(Self { path, file })
    }

    /// Writes one line.
    pub fn append(&mut self, record: &Record) -> Result<(), Error> {
        let mut line =
            serde_json::to_vec(record).map_err(std::io::Error::from).at("encode a record for", &self.path)?;
        line.push(b'\n');
        self.file.write_all(&line).at("append to", &self.path)
    }
}

/// The host lines of records.
pub fn hosts(records: &[Record]) -> impl Iterator<Item = &Host> {
    records.iter().filter_map(|record| match record {
        Record::Host(host) => Some(host),
        _ => None,
    })
}

/// Takes a cut-off last line out of `directory`/raw.jsonl, so that more can be appended.
pub fn mend(directory: &Path) -> Result<(), Error> {
    let path = directory.join(FILE_NAME);
    let text = std::fs::read(&path).at("read", &path)?;
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if whole == text.len() {
        return Ok(());
    }
    let file = OpenOptions::new().write(true).open(&path).at("open", &path)?;
    file.set_len(whole as u64).at("cut off half a line of", &path)
}

/// Reads all records of `directory`/raw.jsonl, or of the file if it is one. A cut-off last line is left out.
pub fn read(place: &Path) -> Result<Vec<Record>, Error> {
    let path = if place.is_dir() { place.join(FILE_NAME) } else { place.to_owned() };
    let file = File::open(&path).at("open", &path)?;
    let lines: Vec<String> = BufReader::new(file).lines().collect::<Result<_, _>>().at("read", &path)?;
    let count = lines.len();
    let mut records = Vec::new();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str(line) {
            Ok(record) => records.push(record),
            Err(cause) if index + 1 == count && cause.is_eof() => {}
            Err(cause) => return Err(Error::Record { path, line: index + 1, cause }),
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests;
