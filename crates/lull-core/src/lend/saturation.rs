//! Whether background has driven an open server beyond its limit.
//!
//! Problem: what is lent is judged by the bursts of the foreground that end. A server whose requests come whatever it does,
//! and that is slowed down until it cannot serve them all, never sleeps again: no burst ends, nothing is compared, and what
//! drove it there stays lent.
//!
//! Approach: a foreground that is busy for far longer than it used to be may be overrun, or may have more to do. Which one is
//! tried out: background goes to a shelter. One that falls idle there for a part of the time was overrun; one that does not is
//! busy by itself, and is let alone for a while, longer each time; background has what is left beside it. A verdict may be chance, so after its time is up the same is
//! lent again, and the foreground is watched again, with what was learned of how long it is busy by itself.
//!
//! ```text
//!                busy at each look while lent for STREAK, and
//!                FACTOR times as long as it is by itself
//!   ┌──────────┐ ───────────────────────────────────▶ ┌─────────┐ idle for PROOF   ┌───────────┐
//!   │ Watching │                                       │ Judging │ ───────────────▶ │ Convicted │
//!   └──────────┘ ◀──────────────┐                     └─────────┘                  └───────────┘
//!     ▲  ▲  ▲  the foreground    │                       │   │                         │
//!     │  │  │  leaves: lent again└───────────────────────┘   │ out of patience:        │
//!     │  │  │                      ┌─────────┐              │ CPUs are lent           │
//!     │  │  └───────────────────── │ Excused │ ◀────────────┘                         │
//!     │  │        time is up       └─────────┘  beside the foreground                 │
//!     └──┴────────────────────────────────────────────────────────────────────────────┘
//!                                 time is up: lent again
//! ```
//!
//! Only looks while background is lent and not held beside the foreground make a streak: an overrun server may fall idle in the
//! moments in which all is withheld. A foreground that was hardly at work before is no server that was overrun, but work that
//! has begun. One that was never seen idle is tried out, too: it may have been overrun from the start.
//!
//! Units: time. Edge cases: with several servers on several CPUs the foreground is idle when all are, so one that is overrun
//! beside others that are busy is not found. Source: none; an open queue has no limit to its busy period once it is
//! offered more than it can serve (Kleinrock, *Queueing Systems*, 1975, chapter 5).

use super::ladder::Rung;
use crate::time::Nanos;

/// Busy for so long, at the least, and for so many times the longest that it was by itself.
const STREAK: Nanos = Nanos::from_secs(1);
const FACTOR: u64 = 4;
/// How long that is remembered.
const MEMORY: Nanos = Nanos::from_secs(300);
/// One that was never seen idle is a suspect after this.
const NEVER_IDLE: Nanos = Nanos::from_secs(2);
/// So much idle time in the shelter tells.
const PROOF: Nanos = Nanos::from_millis(100);
/// In the shelter it has this long to fall idle, or so many times as long as it was overrun: what queued up has to be served
/// first, and near its limit a server has little time for that. Who is acquitted too soon is overrun for all of its excuse.
const PATIENCE: Nanos = Nanos::from_secs(10);
const PATIENCE_FACTOR: u64 = 10;
const LONGEST_PATIENCE: Nanos = Nanos::from_secs(60);
/// One that is busy by itself is not tried again for so long, then twice as long each time, at most so long.
const EXCUSED: Nanos = Nanos::from_secs(60);
const LONGEST_EXCUSED: Nanos = Nanos::from_secs(1_800);
/// The least share of its time that a server was busy which background could have driven beyond its limit.
const LEAST_LOAD: f64 = 0.3;

#[derive(Clone, Copy, Debug)]
enum State {
    Watching,
    Judging { since: Nanos, from: Rung, patience: Nanos, overrun: Nanos, idle: Nanos },
    Convicted { from: Rung, until: Nanos },
    Excused { until: Nanos },
}

/// What a look has told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It may be overrun: what is lent has to go to a shelter ([`Saturation::judge`]).
    Suspect,
    /// It was overrun by this rung for so long; the rung stays away until [`Saturation::convict`]'s time.
    Overrun(Rung, Nanos),
    /// This was lent and may be again: its time is up, or the foreground has left before anything was known.
    LendAgain(Rung),
    /// The foreground is busy by itself: what this rung does to it cannot be seen.
    BusyByItself(Rung),
}

/// One look at the foreground.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// A request was in service.
    pub(super) busy: bool,
    /// Since the look before background was lent, and not held beside the foreground.
    pub(super) lent: bool,
    /// The share of its time at work that the foreground was busy, before the looks of the last [`Saturation::streak`].
    pub(super) load: Option<f64>,
}

