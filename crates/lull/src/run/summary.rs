//! What a run did: for a person, for a file, for a script.

mod whole;

use std::fmt::Write;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use lull_core::{Histogram, Nanos, Slowdown, WindowChoice};
use serde::{Deserialize, Serialize};

use super::cpu::{CpuSummary, LossSummary};
use super::memory::MemorySummary;
use super::net::NetSummary;
use super::net::queues::QueueSummary;
pub(crate) use whole::{LostPart, WholeSummary};

/// How much slower the foreground was with background than without, as tested by withholding it now and then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SlowdownSummary {
    /// Time per foreground request with background over without: 1 for no slowdown.
    pub(crate) ratio: f64,
    /// The 95% interval of the ratio; no upper end while nothing excludes any slowdown.
    pub(crate) low: f64,
    pub(crate) high: Option<f64>,
    /// Comparisons it rests on.
    pub(crate) pairs: u32,
}

impl From<Slowdown> for SlowdownSummary {
    fn from(slowdown: Slowdown) -> Self {
        let Slowdown { ratio, low, high, pairs } = slowdown;
        Self { ratio, low, high: Some(high).filter(|high| high.is_finite()), pairs }
    }
}

impl SlowdownSummary {
    /// As a share, with its interval.
    pub(crate) fn text(&self) -> String {
        let Some(high) = self.high else { return "not known yet".to_owned() };
        format!("{} ({} to {})", signed(self.ratio), signed(self.low), signed(high))
    }

    /// The loss that is proved.
    pub(crate) fn proved(&self) -> f64 {
        (self.low - 1.0).max(0.0)
    }
}

/// Whether a promise was kept, in words.
pub(crate) fn verdict(kept: Option<bool>) -> &'static str {
    match kept {
        Some(true) => "kept",
        Some(false) => "NOT kept",
        None => "neither proved nor refuted",
    }
}

/// A ratio as what it is more than 1.
fn signed(ratio: f64) -> String {
    format!("{:+.1}%", (ratio - 1.0) * 100.0)
}

/// One disk's part. Times in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct DiskSummary {
    pub(crate) disk: String,
    /// The preemption interval and the bound in force at the end, as text with units.
    pub(crate) interval: String,
    pub(crate) bound: String,
    pub(crate) foreground_requests: u64,
    pub(crate) foreground_bytes: u64,
    pub(crate) background_requests: u64,
    pub(crate) background_bytes: u64,
    /// Latency of foreground requests.
    #[serde(flatten)]
    pub(crate) latency: Delays,
    /// Foreground requests that met background in service (B\[f\]), and that the interval kept free (P\[f\]).
    pub(crate) preemptions: u64,
    pub(crate) kept_free: u64,
    /// Background requests that no gate held although the foreground was active.
    pub(crate) leaks: u64,
    /// Requests whose end the sensor missed.
    pub(crate) healed: u64,
    /// State × event counts, rows I F B P, columns f b t i.
    pub(crate) counters: [[u64; 4]; 4],
    /// The share of its time that the foreground lost here, as its requests show: over the whole run and in the worst minute.
    pub(crate) lost: f64,
    pub(crate) lost_worst: f64,
    /// What it loses with what is in force at the end, as the audit found it.
    pub(crate) loss: Option<LossSummary>,
    /// The share of its requests that were late because of the job; none when too few are known.
    pub(crate) late: Option<f64>,
    /// Latency of foreground requests, with background against without.
    #[serde(default)]
    pub(crate) slowdown: Option<SlowdownSummary>,
}

impl DiskSummary {
    /// Whether no more was lost than promised; `None` when neither is known. What is booked before the audit knows anything is booked
    /// with caution, and refutes nothing.
    fn keeps(&self, promised: f64) -> Option<bool> {
        let most = self.loss.and_then(|loss| loss.most);
        let is_refuted = self.loss.is_some_and(|loss| loss.least > promised)
            || (most.is_some() && self.lost_worst > promised);
        let is_proved = most.is_some_and(|most| most <= promised);
        (is_refuted || is_proved).then_some(!is_refuted)
    }

    fn lost_text(&self, promised: f64) -> String {
        let percent = |share: f64| format!("{:.1}%", share * 100.0);
        let late = self
            .late
            .map(|late| format!(", {:.2}% of its requests were late", late * 100.0))
            .unwrap_or_default();
        let finding = match self.loss {
            Some(LossSummary { least, most: Some(most), .. }) => {
                let [lost, least, most] = [self.lost, least, most].map(percent);
                format!("the foreground lost {lost} of its time{late} (audit: {least} to {most})")
            }
            _ => format!("too little was compared to say what the foreground lost{late}"),
        };
        format!("{finding}; at most {} is promised: {}", percent(promised), verdict(self.keeps(promised)))
    }
}

/// How long something of the foreground took; none when there was nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Delays {
    /// When it met no background on arrival.
    pub(crate) quiet_mean_ns: Option<u64>,
    pub(crate) quiet_p99_ns: Option<u64>,
    /// … and when it met some.
    pub(crate) loaded_mean_ns: Option<u64>,
    pub(crate) loaded_p99_ns: Option<u64>,
}

impl Delays {
    /// The means and tails of these times.
    pub(crate) fn of(quiet: &Histogram, loaded: &Histogram) -> Self {
        let ns = |time: Option<Nanos>| time.map(|time| time.0);
        Self {
            quiet_mean_ns: ns(quiet.mean()),
            quiet_p99_ns: ns(quiet.quantile(0.99)),
            loaded_mean_ns: ns(loaded.mean()),
            loaded_p99_ns: ns(loaded.quantile(0.99)),
        }
    }

    /// What a person reads of those that met no background.
    pub(crate) fn quiet(&self) -> Option<String> {
        Some(format!("{} (p99 {})", Nanos(self.quiet_mean_ns?), Nanos(self.quiet_p99_ns?)))
    }

    /// … and of those that met some.
    pub(crate) fn loaded(&self) -> Option<String> {
        Some(format!("{} (p99 {})", Nanos(self.loaded_mean_ns?), Nanos(self.loaded_p99_ns?)))
    }
}

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
    pub(crate) gate: super::engine::GateCounts,
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

/// Bytes with a binary unit.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
pub(crate) fn bytes(n: u64) -> String {
    let mut value = n as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{n} B") } else { format!("{value:.1} {unit}") }
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

/// The bound on background in service as text: the window, or the depth that was fixed in its place.
pub(crate) fn bound_text(depth: u32, window_bytes: u64) -> String {
    match (depth, window_bytes) {
        (u32::MAX, u64::MAX) => "no window".to_owned(),
        (u32::MAX, bytes) => format!("window {}", WindowChoice::Fixed(bytes)),
        (depth, _) => format!("depth {depth}"),
    }
}

#[cfg(test)]
mod tests;
