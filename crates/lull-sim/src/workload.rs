//! What clients do: when the next request comes.
//!
//! | workload | the next request comes |
//! |---|---|
//! | `closed` | a think time after the last one was over |
//! | `poisson` | after a random time, whatever became of the last one |
//! | `bursty` | while on, a gap after the last one; then nothing for the off time |
//! | `intensity` | as in the paper: back to back for a share of a CPU quantum, then `usleep` for the rest |
//! | `changing` | closed, with another think time from some moment on |
//! | `spiteful` | the moment that background has started: the worst that a foreground can do |
//! | `replay` | as in a trace: gaps and service times are kept, delays shift what follows |
//!
//! `intensity` (section 4 of the paper): a process issues requests for `intensity × quantum`, at least one, then
//! sleeps for the rest of the quantum. FreeBSD's `usleep` sleeps whole ticks of its clock, at least one more than asked
//! for, so sleeps are up to a tick too long: the reason for which the paper sees background at intervals of
//! 100 to 120 ms.
//!
//! ```text
//!  ▇▇▇▇▇▇▇▇▇▇▇▇                            ▇▇▇▇▇▇▇▇▇▇▇▇
//!  ├ intensity ┤   usleep                  │
//!  │ × quantum ├ (1 - intensity) × quantum ┼─┤ rounded up to the next tick
//! ```

use std::sync::Arc;

use lull_core::{Nanos, Share};
use serde::{Deserialize, Serialize};

use crate::span::{Random, Span};

/// One of the rules.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Workload {
    /// One request at a time, with a think time between.
    Closed {
        /// From the end of a request to the next.
        think: Span,
    },
    /// Independent arrivals.
    Poisson {
        /// Mean time between arrivals.
        every: Nanos,
    },
    /// Bursts and silence.
    Bursty {
        /// Length of a burst.
        on: Span,
        /// Length of the silence.
        off: Span,
        /// Think time within a burst.
        think: Span,
    },
    /// The paper's load generator.
    Intensity(Intensity),
    /// Closed, with a change.
    Changing {
        /// Think time before.
        before: Span,
        /// Think time after.
        after: Span,
        /// When it changes, from the beginning of the run.
        at: Nanos,
    },
    /// Waits for background to start, and comes then.
    Spiteful {
        /// The longest wait.
        patience: Nanos,
    },
    /// A recorded foreground.
    #[serde(skip)]
    Replay(Replay),
}

/// The paper's load generator.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Intensity {
    /// Share of the time in which requests are made.
    pub intensity: Share,
    /// The period.
    #[serde(default = "paper_quantum")]
    pub quantum: Nanos,
    /// The clock tick by which the operating system sleeps.
    #[serde(default = "paper_tick")]
    pub tick: Nanos,
    /// What making a request costs the process.
    #[serde(default = "paper_cost")]
    pub cost: Nanos,
}

fn paper_quantum() -> Nanos {
    Nanos::from_millis(100)
}

fn paper_tick() -> Nanos {
    Nanos::from_millis(10)
}

fn paper_cost() -> Nanos {
    Nanos::from_micros(50)
}

impl Intensity {
    /// As in the paper: quanta of 100 ms, ticks of 10 ms.
    pub fn paper(intensity: Share) -> Self {
        Self { intensity, quantum: paper_quantum(), tick: paper_tick(), cost: paper_cost() }
    }

    /// When the process goes on that has been at work since `began` and has nothing in service at `now`; whether a new
    /// quantum begins then.
    pub fn next(&self, began: Nanos, now: Nanos) -> (Nanos, bool) {
        let on = self.intensity.of(self.quantum);
        if now.since(began) < on || self.intensity == Share::ALL {
            return (now.plus(self.cost), false);
        }
        (usleep(now, self.quantum.since(on), self.tick).plus(self.cost), true)
    }
}

/// When a process wakes that goes to sleep at `now` for `length`, with a clock of whole ticks: one tick more than the
/// length takes, counted from the tick before `now`. A tick of 0 is an exact clock.
pub fn usleep(now: Nanos, length: Nanos, tick: Nanos) -> Nanos {
    if tick == Nanos::ZERO {
        return now.plus(length);
    }
    let ticks = length.0.div_ceil(tick.0).saturating_add(1);
    Nanos(now.0 / tick.0 * tick.0).plus(tick.times(ticks))
}

/// Recorded requests that overlap, and the gap before them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// From the end of the group before to the first request of this one.
    pub gap: Nanos,
    /// The requests.
    pub requests: Vec<Recorded>,
}

/// One recorded request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// After the first request of its group.
    pub offset: Nanos,
    /// Time that it needs in the device.
    pub work: Nanos,
    /// How much it moves.
    pub bytes: u64,
}

/// A recorded foreground, again and again.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The groups in their order.
    pub groups: Arc<[Group]>,
}

/// Where a client stands in its workload.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Beginning of the quantum or the end of the burst.
    mark: Nanos,
    /// The next group of a replay.
    pub(crate) group: usize,
    /// Requests of the current group that are not over.
    pub(crate) open: usize,
}

impl Workload {
    /// Whether a new request follows the end of the last one (and not a clock).
    pub(crate) fn is_closed(&self) -> bool {
        !matches!(self, Self::Poisson { .. })
    }

    /// When the first request comes.
    pub(crate) fn first(&self, now: Nanos, progress: &mut Progress, random: &mut Random) -> Nanos {
        match self {
            Self::Bursty { on, .. } => {
                progress.mark = now.plus(random.draw(*on));
                now
            }
            Self::Intensity(intensity) => {
                // Processes do not all begin at one tick.
                progress.mark = now.plus(Nanos(random.below(intensity.quantum.0)));
                progress.mark.plus(intensity.cost)
            }
            _ => self.next(now, now, progress, random),
        }
    }

    /// When the next request comes, as seen at `now`; `began` is the beginning of the run.
    pub(crate) fn next(
        &self,
        began: Nanos,
        now: Nanos,
        progress: &mut Progress,
        random: &mut Random,
    ) -> Nanos {
        match self {
            Self::Closed { think } => now.plus(random.draw(*think)),
            Self::Poisson { every } => now.plus(random.exponential(*every)),
            Self::Bursty { on, off, think } => {
                if now < progress.mark {
                    return now.plus(random.draw(*think));
                }
                let next = now.plus(random.draw(*off));
                progress.mark = next.plus(random.draw(*on));
                next
            }
            Self::Intensity(intensity) => {
                let (next, anew) = intensity.next(progress.mark, now);
                if anew {
                    progress.mark = next;
                }
                next
            }
            Self::Changing { before, after, at } => {
                now.plus(random.draw(if now.since(began) < *at { *before } else { *after }))
            }
            Self::Spiteful { patience } => now.plus(*patience),
            Self::Replay(replay) => {
                now.plus(replay.groups.get(progress.group).map_or(Nanos::MAX, |group| group.gap))
            }
        }
    }
}

#[cfg(test)]
mod tests;
