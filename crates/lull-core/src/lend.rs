//! How much of a resource is lent: as much background work as the budget allows, found by trying.
//!
//! Problem: the more of a resource is lent, and the sooner after the foreground, the more background gets done and the
//! more it harms; by how much depends on the machine, the foreground and the job, and changes while they run. It can be
//! tried, but every try may cost what was promised not to be lost.
//!
//! Approach: a bandit with a safety constraint. The choices are rungs of a ladder (`ladder.rs`). One of them, the base, is
//! lent. A bolder one is probed in short epochs beside it; both are compared with epochs in which everything is withheld
//! ([`trial`](crate::trial)).
//!
//! ```text
//!                      room in the budget, and a rung that is not barred
//!            ┌──────┐ ─────────────────────────────────────────────────▶ ┌──────────────────┐
//!   start ─▶ │ Base │                                                    │ Base and a probe │ ◀──┐
//!            └──────┘ ◀───────────────────────────────────────────────── └──────────────────┘    │
//!               │      climb: its upper bound is affordable: it is the base                      │
//!               │      fail:  its lower bound is not: barred, twice as long each time            │
//!               │                                                                                │
//!               ├─ fall:  the lower bound exceeds the promise, or credits are gone: ─▶ refuge ───┤
//!               │         the base is barred                                                     │
//!               └─ guard: a suspicion of harm: the base is probed from the refuge ───────────────┘
//! ```
//!
//! 1. *Start* at the bottom, unless told otherwise, and probe the top at once: if background does no harm, that is the
//!    answer. Otherwise halve what is left: what is bolder than a harmful rung is harmful, too.
//! 2. *Probes* are paid from credits: no probe without credits for it. So harm is found out within the promise.
//! 3. *Climb* when the likeliest loss fits into the steady rate and credits pay for the upper bound of it, until more is
//!    known. A rung that is bolder in one way and more careful in the other must do more work.
//! 4. *Fall* at once, to the rung that does most work of those known to fit, the refuge. A rung that failed is barred with all that
//!    are bolder, for twice as long each time, so that the lender comes to rest. When harm has become less, all are pardoned.
//!    But where there is a shelter, a rung that harms little more than what fits is lent again and again, as long as credits last.
//! 5. *Guard*: a suspicion, by the trial or by a quick eye on the foreground (`watch.rs`), moves the base to the refuge and
//!    probes what was the base, until it is cleared or convicted. Alarms that were false make the eye close for twice as long
//!    each time.
//! 6. *Book* the loss: time beside the foreground × (slowdown − 1), also for the time since a change that was noticed late.
//! 7. *Shelter*: rungs may be named that are taken for harmless until they are found harmful: those which hold background
//!    beside the foreground. The boldest is the refuge when no other is known. Near its limit a foreground loses
//!    most, since it queues, and shows it last: there the base falls to a shelter, too, if great harm is not excluded after a
//!    while. With shelters a suspicion only makes tests dense, and lack of credits makes the base fall only if it is certain
//!    to harm at all: with noisy requests both come by chance.
//! 8. *Saturation*: a foreground that is overrun ends no bursts and shows no harm; it is known by never falling idle any
//!    more (`saturation.rs`), and the base falls to a shelter.
//! 9. *Open* to the top when the foreground has gone; the base is back with its first request.
//!
//! The job gets its least share of time (`floor.rs`) whatever else is said. While it is held and nothing can be found out, nobody need
//! look (`doze.rs`); nor where gaps let it in that cost the foreground's longest requests (`tail.rs`).
//!
//! Units: those of the trial; work in any unit. Edge cases: on the bottom nothing is lent, so nothing is tested but probes. A
//! job without work pauses tests. The owner tells the budget the foreground's time ([`Budget::pass`]) while it is
//! [`at_work`](Lender::at_work). A job that is forced to run loses at what the top is known to lose.
//!
//! Source: X-1 and X-2 of the paper (5.1, 5.2); the safe bandit follows Kazerouni et al., *Conservative contextual
//! linear bandits*, 2017: explore only what past savings pay for.

