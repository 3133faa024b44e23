//! What is tried beside the base: which rung, for how long, what it may cost, and what becomes of it.
//!
//! ```text
//!              a rung that is not barred        ┌───────┐  fits
//!           ┌─────────────────────────────────▶ │ Climb │ ──────▶ it is the base
//!   ┌──────┐                                    │       │
//!   │ none │   the base was suspected           ├───────┤  fails
//!   └──────┘ ─────────────────────────────────▶ │ Guard │ ──────▶ it is barred
//!                                               └───────┘
//! ```
//!
//! Every probe is paid from credits. Units: those of the trial. Edge cases: what a small budget never saves may not keep everything
//! from being tried.

use super::book::FEW;
use super::{DOUBT, Lender, Reason, Rung, share_of};
use crate::budget::Budget;
use crate::share::Share;
use crate::time::Nanos;
use crate::trial::schedule::Demand;
use crate::trial::share_at;

/// A probe that is neither climbed to nor failed after this many pairs has failed.
const GIVE_UP: u32 = 400;
/// A slowdown that is supposed of a probe before it is measured, to pay for it.
const SUPPOSED: f64 = 0.5;
/// Tests withhold no more than this part of the time in the long run, and so much at the beginning: this, or so many epochs
/// if they are long.
const THRIFTY: Share = Share::percent(5);
const THRIFTY_AFTER: Nanos = Nanos::from_secs(2);
const THRIFTY_AFTER_EPOCHS: u64 = 16;
/// A probe leaves this part of the cap, one in so many, to the base.
const RESERVE: u64 = 4;
/// Work that was less is looked at again after this many hold-offs.
const IDLE: u64 = 8;

/// A rung on trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    pub(super) rung: Rung,
    /// Pairs when it began.
    pub(super) pairs: u32,
    /// It was the base and is suspected.
    pub(super) guards: bool,
}

impl Lender {
    /// What the next block is to be.
    pub(super) fn demand(&self, budget: &Budget) -> Demand {
        let probe = self.can_afford_probe(budget);
        // Where background is held, each look costs the foreground more than it saves.
        Demand { share: self.share(probe), probe, rests: self.is_sheltered() }
    }

    /// Part of the time to withhold.
    pub(super) fn share(&self, probes: bool) -> Share {
        let evidence = &self.book.of(self.base).evidence;
        let urgency = if probes { 1.0 } else { evidence.urgency() };
        let share = share_at(&self.setting.trial, urgency);
        let guards = self.probe.is_some_and(|probe| probe.guards);
        let open = THRIFTY_AFTER.max(self.schedule.hold().times(THRIFTY_AFTER_EPOCHS));
        let thrifty = self.withheld > open.plus(THRIFTY.of(self.total));
        let costs = self.base != Rung::BOTTOM;
        // Held background can do little harm, whatever chance makes it look like.
        let alarms = evidence.is_suspected() && !self.is_sheltered();
        if costs && thrifty && !guards && !alarms { share.min(THRIFTY) } else { share }
    }

    /// Whether there are credits for one more epoch of the probe, beyond what it owes.
    pub(super) fn can_afford_probe(&self, budget: &Budget) -> bool {
        let Some(probe) = self.probe else { return false };
        let record = self.book.of(probe.rung);
        let known = record.pairs() > 0 && !probe.guards;
        let loss = if known { record.loss() } else { record.loss().max(SUPPOSED) };
        let cost = share_of(loss.min(1.0)).of(self.schedule.hold()).plus(record.due());
        // What a small budget never saves may not keep everything from being tried; one of nothing does.
        let most = Nanos(budget.setting().cap().0 / 2);
        if most == Nanos::ZERO {
            return false;
        }
        let cost = cost.min(most);
        // A base that is not proved needs credits, too: a probe may not make it fall.
        let needs_none = self.base == Rung::BOTTOM || self.is_sheltered();
        let reserve = if needs_none { 0 } else { budget.setting().cap().0 / RESERVE };
        budget.available() >= cost.plus(Nanos(reserve))
    }

    /// A probe that takes long to decide about is paid for on the way: what it owes would grow beyond all credits.
    pub(super) fn book_probe(&mut self, budget: &mut Budget) {
        let Some(probe) = self.probe else { return };
        let record = self.book.of_mut(probe.rung);
        if record.due() > Nanos(budget.setting().cap().0 / 4) {
            record.book(budget);
        }
    }

    /// Climbs to what is probed, or gives it up.
    pub(super) fn judge_probe(&mut self, now: Nanos, budget: &mut Budget) {
        let Some(probe) = &mut self.probe else { return };
        let record = self.book.of(probe.rung);
        // After a change evidence starts anew.
        probe.pairs = probe.pairs.min(record.pairs());
        let probe = *probe;
        let Some(slowdown) = record.known() else { return };
        let room = budget.setting().rate().fraction();
        let tried = slowdown.pairs.saturating_sub(probe.pairs);
        // What was known of a former base would hide what has begun since.
        let ratio = if probe.guards { record.evidence.ratio_of_latest(tried) } else { slowdown.ratio };
        let looks_bad = tried >= DOUBT && ratio - 1.0 > room;
        let proved = slowdown.low - 1.0 > room;
        if proved || looks_bad || tried >= GIVE_UP {
            self.book.of_mut(probe.rung).book(budget);
            self.fail(now, probe.rung, proved);
            self.probe = None;
            self.schedule.abandon();
            return;
        }
        let worst = share_of(slowdown.high - 1.0);
        let lasts = budget.lasts(worst).is_none_or(|lasts| lasts >= self.setting.trust);
        let affordable = slowdown.high < 2.0 && lasts;
        let cleared = !record.evidence.is_suspected() && (!probe.guards || tried >= FEW);
        if ratio - 1.0 > room || !affordable || !cleared {
            return;
        }
        self.book.of_mut(probe.rung).book(budget);
        self.probe = None;
        let bolder = self.base.is_within(probe.rung);
        if bolder || self.book.of(probe.rung).works_more_than(self.book.of(self.base)) {
            if probe.guards {
                // The alarm was false.
                self.close_eye(now);
            }
            self.move_to(now, probe.rung, probe.rung, Reason::Fits);
        } else {
            let until = now.plus(self.setting.hold_off.times(IDLE));
            self.book.of_mut(probe.rung).idle_until = until;
            self.schedule.abandon();
        }
    }

    /// Looks for something bolder to probe.
    pub(super) fn seek(&mut self, now: Nanos, wants: bool) {
        let settled = self.base == Rung::BOTTOM || self.book.of(self.base).known().is_some();
        if self.probe.is_some() || !wants || !settled {
            return;
        }
        let Some(rung) = self.book.candidate(now, self.base) else { return };
        let record = self.book.of_mut(rung);
        if std::mem::take(&mut record.convicted) {
            // It was harmful then; whether it is now is another question.
            record.evidence.clear();
        }
        self.probe = Some(Probe { rung, pairs: record.pairs(), guards: false });
    }
}
