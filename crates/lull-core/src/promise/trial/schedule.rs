//! What when: blocks of epochs in random order.
//!
//! A block has an epoch that is withheld and one that is lent.
//!
//! ```text
//!              rested, the foreground moved,               washout over
//!  ┌──────┐   background has work     ┌─────────────────┐ ─────────────▶ ┌──────────────────┐
//!  │ Rest │ ────────────────────────▶ │ Washout of an   │                │ Counting of that │
//!  │ lent │ ◀──────────────────────── │ epoch           │ ◀───────────── │ epoch            │
//!  └──────┘ block over,               └─────────────────┘ epoch over:    └──────────────────┘
//!      ▲    sensor restarted,           ▲ background      the next one,      │ background
//!      │    abandoned                   │ has work again  or the next block  │ has no work
//!      │                             ┌──────────────┐                        │
//!      └──────────────────────────── │ Paused, lent │ ◀──────────────────────┘
//!         paused for too long        └──────────────┘     (or in a washout)
//! ```
//!
//! A job that reads and computes in turn pauses more often than blocks are long. What an epoch had seen before a pause counts, and
//! it goes on after a washout.
//!
//! The lent epoch is at most [`COUNTED`] times as long as the withheld one: the shorter one decides how much a block says. What is left
//! of the time in which little is withheld is rest after the block, and nobody need look then.
//!
//! What a stall may count for is cut in each epoch (`cut.rs`). A longer epoch would dilute what stands out in the other: cut as a whole, it
//! would keep stalls that the withheld ones lose, which looks like harm. So it is cut in pieces of the withheld one's length.
//!
//! Nothing changes between two calls: an epoch lasts from the call that began it to the first call at or after its end.
//! The owner acts on what a call returns, so an epoch that is noticed late was in force that long, and is counted so.

use super::setting::{Epoch, Pace, Reading, TrialSetting};
use crate::base::random::Random;
use crate::base::share::Share;
use crate::base::time::Nanos;

/// What an epoch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Background as usual.
    Lent,
    /// No background.
    Withheld,
}

/// The epochs of a block that is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) lent: Epoch,
    /// The lent epoch in pieces about as long as the withheld one.
    pub(crate) lent_pieces: Vec<Epoch>,
    pub(crate) withheld: Epoch,
}

#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    setting: TrialSetting,
    random: Random,
    phase: Phase,
    pace: Pace,
    latest: Option<Reading>,
    looked: Nanos,
    /// The lent epoch of this block so far, in pieces, and where the present one began.
    pieces: Vec<Epoch>,
    piece_began: Option<(Nanos, Reading)>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Lent and not counted until then, and until the foreground has made a request since `count`, and background has work.
    Rest {
        until: Nanos,
        count: Option<u64>,
    },
    Paused {
        plan: Plan,
        since: Nanos,
    },
    Washout {
        plan: Plan,
        until: Nanos,
    },
    Counting {
        plan: Plan,
        until: Nanos,
        began: (Nanos, Reading),
    },
}

/// A block and how far it has come.
#[derive(Clone, Copy, Debug)]
struct Plan {
    order: [Part; 2],
    /// Which part of the order is in force.
    at: usize,
    withheld: Nanos,
    lent: Nanos,
    /// After it.
    rest: Nanos,
    began: (Nanos, Reading),
    /// What the part in force had seen before pauses.
    seen: Epoch,
    done: Done,
}

/// The epochs of a block so far.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    lent: Epoch,
    withheld: Epoch,
}

/// A lent epoch is at most so many times as long as the withheld one, in which a look is due each time: twice leaves half more noise
/// than any more would.
const COUNTED: u64 = 2;
/// A block that paused for longer compares times that are too far apart.
const LONGEST_PAUSE: Nanos = Nanos::from_secs(2);

impl Phase {
    /// The next block may begin at once.
    const READY: Self = Self::Rest { until: Nanos::ZERO, count: None };
}

impl Plan {
    fn part(&self) -> Part {
        self.order[self.at]
    }