mod book;
mod doze;
mod floor;
mod ladder;
mod log;
mod presence;
mod probe;
mod saturation;
mod setting;
mod tail;

pub use ladder::{Choices, CpuChoices, DiskChoices, HoldRule, Ladder, Rung};
pub use log::{Move, Reason};
pub use setting::{LendReading, LendSetting, LendStatus, Lending};

use crate::budget::{Budget, BudgetSetting};
use crate::share::{Loss, Share};
use crate::time::Nanos;
use crate::trial::TrialSetting;
use crate::trial::evidence::Finding;
use crate::trial::schedule::{Block, Demand, Part, Schedule};
use crate::trial::watch::Watch;
use book::Book;
use doze::{Doze, Found};
use floor::Floor;
use log::Log;
use presence::Presence;
use probe::Probe;
use saturation::{Look, Saturation, Sign};
use tail::Tail;

/// After this many pairs a probe that looks bad has failed, proved or not; so has a shelter, if it harms for certain.
const DOUBT: u32 = 48;
/// What costs all credits and looks bad after this many is left for the shelter.
const LONG_DOUBT: u32 = 4 * DOUBT;
/// After false alarms the quick eye is closed for so many hold-offs at the most.
const BLIND: u64 = 3;
/// One server that is as busy as this is near its limit: what makes its requests longer makes its queue much longer. One
/// that is never idle has callers that wait for it, and loses no more than its requests do.
const NEAR_LIMIT: std::ops::Range<f64> = 0.75..0.95;
/// It is one if there are no more requests at a time than this, beside the share of time in which there is any.
const ONE_SERVER: f64 = 1.2;
/// Beside it so much time has to exclude a slowdown of so many times the promise.
const VAGUE_AFTER: Nanos = Nanos::from_secs(10);
const VAGUE: f64 = 8.0;
/// Where there is a shelter, what failed without a proof is tried again after this part of the hold-off, one in so many.
const UNPROVED: u64 = 10;
/// For that there has to be this part of all credits that can be saved up, one in so many.
const AGAIN: u64 = 8;
/// Where there is a shelter, a rung that harms at most so many times what can be lost steadily is lent for as long as credits last,
/// and again with new ones. One that harms more would get little time by that, and the longest requests would be those beside it.
const FAIR: f64 = 4.0;
/// It is left with this part of all credits that can be saved up, one in so many: what it costs is booked late.
const LAST: u64 = 32;

/// Decides what is lent of one resource.
#[derive(Clone, Debug)]
pub struct Lender {
    setting: LendSetting,
    /// What is promised over all resources.
    whole: Loss,
    book: Book,
    schedule: Schedule,
    watch: Watch,
    presence: Presence,
    saturation: Saturation,
    floor: Floor,
    doze: Doze,
    tail: Tail,
    /// For how long the job was ever let run, at the last call.
    ran: Nanos,
    base: Rung,
    /// Each with the least mean time between requests beside which it is one.
    shelters: Vec<(Rung, Nanos)>,
    probe: Option<Probe>,
    /// What was left without a proof, and when it may be lent again.
    again: Option<(Rung, Nanos)>,
    /// The quick eye is closed until then, and for how long the next time.
    blind: (Nanos, Nanos),
    latest: Option<Nanos>,
    lending: Lending,
    at_work: bool,
    moves: u32,
    log: Log,
    withheld: Nanos,
    total: Nanos,
}

