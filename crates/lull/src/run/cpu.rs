//! The CPUs of the live engine: sensor, policy and gates of one resource.
//!
//! The policy ([`Lender`]) says what is lent: how many CPUs, and whether the job is held beside the foreground. Here that
//! becomes what the kernel understands: the job's cpuset, and a frozen group while the machine of the CPUs is in F or P.
//!
//! ```text
//!  CPU observers ──totals──▶ Lender ──rung──▶ CPUs lent (cpuset)
//!        │                                └─▶ interval of the machine
//!        └──────observation──▶ Resource ──F or P──▶ frozen
//! ```
//!
//! User space is woken when the foreground begins while the job runs, and once it has been gone for the interval; both
//! spaced, so that holding never costs more than it saves. The policy is asked every few milliseconds while both
//! classes are at work.
//!
//! A job begins with everything, protected by its marks alone, until that is seen to harm; then it is held while the foreground
//! runs, and what else may be lent is found by trying. A foreground that gives nothing to compare, because it never sleeps,
//! keeps what the kernel's priorities give it, unless it is found that the job has driven it there.
//!
//! What the foreground loses is taken from its bursts, or from the user's own measure (`--slo`), which then decides alone.
//! How much that may be is the CPUs' part of the one promise (`promise.rs`).

use lull_bpf::cpu::{Bursts, CpuTotals, Cpus};
use lull_bpf::record::{WAKE_FOREGROUND_BEGIN, WAKE_GAP, WAKE_QUIET};
use lull_core::lend::{
    CpuChoices, HoldRule, LendReading, LendSetting, LendStatus, Lender, Lending, Move, Reason, Rung,
};
use lull_core::{
    Budget, BudgetSetting, Interval, Loss, Nanos, Reading, Resource, Setting, Share, State, TrialSetting, Use,
};
use lull_linux::gate::lend::Lender as CpuGate;
use serde::{Deserialize, Serialize};

use super::slo::{AWAY, Slo};
use super::summary::SlowdownSummary;

/// How often the policy is asked while foreground and job are at work, and while not.
const ASK_EVERY: Nanos = Nanos::from_millis(20);
const ASK_AT_REST: Nanos = Nanos::from_millis(25);
/// While the job is held: it shows nothing then, and each look takes tens of microseconds of a CPU that the foreground may want. The
/// policy says itself when it has to be asked before.
const ASK_WHILE_HELD: Nanos = Nanos::from_millis(40);
/// What has time waits so long for a gap of the foreground.
const PATIENCE: Nanos = Nanos::from_millis(5);
/// How often the CPUs that are lent may be others.
const CHOOSE_EVERY: Nanos = Nanos::from_secs(1);
/// The least time between two wake-ups that make us hold the job.
const SPACING: Nanos = Nanos::from_micros(200);
/// Until something else is known, a job that harms is held beside the foreground and for this long after it; if that still
/// harms, for the next one. Each for a foreground that wakes no more often than this, in the mean: to let the job go and hold it
/// again costs the next burst a tenth of a millisecond, so a hold that is over too soon does harm by itself.
const SHELTERS: [(Nanos, Nanos); 2] =
    [(Nanos::from_micros(200), Nanos::from_millis(1)), (Nanos::from_millis(2), Nanos::ZERO)];
/// Bursts near the limit of a CPU are long, and one outlasts the moment in which the job was let in.
const RECOVERY: u32 = 4;
const LONGEST_TEST: Nanos = Nanos::from_millis(200);
/// CPUs are exchanged when the foreground uses one of them less by this share of a CPU.
const MARGIN: f64 = 0.1;
/// The job wants the CPU if it used this share of one between two looks, and for so long after: one that reads and computes in
/// turn pauses for a look now and then.
const WANTS: Share = Share::percent(1);
const WANTS_FOR: Nanos = Nanos::from_millis(50);
/// A foreground that uses less of one CPU is that of a machine at rest: its daemons need no tests, and get none.
pub(crate) const AT_REST: Share = Share::percent(5);
/// That share is a mean over about this time.
const MEAN_OVER: Nanos = Nanos::from_millis(500);
/// Where the order of tests begins; any number will do.
const SEED: u64 = 0x6370_7573;

