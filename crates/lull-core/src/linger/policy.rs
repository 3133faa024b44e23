//! What becomes of a guest while its node's owner is at work, under each of five policies.
//!
//! | policy | the guest while the owner is there | it leaves |
//! |---|---|---|
//! | linger-longer | runs in the gaps | when lingering has cost as much as moving would ([`decide`]) and a place is free |
//! | linger-forever | runs in the gaps | never |
//! | immediate-eviction | does not run | at once, into the queue if no place is free |
//! | pause-and-migrate | is suspended | after a pause, when a place is free |
//! | suspend-in-place | is suspended | never |
//!
//! The first two also start guests on nodes in use, where no other is free. Source: as of [`linger`](super).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Decision, Elsewhere, Guest, Here, TAIL, decide};
use crate::base::time::Nanos;

/// A policy for guests on nodes that have owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestPolicy {
    /// Run in the gaps; move when lingering has cost as much as moving.
    LingerLonger,
    /// Run in the gaps; never move.
    LingerForever,
    /// Leave when the owner returns.
    ImmediateEviction,
    /// Suspend when the owner returns; leave if he stays.
    PauseAndMigrate,
    /// Suspend while the owner is there.
    SuspendInPlace,
}

/// The owner who is at work on the guest's node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Owner {
    /// His episode so far.
    pub here: Here,
    /// What the guest would find elsewhere.
    pub elsewhere: Elsewhere,
    /// The guest.
    pub guest: Guest,
    /// How long pause-and-migrate waits for the owner to leave again.
    pub patience: Nanos,
}

/// What a guest does beside an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// Whether it runs in the gaps.
    pub runs: bool,
    /// Whether it leaves.
    pub leave: Leave,
}

/// Whether a guest leaves its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// No; to be asked again when the owner's episode is this old, if an age is given.
    Stay(Option<Nanos>),
    /// When another node is free.
    WhenThereIsAPlace,
    /// At once.
    Now,
}

impl GuestPolicy {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 5] = [
        Self::LingerLonger,
        Self::LingerForever,
        Self::ImmediateEviction,
        Self::PauseAndMigrate,
        Self::SuspendInPlace,
    ];

    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LingerLonger => "linger-longer",
            Self::LingerForever => "linger-forever",
            Self::ImmediateEviction => "immediate-eviction",
            Self::PauseAndMigrate => "pause-and-migrate",
            Self::SuspendInPlace => "suspend-in-place",
        }
    }

    /// Whether guests run on nodes in use.
    pub const fn lingers(self) -> bool {
        matches!(self, Self::LingerLonger | Self::LingerForever)
    }

    /// What a guest does beside this owner.
    pub fn act(self, owner: &Owner) -> Act {
        let leave = match self {
            Self::LingerForever | Self::SuspendInPlace => Leave::Stay(None),
            Self::ImmediateEviction => Leave::Now,
            Self::PauseAndMigrate if owner.here.age < owner.patience => Leave::Stay(Some(owner.patience)),
            Self::PauseAndMigrate => Leave::WhenThereIsAPlace,
            Self::LingerLonger => match decide(owner.here, owner.elsewhere, owner.guest, TAIL) {
                Decision::Linger(until) => Leave::Stay(until),
                Decision::Move => Leave::WhenThereIsAPlace,
            },
        };
        Act { runs: self.lingers(), leave }
    }
}

impl fmt::Display for GuestPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why a text is no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a policy for guests: write linger-longer, linger-forever, immediate-eviction, pause-and-migrate or suspend-in-place"
)]
pub struct ParseGuestPolicyError(String);

impl FromStr for GuestPolicy {
    type Err = ParseGuestPolicyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // What users of batch systems say.
        let text_in_full = match text {
            "evict" => Self::ImmediateEviction.name(),
            "suspend" => Self::SuspendInPlace.name(),
            other => other,
        };
        Self::ALL
            .into_iter()
            .find(|policy| policy.name() == text_in_full)
            .ok_or_else(|| ParseGuestPolicyError(text.to_owned()))
    }
}