impl Lender {
    /// Begins at `start`. The order of tests follows from `seed`.
    pub fn new(ladder: Ladder, start: Rung, setting: LendSetting, seed: u64) -> Self {
        // A withheld epoch may follow another and a base that lends nothing: a third each.
        let longest = Nanos((setting.longest.0 / 3).saturating_mul(2));
        let bounds = setting.floor > Share::ZERO;
        let longest = if bounds { longest.max(setting.trial.least_longest()) } else { setting.trial.longest };
        let trial = TrialSetting { longest: longest.min(setting.trial.longest), ..setting.trial };
        let base = if ladder.rungs().any(|rung| rung == start) { start } else { Rung::BOTTOM };
        Self {
            setting: LendSetting { trial, ..setting },
            whole: trial.budget,
            book: Book::new(ladder, trial.measure, trial.budget),
            schedule: Schedule::new(trial, seed),
            watch: Watch::new(trial.measure, trial.requests, trial.shortest),
            presence: Presence::new(setting.away),
            saturation: Saturation::new(),
            floor: Floor::new(setting.floor),
            doze: Doze::new(),
            tail: Tail::default(),
            ran: Nanos::ZERO,
            base,
            shelters: Vec::new(),
            probe: None,
            again: None,
            blind: (Nanos::ZERO, Nanos(setting.hold_off.0 / 4)),
            latest: None,
            lending: Lending::Held,
            at_work: false,
            moves: 0,
            log: Log::default(),
            withheld: Nanos::ZERO,
            total: Nanos::ZERO,
        }
    }

    /// Names rungs that are taken for harmless until the contrary is found, the boldest first; each for a foreground with so
    /// much time between two requests, in the mean, at the least.
    #[must_use]
    pub fn sheltered_by(self, rungs: &[(Rung, Nanos)]) -> Self {
        let is_known = |rung: Rung| self.book.ladder.rungs().any(|known| known == rung);
        let shelters = rungs.iter().copied().filter(|(rung, _)| *rung != Rung::BOTTOM && is_known(*rung));
        Self { shelters: shelters.collect(), ..self }
    }

    fn is_sheltered(&self) -> bool {
        self.is_shelter(self.base)
    }

    fn is_shelter(&self, rung: Rung) -> bool {
        self.shelters.iter().any(|(shelter, _)| *shelter == rung)
    }

    /// The boldest shelter that is no bolder than the base, and may be used.
    fn open_shelter(&self, now: Nanos) -> Option<Rung> {
        let gap = self.schedule.gap();
        let is_open = |rung: Rung| !self.base.is_within(rung) && !self.book.is_barred(rung, now);
        self.shelters.iter().find(|(rung, least)| gap >= *least && is_open(*rung)).map(|(rung, _)| *rung)
    }

    /// Whether the foreground is one server that is nearly always busy.
    fn is_near_limit(&self) -> bool {
        let is_one = |load: f64| load <= ONE_SERVER * self.presence.occupied();
        self.schedule.load().is_some_and(|load| NEAR_LIMIT.contains(&load) && is_one(load))
    }

    /// Takes in what the sensors know; returns what to do until the next call, every 1 to 25 ms, or when
    /// [`next_change`](Self::next_change) says.
    pub fn step(&mut self, now: Nanos, reading: &LendReading, budget: &mut Budget) -> Lending {
        let before = self.latest.replace(now).unwrap_or(now);
        self.account_for(now.since(before), reading.wants, budget);
        // Two withheld epochs may follow a hold of the base, which take two thirds at the most, and looks may be late.
        let longest = self.setting.longest;
        let tested = longest.since(self.schedule.hold().times(3)).max(Nanos(longest.0 / 3));
        let longest = if self.doze.is_settled() { longest } else { tested };
        let owed = self.floor.step(now, reading.ran, reading.wants, longest);
        if self.doze.until().is_some() {
            self.presence.resume(now);
            self.saturation.resume();
        }
        self.at_work = self.presence.look(now, reading.counts.count, reading.busy);
        if self.at_work {
            self.heed_saturation(now, reading, budget);
            self.doze_or_test(now, reading, budget);
        } else {
            self.schedule.abandon();
            self.watch.interrupt();
            let sign = self.saturation.interrupt();
            self.obey(now, sign, budget);
        }
        // What is taken for harmless is not supposed to lose what is merely possible.
        let whole = BudgetSetting { promise: self.whole, ..*budget.setting() };
        let room = if self.is_sheltered() { f64::INFINITY } else { whole.rate().fraction() };
        self.book.of_mut(self.base).book_base(room, budget);
        self.lending = self.choose(owed);
        self.lending
    }

