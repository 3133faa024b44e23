//! Whether the foreground is still the one that was learnt: the system changes of S-3.
//!
//! Problem: means and bursty windows are those of one set of applications. When one is added, replaced by another version,
//! or fails, they are wrong until time brings the next characterisation.
//!
//! Approach: once per window, a list of the foreground's processes, each with the application that it runs and the processor
//! time that it has used. While the scheduler learns, everything that is seen becomes *known*. Afterwards:
//!
//! ```text
//!   unknown, uses NOTABLE or more in STREAK windows in a row            ──▶ Added
//!   known, used NOTABLE or more while learnt, no process of it in STREAK looks ──▶ Gone
//! ```
//! An application is named by whoever looks: its name has to change with its version, so that an upgrade is one that is
//! added while the other goes. What uses little may come and go unnoticed: it does not change the means either.
//!
//! Units: processor time in nanoseconds, shares of one CPU. Edge cases: a process counts from its second look on, so programs
//! that live for less than a window (a compiler) never count, neither as added nor as gone. A restart of the same
//! version within two looks is none. Busy time that goes back counts as zero.
//!
//! Source: as for the parent module, figure 3, step 3; the source leaves open how a change is detected.

use std::collections::BTreeMap;
use std::fmt;

use crate::base::share::Share;
use crate::base::time::Nanos;

/// Share of one CPU from which an application matters.
const NOTABLE: Share = Share::percent(10);
/// Looks in a row after which something is a change, not a moment.
const STREAK: u32 = 2;

/// A process of the foreground at one look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its id.
    pub pid: i32,
    /// What it runs, named so that another version has another name.
    pub application: String,
    /// Processor time that it has ever used.
    pub busy: Nanos,
}

/// What is different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// This application was not there when the foreground was learnt.
    Added(String),
    /// This one was, and no process of it is left.
    Gone(String),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(application) => write!(f, "{application} came"),
            Self::Gone(application) => write!(f, "{application} went"),
        }
    }
}

/// Busy time by process and what it runs: a process may begin to run another program.
type BusyTimes = BTreeMap<(i32, String), Nanos>;

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// Whether it mattered in one of the windows of the characterisation.
    notable: bool,
    /// Looks in a row without a process of it.
    missing: u32,
}

/// Compares the foreground with the one that was learnt.
#[derive(Clone, Debug, Default)]
pub struct ChangeWatch {
    /// Whether the scheduler was learning at the latest look.
    learning: bool,
    /// The latest look: when, and the busy time of each process.
    before: Option<(Nanos, BusyTimes)>,
    known: BTreeMap<String, Known>,
    /// Applications that are not known and matter, and for how many looks in a row.
    strangers: BTreeMap<String, u32>,
}

impl ChangeWatch {
    /// Nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// One look. While the scheduler is `learning` there is no change: what is seen becomes known, and what was known
    /// from an earlier characterisation is forgotten.
    pub fn look(&mut self, now: Nanos, seen: &[Seen], learning: bool) -> Option<Change> {
        let used = self.used(now, seen);
        let was_learning = std::mem::replace(&mut self.learning, learning);
        if !learning {
            return self.compare(&used);
        }
        if !was_learning {
            self.known.clear();
            self.strangers.clear();
        }
        self.learn(&used);
        None
    }

    /// Use of one CPU per application since the latest look; of those with a process, but nothing to compare with, none.
    fn used(&mut self, now: Nanos, seen: &[Seen]) -> BTreeMap<String, f64> {
        let latest = seen.iter().map(|one| ((one.pid, one.application.clone()), one.busy)).collect();
        let before = self.before.replace((now, latest));
        let mut used = BTreeMap::new();
        for one in seen {
            let share = used.entry(one.application.clone()).or_insert(0.0);
            if let Some((then, processes)) = &before
                && let Some(busy) = processes.get(&(one.pid, one.application.clone()))
                && now > *then
            {
                *share += one.busy.since(*busy).as_secs_f64() / now.since(*then).as_secs_f64();
            }
        }
        used
    }

    fn learn(&mut self, used: &BTreeMap<String, f64>) {
        for (application, share) in used {
            let known = self.known.entry(application.clone()).or_default();
            known.notable |= *share >= NOTABLE.fraction();
        }
    }

    fn compare(&mut self, used: &BTreeMap<String, f64>) -> Option<Change> {
        let notable = |share: &f64| *share >= NOTABLE.fraction();
        let counts = std::mem::take(&mut self.strangers);
        for (application, _) in
            used.iter().filter(|(name, share)| notable(share) && !self.known.contains_key(*name))
        {
            let streak = counts.get(application).map_or(1, |count| count + 1);
            if streak >= STREAK {
                return Some(Change::Added(application.clone()));
            }
            self.strangers.insert(application.clone(), streak);
        }
        for (application, known) in &mut self.known {
            known.missing = if used.contains_key(application) { 0 } else { known.missing + 1 };
            if known.notable && known.missing >= STREAK {
                return Some(Change::Gone(application.clone()));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