/// What the run was told about CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CpuAim {
    /// Foreground time that may be lost, over all resources.
    pub(crate) promise: Loss,
    /// The job's least share of time.
    pub(crate) floor: Share,
    /// The longest it is held without a break.
    pub(crate) longest: Nanos,
}

/// For the status line and the summary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct CpuSummary {
    /// How much longer the foreground's bursts, or the user's measure, took beside the job.
    pub(crate) slowdown: Option<SlowdownSummary>,
    /// What was compared.
    pub(crate) measure: String,
    /// What is lent beside the foreground at the end, as text.
    pub(crate) lent: String,
    /// How often that changed.
    pub(crate) moves: u32,
    /// The latest of these changes, each with its reason.
    #[serde(default)]
    pub(crate) history: Vec<CpuMove>,
    /// CPU time of foreground and background, in nanoseconds.
    pub(crate) foreground_busy_ns: u64,
    pub(crate) background_busy_ns: u64,
    /// Time withheld for tests.
    pub(crate) tested_ns: u64,
    /// The mean time for which the foreground waited for a CPU after it was woken: while no background ran, and while some did.
    pub(crate) delay_quiet_ns: Option<u64>,
    pub(crate) delay_loaded_ns: Option<u64>,
    /// Share of its time that the foreground lost here, over the whole run and in the worst window, and what was promised
    /// over all resources.
    pub(crate) lost: f64,
    pub(crate) lost_worst: f64,
    pub(crate) promised: f64,
    /// Whether that was less; `None` when nothing was compared, or neither is proved.
    pub(crate) kept: Option<bool>,
}

/// One change of what is lent beside the foreground.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CpuMove {
    /// Since the CPUs were first watched, in nanoseconds.
    pub(crate) at_ns: u64,
    /// What was lent before and after, as text.
    pub(crate) from: String,
    pub(crate) to: String,
    /// Why.
    pub(crate) reason: Reason,
    /// What was known of the choice that was left, or climbed to.
    pub(crate) slowdown: Option<SlowdownSummary>,
}

impl CpuSummary {
    /// A few lines for a person.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "lull: cpu: background {} of CPU time, foreground {}; lent {}",
            Nanos(self.background_busy_ns),
            Nanos(self.foreground_busy_ns),
            self.lent
        );
        if self.tested_ns > 0 {
            text += &format!("; {} withheld for tests", Nanos(self.tested_ns));
        }
        text.push('\n');
        match &self.slowdown {
            Some(slowdown) => {
                text +=
                    &format!("lull: cpu: {}\n", slowdown.sentence(&self.measure, self.promised, self.kept));
            }
            None => text += "lull: cpu: too little was compared to say what the foreground lost\n",
        }
        if let (Some(quiet), Some(loaded)) = (self.delay_quiet_ns, self.delay_loaded_ns) {
            text += &format!(
                "lull: cpu: once woken, the foreground waited {} for a CPU beside the job, {} without it\n",
                Nanos(loaded),
                Nanos(quiet)
            );
        }
        text
    }
}

pub(crate) struct Cpu {
    cpus: Cpus,
    gate: CpuGate,
    slo: Option<Slo>,
    /// When the CPUs were first watched.
    began: Nanos,
    choices: CpuChoices,
    lender: Lender,
    budget: Budget,
    /// Over all resources.
    promise: Loss,
    resource: Resource,
    lending: Lending,
    /// CPUs lent, and how the job is held on them.
    choice: Option<(u32, HoldRule)>,
    asked: Nanos,
    chosen: Nanos,
    /// CPU time of the foreground on each CPU when CPUs were last chosen.
    busy: Vec<Nanos>,
    totals: CpuTotals,
    /// Share of one CPU that the foreground uses, lately.
    share: f64,
    /// Bursts of a foreground at work.
    counts: Reading,
    met: Reading,
    wants: bool,
    /// When the job last used a CPU, or was held.
    used: Option<Nanos>,
    ran: Nanos,
    looked: Nanos,
    frozen: bool,
    awaits_gap: bool,
    unwatched: Option<Nanos>,
}