    /// Until when nobody need look: the job is held until then, whatever the foreground does. Whoever calls [`step`](Self::step)
    /// again no sooner may have counted nothing meanwhile.
    pub fn rests_until(&self) -> Option<Nanos> {
        self.doze.until()
    }

    /// When something may change even if nothing happens; it may be over already.
    pub fn next_change(&self) -> Option<Nanos> {
        // What is owed waits for the end of a withheld epoch.
        if let Some(until) = self.doze.until() {
            return Some(until);
        }
        let due = match (self.lending, self.schedule.part()) {
            (Lending::Held, Part::Lent | Part::Probe) => self.floor.due(),
            (Lending::Rung(_), Part::Lent) if self.is_sheltered() => self.floor.due(),
            (Lending::Forced, _) => self.floor.ends(),
            _ => None,
        };
        let watched = self.doze.watched_at().filter(|_| self.doze.is_settled());
        [self.schedule.next_change(), due, watched].into_iter().flatten().min()
    }

    /// Whether the foreground was at work at the last call.
    pub fn at_work(&self) -> bool {
        self.at_work
    }

    /// What is known, for people.
    pub fn status(&self, budget: &Budget) -> LendStatus {
        LendStatus {
            rung: self.base,
            probed: self.probe.map(|probe| probe.rung),
            slowdown: self.book.of(self.base).evidence.slowdown(),
            moves: self.moves,
            credit: budget.available(),
            debt: budget.debt(),
            kept: budget.kept(),
            withheld: self.withheld,
            total: self.total,
        }
    }

    /// The latest changes of what is lent, the oldest first.
    pub fn moves(&self) -> impl Iterator<Item = &Move> {
        self.log.iter()
    }

    /// From now on `promise` is what may be lost here; what is booked with caution stays so until it is proved to fit into the
    /// promise that it was born with: to prove that it fits into a small part takes for ever.
    pub fn set_promise(&mut self, promise: Loss, budget: &mut Budget) {
        let rises = promise > budget.setting().promise;
        budget.set_promise(promise);
        self.book.set_promise(promise);
        if rises {
            // What failed only because others had a part for a moment.
            self.book.pardon_within(budget.setting().rate());
        }
    }

    /// Whose time it was since the last call.
    fn account_for(&mut self, span: Nanos, wants: bool, budget: &mut Budget) {
        if !wants {
            return;
        }
        self.total = self.total.plus(span);
        if self.schedule.part() == Part::Withheld && self.base != Rung::BOTTOM {
            self.withheld = self.withheld.plus(span);
        }
        if self.at_work {
            match self.lending {
                Lending::Held => {}
                Lending::Rung(rung) => self.book.of_mut(rung).lent(span),
                Lending::Forced => {
                    let loss = share_of(self.book.of(self.book.ladder.top()).loss());
                    budget.spend(loss.of(span));
                }
            }
        }
    }

    /// Tests, unless the job is held and shows nothing.
    fn doze_or_test(&mut self, now: Nanos, reading: &LendReading, budget: &mut Budget) {
        let ran = reading.ran > std::mem::replace(&mut self.ran, reading.ran);
        if self.doze.is_settled() {
            self.lend_again(now, budget);
            self.seek(now, reading.wants);
        }
        let is_shelter = matches!(self.lending, Lending::Rung(rung) if self.is_shelter(rung));
        self.tail.look(reading.counts, reading.met, is_shelter);
        let tests = self.schedule.part() != Part::Lent || self.can_afford_probe(budget);
        // Without a shelter all of the budget is for trying.
        let holds = !self.shelters.is_empty() && (self.base == Rung::BOTTOM || self.is_sheltered());
        let found = match self.lending {
            _ if !reading.wants || !holds || tests => Found::Gap,
            Lending::Forced => Found::Forced,
            _ if ran && self.tail.is_dear() => Found::Dear,
            _ if ran => Found::Gap,
            _ => Found::NoGap,
        };
        let latest = self.floor.due().unwrap_or_else(|| now.plus(self.setting.longest));
        self.doze.step(now, found, reading.ran, latest);
        if !self.doze.is_settled() {
            self.test(now, reading, budget);
            return;
        }
        self.schedule.abandon();
        self.watch.interrupt();
    }

