//! `manners`: the job watches its own progress, and stands back when that falls.
//!
//! Problem: whoever competes for a resource slows down everyone else on it, and is slowed down by them. So a job that
//! progresses less than it used to is probably in somebody's way, whatever the resource is and whoever is there. That
//! needs no view of the foreground at all.
//!
//! Approach: cut the job's running time into samples. From the past follows how long the work of a sample usually takes
//! (`target.rs`); a sample that took clearly longer was *poor*. One poor sample says nothing, so a sign test (`sign.rs`)
//! collects them until it is sure. After *poor* the job is suspended, twice as long each time, as TCP backs off; after *good*
//! the next suspension is short again. Every sample moves the target a little, so that it follows the program's
//! phases and the machine, slowly.
//!
//! Until it is known how long work usually takes, the job is on *probation*: it runs for a few samples and rests for a while, in
//! turn. So a job that is started into a crowd costs that crowd less before it can notice it, and it is calibrated to
//! moments that lie further apart.
//!
//! ```text
//!  ┌─────────────┐ enough samples  ┌──────────┐ ── poor: Freeze, for b; b ← 2b ──▶ ┌───────────┐
//!  │ Calibrating ├────────────────▶│ Watching │                                    │ Suspended │
//!  └─┬─────────▲─┘                 └──────────┘ ◀── b is over: Thaw; new evidence  └───────────┘
//!    │ TURN    │ rested: Thaw       │      ▲
//!    ▼ samples │                    └──────┘ good: b ← first
//!  ┌───────────┴─┐
//!  │   Resting   │
//!  └─────────────┘
//! ```
//!
//! Units: time, processor time in nanoseconds, bytes. Edge cases:
//! - A sample in which the job did nothing and wanted nothing (it sleeps, or waits for input) counts for neither side.
//! - The first sample after a suspension or a rest is not counted: caches and queues fill again.
//! - A job that was never alone is calibrated to a crowd and does not notice it; only when it leaves is the target raised.
//! - Processor time is progress only as long as it buys the same work: contention for caches and memory makes it buy less,
//!   and is not seen. Bytes that come from a cache instead of a disk look like progress. A program that counts its own
//!   work would be judged better; this must do for programs that do not.
//! - The test is looked at after every sample, so its error is above that of one look. The slack in what counts as poor
//!   makes up for it.
//!
//! Source: Douceur & Bolosky, *Progress-based regulation of low-importance processes* (SOSP 1999): statistical comparison of
//! progress with a target, calibration by exponential averaging and regression over several measures of progress,
//! probation, exponential backoff. Ours: the measures, the slack, that idle samples do not count, and the numbers below.

mod sign;
mod target;

use serde::{Deserialize, Serialize};

use crate::base::share::Share;
use crate::base::time::Nanos;
use crate::idletime::hold::HoldAction;
use sign::{Sign, SignTest};
use target::TargetRate;

/// Samples that count between two rests of the probation.
const TURN: u32 = 4;

/// How progress is judged, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MannersSetting {
    /// Length of a sample.
    pub sample: Nanos,
    /// Samples before the first judgement; at least 1.
    pub calibration: u32,
    /// Share of the time that the job runs before the first judgement; 100% for no probation.
    pub probation: Share,
    /// Samples over which the target is a mean.
    pub memory: u32,
    /// How much longer than usual a sample may take without being poor.
    pub slack: Share,
    /// Chance of taking good progress for poor, at one look.
    pub false_alarm: Share,
    /// Chance of taking poor progress for good, at one look.
    pub miss: Share,
    /// The first suspension.
    pub first: Nanos,
    /// The longest.
    pub longest: Nanos,
}

impl Default for MannersSetting {
    fn default() -> Self {
        Self::with_sample(Nanos::from_millis(100))
    }
}

impl MannersSetting {
    /// Everything in proportion to the sample.
    pub const fn with_sample(sample: Nanos) -> Self {
        Self {
            sample,
            calibration: 20,
            probation: Share::percent(50),
            memory: 1_000,
            slack: Share::percent(10),
            false_alarm: Share::percent(5),
            miss: Share::percent(20),
            first: sample.times(5),
            longest: sample.times(640),
        }
    }
}

/// What the job has ever done. A value that is ahead of the truth never comes back, so who loses a process keeps its share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Processor time used.
    pub cpu: Nanos,
    /// Bytes read and written.
    pub io_bytes: u64,
}

impl Progress {
    fn since(self, earlier: Self) -> Self {
        Self { cpu: self.cpu.since(earlier.cpu), io_bytes: self.io_bytes.saturating_sub(earlier.io_bytes) }
    }
}

/// What `manners` is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MannersState {
    /// The job runs, and what is usual is being learnt.
    Calibrating,
    /// The job is held, and what is usual is still being learnt.
    Resting,
    /// The job runs, and is compared with what is usual.
    Watching,
    /// The job is held, because its progress had fallen.
    Suspended,
}

