//! What the policy of one resource is set to at one moment.
//!
//! A [`Setting`] is small and copied: fixed by the user, or made anew every few tens of milliseconds by
//! [`Control`](crate::disk::Control).

use serde::{Deserialize, Serialize};

use crate::base::share::Share;
use crate::base::time::{Interval, Nanos};
use crate::idletime::machine::{StartRule, Variant};

/// The parameters of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The preemption interval.
    pub interval: Interval,
    /// Bytes of background in service at once; `u64::MAX` for no bound. One request may always be in service.
    pub window_bytes: u64,
    /// Background requests in service at once: at least 1 (0 counts as 1), `u32::MAX` for no bound.
    pub depth: u32,
    /// Which of the four machines.
    pub variant: Variant,
    /// What starts the interval.
    pub start_rule: StartRule,
    /// A granted request that the device has not shown after this long never needed it: a page-cache hit. At
    /// least 1 ns.
    pub settle: Nanos,
    /// How the window opens when the foreground has gone.
    pub opening: Opening,
}

impl Default for Setting {
    /// Plain priority, one background request at a time, a fixed bound.
    fn default() -> Self {
        Self {
            interval: Interval::NONE,
            window_bytes: u64::MAX,
            depth: 1,
            variant: Variant::default(),
            start_rule: StartRule::default(),
            settle: Nanos::from_micros(200),
            opening: Opening::NEVER,
        }
    }
}

/// What a request counts for under the window at the least: the arm's way, or a channel's turn, does not depend on its size.
pub const LEAST_BYTES: u64 = 64 * 1024;

/// How far the window opens as the foreground stays away, so that "nothing in the foreground" runs at full speed.
///
/// A foreground request that comes back waits until what is in service has drained. That wait may be a small share
/// of the time it stayed away: `window / rate ≤ share × time away`. So the opening costs at most this share of the
/// foreground's time, whatever its gaps are. A window of more than [`UNBOUNDED_BYTES`] is none.
///
/// A foreground that was never seen counts as away since the beginning, and after `unseen` leaves no bound.
///
/// ```text
///  window
///    │             ╱  share × away × rate
///    │           ╱
///    │         ╱
///  W ├───────╱
///    └──────────────────────────▶ time since the foreground's last end
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// Drain time over time away; zero keeps the window fixed.
    pub share: Share,
    /// Bytes per second that the device does for background.
    pub rate: u64,
    /// Time without any foreground from which there is no bound.
    pub unseen: Nanos,
}

impl Opening {
    /// The window is fixed.
    pub const NEVER: Self = Self { share: Share::ZERO, rate: 0, unseen: Nanos::ZERO };

    /// The window, which is `window_bytes` while the foreground is in service.
    pub fn window(&self, window_bytes: u64, foreground: Foreground) -> u64 {
        match foreground {
            _ if self.share == Share::ZERO => window_bytes,
            Foreground::Present => window_bytes,
            Foreground::Unseen(span) if span >= self.unseen => u64::MAX,
            Foreground::Away(span) | Foreground::Unseen(span) => match self.drained(span) {
                opened if opened > UNBOUNDED_BYTES => u64::MAX,
                opened => window_bytes.max(opened),
            },
        }
    }

    /// The span that `foreground` has to last for the window to be at least `wanted_bytes`, which is more than it is now.
    /// `None`: time alone does not open it that far.
    pub fn opens_after(&self, wanted_bytes: u64, foreground: Foreground) -> Option<Nanos> {
        let wanted = u128::from(wanted_bytes.min(UNBOUNDED_BYTES + 1)) * NANOS_PER_S;
        let drain = wanted.div_ceil(u128::from(self.rate.max(1)));
        let drained = || self.share.spans(Nanos(u64::try_from(drain).ok()?));
        match foreground {
            _ if self.share == Share::ZERO => None,
            Foreground::Present => None,
            Foreground::Away(_) => drained(),
            Foreground::Unseen(_) => Some(drained().map_or(self.unseen, |span| span.min(self.unseen))),
        }
    }

    /// Bytes that drain within the share of `away`.
    fn drained(&self, away: Nanos) -> u64 {
        let bytes = u128::from(self.share.of(away).0) * u128::from(self.rate) / NANOS_PER_S;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

const NANOS_PER_S: u128 = 1_000_000_000;

/// A window that has opened beyond this is none any more.
pub const UNBOUNDED_BYTES: u64 = 64 * 1024 * 1024;

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
