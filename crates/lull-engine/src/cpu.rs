//! The CPUs of the live engine: observers, policy and gates of one resource.
//!
//! The policy ([`CpuBuffer`]) says how many CPUs are lent, for what share of the time, and when the job is withheld for the audit. Here
//! that becomes what the kernel understands: the job's cpuset, and a hold.
//!
//! ```text
//!  CPU observers ──reading──▶ CpuBuffer ──CPUs────────────▶ cpuset
//!        │                     ▲     └──share, withheld──▶ hold
//!        └──foreground uses more CPUs than expected: wake-up
//! ```
//!
//! A job begins with everything, protected by its class. The first burst of a foreground at work makes it leave CPUs free. What the
//! foreground loses is taken from its bursts, or from the user's own measure (`--slo`), which then decides alone.

mod affinity;
pub mod gate;
pub mod measure;
pub mod resource;
mod start;
mod summary;
pub mod view;

use lull_bpf::cpu::CpuTotals;
use lull_core::promise::late::{Late, late_share};
use lull_core::{
    Budget, BudgetSetting, Bulk, CpuBuffer, CpuReading, CpuSetting, Histogram, Lent, Loss, Nanos, Presence,
    Reading, Share, TrialSetting, Use,
};
use lull_linux::topology::cpus::CpuSet;

use crate::report::figures::SlowdownSummary;
use gate::CpuGate;
use measure::UserMeasure;
use view::CpuView;

/// How often the CPUs that are lent may be others, and the late share is told.
const CHOOSE_EVERY: Nanos = Nanos::from_secs(1);
/// The least time between two wake-ups by the foreground; and while its bursts come one after the other and are no work.
const SPACING: Nanos = Nanos::from_micros(500);
const SPACING_AT_REST: Nanos = Nanos::from_millis(8);
/// Wake-ups that come sooner than this after each other are spaced.
const IN_A_ROW: Nanos = Nanos::from_millis(50);
/// A share of the time that is lent is a part of each of these.
const PERIOD: Nanos = Nanos::from_millis(100);
/// What a wait of the foreground's for I/O that ends on a CPU counts for there, beside CPU time. The interrupt comes to that CPU whatever
/// is lent. A foreground that has to sleep on another one is woken from afar each time, which takes 20 µs in a virtual machine. What it
/// computes between two such waits is mostly less than this.
const IO_ENDED: Nanos = Nanos::from_micros(100);
/// CPUs are exchanged when the foreground uses one of them less by this share of a CPU.
const MARGIN: f64 = 0.1;
/// The job wants the CPU if it used this share of one between two looks, and for so long after: one that reads and computes in
/// turn pauses for a look now and then.
const WANTS: Share = Share::percent(1);
const WANTS_FOR: Nanos = Nanos::from_millis(50);
/// Bursts near the limit of a CPU are long, and one outlasts the moment in which the job was let in.
const RECOVERY: u32 = 4;
const LONGEST_TEST: Nanos = Nanos::from_millis(200);
/// A hold by quota is complete after a tick of the kernel's, at 250 Hz; what it lets through after that is little.
const WASHOUT: Nanos = Nanos::from_millis(6);
const SHORTEST_TEST: Nanos = Nanos::from_millis(12);
/// Where the order of tests begins; any number will do.
const SEED: u64 = 0x6370_7573;

/// What the run was told about CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuAim {
    /// Foreground time that may be lost, over all resources.
    pub promise: Loss,
    /// The delay of one burst that nobody minds.
    pub max_delay: Nanos,
    /// The job's least share of one CPU.
    pub floor: Share,
    /// The longest it is held without a break; `None`: it never is, and nothing is tested.
    pub longest: Option<Nanos>,
}

pub(crate) struct Cpu {
    cpus: Box<dyn CpuView>,
    gate: Box<dyn CpuGate>,
    measure: Option<Box<dyn UserMeasure>>,
    aim: CpuAim,
    buffer: CpuBuffer,
    /// What was surely lost, as the audit has it.
    budget: Budget,
    lent: Lent,
    held: bool,
    asked: Option<Nanos>,
    /// When a wake-up of the foreground's came that was no work.
    woken: Nanos,
    /// When the observers may wake again after such a one: a burst that began meanwhile and runs on is seen by nobody else.
    spaced: Option<Nanos>,
    chosen: Nanos,
    /// Where lull's own threads run.
    follows: CpuSet,
    /// What each CPU is worth to the foreground, summed, when CPUs were last chosen.
    worth: Vec<Nanos>,
    totals: CpuTotals,
    wants: bool,
    /// When the job last used a CPU.
    used: Nanos,
    /// Whether it uses much, of the time in which it was not held, and that time.
    job: Presence,
    free: Nanos,
    turned: Nanos,
    late: Option<Late>,
    /// For how much a burst counts at the most.
    bulk: Bulk,
    /// How often what is lent had changed, and the foreground's bursts without and beside the job until then.
    bursts_before: (u32, [Histogram; 2]),
}

