//! A parallel guest of four processes on nodes of which some are in use (requirement L-6, figures 6 and 7 of Linger-Longer, ICS 1999).
//!
//! The guest computes in rounds: every process computes, then all exchange what they have computed, and nobody goes on before all have done either. A
//! process that waits for its owner's gap makes the others wait. So the job is as slow as the slowest of its nodes in each round, and
//! slower than each of them: that is what lingering costs against leaving busy nodes out.
//!
//! *Applications* differ in how much of their work is divided among processes (the rest is the same on each, as the exchange is). That is taken
//! from the authors' own numbers: `sor`, `water` and `fft` on three nodes instead of four take 26%, 25% and 30% longer; with `x` divided,
//! three take `1 + x / 3`. Their rounds are an assumption: `sor` computes mostly, `water` synchronizes often.
//!
//! *Owners* edit and compile (Musbus): nine bursts in ten are keystrokes of 10 ms on average, the tenth a compilation; 200 ms in between. The load
//! is set by the length of compilations, as theirs was.
//!
//! *Schedulers*: `linger` runs the guest in gaps only, and each gap that the guest had used costs the next burst the effective context-switch time.
//! `equal` is Linux 2.0 (their figure 1): a process that has slept has up to 40 slices of 10 ms to a computing one's 10 on
//! average, so a burst runs alone for 300 ms, then takes turns with the guest.

use lull_core::Nanos;
use serde::Serialize;

use super::Estimate;
use super::bursts::exponential;
use crate::span::Random;

/// Processes of a guest.
pub const PROCESSES: usize = 4;

/// A parallel program.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Application {
    /// Its name.
    pub name: &'static str,
    /// The share of its work that is divided among processes.
    pub divided: f64,
    /// A round on four nodes that are not in use, in seconds.
    pub round_s: f64,
}

/// The three of Linger-Longer, from how much longer they take on three nodes.
pub const APPLICATIONS: [Application; 3] = [
    Application { name: "sor", divided: 3.0 * 0.26, round_s: 0.200 },
    Application { name: "water", divided: 3.0 * 0.25, round_s: 0.020 },
    Application { name: "fft", divided: 3.0 * 0.30, round_s: 0.060 },
];

impl Application {
    /// How much longer it takes on `nodes` nodes that are not in use than on four.
    pub fn on_fewer(&self, nodes: usize) -> f64 {
        self.divided * (PROCESSES as f64 / nodes as f64 - 1.0)
    }
}

/// How owner and guest share a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// The guest in gaps only.
    Linger,
    /// As equals.
    Equal,
}

/// How much longer both take.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Slowdown {
    /// The application.
    pub application: &'static str,
    /// How CPUs are shared.
    pub scheduler: Scheduler,
    /// The owners' load.
    pub load: f64,
    /// How many of the four nodes are in use.
    pub busy: usize,
    /// The guest, against four nodes that are not.
    pub guest: Estimate,
    /// The owners' bursts, against those without a guest.
    pub owner: Estimate,
}

/// Between two bursts.
const THINK_S: f64 = 0.200;
const KEYSTROKE_S: f64 = 0.010;
/// A burst runs alone for that long under `equal`.
const CREDIT_S: f64 = 0.300;

#[derive(Clone, Debug)]
struct Node {
    compile_s: f64,
    random: Random,
    /// Think time, or CPU time of the burst, that is left.
    left_s: f64,
    computing: bool,
    /// CPU time that this burst has had.
    had_s: f64,
    /// The guest has used this gap.
    used: bool,
    wanted_s: f64,
    taken_s: f64,
}

impl Node {
    fn new(load: f64, mut random: Random) -> Self {
        let mean_s = THINK_S * load / (1.0 - load);
        let left_s = exponential(THINK_S, &mut random);
        Self {
            compile_s: ((mean_s - 0.9 * KEYSTROKE_S) / 0.1).max(0.0),
            random,
            left_s,
            computing: false,
            had_s: 0.0,
            used: false,
            wanted_s: 0.0,
            taken_s: 0.0,
        }
    }

