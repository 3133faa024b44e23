//! When nobody need look: the job is held, and no gap of the foreground lets it in.
//!
//! Problem: beside a foreground that comes again before a hold is over, a hold lasts. To watch for the gap that does not come costs
//! the foreground something at each of its wake-ups, and tells nothing: what is lent and what is withheld are the same then.
//!
//! Approach: after a while without a gap nobody looks for as long as that took, and so on, each time twice as long. A gap that is
//! found, or anything else that is to be found out, begins anew. Gaps that cost more than they give (`tail.rs`) count as none, unless the
//! job ran for most of the watch.
//!
//! ```text
//!             no gap for WATCH             ┌──────┐
//!   ┌───────┐ ───────────────────────────▶ │ Doze │  from WATCH on, twice as long each time, until the job is
//!   │ Watch │                              └──┬───┘  owed its least share at the latest
//!   └─▲───▲─┘ ◀───────────────────────────────┘
//!     └───┘  a gap, a test, a probe: WATCH again
//! ```
//!
//! Units: nanoseconds. Edge cases: a forced run ends a watch, and not what is known of gaps. A foreground that goes, or becomes calm,
//! during a doze is found at its end: at most the longest hold later, and what gaps are lost by that is
//! at most half of those of a foreground in which a watch may find none.

use crate::time::Nanos;

/// To see no gap for so long is enough; a fraction of the longest hold, so that most of it is not watched.
const WATCH: Nanos = Nanos::from_millis(25);

/// What a look found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The job was held since the last look, and nothing else is to be found out.
    NoGap,
    /// It ran because it was owed.
    Forced,
    /// It was let in, by gaps that cost the foreground too much.
    Dear,
    /// It was let in, or there is something to find out.
    Gap,
}

#[derive(Clone, Debug)]
pub(super) struct Doze {
    /// Since when there has been no gap, and for how long the job had ever run then; `None` before the first look.
    since: Option<(Nanos, Nanos)>,
    /// Of the next doze.
    length: Nanos,
    until: Option<Nanos>,
}

impl Doze {
    pub(super) fn new() -> Self {
        Self { since: None, length: WATCH, until: None }
    }

    /// Takes in a look, and for how long the job ever `ran`. A doze lasts until `latest` at the latest, and is not worth beginning for less than a watch.
    pub(super) fn step(&mut self, now: Nanos, found: Found, ran: Nanos, latest: Nanos) {
        if let Some(until) = self.until
            && now < until
            && found == Found::NoGap
        {
            return;
        }
        let watches = matches!(found, Found::NoGap | Found::Dear);
        if self.until.take().is_some() || !watches {
            self.since = Some((now, ran));
        }
        let (since, ran_before) = *self.since.get_or_insert((now, ran));
        let watched = now.since(since);
        let is_mostly_gap = watched >= WATCH && ran.since(ran_before) >= Nanos(watched.0 / 2);
        if found == Found::Gap || is_mostly_gap {
            (self.length, self.since) = (WATCH, Some((now, ran)));
            return;
        }
        let until = now.plus(self.length).min(latest);
        if watches && watched >= WATCH && until >= now.plus(WATCH) {
            self.until = Some(until);
            if until < latest {
                self.length = self.length.times(2);
            }
        }
    }

    /// Until when nobody need look.
    pub(super) fn until(&self) -> Option<Nanos> {
        self.until
    }

    /// Whether there was a doze, and no gap since.
    pub(super) fn is_settled(&self) -> bool {
        self.until.is_some() || self.length > WATCH
    }

    /// When a watch is over, if no gap is found.
    pub(super) fn watched_at(&self) -> Option<Nanos> {
        self.since.filter(|_| self.until.is_none()).map(|(since, _)| since.plus(WATCH))
    }
}

#[cfg(test)]
mod tests;
