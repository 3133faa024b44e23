//! What is known of each rung: its harm, its work, and when it may be tried again.

use super::ladder::{Ladder, Rung};
use crate::budget::Budget;
use crate::share::Loss;
use crate::time::Nanos;
use crate::trial::evidence::Evidence;
use crate::trial::{Epoch, Measure, Slowdown};

/// Pairs without which nothing is believed of a rung: as many as an interval needs.
pub(super) const FEW: u32 = 11;
/// Pairs from which loss is booked as measured.
const BOOKED: u32 = 4;
/// Work is remembered for about this long.
const WORK_SPAN_NS: f64 = 20e9;
/// Work that is more by this factor is more.
const MORE_WORK: f64 = 1.05;

#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) evidence: Evidence,
    work: f64,
    work_ns: f64,
    /// Time beside the foreground whose loss is not booked yet.
    unbooked: Nanos,
    /// Failed climbs since harm was last found to be less.
    pub(super) failures: u32,
    /// Whether the latest failure was proved.
    pub(super) convicted: bool,
    /// Not to be tried before.
    pub(super) barred_until: Nanos,
    /// Not worth trying before: it did less work than another.
    pub(super) idle_until: Nanos,
}

impl Record {
    fn new(measure: Measure, promise: Loss) -> Self {
        Self {
            evidence: Evidence::new(measure, promise.fraction()),
            work: 0.0,
            work_ns: 0.0,
            unbooked: Nanos::ZERO,
            failures: 0,
            convicted: false,
            barred_until: Nanos::ZERO,
            idle_until: Nanos::ZERO,
        }
    }

    /// The slowdown once it rests on enough pairs.
    pub(super) fn known(&self) -> Option<Slowdown> {
        self.evidence.slowdown().filter(|slowdown| slowdown.pairs >= FEW)
    }

    /// Pairs so far.
    pub(super) fn pairs(&self) -> u32 {
        self.evidence.slowdown().map_or(0, |slowdown| slowdown.pairs)
    }

    /// The likeliest loss.
    pub(super) fn loss(&self) -> f64 {
        let known = self.evidence.slowdown().filter(|slowdown| slowdown.pairs >= BOOKED);
        known.map_or(0.0, |slowdown| (slowdown.ratio - 1.0).max(0.0))
    }

    /// The loss that is booked for the base: the likeliest once it is proved to fit into `room`, and until then half way
    /// to the worst that is possible. Rungs are climbed to when they look good, so the likeliest would be too small.
    pub(super) fn cautious_loss(&self, room: f64) -> f64 {
        match self.known() {
            Some(slowdown) if slowdown.high - 1.0 > room => {
                let worst = (slowdown.high - 1.0).min(1.0);
                f64::midpoint(self.loss(), worst)
            }
            _ => self.loss(),
        }
    }

    /// It was lent for `span` beside the foreground.
    pub(super) fn lent(&mut self, span: Nanos) {
        self.unbooked = self.unbooked.plus(span);
    }

    /// Background did the work of `epoch` on it.
    pub(super) fn worked(&mut self, epoch: &Epoch) {
        if self.work_ns > WORK_SPAN_NS {
            self.work /= 2.0;
            self.work_ns /= 2.0;
        }
        self.work += epoch.work as f64;
        self.work_ns += epoch.span.0 as f64;
    }

    /// Background work per nanosecond.
    pub(super) fn work(&self) -> f64 {
        self.work / self.work_ns.max(1.0)
    }

    /// Whether it does clearly more work than `other`.
    pub(super) fn works_more_than(&self, other: &Self) -> bool {
        self.work() > other.work() * MORE_WORK
    }

    /// The likeliest loss that is not booked yet.
    pub(super) fn due(&self) -> Nanos {
        part(self.unbooked, self.loss())
    }

    /// Books the likeliest loss, finally.
    pub(super) fn book(&mut self, budget: &mut Budget) {
        self.book_at(self.loss(), budget);
    }

    /// Books the loss on the base, with caution. What nothing is known of waits.
    pub(super) fn book_base(&mut self, room: f64, budget: &mut Budget) {
        if self.pairs() >= BOOKED {
            self.book_at(self.cautious_loss(room), budget);
        }
    }

    fn book_at(&mut self, loss: f64, budget: &mut Budget) {
        if self.unbooked > Nanos::ZERO {
            budget.spend(part(self.unbooked, loss));
            self.unbooked = Nanos::ZERO;
        }
    }

