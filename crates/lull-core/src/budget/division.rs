//! One promise, divided among the resources on which foreground and job contend.
//!
//! Problem: the foreground is promised that it loses at most some share of its time, wherever. Each resource has a policy
//! of its own, which spends what it is given; if each is given the whole, a foreground that uses a disk and the CPUs may
//! lose twice as much.
//!
//! Approach: the resources on which both were at work of late are *members* and have a part each; the parts are never more
//! than the whole together. A member that is alone has the whole. Each needs
//!
//! ```text
//!   need = 1.5 · what it loses of late + fair share / 4            fair share = promise / members
//! ```
//!
//! so that one that spends all of its part gets more, and one that spends little leaves it to the others but for a
//! little to find out with. Who has never been a member needs everything for a moment; who has been one, what it lost then. If the needs are less than the whole, all parts
//! grow in proportion; if they are more, the largest are cut to a common height.
//!
//! ```text
//!              both at work there: with an empty bucket, unless it is the first of the run
//!   ┌─────────┐ ───────────────────────────────────────────────────────────────────────▶ ┌────────┐
//!   │ standby │                                                                          │ member │
//!   └─────────┘ ◀─────────────────────────────────────────────────────────────────────── └────────┘
//!              not both for a while, and there is another member
//! ```
//!
//! Whoever is on standby is told the whole promise, so that it is ready when its turn comes; it cannot spend any, since one
//! of the two is not there. What it has saved up meanwhile is forfeit when it joins.
//!
//! **Bound.** Let each bucket hold at most `b · window` of its part and earn at `1 − b` of it ([`Budget`]), or less of both,
//! and let a window be a stretch of `W` of the time in which the foreground was at work on any resource. In it bucket `i`
//! spends no more than was there at the beginning, plus what it earned, plus its debt `Dᵢ`: what spills when its part becomes
//! less only lowers that, nothing is added when it becomes more, and who joins brings nothing. Each earns only while the
//! foreground is at work there, so `∫ dt ≤ W`. At every moment the parts of all members are at most the promise, so
//!
//! ```text
//!   Σ spentᵢ ≤ Σ b · partᵢ · window + ∫ Σ (1 − b) · partᵢ dt + Σ Dᵢ ≤ promise · W + Σ Dᵢ        for every W ≥ window
//! ```
//!
//! If credit stayed above a cap that has shrunk, the first sum would be larger than the promise: one that had saved up all of it
//! alone could spend it while another spends its part.
//!
//! What was lost on all resources is booked here once more, for the report: the one promise is kept or broken by the sum.
//!
//! Units: nanoseconds of foreground time; a loss is a share of it. A part is a share of the time on its own resource, so needs
//! are measured in that. For the sum the foreground's time in a second is taken for the longest that any resource says: it is at
//! least that, so the share lost is not told too small. Not between two looks: resources book in lumps, each at its own time, and the
//! longest of each look would add up to several times what it was. Edge cases: parts are changed
//! about once a second, and at once for one that joins; a change that is too small is not made, so that noise moves
//! nothing. Losses are booked late and in lumps: one counts for at most twice the part that was in force.

use super::{Budget, BudgetSetting, Kept};
use crate::share::Loss;
use crate::time::Nanos;

/// How often the parts may change, unless somebody joins.
const EVERY: Nanos = Nanos::from_secs(1);
/// What is lost of late is a mean over about so much of the foreground's time.
const OF_LATE: Nanos = Nanos::from_secs(5);
/// A member needs so many times what it loses of late.
const NEED: f64 = 1.5;
/// A resource that is a member for the first time needs everything for so long.
const NEW: Nanos = Nanos::from_secs(3);
/// A member that has not contended for this long gives way to others.
const GONE: Nanos = Nanos::from_secs(5);
/// What a member that loses nothing keeps of its fair share: one in so many.
const LEFT: u32 = 4;
/// Parts that would change by less than one in so many of the promise stay.
const STEPS: u32 = 16;

