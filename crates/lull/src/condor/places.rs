//! Where a guest that wants to move could go, and which guest of a node that is.
//!
//! Problem: HTCondor reserves no place for a guest that is sent away; it goes back into the queue. If all nodes whose guests want to move saw the
//! same free place, all would send them away, and all but one for nothing. Approach: every node asks the collector the same question, for free
//! places and for guests that want to move. Nodes that have waited longest, by their owners' return, have the first claim; so a node counts only the
//! places that are left after those before it.
//!
//! A node with several guests sends one at a time: that whose move costs least, and those that stay share what it leaves, so that they may not want to
//! go any more. Its own slots are asked themselves, since the collector's news of them are old.
//!
//! A place is a free slot, or a CPU's worth of a partitionable one, that is large enough for that guest.
//!
//! Edge cases: the collector's news are as old as its ads. A node that is not among those that want to move yet, as far as the collector knows,
//! stands where it will. Guests of the queue may take the place first: then the move was in vain, and its cost is what the rule took it to be.

use super::ask::{Value, slots, slots_of};

/// What a node may count on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Elsewhere {
    /// Free places for a guest of this node.
    pub(super) places: usize,
    /// What a guest gets of a CPU there.
    pub(super) share: f64,
    /// The slot whose guest goes first; empty where none wants to.
    pub(super) mover: String,
}

impl Elsewhere {
    /// Where nothing is known, no place is free, and one would be whole.
    pub(super) const fn unknown() -> Self {
        Self { places: 0, share: 1.0, mover: String::new() }
    }
}

/// What a guest needs of a slot, or a slot has.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Size {
    cpus: f64,
    memory_mib: f64,
}

/// A slot of another node that is free, or whose guest wants to move.
#[derive(Clone, Debug, PartialEq)]
struct Other {
    machine: String,
    wants: bool,
    owner_since_s: f64,
    share: f64,
    size: Size,
    is_partitionable: bool,
}

/// A slot of this node.
#[derive(Clone, Debug, PartialEq)]
struct Own {
    name: String,
    wants: bool,
    cost_s: f64,
    size: Size,
}

const CONSTRAINT: &str =
    "(State == \"Unclaimed\" && LullKnown && LullBeside =?= False) || LullWants =?= True";

/// Asks on behalf of the guests on this machine, whose owner has been at work since then.
///
/// # Errors
/// When the collector or this machine's startd does not answer.
pub(super) fn look(machine: &str, owner_since_s: f64) -> anyhow::Result<Elsewhere> {
    let own = slots_of(machine, ["Name", "LullWants", "LullMoveCost", "Cpus", "Memory"])?;
    let own: Vec<Own> = own.iter().filter_map(of_own).collect();
    let attributes =
        ["Machine", "LullWants", "LullOwnerSince", "LullPlaceShare", "Cpus", "Memory", "PartitionableSlot"];
    let rows = slots(Some(CONSTRAINT), None, attributes)?;
    let others: Vec<Other> = rows.iter().filter_map(other).collect();
    Ok(claim(machine, owner_since_s, &own, &others))
}

fn size(cpus: &Value, memory: &Value) -> Option<Size> {
    Some(Size { cpus: cpus.number()?, memory_mib: memory.number()? })
}

fn of_own([name, wants, cost, cpus, memory]: &[Value; 5]) -> Option<Own> {
    Some(Own {
        name: name.text()?.to_owned(),
        wants: wants.is_true().unwrap_or(false),
        cost_s: cost.number().unwrap_or(f64::INFINITY),
        size: size(cpus, memory)?,
    })
}

fn other([machine, wants, since, share, cpus, memory, partitionable]: &[Value; 7]) -> Option<Other> {
    Some(Other {
        machine: machine.text()?.to_owned(),
        wants: wants.is_true().unwrap_or(false),
        owner_since_s: since.number()?,
        share: share.number()?,
        size: size(cpus, memory)?,
        is_partitionable: partitionable.is_true().unwrap_or(false),
    })
}

impl Other {
    /// How many guests of this size have a place in it.
    fn places(&self, guest: Size) -> usize {
        if self.wants || self.size.cpus < guest.cpus || self.size.memory_mib < guest.memory_mib {
            return 0;
        }
        if !self.is_partitionable {
            return 1;
        }
        let by_cpus = self.size.cpus / guest.cpus.max(1.0);
        let by_memory = self.size.memory_mib / guest.memory_mib.max(1.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "float to int casts saturate"
        )]
        let places = by_cpus.min(by_memory) as usize;
        places
    }
}

fn claim(machine: &str, owner_since_s: f64, own: &[Own], others: &[Other]) -> Elsewhere {
    // Ties go by name, so that the answer stays the same while nothing changes.
    let mover = own
        .iter()
        .filter(|slot| slot.wants)
        .min_by(|one, other| one.cost_s.total_cmp(&other.cost_s).then_with(|| one.name.cmp(&other.name)));
    // Nobody may want to move for lack of news of what is elsewhere: those are for the smallest guest.
    let guest = mover.map_or(Size { cpus: 1.0, memory_mib: 1.0 }, |slot| slot.size);
    let elsewhere = || others.iter().filter(|other| other.machine != machine);
    // The same way on every node; one that has several such guests still sends one at a time.
    let is_before = |other: &&Other| {
        other.wants && (other.owner_since_s, other.machine.as_str()) < (owner_since_s, machine)
    };
    let mut before: Vec<&str> = elsewhere().filter(is_before).map(|other| other.machine.as_str()).collect();
    before.sort_unstable();
    before.dedup();
    let mut shares: Vec<f64> =
        elsewhere().flat_map(|other| std::iter::repeat_n(other.share, other.places(guest))).collect();
    shares.sort_by(|one, other| other.total_cmp(one));
    let mover = mover.map(|slot| slot.name.clone()).unwrap_or_default();
    match shares.get(before.len()) {
        Some(share) => Elsewhere { places: shares.len() - before.len(), share: *share, mover },
        None => Elsewhere { mover, ..Elsewhere::unknown() },
    }
}

#[cfg(test)]
mod tests;