impl Cpu {
    pub(crate) fn new(
        cpus: Box<dyn CpuView>,
        gate: Box<dyn CpuGate>,
        measure: Option<Box<dyn UserMeasure>>,
        aim: &CpuAim,
        now: Nanos,
    ) -> Self {
        let count = u32::try_from(gate.all().len()).unwrap_or(u32::MAX);
        cpus.set_online(count);
        let default = CpuSetting::default();
        let longest = aim.longest.unwrap_or(LONGEST_TEST).min(LONGEST_TEST);
        let of_bursts = TrialSetting {
            recovery: RECOVERY,
            longest,
            washout: WASHOUT,
            shortest: SHORTEST_TEST,
            ..default.trial
        };
        let trial = measure.as_ref().map_or(of_bursts, |measure| measure.trial());
        let setting = CpuSetting { cpus: count, promise: aim.promise, floor: aim.floor, trial };
        let totals = cpus.totals(now);
        let buffer = CpuBuffer::new(setting, SEED);
        Self {
            follows: gate.lent().clone(),
            cpus,
            gate,
            measure,
            aim: *aim,
            lent: buffer.lent(),
            buffer,
            budget: Budget::new(BudgetSetting { promise: aim.promise, ..BudgetSetting::default() }),
            held: false,
            asked: None,
            woken: Nanos::ZERO,
            spaced: None,
            chosen: now,
            worth: Vec::new(),
            totals,
            wants: false,
            used: now,
            job: Presence::of_job(aim.promise, count),
            free: Nanos::ZERO,
            turned: now,
            late: None,
            bulk: Bulk::default(),
            bursts_before: (0, <[Histogram; 2]>::default()),
        }
    }

    /// What the foreground does and loses here.
    pub(crate) fn usage(&self) -> Use {
        Use {
            contended: self.wants && self.buffer.at_work(),
            worked: self.budget.worked(),
            lost: self.budget.lost(),
        }
    }

    /// From now on `promise` is what the foreground may lose here.
    pub(crate) fn set_promise(&mut self, promise: Loss) {
        self.buffer.set_promise(promise);
    }

    /// Where the job's CPUs are set.
    pub(crate) fn gate(&mut self) -> &mut dyn CpuGate {
        &mut *self.gate
    }

    /// Whether the job has to be held.
    pub(crate) fn wants_hold(&self) -> bool {
        self.held
    }

    /// Whether that is in order to test what the job costs, and not because it is known to do harm.
    pub(crate) fn is_tested(&self) -> bool {
        self.held && self.lent.withheld
    }

    /// Looks at the CPUs and decides; `was_held`: the job was held until now, on whoever's behalf. Returns when to look again.
    pub(crate) fn turn(&mut self, now: Nanos, was_held: bool) -> Option<Nanos> {
        let span = now.since(std::mem::replace(&mut self.turned, now));
        self.free = self.free.plus(if was_held { Nanos::ZERO } else { span });
        // A burst may be over before anybody looks.
        let has_woken = self.buffer.wake_above().is_some() && self.cpus.has_woken();
        if self.asked.is_none() || has_woken || self.next().is_some_and(|at| now >= at) {
            self.ask(now, was_held, has_woken);
        }
        let on = self.lent.share.of(PERIOD);
        let phase = Nanos(now.0 % PERIOD.0);
        let rests = self.lent.share < Share::ALL && phase >= on;
        self.held = self.wants && (self.lent.withheld || rests);
        let edge = if rests { PERIOD } else { on }.since(phase);
        let edge = (self.lent.share < Share::ALL).then(|| now.plus(edge));
        self.next().into_iter().chain(edge).min()
    }

    fn next(&self) -> Option<Nanos> {
        self.buffer.next().into_iter().chain(self.spaced).min()
    }