impl MannersState {
    /// Whether the job is held.
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Resting | Self::Suspended)
    }
}

/// The regulator of one job.
#[derive(Clone, Debug)]
pub struct Manners {
    setting: MannersSetting,
    state: MannersState,
    target: TargetRate,
    test: SignTest,
    counted: u32,
    /// When the present sample began, and what had been done then; `None`: the next step begins one.
    began: Option<(Nanos, Progress)>,
    /// Whether the present sample is the first after a suspension or a rest.
    fresh: bool,
    /// While held: until when.
    until: Nanos,
    /// The next suspension.
    backoff: Nanos,
}

impl Manners {
    /// Nothing is known; the job runs.
    pub fn new(setting: MannersSetting) -> Self {
        let setting = MannersSetting { sample: setting.sample.max(Nanos(1)), ..setting };
        Self {
            setting,
            state: MannersState::Calibrating,
            target: TargetRate::new(setting.memory),
            test: SignTest::new(setting.false_alarm.fraction(), setting.miss.fraction()),
            counted: 0,
            began: None,
            fresh: false,
            until: Nanos::ZERO,
            backoff: setting.first.min(setting.longest),
        }
    }

    /// What it is doing.
    pub fn state(&self) -> MannersState {
        self.state
    }

    /// How long the job will be suspended next.
    pub fn backoff(&self) -> Nanos {
        self.backoff
    }

    /// When the next step is due.
    pub fn next_wake(&self, now: Nanos) -> Nanos {
        match (self.state, self.began) {
            (state, _) if state.is_held() => self.until.max(now),
            (_, Some((began, _))) => began.plus(self.setting.sample).max(now),
            (_, None) => now,
        }
    }

    /// Takes in what the job has ever done, and whether it wants to do something now: one of its threads runs, could run,
    /// or waits for a disk.
    pub fn step(&mut self, now: Nanos, progress: Progress, wants: bool) -> Option<HoldAction> {
        if self.state.is_held() {
            if now < self.until {
                return None;
            }
            self.state = self.state_running();
            self.began = Some((now, progress));
            self.fresh = true;
            return Some(HoldAction::Release);
        }
        let Some((began, before)) = self.began else {
            self.began = Some((now, progress));
            return None;
        };
        let span = now.since(began);
        if span < self.setting.sample {
            return None;
        }
        self.began = Some((now, progress));
        let done = progress.since(before);
        let idles = !wants && done == Progress::default();
        if std::mem::take(&mut self.fresh) || idles {
            return None;
        }
        self.judge(now, span, done)
    }

    /// The last word: whoever is held goes on.
    pub fn finish(&mut self) -> Option<HoldAction> {
        let is_held = self.state.is_held();
        self.state = self.state_running();
        is_held.then_some(HoldAction::Release)
    }

    /// The present state, or what follows it when the hold is over.
    const fn state_running(&self) -> MannersState {
        match self.state {
            MannersState::Calibrating | MannersState::Resting => MannersState::Calibrating,
            MannersState::Watching | MannersState::Suspended => MannersState::Watching,
        }
    }

    /// Holds the job for so long.
    fn hold(&mut self, now: Nanos, state: MannersState, length: Nanos) -> HoldAction {
        self.state = state;
        self.until = now.plus(length);
        self.began = None;
        HoldAction::Hold
    }

    /// How long a rest lasts, so that the job runs for its share. The sample that is not counted after it runs too.
    fn rest(&self) -> Option<Nanos> {
        // A job that never runs would never be calibrated.
        let runs = u64::from(self.setting.probation.max(Share::percent(1)).as_ppm());
        let rests = u64::from(Share::ALL.as_ppm()).checked_sub(runs).filter(|rests| *rests > 0)?;
        let turn = self.setting.sample.times(u64::from(TURN) + 1);
        Some(Nanos(turn.times(rests).as_nanos() / runs))
    }

    fn judge(&mut self, now: Nanos, span: Nanos, done: Progress) -> Option<HoldAction> {
        let usual = self.target.usual(done);
        self.target.learn(span, done);
        self.counted = self.counted.saturating_add(1);
        if self.state == MannersState::Calibrating {
            if self.counted >= self.setting.calibration {
                self.state = MannersState::Watching;
                return None;
            }
            let rest = self.rest().filter(|_| self.counted.is_multiple_of(TURN))?;
            return Some(self.hold(now, MannersState::Resting, rest));
        }
        let is_poor = span.as_secs_f64() > usual * (1.0 + self.setting.slack.fraction());
        match self.test.add(is_poor)? {
            Sign::Good => {
                self.backoff = self.setting.first.min(self.setting.longest);
                None
            }
            Sign::Poor => {
                let backoff = self.backoff;
                self.backoff = backoff.times(2).min(self.setting.longest);
                Some(self.hold(now, MannersState::Suspended, backoff))
            }
        }
    }
}

#[cfg(test)]
mod tests;