    fn choose(&self, owed: bool) -> Lending {
        if !self.at_work {
            return Lending::Rung(self.book.ladder.top());
        }
        if self.doze.until().is_some() {
            return Lending::Held;
        }
        let rung = match (self.schedule.part(), self.probe) {
            (Part::Withheld, _) => return Lending::Held,
            (Part::Probe, Some(probe)) => probe.rung,
            (Part::Lent | Part::Probe, _) if owed => return Lending::Forced,
            (Part::Lent | Part::Probe, _) => self.base,
        };
        if rung == Rung::BOTTOM { Lending::Held } else { Lending::Rung(rung) }
    }

    fn test(&mut self, now: Nanos, reading: &LendReading, budget: &mut Budget) {
        self.book_probe(budget);
        let demand = self.demand(budget);
        if let Some(block) = self.schedule.step(now, reading.counts, reading.wants, demand) {
            self.learn(now, &block, budget);
            self.judge_base(now, budget);
            self.judge_probe(now, budget);
            self.lend_again(now, budget);
            self.seek(now, reading.wants);
            self.schedule.hurry(now, Demand { share: self.share(demand.probe), ..demand });
        }
        if self.schedule.part() != Part::Lent || self.base == Rung::BOTTOM {
            self.watch.interrupt();
        } else if self.watch.look(now, reading.counts) && now >= self.blind.0 && self.probe.is_none() {
            self.guard(now, budget);
        }
    }

    fn learn(&mut self, now: Nanos, block: &Block, budget: &mut Budget) {
        let mut withheld = vec![block.withheld];
        if self.base == Rung::BOTTOM {
            withheld.extend(&block.lent_pieces);
        } else {
            let before = self.book.of(self.base).loss();
            let record = self.book.of_mut(self.base);
            record.worked(&block.lent);
            record.evidence.rested(block.rested);
            match record.evidence.add(&block.lent_pieces, &[block.withheld]) {
                Finding::Usual => {}
                Finding::Suspicious => self.guard(now, budget),
                Finding::Worse => record.book_change(before, budget),
                Finding::Better => self.book.pardon(),
            }
        }
        let probed = self.probe.and_then(|probe| Some((probe.rung, block.probe?)));
        if let Some((rung, epoch)) = probed {
            let record = self.book.of_mut(rung);
            record.worked(&epoch);
            let before = record.loss();
            if record.evidence.add(&[epoch], &withheld) == Finding::Worse {
                record.book_change(before, budget);
            }
        }
    }

    /// Goes to a shelter while it is found out whether background has overrun the foreground, and back if it has not.
    fn heed_saturation(&mut self, now: Nanos, reading: &LendReading, budget: &mut Budget) {
        // Where no bursts are compared, their absence says nothing.
        if self.schedule.load().is_none() {
            return;
        }
        let is_unheld = self.base.second == self.book.ladder.top().second;
        let lent = self.lending == Lending::Rung(self.base) && is_unheld && reading.wants;
        let load = self.presence.occupied_beside(self.saturation.streak());
        let sign = self.saturation.look(now, Look { busy: reading.busy, lent, load });
        self.obey(now, sign, budget);
    }