impl Cpu {
    pub(crate) fn new(cpus: Cpus, gate: CpuGate, slo: Option<Slo>, aim: &CpuAim, now: Nanos) -> Self {
        let choices = CpuChoices::of_cpus(u32::try_from(gate.all().len()).unwrap_or(u32::MAX));
        let ladder = choices.ladder();
        let of_bursts = TrialSetting { recovery: RECOVERY, longest: LONGEST_TEST, ..TrialSetting::default() };
        let trial = slo.as_ref().map_or(of_bursts, Slo::trial);
        let default = LendSetting::default();
        let setting = LendSetting {
            trial: TrialSetting { budget: aim.promise, ..trial },
            floor: aim.floor,
            longest: aim.longest,
            away: if slo.is_some() { AWAY } else { default.away },
            ..default
        };
        let budget = Budget::new(BudgetSetting { promise: aim.promise, ..BudgetSetting::default() });
        let lender = Lender::new(ladder, ladder.top(), setting, SEED);
        let shelters: Vec<(Rung, Nanos)> = SHELTERS
            .iter()
            .filter_map(|(length, gap)| Some((choices.boldest(HoldRule::While(*length))?, *gap)))
            .collect();
        let lender = lender.sheltered_by(&shelters);
        let totals = cpus.totals(now);
        Self {
            cpus,
            gate,
            slo,
            began: now,
            choices,
            lender,
            budget,
            promise: aim.promise,
            resource: Resource::new(Setting::default()),
            lending: Lending::Held,
            choice: None,
            asked: now,
            chosen: now,
            busy: Vec::new(),
            totals,
            share: 0.0,
            counts: Reading::default(),
            met: Reading::default(),
            wants: false,
            used: None,
            ran: Nanos::ZERO,
            looked: now,
            frozen: false,
            awaits_gap: false,
            unwatched: None,
        }
    }

    /// What the foreground does and loses here.
    pub(crate) fn usage(&self) -> Use {
        // The lender takes a foreground for present until it knows better.
        let is_seen = self.slo.is_some() || self.share >= AT_REST.fraction();
        Use {
            contended: self.wants && is_seen && self.lender.at_work(),
            worked: self.budget.worked(),
            lost: self.budget.lost(),
        }
    }

    /// From now on `promise` is what the foreground may lose here; `forfeits`: nothing of it is saved up.
    pub(crate) fn set_promise(&mut self, promise: Loss, forfeits: bool) {
        if forfeits {
            self.budget.forfeit();
        }
        self.lender.set_promise(promise, &mut self.budget);
    }

    /// Whether the job has to be frozen.
    pub(crate) fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Whether that is in order to test what the job costs, and not because it is known to do harm.
    pub(crate) fn is_tested(&self) -> bool {
        let lends = self.lender.status(&self.budget).rung != Rung::BOTTOM;
        self.frozen && self.lending == Lending::Held && lends && self.unwatched.is_none()
    }

    /// Looks at the CPUs and decides; `is_held`: the job is frozen now, on whoever's behalf. Returns when to look again,
    /// and when a hold ends of which no wake-up will tell.
    pub(crate) fn turn(&mut self, now: Nanos, is_held: bool) -> (Nanos, Option<Nanos>) {
        if !is_held {
            self.ran = self.ran.plus(now.since(self.looked));
        }
        self.looked = now;
        if let Some(until) = self.unwatched {
            if now < until {
                return (until, None);
            }
            self.watch(now);
        }
        let due = self.lender.next_change().is_some_and(|at| now >= at);
        if due || now.since(self.asked) >= self.ask_every() {
            self.ask(now, is_held);
        }
        self.frozen = self.wants && self.holds(now);
        let next = self.asked.plus(self.ask_every());
        let next = self.lender.next_change().map_or(next, |at| at.min(next)).max(now.plus(Nanos(1)));
        if let Some(until) = self.lender.rests_until().filter(|_| self.frozen && self.slo.is_none()) {
            self.cpus.pause();
            self.unwatched = Some(until);
            return (until, None);
        }
        (next, self.wake(now))
    }

    /// Until when the job stays held whatever the foreground does, if that is so.
    pub(crate) fn rests_until(&self) -> Option<Nanos> {
        self.unwatched
    }

    /// Goes on watching, as if there had been nothing meanwhile but the time that the foreground was spared.
    fn watch(&mut self, now: Nanos) {
        self.unwatched = None;
        self.cpus.watch(now);
        self.totals = self.cpus.totals(now);
        self.budget.pass(now.since(self.asked));
        self.asked = now;
    }

