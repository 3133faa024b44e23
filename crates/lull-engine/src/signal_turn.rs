//! A job that is held for long runs for a moment when somebody has sent it a signal.
//!
//! A held process handles no signal, or slowly. Holds of milliseconds do not matter to the sender, but a test of the
//! user's own measure takes seconds, and `smart` and `manners` hold for minutes. So a held job is looked at now and then.
//!
//! ```text
//!                 held for SIGNAL_CHECK, and again after each
//!   held ───────────────────────────────────────────────────▶ looked at ── a signal is new ──▶ runs for SPARE
//!    ▲                                                         │ none                               │
//!    └─────────────────────────────────────────────────────────┴────────────────────────────────────┘
//! ```
//!
//! Each signal counts once: one that is not taken, by a process that is stopped or waits in the kernel, would otherwise keep
//! the job from being held for ever. Blocked ones count too, since a program may wait for them in another way. Those that timers and
//! children raise do not count: a job that lives by them would never be held.

use std::collections::HashMap;

use lull_core::Nanos;
use lull_linux::clock;

use crate::job_processes::JobProcesses;
use crate::signals;

/// How often a held job is looked at.
const LOOK_EVERY: Nanos = Nanos::from_millis(250);
/// Where there are many processes: a look takes this part of the time, at most.
const COST_SHARE: u64 = 50;
/// How long it may run to handle one.
const SPARE: Nanos = Nanos::from_millis(200);

/// What a look has shown.
pub(crate) struct Look {
    /// The signals that somebody has sent to each process, and that it has not taken; most have none and are left out.
    untaken: HashMap<i32, u64>,
    /// How long it took.
    cost: Nanos,
}

impl Look {
    /// At the processes of a job.
    pub(crate) fn at(job_processes: &JobProcesses) -> Self {
        let began = clock::now();
        let of = |pid: i32| Some((pid, signals::untaken(u32::try_from(pid).ok()?)));
        let untaken =
            job_processes.pids().into_iter().filter_map(of).filter(|(_, signals)| *signals != 0).collect();
        Self { untaken, cost: clock::now().since(began) }
    }
}

/// See the module.
#[derive(Default)]
pub(crate) struct SignalTurn {
    held_since: Option<Nanos>,
    looked: Nanos,
    every: Nanos,
    until: Nanos,
    /// The signals that each process had not taken when it was last looked at.
    untaken: HashMap<i32, u64>,
}

impl SignalTurn {
    /// Whether the job runs at `now` although it is to be held.
    pub(crate) fn is_on(&self, now: Nanos) -> bool {
        now < self.until
    }

    /// Looks, if it is time; `is_held`: whether the job is to be held. Returns when to look again.
    pub(crate) fn turn(&mut self, now: Nanos, is_held: bool, look: impl FnOnce() -> Look) -> Option<Nanos> {
        if !is_held {
            self.held_since = None;
            return None;
        }
        let since = *self.held_since.get_or_insert(now);
        if self.due(since) <= now {
            self.take(now, look());
        }
        Some(self.due(since))
    }

    fn take(&mut self, now: Nanos, Look { untaken, cost }: Look) {
        self.looked = now;
        self.every = cost.times(COST_SHARE);
        let is_new = |(pid, signals): (&i32, &u64)| signals & !self.untaken.get(pid).unwrap_or(&0) != 0;
        if untaken.iter().any(is_new) {
            self.until = now.plus(SPARE);
        }
        self.untaken = untaken;
    }

    fn due(&self, since: Nanos) -> Nanos {
        since.max(self.looked).plus(self.every.max(LOOK_EVERY))
    }
}

#[cfg(test)]
mod tests;