    /// The harm has become greater: books what was lost since, beyond what was booked at the loss of `before`.
    pub(super) fn book_change(&self, before: f64, budget: &mut Budget) {
        let since = self.evidence.lent().since(self.unbooked);
        budget.spend(part(since, (self.loss() - before).max(0.0)));
    }
}

/// A part of a span, which may be more than the whole.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float saturates")]
fn part(span: Nanos, factor: f64) -> Nanos {
    Nanos((span.0 as f64 * factor) as u64)
}

/// One record per rung.
#[derive(Clone, Debug)]
pub(super) struct Book {
    pub(super) ladder: Ladder,
    records: Vec<Record>,
}

impl Book {
    pub(super) fn new(ladder: Ladder, measure: Measure, promise: Loss) -> Self {
        Self { ladder, records: vec![Record::new(measure, promise); ladder.len()] }
    }

    /// From now on `promise` is the loss that matters.
    pub(super) fn set_promise(&mut self, promise: Loss) {
        self.records.iter_mut().for_each(|record| record.evidence.set_budget(promise.fraction()));
    }

    pub(super) fn of(&self, rung: Rung) -> &Record {
        &self.records[self.ladder.place(rung)]
    }

    pub(super) fn of_mut(&mut self, rung: Rung) -> &mut Record {
        &mut self.records[self.ladder.place(rung)]
    }

    /// Everything may be tried again: what made it fail is over.
    pub(super) fn pardon(&mut self) {
        for record in &mut self.records {
            record.failures = 0;
            record.barred_until = Nanos::ZERO;
            record.idle_until = Nanos::ZERO;
        }
    }

    /// Rungs that are known to lose no more than `room` may be tried again, with what is known of them.
    pub(super) fn pardon_within(&mut self, room: Loss) {
        for record in self.records.iter_mut().filter(|record| record.barred_until != Nanos::MAX) {
            if record.known().is_some_and(|slowdown| slowdown.ratio - 1.0 <= room.fraction()) {
                record.failures = record.failures.saturating_sub(1);
                record.barred_until = Nanos::ZERO;
                record.convicted = false;
            }
        }
    }

    /// Every rung as bold as `rung`, or bolder, is as harmful as it: not to be used before `until`.
    pub(super) fn bar(&mut self, rung: Rung, until: Nanos) {
        self.of_mut(rung).barred_until = until;
    }

    /// As [`bar`](Self::bar), until further notice.
    pub(super) fn suspend(&mut self, rung: Rung) {
        self.bar(rung, Nanos::MAX);
    }

    /// That notice; a bar that `rung` has for another reason stays.
    pub(super) fn resume(&mut self, rung: Rung) {
        let record = self.of_mut(rung);
        if record.barred_until == Nanos::MAX {
            record.barred_until = Nanos::ZERO;
        }
    }

    /// Whether `rung`, or one within it, is barred at `now`.
    pub(super) fn is_barred(&self, rung: Rung, now: Nanos) -> bool {
        self.ladder.rungs().any(|within| within.is_within(rung) && self.of(within).barred_until > now)
    }

    /// The rung to fall back to: of those known to lose no more than `room` and not barred, the one that does most work.
    pub(super) fn refuge(&self, now: Nanos, from: Rung, room: Loss) -> Rung {
        let safe = self.ladder.rungs().filter(|rung| {
            let record = self.of(*rung);
            *rung != from
                && !from.is_within(*rung)
                && !self.is_barred(*rung, now)
                && record.known().is_some_and(|slowdown| slowdown.ratio - 1.0 <= room.fraction())
        });
        safe.max_by(|a, b| self.of(*a).work().total_cmp(&self.of(*b).work())).unwrap_or(Rung::BOTTOM)
    }

    /// The rung to try next from `base`.
    ///
    /// The top if it never failed: it may do no harm at all. Otherwise the one that halves what is left, by how many
    /// rungs would be ruled out with it if it fails and how many would be within it if it does not.
    pub(super) fn candidate(&self, now: Nanos, base: Rung) -> Option<Rung> {
        let open: Vec<Rung> = self
            .ladder
            .rungs()
            .filter(|rung| {
                !rung.is_within(base) && !self.is_barred(*rung, now) && self.of(*rung).idle_until <= now
            })
            .collect();
        let top = self.ladder.top();
        if open.contains(&top) && self.of(top).failures == 0 {
            return Some(top);
        }
        let splits = |rung: Rung| {
            let bolder = open.iter().filter(|other| rung.is_within(**other)).count();
            let within = open.iter().filter(|other| other.is_within(rung)).count();
            (bolder.min(within), within)
        };
        open.iter().copied().max_by_key(|rung| splits(*rung))
    }
}

#[cfg(test)]
mod tests;