/// What is known of one resource; the last two only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Whether foreground and job are both at work there.
    pub contended: bool,
    /// For how long the foreground was at work there.
    pub worked: Nanos,
    /// What it has lost there.
    pub lost: Nanos,
}

/// What a resource has to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its place in what was looked at.
    pub resource: usize,
    /// What may be lost there from now on.
    pub promise: Loss,
    /// Whether it has to give up what it has saved first.
    pub forfeits: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// `None` on standby.
    share: Option<Loss>,
    latest: Use,
    contended_at: Option<Nanos>,
    /// For the first time.
    joined: Option<Nanos>,
    /// What was known when it was last settled.
    before: Use,
    /// What it loses of late while it is contended, as a share.
    losing: f64,
}

impl Part {
    /// For how long the foreground was at work there since it was last settled.
    fn worked(&self) -> Nanos {
        self.latest.worked.since(self.before.worked)
    }

    /// What it has lost there since.
    fn lost(&self) -> Nanos {
        self.latest.lost.since(self.before.lost)
    }

    fn is_gone(&self, now: Nanos) -> bool {
        self.contended_at.is_none_or(|at| now.since(at) >= GONE)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Division {
    parts: Vec<Part>,
    /// What was lost on all resources until it was last settled.
    whole: Budget,
    settled: Nanos,
    looked: Nanos,
    /// Whether any resource was ever contended.
    has_begun: bool,
}

impl Division {
    /// Of this promise. Until told otherwise every resource is on standby.
    pub fn new(promise: Loss) -> Self {
        Self {
            parts: Vec::new(),
            whole: Budget::new(BudgetSetting { promise, ..BudgetSetting::default() }),
            settled: Nanos::ZERO,
            looked: Nanos::ZERO,
            has_begun: false,
        }
    }

    /// What is promised over all resources.
    pub fn promise(&self) -> Loss {
        self.whole.setting().promise
    }

    /// Takes in what is known of all resources, always in the same order; new ones come last. Returns what to tell them.
    /// To be asked before anything that may be lost is booked, as often as there is time.
    pub fn look(&mut self, now: Nanos, uses: &[Use]) -> Vec<Change> {
        self.note(now, uses);
        let joins: Vec<usize> = self.places(|part| part.share.is_none() && part.contended_at == Some(now));
        let is_due = now.since(self.settled) >= EVERY;
        if joins.is_empty() && !is_due {
            return Vec::new();
        }
        if is_due {
            self.measure(now);
            self.settle(now);
        }
        let mut changes = Vec::new();
        let is_wanted =
            !joins.is_empty() || !self.places(|part| part.share.is_some() && !part.is_gone(now)).is_empty();
        let gone = if is_wanted {
            self.places(|part| part.share.is_some() && part.is_gone(now))
        } else {
            Vec::new()
        };
        for resource in &gone {
            self.parts[*resource].share = None;
            changes.push(Change { resource: *resource, promise: self.promise(), forfeits: false });
        }
        for resource in &joins {
            let part = &mut self.parts[*resource];
            part.share = Some(Loss::ZERO);
            part.joined.get_or_insert(now);
        }
        let members = self.places(|part| part.share.is_some());
        let shares = self.divide(now, &members);
        let is_new = !(joins.is_empty() && gone.is_empty());
        if is_new || self.is_worth_it(&members, &shares) {
            for (resource, share) in members.iter().zip(&shares) {
                let forfeits = self.has_begun && joins.contains(resource);
                let before = self.parts[*resource].share.replace(*share);
                // On standby it had the whole.
                let before = if joins.contains(resource) { Some(self.promise()) } else { before };
                if before != Some(*share) || forfeits {
                    changes.push(Change { resource: *resource, promise: *share, forfeits });
                }
            }
        }
        self.has_begun |= !joins.is_empty();
        changes
    }

    /// Whether foreground and job ever were at work there.
    pub fn was_contended(&self, resource: usize) -> bool {
        self.parts.get(resource).is_some_and(|part| part.contended_at.is_some())
    }

    /// What was lost on one resource, as a share of the foreground's time.
    pub fn lost_on(&self, resource: usize) -> f64 {
        let lost = self.parts.get(resource).map_or(Nanos::ZERO, |part| part.latest.lost);
        lost.0 as f64 / (self.whole_by_now().worked().0 as f64).max(1.0)
    }

    /// How the promise was kept so far, over all resources.
    pub fn kept(&self) -> Kept {
        self.whole_by_now().kept()
    }

    fn places(&self, is_one: impl Fn(&Part) -> bool) -> Vec<usize> {
        self.parts.iter().enumerate().filter(|(_, part)| is_one(part)).map(|(place, _)| place).collect()
    }

    fn note(&mut self, now: Nanos, uses: &[Use]) {
        self.looked = now;
        self.parts.resize(self.parts.len().max(uses.len()), Part::default());
        for (part, latest) in self.parts.iter_mut().zip(uses) {
            part.latest = *latest;
            if latest.contended {
                part.contended_at = Some(now);
            }
        }
    }

    /// What was lost on all resources, the time since it was last settled included.
    fn whole_by_now(&self) -> Budget {
        let mut whole = self.whole.clone();
        let span = self.looked.since(self.settled);
        let worked = self.parts.iter().map(Part::worked).max().unwrap_or(Nanos::ZERO);
        whole.pass(worked.min(span));
        whole.spend(self.parts.iter().fold(Nanos::ZERO, |sum, part| sum.plus(part.lost())));
        whole
    }

    fn settle(&mut self, now: Nanos) {
        self.whole = self.whole_by_now();
        self.settled = now;
        for part in &mut self.parts {
            part.before = part.latest;
        }
    }

    /// What each loses of late.
    fn measure(&mut self, now: Nanos) {
        for part in &mut self.parts {
            // What is lost while nobody contends says nothing of what will be.
            let is_used = part.contended_at.is_some_and(|at| now.since(at) < EVERY);
            if let Some(share) = part.share.filter(|_| is_used) {
                let span = part.worked().0 as f64;
                let weight = (span / OF_LATE.0 as f64).min(1.0);
                let most = share.fraction() * 2.0;
                part.losing += weight * ((part.lost().0 as f64 / span.max(1.0)).min(most) - part.losing);
            }
        }
    }

    /// The parts of `members`, in parts per million no more than the promise.
    fn divide(&self, now: Nanos, members: &[usize]) -> Vec<Loss> {
        let whole = self.promise().fraction();
        let count = members.len() as f64;
        let left = whole / count / f64::from(LEFT);
        let need = |place: &usize| {
            let part = &self.parts[*place];
            let is_new = part.joined.is_some_and(|at| now.since(at) < NEW);
            if is_new { whole } else { (NEED * part.losing + left).min(whole) }
        };
        let needs: Vec<f64> = members.iter().map(need).collect();
        let sum: f64 = needs.iter().sum();
        let shares: Vec<f64> = if sum <= whole {
            needs.iter().map(|need| need * whole / sum).collect()
        } else {
            let height = height(&needs, whole);
            needs.iter().map(|need| need.min(height)).collect()
        };
        shares.into_iter().map(loss).collect()
    }

    fn is_worth_it(&self, members: &[usize], shares: &[Loss]) -> bool {
        let least = self.promise().as_ppm() / STEPS;
        members.iter().zip(shares).any(|(member, share)| {
            let before = self.parts[*member].share.unwrap_or(Loss::ZERO);
            share.as_ppm().abs_diff(before.as_ppm()) > least
        })
    }
}

/// To what `needs` have to be cut so that they are `whole` together, when they are more.
fn height(needs: &[f64], whole: f64) -> f64 {
    let mut sorted = needs.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mut left = whole;
    for (place, need) in sorted.iter().enumerate() {
        let each = left / (sorted.len() - place) as f64;
        if *need >= each {
            return each;
        }
        left -= need;
    }
    whole
}

/// Rounded down.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of the whole")]
fn loss(fraction: f64) -> Loss {
    // A millionth of a part is lost to rounding otherwise.
    Loss::ppm((fraction * 1e6 + 1e-6) as u32)
}

#[cfg(test)]
mod tests;
