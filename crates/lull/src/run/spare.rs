//! A job that is held for long runs for a moment when somebody has sent it a signal.
//!
//! A frozen or stopped process handles no signal. Holds of milliseconds do not matter to the sender, but a test of the
//! user's own measure takes seconds, and `smart` and `manners` hold for minutes. So a held job is looked at now and then.
//!
//! ```text
//!                 held for SIGNAL_CHECK, and again after each
//!   held ───────────────────────────────────────────────────▶ looked at ── a signal is pending ──▶ runs for SPARE
//!    ▲                                                         │ none                                 │
//!    └─────────────────────────────────────────────────────────┴──────────────────────────────────────┘
//! ```
//!
//! Only signals count by which people and programs talk to a job. Timers and children that end also raise some, and a job
//! that lives by them would never be held.

use lull_core::Nanos;

use super::family::Family;
use super::signals;

/// How often a held job is looked at.
const SIGNAL_CHECK: Nanos = Nanos::from_millis(100);
/// How long it may run to handle one.
const SPARE: Nanos = Nanos::from_millis(200);

/// See the module.
pub(crate) struct Spare {
    family: Family,
    held_since: Option<Nanos>,
    checked: Nanos,
    until: Nanos,
}

impl Spare {
    pub(crate) fn new(family: Family) -> Self {
        Self { family, held_since: None, checked: Nanos::ZERO, until: Nanos::ZERO }
    }

    /// Whether the job runs at `now` although it is to be held.
    pub(crate) fn is_on(&self, now: Nanos) -> bool {
        now < self.until
    }

    /// Looks, if it is time; `is_held`: whether the job is to be held. Returns when to look again.
    pub(crate) fn turn(&mut self, now: Nanos, is_held: bool) -> Option<Nanos> {
        if !is_held {
            self.held_since = None;
            return None;
        }
        let since = *self.held_since.get_or_insert(now);
        if self.due(since) <= now {
            self.checked = now;
            if self
                .family
                .pids()
                .into_iter()
                .filter_map(|pid| u32::try_from(pid).ok())
                .any(signals::is_spoken_to)
            {
                self.until = now.plus(SPARE);
            }
        }
        Some(self.due(since))
    }

    fn due(&self, since: Nanos) -> Nanos {
        since.max(self.checked).plus(SIGNAL_CHECK)
    }
}
