//! Whether background has driven an open server beyond its limit.
//!
//! Problem: what is lent is judged by the bursts of the foreground that end. A server whose requests come whatever it does,
//! and that is slowed down until it cannot serve them all, never sleeps again: no burst ends, nothing is compared, and what
//! drove it there stays lent.
//!
//! Approach: a server that has just been seen to fall idle, and then is busy at every look for a second, is overrun, or its
//! callers have begun to want more. Which one is tried out: background goes to a shelter, and a server that falls idle there
//! was overrun. One that does not is busy by itself, and is let alone for a while, longer each time.
//!
//! ```text
//!              busy at each look while lent for STREAK,
//!              idle at some time in the MEMORY before
//!   ┌──────────┐ ────────────────────────────────────▶ ┌─────────┐
//!   │ Watching │                                        │ Judging │  background is sheltered
//!   └──────────┘ ◀──────────────────────────────────── └─────────┘
//!        ▲          idle: overrun, the shelter stays         │
//!        │                                                   │ PATIENCE without an idle look: busy by itself
//!        │            time is up          ┌─────────┐        │
//!        └─────────────────────────────── │ Excused │ ◀──────┘  what was lent is lent again
//!                                         └─────────┘
//! ```
//!
//! Only looks while background is lent make a streak: an overrun server may fall idle in the moments in which all is
//! withheld, and those tell that it can. A foreground that was hardly at work before is no server that was overrun, but work
//! that has begun.
//!
//! Units: time. Source: none; an open queue has no limit to its busy period once it is offered more than it can serve
//! (Kleinrock, *Queueing Systems*, 1975, chapter 5).

use super::ladder::Rung;
use crate::time::Nanos;

/// Busy for so long: a server at 95% of its limit with requests of a millisecond is so once in many hours.
const STREAK: Nanos = Nanos::from_secs(1);
/// It was seen to fall idle so lately.
const MEMORY: Nanos = Nanos::from_secs(30);
/// What queued up in the streak and before is served in this time, or the server is too near its limit to tell.
const PATIENCE: Nanos = Nanos::from_secs(10);
/// One that is busy by itself is not tried again for so long, then twice as long each time, at most so long.
const EXCUSED: Nanos = Nanos::from_secs(60);
const LONGEST_EXCUSED: Nanos = Nanos::from_secs(1_800);
/// The least share of its time that a server was busy which background could have driven beyond its limit.
const LEAST_LOAD: f64 = 0.3;

#[derive(Clone, Copy, Debug)]
enum State {
    Watching,
    Judging { since: Nanos, from: Rung },
    Excused { until: Nanos },
}

/// What a look has told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// It may be overrun: what is lent has to go to a shelter ([`Saturation::judge`]).
    Suspect,
    /// It was not overrun: this was lent, and may be again.
    Acquitted(Rung),
}

/// One look at the foreground.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    /// A request was in service.
    pub(super) busy: bool,
    /// Background was lent unsheltered since the look before, not withheld.
    pub(super) lent: bool,
    /// The share of its time at work that the foreground was busy, before the looks of the last [`Saturation::streak`].
    pub(super) load: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Saturation {
    state: State,
    idle_at: Option<Nanos>,
    looked: Option<Nanos>,
    streak: Nanos,
    excuse: Nanos,
}

impl Saturation {
    pub(super) fn new() -> Self {
        Self { state: State::Watching, idle_at: None, looked: None, streak: Nanos::ZERO, excuse: EXCUSED }
    }

    /// For how long background was lent while the foreground was busy at every look.
    pub(super) fn streak(&self) -> Nanos {
        self.streak
    }

    /// Takes in one look at a foreground at work.
    pub(super) fn look(&mut self, now: Nanos, look: Look) -> Option<Sign> {
        let span = now.since(self.looked.replace(now).unwrap_or(now));
        if !look.busy {
            self.idle_at = Some(now);
        }
        match (look.busy, look.lent) {
            (true, true) => self.streak = self.streak.plus(span),
            (false, true) => self.streak = Nanos::ZERO,
            (_, false) => {}
        }
        match self.state {
            State::Watching => {
                let fell_idle = self.idle_at.is_some_and(|at| now.since(at) < MEMORY);
                let suspect = self.streak >= STREAK && fell_idle && look.load >= LEAST_LOAD;
                suspect.then_some(Sign::Suspect)
            }
            State::Judging { .. } if !look.busy => {
                self.excuse = EXCUSED;
                self.rest(State::Watching);
                None
            }
            State::Judging { since, from } if now.since(since) >= PATIENCE => {
                self.rest(State::Excused { until: now.plus(self.excuse) });
                self.excuse = self.excuse.times(2).min(LONGEST_EXCUSED);
                Some(Sign::Acquitted(from))
            }
            State::Judging { .. } => None,
            State::Excused { until } => {
                if now >= until {
                    self.rest(State::Watching);
                }
                None
            }
        }
    }

    /// The suspect is watched without what was lent, `from`.
    pub(super) fn judge(&mut self, now: Nanos, from: Rung) {
        self.rest(State::Judging { since: now, from });
    }

    /// The foreground has gone: what was begun ends.
    pub(super) fn interrupt(&mut self, now: Nanos) {
        self.looked = None;
        self.idle_at = Some(now);
        if !matches!(self.state, State::Excused { .. }) {
            self.rest(State::Watching);
        }
    }

    fn rest(&mut self, state: State) {
        self.state = state;
        self.streak = Nanos::ZERO;
    }
}

#[cfg(test)]
mod tests;