    /// When to do at the latest what is due at `at` and can wait a little. While the job is held for the foreground's sake, lull's own
    /// work keeps to the foreground's gaps, too: a wake-up of ours beside a wake-up of its moves its task to another CPU, which costs it
    /// a tenth of a millisecond.
    pub(crate) fn in_a_gap(&mut self, at: Nanos) -> Nanos {
        let finds_gap = self.frozen && self.unwatched.is_none();
        match (finds_gap, std::mem::replace(&mut self.awaits_gap, finds_gap)) {
            (true, _) => {
                self.cpus.ask_wake_in_gap(at);
                at.plus(PATIENCE)
            }
            (false, asked) => {
                if asked {
                    self.cpus.forget_wake(WAKE_GAP);
                }
                at
            }
        }
    }

    fn ask_every(&self) -> Nanos {
        match self.wants && self.lender.at_work() {
            true if self.frozen => ASK_WHILE_HELD,
            true => ASK_EVERY,
            false => ASK_AT_REST,
        }
    }

    /// Asks the policy, and does what it says.
    fn ask(&mut self, now: Nanos, is_held: bool) {
        let span = now.since(self.asked);
        self.asked = now;
        let before = std::mem::replace(&mut self.totals, self.cpus.totals(now));
        let used = self.totals.background_busy.since(before.background_busy);
        // Who is held cannot show that it wants more.
        if used >= WANTS.of(span) || (is_held && self.wants) {
            self.used = Some(now);
        }
        self.wants = self.used.is_some_and(|at| now.since(at) < WANTS_FOR);
        let mut busy = self.cpus.running(now)[0] > 0;
        let counts = match &self.slo {
            Some(slo) => {
                busy &= !slo.is_silent();
                slo.reading(self.totals.background_busy)
            }
            None => {
                let spent = self.totals.foreground_busy.since(before.foreground_busy);
                busy &= self.count_bursts(span, spent, &before);
                self.counts
            }
        };
        let reading = LendReading { counts, busy, met: self.met, ran: self.ran, wants: self.wants };
        self.lending = self.lender.step(now, &reading, &mut self.budget);
        if self.lender.at_work() {
            self.budget.pass(span);
        }
        if let Lending::Rung(rung) = self.lending {
            let choice = self.choices.choice(rung);
            let is_new = choice != self.choice;
            if is_new || now.since(self.chosen) >= CHOOSE_EVERY {
                self.lend(now, choice, is_new);
            }
        }
    }

    /// Counts the foreground's bursts since the last look, unless they are those of a machine at rest; says which.
    fn count_bursts(&mut self, span: Nanos, spent: Nanos, before: &CpuTotals) -> bool {
        let weight = (span.0 as f64 / MEAN_OVER.0 as f64).min(1.0);
        self.share += weight * (spent.0 as f64 / (span.0 as f64).max(1.0) - self.share);
        let is_at_work = self.share >= AT_REST.fraction();
        if is_at_work {
            add(&mut self.counts, bursts(&self.totals), bursts(before));
            let met = |totals: &CpuTotals| (totals.loaded.count, totals.loaded.response_ns);
            add(&mut self.met, met(&self.totals), met(before));
        }
        self.counts.work = self.totals.background_busy.0;
        is_at_work
    }

    fn lend(&mut self, now: Nanos, choice: Option<(u32, HoldRule)>, is_new: bool) {
        let Some((count, rule)) = choice else { return };
        let span = now.since(self.chosen);
        self.chosen = now;
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if count < self.gate.all().len() || is_new {
            let busy: Vec<Nanos> =
                self.cpus.report(now).busy.iter().map(|[foreground, _]| *foreground).collect();
            let used = |cpu: u32| {
                let at = |times: &[Nanos]| {
                    usize::try_from(cpu).ok().and_then(|cpu| times.get(cpu)).copied().unwrap_or_default()
                };
                at(&busy).since(at(&self.busy)).0 as f64 / (span.0 as f64).max(1.0)
            };
            // A kernel that refuses leaves the job all CPUs; the test then finds what that costs.
            let _ = self.gate.lend(count, used, MARGIN);
            self.busy = busy;
        }
        if is_new {
            self.choice = choice;
            let interval = match rule {
                HoldRule::While(length) => Interval::Finite(length),
                HoldRule::Never => Interval::NONE,
            };
            self.resource.configure(now, Setting { interval, ..Setting::default() });
            if let HoldRule::While(length) = rule {
                self.cpus.set_waking(length, SPACING);
            }
        }
    }