    /// Asks the policy, and does what it says. `has_woken`: a burst of the foreground's is why.
    fn ask(&mut self, now: Nanos, was_held: bool, has_woken: bool) {
        let span = now.since(self.asked.replace(now).unwrap_or(now));
        let before = std::mem::replace(&mut self.totals, self.cpus.totals(now));
        let worked = self.totals.background_busy.since(before.background_busy);
        // Who is held cannot show that it wants more.
        if worked >= WANTS.of(span) || (was_held && self.wants) {
            self.used = now;
        }
        self.wants = now.since(self.used) < WANTS_FOR;
        let reading = self.reading();
        let was_at_work = self.buffer.at_work();
        let lent = self.buffer.step(now, &reading);
        if self.buffer.audited().moves != self.bursts_before.0 {
            // It was another mode's.
            self.late = None;
        }
        if was_at_work && self.buffer.at_work() {
            self.book(span);
        }
        let is_new = lent.cpus != self.lent.cpus;
        self.lent = lent;
        if is_new || now.since(self.chosen) >= CHOOSE_EVERY {
            self.lend(now);
        }
        let at_rest = !self.buffer.at_work();
        let spacing = if at_rest && now.since(self.woken) < IN_A_ROW { SPACING_AT_REST } else { SPACING };
        self.spaced = has_woken.then(|| now.plus(spacing));
        if at_rest && has_woken {
            self.woken = now;
        }
        self.cpus.wake_above(self.buffer.wake_above(), spacing);
    }

    fn reading(&mut self) -> CpuReading {
        let [running, _] = self.cpus.running();
        let totals = &self.totals;
        let bursts = match &self.measure {
            Some(measure) => measure.reading(totals.background_busy),
            None => Reading {
                count: totals.quiet.count + totals.loaded.count,
                sum: totals.quiet.cut_ns + totals.loaded.cut_ns,
                work: totals.background_busy.0,
            },
        };
        CpuReading {
            running,
            peak: self.cpus.take_peak(),
            busy: totals.foreground_busy,
            bursts,
            began: totals.began,
            crowded: totals.crowded,
            late: self.late,
            wants: self.wants && self.aim.longest.is_some(),
            is_light: !self.job.look(self.free, totals.background_busy) && self.measure.is_none(),
        }
    }

    /// The foreground was at work for `span`, and lost what the audit says.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a span")]
    fn book(&mut self, span: Nanos) {
        self.budget.pass(span);
        if let (true, Some([_, least, _])) = (self.wants, self.buffer.audited().loss) {
            self.budget.spend(Nanos((least * span.0 as f64) as u64));
        }
    }

    /// Confines the job to those CPUs that the foreground uses least.
    fn lend(&mut self, now: Nanos) {
        let span = now.since(self.chosen);
        let busy = self.cpus.busy_each(now);
        let worth: Vec<Nanos> = busy
            .into_iter()
            .zip(self.cpus.io_ended_each())
            .map(|(busy, waits)| busy.plus(IO_ENDED.times(waits)))
            .collect();
        let used = |cpu: u32| {
            let at = |times: &[Nanos]| {
                usize::try_from(cpu).ok().and_then(|cpu| times.get(cpu)).copied().unwrap_or_default()
            };
            at(&worth).since(at(&self.worth)).0 as f64 / (span.0 as f64).max(1.0)
        };
        // A kernel that refuses leaves the job all CPUs, where its class protects.
        let _ = self.gate.lend(usize::try_from(self.lent.cpus).unwrap_or(usize::MAX), &used, MARGIN);
        // lull's own threads have no use for more CPUs while the foreground is at work.
        let lent = self.gate.lent();
        let is_enough = self.buffer.at_work() && self.follows.iter().all(|cpu| lent.contains(cpu));
        if self.follows != *lent && !is_enough {
            self.follows.clone_from(lent);
            self.gate.follow(lent);
        }
        if span >= CHOOSE_EVERY {
            (self.worth, self.chosen) = (worth, now);
            self.tell_late(&self.cpus.bursts(now));
        }
    }

    /// The late share, of the time since what is lent beside the foreground changed: what else happened then, happened to bursts without
    /// the job, too.
    fn tell_late(&mut self, bursts: &[Histogram; 2]) {
        let mut all = bursts[0].clone();
        all.merge(&bursts[1]);
        if let Some(most) = self.bulk.look(&all) {
            self.cpus.cut_at(most);
        }
        let moves = self.buffer.audited().moves;
        if moves != self.bursts_before.0 {
            self.bursts_before = (moves, bursts.clone());
        }
        let [without, beside] = [0, 1].map(|i| bursts[i].since(&self.bursts_before.1[i]));
        self.late = late_share(&without, &beside, self.aim.max_delay);
    }

    /// How much longer the foreground's bursts take beside the job.
    pub(crate) fn slowdown(&self) -> Option<SlowdownSummary> {
        self.buffer.audited().slowdown.map(Into::into)
    }
}

#[cfg(test)]
mod tests;
