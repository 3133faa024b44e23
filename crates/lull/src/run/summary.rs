//! What a run did: for a person, for a file, for a script.

use std::fmt::Write;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use lull_core::Nanos;
use serde::{Deserialize, Serialize};

use super::net::queues::QueueSummary;
use lull_engine::report::cpu::CpuSummary;
use lull_engine::report::disk::{DiskSummary, GateCounts};
use lull_engine::report::figures::bytes;
use lull_engine::report::memory::MemorySummary;
use lull_engine::report::net::NetSummary;
use lull_engine::report::whole::WholeSummary;

/// What the front knows by itself.
const KNOWN_WITHOUT_SUPERVISOR: [&str; 7] =
    ["is_complete", "command", "status", "wall_ns", "notes", "unmet", "queues"];

/// From this percentage of its time on a person is told that the job had no CPU.
const STARVED_PERCENT: f64 = 5.0;

/// A whole run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    /// Whether the supervisor could sum up; without, only the command, its time and its status are known.
    #[serde(default)]
    pub(crate) is_complete: bool,
    /// What the foreground may lose at most, as a share, over all resources.
    #[serde(default)]
    pub(crate) promised: f64,
    /// What was asked for and could not be had.
    #[serde(default)]
    pub(crate) unmet: Vec<String>,
    /// The command's words.
    pub(crate) command: Vec<String>,
    /// Exit status as a shell sees it.
    pub(crate) status: Option<i32>,
    pub(crate) wall_ns: u64,
    /// Time in which some call waited or the whole job was held.
    pub(crate) held_ns: u64,
    pub(crate) sensor: String,
    /// The policy's name, and what it learnt if it holds the whole job.
    #[serde(default)]
    pub(crate) policy: String,
    #[serde(default)]
    pub(crate) regulation: Option<String>,
    pub(crate) gate: GateCounts,
    /// Bytes that lull read ahead for the job, in the gaps.
    pub(crate) read_ahead_bytes: u64,
    /// Times the whole job was held, and for how long in all.
    pub(crate) holds: u64,
    pub(crate) job_held_ns: u64,
    /// Time in which the job wanted a CPU and had none: others used it, or a quota was spent.
    #[serde(default)]
    pub(crate) starved_ns: Option<u64>,
    /// The supervisor's own cost.
    pub(crate) supervisor_cpu_ns: u64,
    pub(crate) supervisor_peak_bytes: u64,
    /// From the start of lull to the start of the command, and from there until the sensors stood.
    pub(crate) startup_ns: u64,
    pub(crate) sensors_ns: u64,
    /// What could not be had, for a person.
    pub(crate) notes: Vec<String>,
    pub(crate) disks: Vec<DiskSummary>,
    /// The CPUs, where they were watched.
    #[serde(default)]
    pub(crate) cpu: Option<CpuSummary>,
    /// What the foreground lost on all of these, where it was measured on more than one.
    #[serde(default)]
    pub(crate) whole: Option<WholeSummary>,
    /// The page cache, where it was watched.
    #[serde(default)]
    pub(crate) memory: Option<MemorySummary>,
    /// The network, where it was watched.
    #[serde(default)]
    pub(crate) net: Option<NetSummary>,
    /// Queues that were arranged in two classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) queues: Vec<QueueSummary>,
}

/// Opens a file for the summary, empty. One that is this process's standard output or error, by whatever name, is written where
/// that stands: what is in it, and what the job writes there, stays.
///
/// # Errors
/// Those of opening it for writing.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = File::options().write(true).create(true).truncate(false).open(path)?;
    for stream in [io::stdout().as_fd().try_clone_to_owned(), io::stderr().as_fd().try_clone_to_owned()] {
        // A closed stream is nobody's file.
        if let Ok(stream) = stream.map(File::from)
            && is_same(&stream, &file)?
        {
            return Ok(stream);
        }
    }
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(file)
}

fn is_same(one: &File, other: &File) -> io::Result<bool> {
    let [one, other] = [one.metadata()?, other.metadata()?];
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// How often, in words.
fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

#[expect(clippy::cast_precision_loss, reason = "a percentage for a person")]
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 * 100.0 }
}

