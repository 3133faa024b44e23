//! A foreground beside a job whose harm and work depend on the rung, and the loop that lends.

use lull_core::{
    Arm, Budget, BudgetSetting, CpuChoices, LendReading, LendSetting, LendStatus, Lender, Lending, Nanos,
    Reading, Rung, TrialSetting,
};

use crate::foreground::{Arrivals, Foreground, Service};

/// What a rung does: harm to service times, and work per nanosecond.
pub(crate) type Effect = fn(Rung) -> (f64, f64);

/// Two CPUs; intervals of 2 ms to 50 µs and none.
pub(crate) const TOP: Rung = Rung { first: 2, second: 6 };

/// Integer work: no harm, and holding only costs work.
pub(crate) fn integers(rung: Rung) -> (f64, f64) {
    (0.0, f64::from(rung.first) / 2.0 * (0.4 + 0.1 * f64::from(rung.second)))
}

/// Memory streams: 40% at the top, as in the table of facts; one CPU beside the foreground harms a third of that.
pub(crate) fn streams(rung: Rung) -> (f64, f64) {
    let boldness = [0.005, 0.01, 0.02, 0.03, 0.06, 0.12, 0.4][usize::from(rung.second)];
    let (harm, work) = integers(rung);
    (harm + boldness * if rung.first == 2 { 1.0 } else { 0.33 }, work)
}

/// Harm that no rung avoids.
pub(crate) fn ruin(rung: Rung) -> (f64, f64) {
    (0.5, integers(rung).1)
}

pub(crate) struct Scene {
    pub(crate) lender: Lender,
    pub(crate) budget: Budget,
    pub(crate) foreground: Foreground,
    pub(crate) effect: Effect,
    pub(crate) now: Nanos,
    work: f64,
    ran: Nanos,
    /// True loss and span of each step.
    pub(crate) steps: Vec<(u64, f64)>,
    /// Longest and present stretch in which the job did not run.
    pub(crate) longest_hold: Nanos,
    held: Nanos,
}

/// What was done between two marks.
pub(crate) struct Outcome {
    /// Work per nanosecond, at most 1.
    pub(crate) work: f64,
    pub(crate) moves: u32,
    pub(crate) status: LendStatus,
}

pub(crate) fn lend_setting() -> LendSetting {
    let trial = TrialSetting { washout: Nanos::from_millis(4), ..TrialSetting::default() };
    LendSetting { trial, ..LendSetting::default() }
}

impl Scene {
    pub(crate) fn new(effect: Effect, service: Service, seed: u64) -> Self {
        let arrivals = Arrivals::Poisson(600.0);
        let ladder = CpuChoices::of_cpus(2).ladder();
        Self {
            lender: Lender::new(ladder, Rung::BOTTOM, lend_setting(), seed),
            budget: Budget::new(BudgetSetting::default()),
            foreground: Foreground::new(arrivals, service, 0.0, seed + 500),
            effect,
            now: Nanos(1),
            work: 0.0,
            ran: Nanos::ZERO,
            steps: Vec::new(),
            longest_hold: Nanos::ZERO,
            held: Nanos::ZERO,
        }
    }

    pub(crate) fn run(&mut self, seconds: u64) -> Outcome {
        self.run_for(Nanos::from_secs(seconds))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "work of a model is positive"
    )]
    pub(crate) fn run_for(&mut self, span: Nanos) -> Outcome {
        let end = self.now.plus(span);
        let (work, moves, began) = (self.work, self.lender.status(&self.budget).moves, self.now);
        let mut reading = self.foreground.run_until(self.now, Arm::Lent);
        while self.now < end {
            let counts = Reading { work: self.work as u64, ..reading };
            let sensed = LendReading { counts, ran: self.ran, wants: true, ..LendReading::default() };
            let lending = self.lender.step(self.now, &sensed, &mut self.budget);
            let poll = self.now.plus(Nanos::from_millis(5));
            let next =
                self.lender.next_change().map_or(poll, |next| next.clamp(self.now.plus(Nanos(1)), poll));
            let span = next.since(self.now);
            let (harm, work) = match lending {
                Lending::Held => (0.0, 0.0),
                Lending::Rung(rung) => (self.effect)(rung),
                Lending::Forced => (self.effect)(TOP),
            };
            self.foreground.harm = harm;
            reading = self.foreground.run_until(next, Arm::Lent);
            if self.lender.at_work() {
                self.budget.pass(span);
                self.steps.push((span.0, harm * span.0 as f64));
            }
            self.work += work * span.0 as f64;
            if lending == Lending::Held {
                self.held = self.held.plus(span);
                self.longest_hold = self.longest_hold.max(self.held);
            } else {
                self.ran = self.ran.plus(span);
                self.held = Nanos::ZERO;
            }
            self.now = next;
        }
        let status = self.lender.status(&self.budget);
        let work = (self.work - work) / self.now.since(began).0 as f64;
        Outcome { work, moves: status.moves - moves, status }
    }

    /// The share that was truly lost in the worst window of 60 s; over everything if that is less.
    pub(crate) fn true_worst(&self) -> f64 {
        let window = self.budget.setting().window.0;
        let (mut first, mut span, mut lost, mut worst) = (0, 0, 0.0, None::<f64>);
        for (length, loss) in &self.steps {
            span += length;
            lost += loss;
            while span - self.steps[first].0 >= window {
                span -= self.steps[first].0;
                lost -= self.steps[first].1;
                first += 1;
            }
            if span >= window {
                let share = lost / span as f64;
                worst = Some(worst.map_or(share, |worst| worst.max(share)));
            }
        }
        worst.unwrap_or(lost / span as f64)
    }

    /// The most work that any rung does within the steady rate.
    pub(crate) fn best_fixed(&self) -> f64 {
        let rate = self.budget.setting().rate().fraction();
        let rungs = CpuChoices::of_cpus(2).ladder();
        let fitting = rungs.rungs().filter(|rung| *rung != Rung::BOTTOM && (self.effect)(*rung).0 <= rate);
        fitting.map(|rung| (self.effect)(rung).1).fold(0.0, f64::max)
    }
}