    fn hurry(&mut self, lent: Nanos, rest: Nanos) {
        self.lent = self.lent.min(lent);
        self.rest = self.rest.min(rest);
    }

    /// How long the part in force has still to be counted.
    fn length(&self) -> Nanos {
        let length = match self.part() {
            Part::Lent => self.lent,
            Part::Withheld => self.withheld,
        };
        length.since(self.seen.span)
    }
}

impl Schedule {
    pub(crate) fn new(setting: TrialSetting, seed: u64) -> Self {
        let pace = Pace::unknown(&setting);
        let random = Random::new(seed);
        let (pieces, piece_began) = (Vec::new(), None);
        Self {
            setting,
            random,
            phase: Phase::READY,
            pace,
            latest: None,
            looked: Nanos::ZERO,
            pieces,
            piece_began,
        }
    }

    pub(crate) fn part(&self) -> Part {
        match self.phase {
            Phase::Rest { .. } | Phase::Paused { .. } => Part::Lent,
            Phase::Washout { plan, .. } | Phase::Counting { plan, .. } => plan.part(),
        }
    }

    /// When the next call is due; `None` while the foreground or the job decides.
    pub(crate) fn next_change(&self) -> Option<Nanos> {
        match self.phase {
            Phase::Rest { until, .. } => Some(until).filter(|until| *until > self.looked),
            Phase::Paused { .. } => None,
            Phase::Washout { until, .. } => Some(until),
            Phase::Counting { plan, until, .. } => {
                let piece = self.piece_began.map(|(began, _)| began.plus(plan.withheld));
                Some(piece.map_or(until, |ends| ends.min(until)))
            }
        }
    }

    /// How many foreground requests there are at a time, lately; `None` where sums are no times.
    pub(crate) fn load(&self) -> Option<f64> {
        (self.setting.recovery > 0).then(|| self.pace.load())
    }

    /// Whether epochs are long enough for the foreground's requests; always, where sums are no times.
    pub(crate) fn outlasts_requests(&self) -> bool {
        self.setting.recovery == 0 || self.pace.mean() <= self.setting.longest.0 as f64 / 8.0
    }

    fn washout(&self) -> Nanos {
        self.setting.washout_for(&self.pace)
    }

    /// Takes in a reading; returns a block that is complete. `demand` is for the next block.
    pub(crate) fn step(&mut self, now: Nanos, reading: Reading, wants: bool, demand: Share) -> Option<Block> {
        let before = self.latest.replace(reading).unwrap_or(reading);
        self.looked = now;
        let went_back =
            reading.count < before.count || reading.sum < before.sum || reading.work < before.work;
        if went_back {
            self.phase = Phase::READY;
            return None;
        }
        if !wants {
            self.pause(now, reading);
            return None;
        }
        match self.phase {
            Phase::Rest { until, count } => {
                // A block that always began with a request would see more of them at its head.
                if now >= until && reading.count > count.unwrap_or(before.count) {
                    self.begin_block(now, reading, demand);
                }
                None
            }
            Phase::Paused { plan, .. } => {
                self.phase = Phase::Washout { plan, until: now.plus(self.washout()) };
                None
            }
            Phase::Washout { plan, until } => {
                if now >= until {
                    let began = (now, reading);
                    self.piece_began = (plan.part() == Part::Lent).then_some(began);
                    self.phase = Phase::Counting { plan, until: now.plus(plan.length()), began };
                }
                None
            }
            Phase::Counting { plan, until, began } if now >= until => {
                let mut plan = plan;
                self.end_piece(now, reading, plan.withheld);
                let epoch = std::mem::take(&mut plan.seen).and(&Epoch::between(began, (now, reading))?);
                match plan.part() {
                    Part::Lent => plan.done.lent = epoch,
                    Part::Withheld => plan.done.withheld = epoch,
                }
                plan.at += 1;
                if plan.at < plan.order.len() {
                    self.phase = Phase::Washout { plan, until: now.plus(self.washout()) };
                    return None;
                }
                let lent_pieces = std::mem::take(&mut self.pieces);
                self.end_block(now, reading, &plan, demand);
                let Done { lent, withheld } = plan.done;
                Some(Block { lent, lent_pieces, withheld })
            }
            Phase::Counting { plan, .. } => {
                // The call nearest to the length will do.
                let enough = Nanos(plan.withheld.0 / 8 * 7);
                if self.piece_began.is_some_and(|(began, _)| now.since(began) >= enough) {
                    self.end_piece(now, reading, plan.withheld);
                    self.piece_began = Some((now, reading));
                }
                None
            }
        }
    }

