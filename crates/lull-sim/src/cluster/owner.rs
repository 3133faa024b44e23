//! When owners are at work, and with which load.
//!
//! Drawn: times at work and away alternate, each with two kinds of length (most are short, a few long: hyperexponential, as measured on
//! workstations by Mutka & Livny, 1991). While the owner is at work his load changes every half minute on average: for three quarters of the time it
//! is below 10%, as in the traces of Linger-Longer's authors, else anything above, each as likely. The beginning is drawn from the steady state, so that
//! nothing has to warm up.
//!
//! Replayed: the samples of a node's trace, each until the next, from the beginning again when they end. A pool larger than the
//! trace repeats its nodes, each begun at another place.

use std::sync::Arc;

use lull_core::Nanos;

use crate::span::{Random, nanos};

/// One of two kinds of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kind {
    /// How many are of this kind, 0 to 1; the rest is of the other.
    pub share: f64,
    /// Their mean.
    pub mean: Nanos,
}

/// How owners work.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// The share of the time in which the owner is at work. The times away are stretched so that it comes out.
    pub in_use: f64,
    /// How long he is at work.
    pub work: [Kind; 2],
    /// How long he is away, before stretching.
    pub away: [Kind; 2],
    /// The share of the time at work in which the load is low.
    pub quiet: f64,
    /// What is low.
    pub low: f64,
    /// How long a load lasts, on average.
    pub hold: Nanos,
}

impl Default for Statistics {
    fn default() -> Self {
        let kinds = |short: u64, long: u64| {
            [
                Kind { share: 2.0 / 3.0, mean: Nanos::from_secs(short * 60) },
                Kind { share: 1.0 / 3.0, mean: Nanos::from_secs(long * 60) },
            ]
        };
        Self {
            in_use: 0.46,
            work: kinds(6, 60),
            away: kinds(5, 75),
            quiet: 0.75,
            low: 0.1,
            hold: Nanos::from_secs(30),
        }
    }
}

fn mean_ns(kinds: &[Kind; 2]) -> f64 {
    kinds.iter().map(|kind| kind.share * kind.mean.0 as f64).sum()
}

impl Statistics {
    /// How much longer than written the owner is away.
    fn stretch(&self) -> f64 {
        mean_ns(&self.work) * (1.0 - self.in_use) / (self.in_use * mean_ns(&self.away))
    }

    /// The mean load while the owner is at work.
    pub fn mean_load(&self) -> f64 {
        self.quiet * self.low / 2.0 + (1.0 - self.quiet) * f64::midpoint(self.low, 1.0)
    }

    fn load(&self, random: &mut Random) -> f64 {
        if random.uniform() < self.quiet {
            random.uniform() * self.low
        } else {
            self.low + random.uniform() * (1.0 - self.low)
        }
    }

    /// The rest of a time at work (or away) that began before the beginning, or a new one.
    fn length(&self, at_work: bool, began_before: bool, random: &mut Random) -> Nanos {
        let kinds = if at_work { &self.work } else { &self.away };
        let stretch = if at_work { 1.0 } else { self.stretch() };
        // One that is met by chance is the likelier of a kind the longer that is; what is left of it has the mean of its kind.
        let first = if began_before {
            kinds[0].share * kinds[0].mean.0 as f64 / mean_ns(kinds)
        } else {
            kinds[0].share
        };
        let kind = if random.uniform() < first { kinds[0] } else { kinds[1] };
        random.exponential(nanos(kind.mean.0 as f64 * stretch)).max(Nanos(1))
    }
}

/// What a trace says of a node at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Since the beginning of the trace.
    pub at: Nanos,
    /// The owner's load.
    pub load: f32,
    /// Memory in use, 0 to 1.
    pub memory: f32,
    /// Whether the owner is at work.
    pub in_use: bool,
}

/// Samples of every node of a pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Per node, in the order of time; none is empty.
    pub nodes: Vec<Vec<Sample>>,
    /// The length of the trace.
    pub length: Nanos,
}

/// Where owners come from.
#[derive(Clone, Debug)]
pub enum Owners {
    /// Drawn.
    Drawn(Arc<Statistics>),
    /// Replayed.
    Replayed(Arc<Replay>),
}

/// What an owner does until the next change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) until: Nanos,
    pub(super) in_use: bool,
    pub(super) load: f64,
    pub(super) memory: f64,
}

/// One node's owner.
#[derive(Clone, Debug)]
pub(super) enum Owner {
    Drawn { statistics: Arc<Statistics>, random: Random, at_work: bool, ends: Nanos },
    Replayed { replay: Arc<Replay>, node: usize, next: usize },
}

impl Owner {
    /// The owner of node `index`; the same seed gives the same owner, whatever the policy.
    pub(super) fn new(owners: &Owners, index: u32, seed: u64) -> Self {
        let mut random = Random::new(seed, u64::from(index));
        match owners {
            Owners::Drawn(statistics) => {
                let at_work = random.uniform() < statistics.in_use;
                let ends = statistics.length(at_work, true, &mut random);
                Self::Drawn { statistics: Arc::clone(statistics), random, at_work, ends }
            }
            Owners::Replayed(replay) => {
                let nodes = replay.nodes.len();
                let index = index as usize;
                let node = index % nodes;
                let turned = if index < nodes { 0 } else { random.index(replay.nodes[node].len()) };
                Self::Replayed { replay: Arc::clone(replay), node, next: turned }
            }
        }
    }

    /// What comes at `now`, the end of what was before.
    pub(super) fn next(&mut self, now: Nanos) -> Stretch {
        match self {
            Self::Drawn { statistics, random, at_work, ends } => {
                if now >= *ends {
                    *at_work = !*at_work;
                    *ends = now.plus(statistics.length(*at_work, false, random));
                }
                if !*at_work {
                    return Stretch { until: *ends, in_use: false, load: 0.0, memory: 0.0 };
                }
                let load = statistics.load(random);
                let until = now.plus(random.exponential(statistics.hold).max(Nanos(1))).min(*ends);
                Stretch { until, in_use: true, load, memory: 0.0 }
            }
            Self::Replayed { replay, node, next } => {
                let samples = &replay.nodes[*node];
                let sample = samples[*next];
                *next = (*next + 1) % samples.len();
                let mut end = samples[*next].at;
                if *next == 0 {
                    // The last sample holds until the first of the next round.
                    end = replay.length.plus(end);
                }
                let until = now.plus(end.since(sample.at).max(Nanos(1)));
                Stretch {
                    until,
                    in_use: sample.in_use,
                    load: sample.load.into(),
                    memory: sample.memory.into(),
                }
            }
        }
    }
}