#[derive(Clone, Debug)]
pub(super) struct Saturation {
    state: State,
    looked: Option<Nanos>,
    is_ever_idle: bool,
    /// For how long it was lent without an idle look.
    streak: Nanos,
    /// Since when it has been busy, and whether background was lent meanwhile.
    busy_since: Option<(Nanos, bool)>,
    /// The longest time that it was busy by itself, lately, and when it was last busy for about as long.
    longest: (Nanos, Nanos),
    excuse: Nanos,
}

impl Saturation {
    pub(super) fn new() -> Self {
        Self {
            state: State::Watching,
            looked: None,
            is_ever_idle: false,
            streak: Nanos::ZERO,
            busy_since: None,
            longest: (Nanos::ZERO, Nanos::ZERO),
            excuse: EXCUSED,
        }
    }

    /// For how long background was lent while the foreground was busy at every look.
    pub(super) fn streak(&self) -> Nanos {
        self.streak
    }

    /// Takes in one look at a foreground at work.
    pub(super) fn look(&mut self, now: Nanos, look: Look) -> Option<Sign> {
        let span = now.since(self.looked.replace(now).unwrap_or(now));
        self.note(now, span, look);
        match &mut self.state {
            State::Watching => {
                let wanted = if self.is_ever_idle { STREAK } else { NEVER_IDLE };
                let is_server = look.load.is_none_or(|load| load >= LEAST_LOAD);
                let is_long = self.streak >= wanted.max(self.longest.0.times(FACTOR));
                (is_server && is_long).then_some(Sign::Suspect)
            }
            State::Judging { since, from, patience, overrun, idle } => {
                *idle = if look.busy { *idle } else { idle.plus(span) };
                if *idle >= PROOF {
                    return Some(Sign::Overrun(*from, *overrun));
                }
                if now.since(*since) < *patience {
                    return None;
                }
                let from = *from;
                self.longest = (self.longest.0.max(*patience), now);
                self.rest(State::Excused { until: now.plus(self.excuse) });
                self.excuse = self.excuse.times(2).min(LONGEST_EXCUSED);
                Some(Sign::BusyByItself(from))
            }
            State::Convicted { from, until } if now >= *until => {
                let from = *from;
                self.rest(State::Watching);
                Some(Sign::LendAgain(from))
            }
            State::Excused { until } if now >= *until => {
                // Whether it could fall idle before says nothing of what it does now.
                self.is_ever_idle = false;
                self.rest(State::Watching);
                None
            }
            State::Convicted { .. } | State::Excused { .. } => None,
        }
    }

    fn note(&mut self, now: Nanos, span: Nanos, look: Look) {
        if now.since(self.longest.1) >= MEMORY {
            self.longest.0 = Nanos::ZERO;
        }
        if look.busy {
            let (_, was_lent) = self.busy_since.get_or_insert((now, false));
            *was_lent |= look.lent;
            self.streak = if look.lent { self.streak.plus(span) } else { self.streak };
            return;
        }
        self.is_ever_idle = true;
        if let Some((since, was_lent)) = self.busy_since.take() {
            let length = now.since(since);
            if length > self.longest.0 && !was_lent {
                self.longest = (length, now);
            } else if length.times(2) >= self.longest.0 {
                self.longest.1 = now;
            }
        }
        let is_sheltered = matches!(self.state, State::Judging { .. } | State::Convicted { .. });
        if look.lent || is_sheltered {
            self.streak = Nanos::ZERO;
        }
    }

    /// The suspect is watched without what was lent, `from`.
    pub(super) fn judge(&mut self, now: Nanos, from: Rung) {
        let overrun = self.streak;
        let patience = PATIENCE.max(overrun.times(PATIENCE_FACTOR)).min(LONGEST_PATIENCE);
        self.rest(State::Judging { since: now, from, patience, overrun, idle: Nanos::ZERO });
    }

    /// `from` is not lent before `until`.
    pub(super) fn convict(&mut self, from: Rung, until: Nanos) {
        self.excuse = EXCUSED;
        self.rest(State::Convicted { from, until });
    }

    /// What is lent has changed: what was seen of it is over.
    pub(super) fn restart(&mut self) {
        self.streak = Nanos::ZERO;
    }

    /// Nobody has looked for a while: whether it was busy meanwhile is not known.
    pub(super) fn resume(&mut self) {
        (self.looked, self.busy_since) = (None, None);
    }

    /// The foreground has gone: what was begun ends.
    pub(super) fn interrupt(&mut self) -> Option<Sign> {
        self.resume();
        self.is_ever_idle = true;
        self.streak = Nanos::ZERO;
        let State::Judging { from, .. } = self.state else { return None };
        self.rest(State::Watching);
        Some(Sign::LendAgain(from))
    }

    fn rest(&mut self, state: State) {
        self.state = state;
        self.streak = Nanos::ZERO;
    }
}

#[cfg(test)]
mod tests;