    /// The present piece of a lent epoch is over; one that is less than half as long as `wanted` belongs to the one before.
    fn end_piece(&mut self, now: Nanos, reading: Reading, wanted: Nanos) {
        let Some(piece) = self.piece_began.take().and_then(|began| Epoch::between(began, (now, reading)))
        else {
            return;
        };
        match self.pieces.last_mut() {
            Some(last) if piece.span.times(2) < wanted => *last = last.and(&piece),
            _ => self.pieces.push(piece),
        }
    }

    /// Background has no work: nothing can be compared until it has some.
    fn pause(&mut self, now: Nanos, reading: Reading) {
        self.phase = match self.phase {
            Phase::Rest { until, count } => Phase::Rest { until, count },
            Phase::Paused { since, .. } if now.since(since) >= LONGEST_PAUSE => Phase::READY,
            Phase::Paused { plan, since } => Phase::Paused { plan, since },
            Phase::Washout { plan, .. } => Phase::Paused { plan, since: now },
            Phase::Counting { plan, began, .. } => {
                self.end_piece(now, reading, plan.withheld);
                let seen = Epoch::between(began, (now, reading)).unwrap_or_default();
                Phase::Paused { plan: Plan { seen: plan.seen.and(&seen), ..plan }, since: now }
            }
        };
    }

    /// A long lent epoch, and the rest after it, need not be waited for.
    pub(crate) fn hurry(&mut self, now: Nanos, demand: Share) {
        let (_, lent, rest) = self.lengths(demand);
        match &mut self.phase {
            Phase::Rest { until, .. } => *until = now.plus(rest).min(*until),
            Phase::Washout { plan, .. } | Phase::Paused { plan, .. } => plan.hurry(lent, rest),
            Phase::Counting { plan, until, .. } => {
                plan.hurry(lent, rest);
                if plan.part() == Part::Lent {
                    *until = now.plus(lent).min(*until);
                }
            }
        }
    }

    /// How long a withheld epoch, a lent one and the rest after both are.
    fn lengths(&self, demand: Share) -> (Nanos, Nanos, Nanos) {
        let (withheld, lent) = self.setting.lengths(demand, &self.pace);
        let counted = lent.min(withheld.times(COUNTED));
        (withheld, counted, lent.since(counted))
    }

    fn begin_block(&mut self, now: Nanos, reading: Reading, demand: Share) {
        let mut order = [Part::Lent, Part::Withheld];
        self.random.shuffle(&mut order);
        let (withheld, lent, rest) = self.lengths(demand);
        (self.pieces, self.piece_began) = (Vec::new(), None);
        let (began, seen, done) = ((now, reading), Epoch::default(), Done::default());
        let plan = Plan { order, at: 0, withheld, lent, rest, began, seen, done };
        self.phase = Phase::Washout { plan, until: now.plus(self.washout()) };
    }

    fn end_block(&mut self, now: Nanos, reading: Reading, plan: &Plan, demand: Share) {
        let block = Epoch::between(plan.began, (now, reading)).unwrap_or_default();
        if block.count == 0 {
            self.phase = Phase::Rest { until: now.plus(plan.rest), count: Some(reading.count) };
            return;
        }
        self.pace.add(&block);
        if plan.rest > Nanos::ZERO {
            self.phase = Phase::Rest { until: now.plus(plan.rest), count: Some(reading.count) };
        } else {
            self.begin_block(now, reading, demand);
        }
    }
}
