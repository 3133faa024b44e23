//! What the policy of one resource is set to at one moment.
//!
//! A [`Setting`] is small and copied: fixed by the user, or made anew every few tens of milliseconds by
//! [`Control`](crate::control::Control).

use serde::{Deserialize, Serialize};

use crate::machine::{StartRule, Variant};
use crate::share::Share;
use crate::time::{Interval, Nanos};

/// The parameters of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The preemption interval.
    pub interval: Interval,
    /// Background requests in service at once: at least 1 (0 counts as 1), `u32::MAX` for no bound.
    pub depth: u32,
    /// Which of the four machines.
    pub variant: Variant,
    /// What starts the interval.
    pub start_rule: StartRule,
    /// A granted request that the device has not shown after this long never needed it: a page-cache hit. At
    /// least 1 ns.
    pub settle: Nanos,
    /// How the bound opens when the foreground has gone.
    pub opening: Opening,
    /// When the foreground's return is near and nothing starts any more; `None`: it may come at any moment.
    pub closing: Option<Closing>,
}

impl Default for Setting {
    /// Plain priority, one background request at a time, a fixed bound.
    fn default() -> Self {
        Self {
            interval: Interval::NONE,
            depth: 1,
            variant: Variant::default(),
            start_rule: StartRule::default(),
            settle: Nanos::from_micros(200),
            opening: Opening::NEVER,
            closing: None,
        }
    }
}

/// How far the bound opens as the foreground stays away, so that "nothing in the foreground" runs at full speed.
///
/// A foreground request that comes back waits until what is in service has drained. That wait may be a small share
/// of the time it stayed away: `requests × service ≤ drain_share × time away`. Up to `after`, the gaps are those of
/// a foreground at work, for which the bound was measured, and it stays. A bound of more than a thousand is none.
///
/// A foreground that was never seen counts as away since the beginning, and after `unseen` leaves no bound.
///
/// ```text
///  bound
///    │                       ╱  drain_share × away / service
///    │                     ╱
///    │                   ╱
///  d ├──────────────┬──╱
///    └──────────────┴────────────────▶ time since the foreground's last end
///                 after
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// Drain time over time away; zero keeps the bound fixed.
    pub drain_share: Share,
    /// Time in the device of one background request.
    pub service: Nanos,
    /// Time away from which the bound opens.
    pub after: Nanos,
    /// Time without any foreground from which there is no bound.
    pub unseen: Nanos,
}

impl Opening {
    /// The bound is fixed.
    pub const NEVER: Self =
        Self { drain_share: Share::ZERO, service: Nanos::ZERO, after: Nanos::ZERO, unseen: Nanos::ZERO };

    /// The bound, which is `depth` while the foreground is at work.
    pub fn depth(&self, depth: u32, foreground: Foreground) -> u32 {
        let depth = depth.max(1);
        match foreground {
            _ if self.drain_share == Share::ZERO => depth,
            Foreground::Present => depth,
            Foreground::Away(span) if span < self.after => depth,
            Foreground::Unseen(span) if span >= self.unseen => u32::MAX,
            Foreground::Away(span) | Foreground::Unseen(span) => {
                match self.drain_share.of(span).0 / self.service.0.max(LEAST_SERVICE.0) {
                    opened if opened > u64::from(UNBOUNDED) => u32::MAX,
                    opened => depth.max(u32::try_from(opened).unwrap_or(u32::MAX)),
                }
            }
        }
    }

    /// The span that `foreground` has to last for the bound to exceed `taken`, which is no less than the bound now.
    /// `None`: time alone does not open it that far.
    pub fn exceeds_after(&self, taken: u32, foreground: Foreground) -> Option<Nanos> {
        let service = self.service.max(LEAST_SERVICE);
        let drained =
            |requests: u32| self.drain_share.spans(service.times(u64::from(requests.min(UNBOUNDED)) + 1));
        match foreground {
            _ if self.drain_share == Share::ZERO || taken == u32::MAX => None,
            Foreground::Present => None,
            Foreground::Away(_) => drained(taken).map(|span| span.max(self.after)),
            Foreground::Unseen(_) => Some(drained(taken).map_or(self.unseen, |span| span.min(self.unseen))),
        }
    }
}

/// Requests are taken to last at least this long: a bound of millions of them would be none.
const LEAST_SERVICE: Nanos = Nanos::from_micros(1);

/// A bound that has opened beyond this is none any more.
const UNBOUNDED: u32 = 1_000;

/// A part of each foreground gap in which no background starts, because the foreground is about to return.
///
/// Problem: a foreground with regular gaps nearly always meets the request that was started last, late in the gap,
/// while those started early would have been over in time. An interval delays starts, and makes that worse.
///
/// Both are ages of the gap, counted from the foreground's last end. A foreground that has not returned at `until`
/// is taken for gone for now. What is in service at `from` goes on: like the depth, this is a bound on starts, and
/// the states I, F, B, P and their edges (I-1 to I-5) are those without it. A foreground that never ended a request
/// has no gaps, and none of them closes. `until` at or below `from` closes nothing.
///
/// ```text
///  foreground ──┐                                         ┌── returns as usual
///               └─────────────────────────────────────────┘
///  background    ▇▇▇▇▇▇▇ ▇▇▇▇▇▇▇ ▇▇▇▇▇▇▇                         ▇▇▇▇▇▇▇
///                starts may be made │ closed                    │ the foreground did not return
///               0                  from                       until              age of the gap
/// ```
///
/// Source: none; section 5.2 of the paper leaves adaptation open. The non-work-conserving interval (I-4) bets that
/// the foreground returns soon after it left; this bets that it returns when it usually does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closing {
    /// The age from which nothing starts.
    pub from: Nanos,
    /// The age at which background may start again.
    pub until: Nanos,
}

impl Closing {
    /// Whether nothing may start in a gap of this age.
    pub fn holds(&self, age: Nanos) -> bool {
        self.from <= age && age < self.until
    }
}

/// Where the foreground is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreground {
    /// In service.
    Present,
    /// Gone for this long.
    Away(Nanos),
    /// Not seen since the beginning, this long ago.
    Unseen(Nanos),
}

#[cfg(test)]
mod tests;
