//! Why what is lent has changed: the lender's moves, each with its reason and what was known then.
//!
//! The latest [`KEPT`] are kept, so that a job of days costs no memory.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::ladder::Rung;
use crate::time::Nanos;
use crate::trial::Slowdown;

const KEPT: usize = 64;

/// Why the lender moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// More harm than was promised is proved.
    Harm,
    /// The credits are gone, and what is lent is likely to cost more than is earned.
    Credits,
    /// So many comparisons looked bad that waiting for a proof would cost too much.
    LooksBad,
    /// Near its limit a server may lose much before it shows; that was not excluded in time.
    Vague,
    /// A suspicion is looked into from a safer place.
    Suspicion,
    /// The foreground never falls idle: it is found out whether the job has driven it there.
    MaybeOverrun,
    /// The time that a verdict holds is over, or there was nothing to it: as before.
    Again,
    /// The foreground is busy by itself: the CPUs that it uses all the time were never free.
    BusyByItself,
    /// A bolder choice was tried, and does too little harm to leave it.
    Fits,
}

/// One change of what is lent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// When.
    pub at: Nanos,
    /// What was lent before.
    pub from: Rung,
    /// What is lent from then on.
    pub to: Rung,
    /// Why.
    pub reason: Reason,
    /// What was known of the rung that was judged: the one that was left, or the one that was climbed to.
    pub slowdown: Option<Slowdown>,
}

/// The latest moves.
#[derive(Clone, Debug, Default)]
pub(super) struct Log(VecDeque<Move>);

impl Log {
    pub(super) fn add(&mut self, entry: Move) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(entry);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Move> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests;