    fn is_guarded(&self) -> bool {
        self.lender.at_work()
            && matches!(self.lending, Lending::Rung(_))
            && matches!(self.choice, Some((_, HoldRule::While(_))))
    }

    fn holds(&mut self, now: Nanos) -> bool {
        match self.lending {
            Lending::Held => true,
            Lending::Forced => false,
            Lending::Rung(_) if self.is_guarded() => {
                self.resource.note(now, self.cpus.observation(now));
                matches!(self.resource.state(now), State::Foreground | State::Interval)
            }
            Lending::Rung(_) => false,
        }
    }

    /// Asks for the wake-up that ends the present state; returns when to look if none will come.
    fn wake(&mut self, now: Nanos) -> Option<Nanos> {
        if !self.is_guarded() || !self.wants {
            return None;
        }
        if !self.frozen {
            self.cpus.ask_wake(WAKE_FOREGROUND_BEGIN);
            return None;
        }
        self.cpus.ask_wake(WAKE_QUIET);
        // No timer runs for a foreground that had gone before we asked. Beside one that comes again within the interval each
        // look would ask for the next.
        match self.resource.state(now) {
            State::Interval if !self.cpus.is_alarm_set() => {
                self.resource.interval_end(now).map(|at| at.max(now))
            }
            _ => None,
        }
    }

    /// What the foreground loses on the rung in force.
    pub(crate) fn slowdown(&self) -> Option<SlowdownSummary> {
        self.lender.status(&self.budget).slowdown.map(Into::into)
    }

    fn told(&self, entry: &Move) -> CpuMove {
        let text = |rung| lent_text(self.choices.choice(rung));
        CpuMove {
            at_ns: entry.at.since(self.began).0,
            from: text(entry.from),
            to: text(entry.to),
            reason: entry.reason,
            slowdown: entry.slowdown.map(Into::into),
        }
    }

    pub(crate) fn summary(&self, now: Nanos) -> CpuSummary {
        let status: LendStatus = self.lender.status(&self.budget);
        let totals = self.cpus.totals(now);
        let slowdown: Option<SlowdownSummary> = status.slowdown.map(Into::into);
        let promised = self.promise.fraction();
        CpuSummary {
            kept: SlowdownSummary::keeps_in_all(slowdown.as_ref(), status.kept.worst <= promised, promised),
            slowdown,
            measure: self.slo.as_ref().map_or_else(|| "bursts".to_owned(), |slo| slo.name().to_owned()),
            lent: lent_text(self.choices.choice(status.rung)),
            moves: status.moves,
            history: self.lender.moves().map(|entry| self.told(entry)).collect(),
            foreground_busy_ns: totals.foreground_busy.0,
            background_busy_ns: totals.background_busy.0,
            tested_ns: status.withheld.0,
            delay_quiet_ns: mean_delay_ns(&totals.quiet),
            delay_loaded_ns: mean_delay_ns(&totals.loaded),
            lost: status.kept.overall,
            lost_worst: status.kept.worst,
            promised,
        }
    }
}

/// What is lent beside the foreground, for a person.
fn lent_text(choice: Option<(u32, HoldRule)>) -> String {
    let Some((count, rule)) = choice else { return "nothing".to_owned() };
    let cpus = if count == 1 { "CPU" } else { "CPUs" };
    match rule {
        HoldRule::Never => format!("{count} {cpus}, not held beside the foreground"),
        HoldRule::While(length) => {
            format!("{count} {cpus}, held beside the foreground and for {length} after it")
        }
    }
}

/// From wake-up to running, in the mean.
fn mean_delay_ns(bursts: &Bursts) -> Option<u64> {
    bursts.delay_ns.checked_div(bursts.delays)
}

/// Adds the bursts that are new, and the time they took.
fn add(reading: &mut Reading, new: (u64, u64), old: (u64, u64)) {
    reading.count += new.0.saturating_sub(old.0);
    reading.sum += new.1.saturating_sub(old.1);
}

/// The foreground's bursts and the time they took.
fn bursts(totals: &CpuTotals) -> (u64, u64) {
    (totals.quiet.count + totals.loaded.count, totals.quiet.response_ns + totals.loaded.response_ns)
}