    fn obey(&mut self, now: Nanos, sign: Option<Sign>, budget: &mut Budget) {
        match sign {
            Some(Sign::Suspect) => {
                if let Some(shelter) = self.open_shelter(now) {
                    self.saturation.judge(now, self.base);
                    self.book.suspend(self.base);
                    self.leave_for(now, shelter, Reason::MaybeOverrun, budget);
                }
            }
            Some(Sign::Overrun(rung, span)) => {
                // Requests that do not end lose all of their time.
                budget.spend(span);
                self.fail(now, rung, true);
                self.saturation.convict(rung, self.book.of(rung).barred_until);
            }
            Some(Sign::LendAgain(rung)) => {
                self.book.resume(rung);
                let record = self.book.of_mut(rung);
                if std::mem::take(&mut record.convicted) {
                    record.evidence.clear();
                }
                self.return_to(now, rung, Reason::Again, budget);
            }
            Some(Sign::BusyByItself(rung)) => {
                self.book.resume(rung);
                // One share less: what it uses all the time was never free, and how much all of it harms is not to be seen.
                let beside = Rung { first: rung.first.saturating_sub(1).max(1), ..rung };
                self.return_to(now, beside, Reason::BusyByItself, budget);
            }
            None => {}
        }
    }

    /// From the shelter to what was lent before.
    fn return_to(&mut self, now: Nanos, rung: Rung, reason: Reason, budget: &mut Budget) {
        if self.is_sheltered() && !self.book.is_barred(rung, now) {
            self.leave_for(now, rung, reason, budget);
        }
    }

    /// Falls if the base harms too much.
    fn judge_base(&mut self, now: Nanos, budget: &mut Budget) {
        let Some(slowdown) = self.book.of(self.base).known() else { return };
        let room = budget.setting().rate().fraction();
        let promise = budget.setting().promise.fraction();
        if self.base == Rung::BOTTOM {
            return;
        }
        let fallen = self.base;
        // Where there is a shelter to lose work to, chance alone is no reason to go there, unless it goes on for long.
        let harms = self.shelters.is_empty() || slowdown.low > 1.0;
        let seems_to = slowdown.pairs >= LONG_DOUBT && slowdown.ratio - 1.0 > room;
        let broke = budget.available() == Nanos::ZERO && (harms || seems_to) && !self.is_sheltered();
        let doubtful = slowdown.pairs >= DOUBT && slowdown.low > 1.0;
        let looks_bad = self.is_sheltered() && doubtful && slowdown.ratio - 1.0 > room;
        let is_vague = slowdown.high - 1.0 > VAGUE * promise
            && self.book.of(fallen).evidence.lent() >= VAGUE_AFTER
            && self.is_near_limit()
            && !self.is_sheltered()
            && self.open_shelter(now).is_some();
        let is_fair = !self.shelters.is_empty()
            && !self.is_sheltered()
            && !self.is_near_limit()
            && slowdown.ratio - 1.0 <= FAIR * room;
        let runs_out = budget.available() < Nanos(budget.setting().cap().0 / LAST);
        if is_fair && runs_out && (harms || seems_to) && slowdown.ratio - 1.0 > room {
            self.again = Some((fallen, now));
            self.retreat(now, Reason::Credits, budget);
            return;
        }
        let certain = slowdown.low - 1.0 > promise && !is_fair;
        // What harms that much is no chance, though little is known of how much it is.
        let is_gross = slowdown.low > 1.0 && slowdown.ratio - 1.0 > FAIR * room;
        let proved = certain || (broke && harms && slowdown.ratio - 1.0 > room);
        if proved || looks_bad {
            // As with a probe: what only looks bad is remembered for the next time.
            self.fail(now, fallen, proved);
            if certain || is_gross {
                self.again = self.again.filter(|(rung, _)| !fallen.is_within(*rung));
            } else {
                self.try_again_soon(now, fallen);
            }
            let reason = match (certain, proved) {
                (true, _) => Reason::Harm,
                (false, true) => Reason::Credits,
                (false, false) => Reason::LooksBad,
            };
            self.retreat(now, reason, budget);
        } else if (broke && slowdown.high - 1.0 > room) || is_vague {
            // Not proved while the credits lasted: again with new credits, and with what was learned.
            self.fail(now, fallen, false);
            if !is_vague && !is_gross {
                self.try_again_soon(now, fallen);
            }
            self.retreat(now, if is_vague { Reason::Vague } else { Reason::Credits }, budget);
        }
    }