impl Summary {
    /// For a script: a line without its end. Numbers that are not known are left out.
    pub(crate) fn json(&self) -> String {
        let whole = serde_json::to_value(self).map(|mut value| {
            if let (false, Some(fields)) = (self.is_complete, value.as_object_mut()) {
                fields.retain(|name, _| KNOWN_WITHOUT_SUPERVISOR.contains(&name.as_str()));
            }
            // Policies that hold the whole job promise nothing.
            if let (true, Some(fields)) = (self.regulation.is_some(), value.as_object_mut()) {
                fields.remove("promised");
            }
            value.to_string()
        });
        whole.unwrap_or_else(|error| error.to_string())
    }

    /// A few lines for a person.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        if !self.is_complete {
            let job = self.command.first().map_or("job", String::as_str);
            let _ = writeln!(text, "lull: {job} in {}; no numbers", Nanos(self.wall_ns));
            self.add_notes(&mut text);
            return text;
        }
        let active = 100.0 - percent(self.held_ns, self.wall_ns);
        if let Some(learnt) = &self.regulation {
            let job = self.command.first().map_or("job", String::as_str);
            let _ = writeln!(
                text,
                "lull: {job} in {}, {active:.1}% of it active; policy {}, held {}, {} in all",
                Nanos(self.wall_ns),
                self.policy,
                times(self.holds),
                Nanos(self.job_held_ns)
            );
            let _ = writeln!(text, "lull: {learnt}");
            self.add_cost(&mut text);
            return text;
        }
        let job = self.command.first().map_or("job", String::as_str);
        let _ = write!(text, "lull: {job} in {}, {active:.1}% of it active", Nanos(self.wall_ns));
        if self.gate.trapped > 0 {
            let _ = write!(
                text,
                "; {} calls gated, {} waited ({} in all), {} served from the page cache",
                self.gate.trapped,
                self.gate.waited,
                Nanos(self.gate.waited_ns),
                self.gate.cached,
            );
        }
        text.push('\n');
        if self.holds > 0 {
            let _ = writeln!(text, "lull: held {}, {} in all", times(self.holds), Nanos(self.job_held_ns));
        }
        if let Some(starved_ns) = self.starved_ns.filter(|ns| percent(*ns, self.wall_ns) >= STARVED_PERCENT) {
            let _ = writeln!(text, "lull: it wanted a CPU and had none for {}", Nanos(starved_ns));
        }
        for disk in self.disks.iter().filter(|disk| disk.background_requests + disk.foreground_requests > 0) {
            let _ = write!(
                text,
                "lull: {}: background (this job and other idle-class work) {} in {} requests; interval {}, {}",
                disk.disk,
                bytes(disk.background_bytes),
                disk.background_requests,
                disk.interval,
                disk.bound
            );
            let _ = match (disk.latency.quiet(), disk.latency.loaded()) {
                (Some(quiet), Some(loaded)) => {
                    writeln!(text, "; foreground {quiet} without, {loaded} with background in service")
                }
                (Some(quiet), None) => writeln!(text, "; foreground {quiet}, never met background"),
                (None, Some(loaded)) => writeln!(text, "; foreground {loaded}, always met background"),
                (None, None) => writeln!(text, "; no foreground requests"),
            };
            if disk.preemptions + disk.kept_free > 0 {
                let _ = writeln!(
                    text,
                    "lull: {}: {} foreground requests met background in service, the interval kept {} free",
                    disk.disk, disk.preemptions, disk.kept_free,
                );
            }
            if disk.foreground_requests > 0 && disk.latency.loaded().is_some() {
                let _ = writeln!(text, "lull: {}: {}", disk.disk, disk.lost_text(self.promised));
            }
        }
        if let Some(cpu) = &self.cpu {
            text += &cpu.text();
        }
        if let Some(whole) = &self.whole {
            let _ = writeln!(text, "lull: in all: {}", whole.sentence(self.promised));
        }
        if let Some(memory) = self.memory.filter(|memory| memory.filled_bytes + memory.dirtied_bytes > 0) {
            text += &memory.text();
        }
        if let Some(net) = &self.net {
            text += &net.text();
        }
        self.add_cost(&mut text);
        text
    }

    fn add_cost(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "lull: own cost {} of CPU, {} of memory, started in {}; sensor {}",
            Nanos(self.supervisor_cpu_ns),
            bytes(self.supervisor_peak_bytes),
            Nanos(self.startup_ns),
            self.sensor
        );
        self.add_notes(text);
    }

    fn add_notes(&self, text: &mut String) {
        text.extend(self.queues.iter().map(QueueSummary::text));
        for note in self.unmet.iter().chain(&self.notes) {
            let _ = writeln!(text, "lull: note: {note}");
        }
    }
}

#[cfg(test)]
mod tests;