    /// Passes `limit_s`, or less if the guest's `work_s` are done before; what has passed and what was done.
    fn pass(&mut self, scheduler: Scheduler, switch_s: f64, mut work_s: f64, limit_s: f64) -> f64 {
        let mut passed_s = 0.0;
        let wanted = work_s > 0.0;
        while passed_s < limit_s && (!wanted || work_s > 1e-12) {
            // How fast owner and guest get on, and for how long at least that stays so.
            let (owner, guest, mut span_s) = match (self.computing, wanted) {
                (false, wants) => (1.0, f64::from(u8::from(wants)), self.left_s),
                (true, true) if scheduler == Scheduler::Equal && self.had_s >= CREDIT_S => {
                    (0.5, 0.5, self.left_s * 2.0)
                }
                (true, true) if scheduler == Scheduler::Equal => {
                    (1.0, 0.0, self.left_s.min(CREDIT_S - self.had_s))
                }
                (true, _) => (1.0, 0.0, self.left_s),
            };
            if guest > 0.0 {
                span_s = span_s.min(work_s / guest);
            }
            span_s = span_s.min(limit_s - passed_s);
            passed_s += span_s;
            work_s -= span_s * guest;
            self.left_s -= span_s * owner;
            if self.computing {
                self.taken_s += span_s;
                self.had_s += span_s * owner;
            } else {
                self.used |= guest > 0.0 && span_s > switch_s;
            }
            if self.left_s <= 1e-12 {
                self.turn(switch_s);
            }
        }
        passed_s
    }

    /// A burst begins, or ends.
    fn turn(&mut self, switch_s: f64) {
        self.computing = !self.computing;
        self.had_s = 0.0;
        if self.computing {
            let mean_s = if self.random.uniform() < 0.9 { KEYSTROKE_S } else { self.compile_s };
            let burst_s = exponential(mean_s, &mut self.random);
            self.wanted_s += burst_s;
            self.left_s = burst_s + if std::mem::take(&mut self.used) { switch_s } else { 0.0 };
        } else {
            self.left_s = exponential(THINK_S, &mut self.random);
        }
    }
}

/// How much longer guest and owners take in `span_s` seconds of the guest's time alone.
fn once(
    application: &Application,
    scheduler: Scheduler,
    load: f64,
    busy: usize,
    switch: Nanos,
    span_s: f64,
    random: &mut Random,
) -> (f64, f64) {
    let switch_s = switch.as_secs_f64();
    let mut nodes: Vec<Node> =
        (0..busy).map(|_| Node::new(load, Random::new(random.below(u64::MAX), 0))).collect();
    let (mut time_s, mut alone_s) = (0.0, 0.0);
    while alone_s < span_s {
        let parts_s = [application.divided, 1.0 - application.divided].map(|part| part * application.round_s);
        for part_s in parts_s.into_iter().filter(|part_s| *part_s > 0.0) {
            let passed: Vec<f64> =
                nodes.iter_mut().map(|node| node.pass(scheduler, switch_s, part_s, f64::INFINITY)).collect();
            // Nodes that are not in use take what the part takes.
            let end_s = passed.iter().copied().fold(part_s, f64::max);
            for (node, passed_s) in nodes.iter_mut().zip(passed) {
                node.pass(scheduler, switch_s, 0.0, end_s - passed_s);
            }
            time_s += end_s;
        }
        alone_s += application.round_s;
    }
    let wanted_s: f64 = nodes.iter().map(|node| node.wanted_s).sum();
    let taken_s: f64 =
        nodes.iter().map(|node| node.taken_s + if node.computing { node.left_s } else { 0.0 }).sum();
    let owner = if wanted_s > 0.0 { taken_s / wanted_s - 1.0 } else { 0.0 };
    (time_s / alone_s - 1.0, owner)
}

/// With `runs` runs of `span_s` seconds.
#[expect(clippy::too_many_arguments, reason = "one point of a figure")]
pub fn slowdown(
    application: &Application,
    scheduler: Scheduler,
    load: f64,
    busy: usize,
    switch: Nanos,
    runs: u64,
    span_s: f64,
    seed: u64,
) -> Slowdown {
    let runs: Vec<(f64, f64)> = (0..runs)
        .map(|run| once(application, scheduler, load, busy, switch, span_s, &mut Random::new(seed, run)))
        .collect();
    Slowdown {
        application: application.name,
        scheduler,
        load,
        busy,
        guest: Estimate::of(runs.iter().map(|run| run.0)),
        owner: Estimate::of(runs.iter().map(|run| run.1)),
    }
}

#[cfg(test)]
mod tests;
