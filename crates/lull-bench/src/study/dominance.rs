//! Who dominates whom beyond chance.
//!
//! A rule on medians says nothing about chance, so each such verdict carries the share of resamples of the
//! rounds in which it holds; rounds are drawn whole, because a round's runs share its minute. With fewer than
//! [`FEW`] rounds nothing is called certain.

use serde::{Deserialize, Serialize};

use super::rounds::{P99, Round, WORK, within};
use crate::stats::{bootstrap_chance, middle};
use crate::units::whole;

/// Rounds below which an interval says too little.
pub const FEW: usize = 5;
/// Requests from which a 99th percentile is not just the longest.
const ENOUGH_REQUESTS: u64 = 100;
/// Share of resamples from which a verdict is certain.
const CERTAIN: f64 = 0.95;

/// Another contender that is better.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dominance {
    /// Its name.
    pub by: String,
    /// Rounds that have both.
    pub rounds: usize,
    /// Share of the resamples in which it costs no more and does no less.
    pub chance: f64,
    /// Whether that is beyond chance.
    pub certain: bool,
}

/// Requests in the middle run of `alone`, if that are fewer than a 99th percentile needs; none if they are
/// enough, or nothing is known.
pub(super) fn few_requests(rounds: &[Round<'_>]) -> Option<u64> {
    let alone =
        rounds.iter().filter_map(|round| Some(round.get("alone")?.foreground.as_ref()?.requests as f64));
    middle(alone).map(whole).filter(|requests| *requests < ENOUGH_REQUESTS)
}

/// A contender's p99 over that of `alone` and its work over that of `solo`, in one round.
fn figures(round: &Round<'_>, who: &str) -> Option<(f64, f64)> {
    Some((within(round, who, "alone", P99)?, within(round, who, "solo", WORK)?))
}

/// How many of `by`, who dominate `name` by medians, do so beyond chance; none if there are too few rounds to
/// tell.
pub(super) fn certain_dominators(rounds: &[Round<'_>], name: &str, by: &[String]) -> Option<usize> {
    let own = rounds.iter().filter(|round| figures(round, name).is_some()).count();
    let all: Vec<Dominance> = by.iter().map(|by| dominance(rounds, by, name)).collect();
    let certain = all.iter().filter(|one| one.certain).count();
    // One that is certain decides, whatever the others would.
    let decided = certain > 0 || (own >= FEW && all.iter().all(|one| one.rounds >= FEW));
    decided.then_some(certain)
}

/// How sure it is that `by` dominates `name`.
pub(super) fn dominance(rounds: &[Round<'_>], by: &str, name: &str) -> Dominance {
    let (theirs, ours): (Vec<_>, Vec<_>) =
        rounds.iter().filter_map(|round| Some((figures(round, by)?, figures(round, name)?))).unzip();
    let chance = bootstrap_chance(ours.len(), |drawn| {
        let of = |side: &[(f64, f64)]| {
            let drawn: Vec<(f64, f64)> = drawn.iter().filter_map(|index| side.get(*index).copied()).collect();
            Some((middle(drawn.iter().map(|one| one.0))?, middle(drawn.iter().map(|one| one.1))?))
        };
        let ((their_p99, their_work), (p99, work)) = (of(&theirs)?, of(&ours)?);
        Some(their_p99 <= p99 && their_work >= work)
    });
    let chance = chance.unwrap_or(0.0);
    Dominance {
        by: by.to_owned(),
        rounds: ours.len(),
        chance,
        certain: chance >= CERTAIN && ours.len() >= FEW,
    }
}
