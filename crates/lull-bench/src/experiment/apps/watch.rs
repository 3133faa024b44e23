//! The machine while a run goes on: who used the CPUs, and whether the background stood still.
//!
//! Twice a second: the processor time of the whole machine, that of the background's processes (which is what
//! descends from the started command, control included), and whether one of them is stopped by a signal or in
//! a frozen control group. Looking costs about two milliseconds of one CPU each time, in all runs alike.

use std::path::Path;

use lull_core::Nanos;
use lull_linux::sense::machine::MachineTimes;
use lull_linux::sense::processes;

use crate::record::Moment;
use crate::stats::ratio;

/// How often.
const EVERY: Nanos = Nanos::from_millis(500);

#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Nanos,
    all: Nanos,
    background: Nanos,
}

/// Looks now and then.
#[derive(Clone, Debug)]
pub struct Watch {
    began: Nanos,
    seen: Option<Seen>,
    moments: Vec<Moment>,
}

impl Watch {
    /// From now on.
    pub fn begin(now: Nanos) -> Self {
        Self { began: now, seen: None, moments: Vec::new() }
    }

    /// Looks, if it is time; `leader` leads the background.
    pub fn look(&mut self, now: Nanos, leader: Option<i32>) {
        if self.seen.is_some_and(|seen| now.since(seen.at) < EVERY) {
            return;
        }
        let family = leader.map(processes::family).unwrap_or_default();
        let Some(machine) = MachineTimes::now() else { return };
        let seen = Seen { at: now, all: machine.busy(), background: processes::usage(&family).cpu };
        if let Some(before) = self.seen.replace(seen) {
            let span = now.since(before.at).as_secs_f64();
            let background = seen.background.since(before.background).as_secs_f64() / span;
            let all = seen.all.since(before.all).as_secs_f64() / span;
            self.moments.push(Moment {
                at_s: now.since(self.began).as_secs_f64(),
                background_cpus: background,
                other_cpus: (all - background).max(0.0),
                held: family.iter().any(|pid| is_held(*pid)),
            });
        }
    }

    /// CPUs that the background used on average, as far as was seen; none if nothing was.
    pub fn background_cpus(&self) -> Option<f64> {
        let sum: f64 = self.moments.iter().map(|moment| moment.background_cpus).sum();
        ratio(sum, self.moments.len() as f64)
    }

    /// What was seen until `end`, when the counted time was over: a foreground may have been at work longer.
    pub fn until(self, end: Nanos) -> Vec<Moment> {
        let span_s = end.since(self.began).as_secs_f64();
        self.moments.into_iter().filter(|moment| moment.at_s <= span_s).collect()
    }
}

/// Whether a process is stopped or frozen.
fn is_held(pid: i32) -> bool {
    processes::is_stopped(pid)
        || std::fs::read_to_string(format!("/proc/{pid}/cgroup"))
            .is_ok_and(|text| text.lines().any(|line| is_frozen(Path::new("/sys/fs/cgroup"), line)))
}

/// Whether the group of a line of `/proc/PID/cgroup` is frozen, below the usual mount points of both
/// versions.
fn is_frozen(root: &Path, line: &str) -> bool {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { return false };
    let path = path.trim_start_matches('/');
    let says = |place: &Path, name: &str, wanted: &str| {
        std::fs::read_to_string(place.join(path).join(name)).is_ok_and(|text| text.trim() == wanted)
    };
    match controllers {
        "" => ["", "unified"].iter().any(|mount| says(&root.join(mount), "cgroup.freeze", "1")),
        "freezer" => says(&root.join("freezer"), "freezer.state", "FROZEN"),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
