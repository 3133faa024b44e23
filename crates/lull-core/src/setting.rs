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
        }
    }
}

/// How far the bound opens as the foreground stays away, so that "nothing in the foreground" runs at full speed.
///
/// A foreground request that comes back waits until what is in service has drained. That wait may be a small share
/// of the time it stayed away: `requests × service ≤ drain_share × time away`. Up to `after`, the gaps are those of
/// a foreground at work, for which the bound was measured, and it stays. A foreground that was never seen leaves
/// no bound.
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
}

impl Opening {
    /// The bound is fixed.
    pub const NEVER: Self = Self { drain_share: Share::ZERO, service: Nanos::ZERO, after: Nanos::ZERO };

    /// The bound, `depth` while the foreground is at work, when it has been away for `away` (`None`: never seen).
    pub fn depth(&self, depth: u32, away: Option<Nanos>) -> u32 {
        let depth = depth.max(1);
        if self.drain_share == Share::ZERO {
            return depth;
        }
        let Some(away) = away else { return u32::MAX };
        if away < self.after {
            return depth;
        }
        let drain = self.drain_share.of(away);
        let opened = drain.0 / self.service.0.max(1_000);
        depth.max(u32::try_from(opened).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests;