    /// The base is suspected: it is probed from a safer place.
    fn guard(&mut self, now: Nanos, budget: &mut Budget) {
        let rung = self.base;
        self.book.of_mut(rung).evidence.suspect();
        if !self.shelters.is_empty() {
            self.close_eye(now);
            return;
        }
        self.retreat(now, Reason::Suspicion, budget);
        self.probe = Some(Probe { rung, pairs: self.book.of(rung).pairs(), guards: true });
    }

    fn close_eye(&mut self, now: Nanos) {
        let longest = self.setting.hold_off.times(BLIND);
        self.blind = (now.plus(self.blind.1), self.blind.1.times(2).min(longest));
    }

    /// Not again for a while, longer each time.
    fn fail(&mut self, now: Nanos, rung: Rung, proved: bool) {
        let record = self.book.of_mut(rung);
        let factor = 1_u64 << record.failures.min(16);
        record.failures += 1;
        record.convicted = proved;
        let hold_off = self.setting.hold_off.times(factor).min(self.setting.longest_hold_off);
        self.book.bar(rung, now.plus(hold_off));
    }

    /// A rung that failed on little evidence costs the job more than it spares the foreground: it is lent again as soon as there
    /// are credits for it, but longer after each time.
    fn try_again_soon(&mut self, now: Nanos, rung: Rung) {
        if self.shelters.is_empty() {
            return;
        }
        let until = now.plus(Nanos(self.book.of(rung).barred_until.since(now).0 / UNPROVED));
        self.book.bar(rung, until);
        if !self.is_shelter(rung) {
            self.again = Some((rung, until));
        }
    }

    /// Lends what was left without a proof, for as long as credits last.
    fn lend_again(&mut self, now: Nanos, budget: &mut Budget) {
        let has_credits = budget.available() >= Nanos(budget.setting().cap().0 / AGAIN);
        let is_more = |rung: Rung| {
            self.is_sheltered()
                || (!rung.is_within(self.base) && self.book.of(rung).works_more_than(self.book.of(self.base)))
        };
        let Some((rung, until)) = self.again.filter(|(rung, _)| has_credits && is_more(*rung)) else {
            return;
        };
        if now >= until && !self.book.is_barred(rung, now) {
            self.again = None;
            self.leave_for(now, rung, Reason::Again, budget);
        }
    }

    /// Goes to the refuge.
    fn retreat(&mut self, now: Nanos, reason: Reason, budget: &mut Budget) {
        let known = self.book.refuge(now, self.base, budget.setting().rate());
        let shelter = self.open_shelter(now).unwrap_or(Rung::BOTTOM);
        let refuge = if known == Rung::BOTTOM { shelter } else { known };
        self.leave_for(now, refuge, reason, budget);
    }

    /// Moves, and books what base and probe have cost.
    fn leave_for(&mut self, now: Nanos, rung: Rung, reason: Reason, budget: &mut Budget) {
        if let Some(probe) = self.probe.take() {
            self.book.of_mut(probe.rung).book(budget);
        }
        self.book.of_mut(self.base).book(budget);
        let judged = self.base;
        self.move_to(now, rung, judged, reason);
    }

    fn move_to(&mut self, now: Nanos, rung: Rung, judged: Rung, reason: Reason) {
        let slowdown = self.book.of(judged).evidence.slowdown();
        self.log.add(Move { at: now, from: self.base, to: rung, reason, slowdown });
        self.base = rung;
        self.moves += 1;
        self.schedule.abandon();
        self.saturation.restart();
        self.watch.restart();
    }
}

/// From a fraction; more than everything is everything.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float saturates")]
fn share_of(fraction: f64) -> Loss {
    Share::ppm((fraction * 1e6) as u32)
}

#[cfg(test)]
mod tests;
