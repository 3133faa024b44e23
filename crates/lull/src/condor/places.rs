//! Where a guest that wants to move could go.
//!
//! Problem: HTCondor reserves no place for a guest that is sent away; it goes back into the queue. If all nodes whose guests want to move saw the
//! same free place, all would send them away, and all but one for nothing. Approach: every node asks the collector the same question, for free
//! places and for guests that want to move. Those that have waited longest, by their owners' return, have the first claim; so a node counts only the
//! places that are left after those before it.
//!
//! Edge cases: the collector's news are as old as its ads. A node that is not among those that want to move yet, as far as the collector knows,
//! stands where it will. Guests of the queue may take the place first: then the move was in vain, and its cost is what the rule took it to be.

use super::ask::{Value, slots};

/// What a node may count on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Elsewhere {
    /// Free places for a guest of this node.
    pub(super) places: usize,
    /// What a guest gets of a CPU there.
    pub(super) share: f64,
}

impl Elsewhere {
    /// Where nothing is known, no place is free, and one would be whole.
    pub(super) const UNKNOWN: Self = Self { places: 0, share: 1.0 };
}

/// A slot of another node that is free, or whose guest wants to move.
#[derive(Clone, Debug, PartialEq)]
struct Other {
    machine: String,
    wants: bool,
    owner_since_s: f64,
    share: f64,
}

const CONSTRAINT: &str =
    "(State == \"Unclaimed\" && LullKnown && LullBeside =?= False) || LullWants =?= True";

/// Asks the collector on behalf of a guest on this machine, whose owner has been at work since then.
///
/// # Errors
/// When the collector does not answer.
pub(super) fn look(machine: &str, owner_since_s: f64) -> anyhow::Result<Elsewhere> {
    let rows = slots(Some(CONSTRAINT), None, ["Machine", "LullWants", "LullOwnerSince", "LullGuestShare"])?;
    let others: Vec<Other> = rows.iter().filter_map(other).collect();
    Ok(claim(machine, owner_since_s, &others))
}

fn other([machine, wants, since, share]: &[Value; 4]) -> Option<Other> {
    Some(Other {
        machine: machine.text()?.to_owned(),
        wants: wants.is_true().unwrap_or(false),
        owner_since_s: since.number()?,
        share: share.number()?,
    })
}

fn claim(machine: &str, owner_since_s: f64, others: &[Other]) -> Elsewhere {
    let elsewhere = || others.iter().filter(|other| other.machine != machine);
    // Ties go by name, the same way on every node.
    let is_before = |other: &&Other| {
        other.wants && (other.owner_since_s, other.machine.as_str()) < (owner_since_s, machine)
    };
    let before = elsewhere().filter(is_before).count();
    let mut shares: Vec<f64> = elsewhere().filter(|other| !other.wants).map(|other| other.share).collect();
    shares.sort_by(|one, other| other.total_cmp(one));
    shares
        .get(before)
        .map_or(Elsewhere::UNKNOWN, |share| Elsewhere { places: shares.len() - before, share: *share })
}

#[cfg(test)]
mod tests;
