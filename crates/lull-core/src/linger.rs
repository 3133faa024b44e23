//! A guest whose node's owner is back: linger there, or move?
//!
//! Problem: while an owner uses the node, a guest gets only the gaps, the *share here* `s`. Elsewhere it would get `e`, but moving
//! takes time in which it gets nothing, and what it has not saved is lost. How long the owner stays is not known.
//!
//! Derivation. Count in the guest's own time at work (CPU time on a node of its own):
//!
//! - one second of lingering costs `d = e - s`;
//! - moving costs `C = e · T + U` once: `T` the time between stopping here and working there (checkpoint, transfer, queue, restart),
//!   `U` the work that has to be done again since it was not saved.
//!
//! To linger until the owner's episode is `a` old, and to move then, costs `d · min(X, a) + C · [X > a]` over an episode of
//! length `X`. Episodes have heavy tails: one that has lasted for `a` lasts beyond `t` with probability `(a / t)^α`, so its
//! hazard is `α / a`. The expected cost changes with `a` by `P(X > a) · (d - C · α / a)`: it falls up to
//!
//! ```text
//! a* = α · C / d
//! ```
//!
//! and rises from there. So: linger while the episode is younger than `a*`, then move. With `α = 1` (half of the episodes that have
//! lasted for `a` last for `2a`) this is the rule of Linger-Longer, and it is also the best that can be done without knowing
//! anything about episodes: a guest pays for lingering what moving costs, and then moves, so it never pays more than twice what one
//! who knew `X` pays (the ski rental problem).
//!
//! Two edges. If nothing is gained elsewhere (`e <= s`), a guest never moves. If the guest would be done here, beside an owner who stays
//! for ever, before it is done elsewhere, `d · R / s <= C` with `R` the work that remains, it stays, too.
//!
//! ```text
//!              owner returns                     age reaches a*, a place is free
//!   ALONE ──────────────────────▶ LINGERING ─────────────────────────────────────▶ MOVING ──▶ elsewhere
//!     ▲                              │
//!     └──────── owner leaves ────────┘
//! ```
//!
//! Units: shares are from 0 to 1 of a CPU, work is time on a CPU of one's own, times are [`Nanos`].
//!
//! Sources: Ryu, Hollingsworth & Keleher, *Mechanisms and Policies for Supporting Fine-Grained Cycle Stealing*, ICS 1999 (the policies;
//! requirement L-5); Karlin et al., *Competitive Snoopy Caching*, 1988 (twice the cost of who knows the future).

pub mod classad;
pub mod episode;
mod policy;

pub use policy::{Act, GuestPolicy, Leave, Owner, ParseGuestPolicyError};

use crate::base::time::Nanos;

/// How heavy the tail of owners' episodes is taken to be: half of those that have lasted for some time last twice as long.
pub const TAIL: f64 = 1.0;

/// What is known where the guest is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Here {
    /// How long the owner has been at work.
    pub age: Nanos,
    /// What a guest got of a CPU during that time, 0 to 1.
    pub share: f64,
}

/// What moving costs, and what it brings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elsewhere {
    /// What the guest can expect of a CPU there, 0 to 1.
    pub share: f64,
    /// From stopping here to working there: checkpoint, transfer, queue, restart.
    pub pause: Nanos,
}

/// What is known of the guest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guest {
    /// Work that moving would lose: all that was done, where the guest cannot save itself.
    pub unsaved: Nanos,
    /// Work to be done yet, where that is known.
    pub remaining: Option<Nanos>,
}

/// Linger or move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Stay; ask again when the episode is this old. Without an age: stay whatever the owner does.
    Linger(Option<Nanos>),
    /// Move as soon as there is a place.
    Move,
}

/// Whether a guest moves away from an owner, with episodes of tail `tail` (usually [`TAIL`]).
pub fn decide(here: Here, elsewhere: Elsewhere, guest: Guest, tail: f64) -> Decision {
    let gain = elsewhere.share - here.share;
    let cost_ns = elsewhere.share * ns(elsewhere.pause) + ns(guest.unsaved);
    let rent_ns = guest.remaining.map_or(f64::INFINITY, |remaining| gain * ns(remaining) / here.share);
    // A share that is not a number gains nothing, either.
    if gain.is_nan() || gain <= 0.0 || rent_ns <= cost_ns {
        return Decision::Linger(None);
    }
    let until_ns = tail * cost_ns / gain;
    if ns(here.age) >= until_ns {
        return Decision::Move;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "float to int casts saturate"
    )]
    let until = Nanos(until_ns.ceil() as u64);
    Decision::Linger(Some(until))
}

#[expect(clippy::cast_precision_loss, reason = "a cost needs three digits, not nineteen")]
const fn ns(time: Nanos) -> f64 {
    time.0 as f64
}

#[cfg(test)]
mod tests;
