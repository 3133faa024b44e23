//! The slow half: whether what is lent keeps the promise, by comparing at random, and what follows.
//!
//! *Loss* is the share of the foreground's time that it lost: what its bursts take longer because of the job, per time in which it was
//! at work. The trial tells the ratio of the means with an interval; times the bursts in service without the job, that is the loss.
//!
//! | mode | compared with | left for the bolder one | left for the more careful one |
//! |---|---|---|---|
//! | Open | Buffered | – | bursts are longer by the promise |
//! | Buffered | the job held | within half the promise, and the last failure long enough ago | beyond the promise |
//! | Shared | the job held | surely within half the promise | beyond the promise |
//!
//! The last CPU is lent on other terms than the rest: there is a choice that costs the job a CPU at the most and the foreground nothing, so
//! each burst has to keep its own length, not only the sum of a minute. The comparison is cheap for both, and a third of the time is used
//! for it until the answer is known.
//!
//! Beyond the promise is what is sure, by the interval, or likely after [`MANY`] comparisons if it is sure that there is any harm: the estimate then
//! is worth more than the caution of an interval that holds at every look. The same for the late share, of which [`PROMISED_PPM`] are
//! promised. Lending everything is tried on likelihood, and ends on likelihood. After a failure it is tried again after twice as long each
//! time.
//!
//! On a machine of many CPUs the last ones are not worth a try: [`SMALL`].
//!
//! Edge cases: a foreground whose bursts are as long as the audit's epochs, or never end, shows nothing, and beside it the mode is
//! Buffered; without the job's work it stays. With one CPU there is no buffer: Open, compared with the job held, or a share.

use serde::{Deserialize, Serialize};

use super::{CpuReading, CpuSetting};
use crate::base::backoff::Backoff;
use crate::base::share::{Loss, Share};
use crate::base::time::Nanos;
use crate::promise::late::PROMISED_PPM;
use crate::promise::trial::{Arm, Slowdown, Trial, TrialSetting};

/// After so many comparisons something may be tried; and after so many what is likely is taken for known.
const SOME: u32 = 8;
const MANY: u32 = 24;
/// Beside the buffer so much less is withheld while the answer is open, one in so many: nothing is urgent there.
const CALM: u32 = 3;
/// Lending everything is tried again after this long, then twice as long each time.
const AGAIN_AFTER: Nanos = Nanos::from_secs(30);
const AGAIN_AT_MOST: Nanos = Nanos::from_secs(600);
/// The share of time is halved so often at the most; the floor is above.
const HALVINGS: u32 = 6;

/// With more CPUs than this the buffer costs the job so little that nothing is gained by doing without.
const SMALL: u32 = 8;
/// For how much of the time CPUs are kept free to learn whether every CPU may be lent.
const OFTEN: Share = Share::percent(33);

/// What is lent beside the foreground at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Every CPU.
    Open,
    /// What the foreground's need and the buffer leave.
    Confined,
    /// Nothing.
    Held,
}

/// What is lent beside the foreground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Every CPU; the idle class protects.
    Open,
    /// All but those that the foreground needs and a buffer.
    Buffered,
    /// One CPU, for half of the time, a quarter, …: so many halvings.
    Shared(u32),
}

/// What is known of the present mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Audited {
    /// What is lent.
    pub mode: Mode,
    /// How often that has changed.
    pub moves: u32,
    /// How much longer the foreground's bursts take.
    pub slowdown: Option<Slowdown>,
    /// The share of its time that it loses by that: likely, at least, at most.
    pub loss: Option<[f64; 3]>,
    /// Time withheld, and time in which the job had work beside the foreground.
    pub withheld: Nanos,
    /// See `withheld`.
    pub total: Nanos,
}

#[derive(Clone, Debug)]
pub(super) struct Audit {
    setting: TrialSetting,
    seed: u64,
    promise: Loss,
    trial: Trial,
    mode: Mode,
    /// Whether there is more than one CPU.
    has_choice: bool,
    /// Whether there are so few that the buffer costs the job much.
    is_small: bool,
    /// When to try to lend everything.
    again: Backoff,
    moves: u32,
    /// What was lost beside the buffer when everything was lent last.
    beside_buffer: [f64; 3],
    /// What earlier trials cost.
    withheld: Nanos,
    total: Nanos,
}

impl Audit {
    pub(super) fn new(setting: &CpuSetting, seed: u64) -> Self {
        let mode = if setting.cpus > 1 { Mode::Buffered } else { Mode::Open };
        Self {
            setting: setting.trial,
            seed,
            promise: setting.promise,
            trial: Trial::new(in_mode(setting.trial, mode, setting.cpus > 1), seed),
            mode,
            has_choice: setting.cpus > 1,
            is_small: setting.cpus <= SMALL,
            again: Backoff::new(AGAIN_AFTER, AGAIN_AT_MOST),
            moves: 0,
            beside_buffer: [0.0; 3],
            withheld: Nanos::ZERO,
            total: Nanos::ZERO,
        }
    }

    pub(super) fn mode(&self) -> Mode {
        self.mode
    }

    pub(super) fn set_promise(&mut self, promise: Loss) {
        self.promise = promise;
    }

    /// Of the time in which the CPU may be used.
    pub(super) fn share(&self) -> Share {
        match self.mode {
            Mode::Open | Mode::Buffered => Share::ALL,
            Mode::Shared(halvings) => Share::ppm(Share::ALL.as_ppm() >> halvings),
        }
    }

    pub(super) fn next_change(&self) -> Option<Nanos> {
        self.trial.next_change()
    }

    pub(super) fn step(&mut self, now: Nanos, reading: &CpuReading, at_work: bool) -> Side {
        let counts = at_work && reading.wants;
        let promise = self.promise.fraction();
        self.trial.set_budget(if self.is_open() {
            self.promise
        } else {
            self.trial.budget_of(promise / 2.0)
        });
        let mut arm = self.trial.record(now, reading.bursts, counts);
        if counts && let Some(mode) = self.next_mode(now, reading) {
            self.enter(now, mode);
            arm = Arm::Lent;
        }
        match (arm, self.mode) {
            (Arm::Withheld, _) if !counts => self.lent(),
            (Arm::Withheld, Mode::Open) if self.has_choice => Side::Confined,
            (Arm::Withheld, _) => Side::Held,
            (Arm::Lent, _) => self.lent(),
        }
    }

    fn lent(&self) -> Side {
        if self.mode == Mode::Open { Side::Open } else { Side::Confined }
    }

    /// Whether everything is lent where less could be.
    fn is_open(&self) -> bool {
        self.mode == Mode::Open && self.has_choice
    }

    pub(super) fn audited(&self) -> Audited {
        let cost = self.trial.cost();
        Audited {
            mode: self.mode,
            moves: self.moves,
            slowdown: self.trial.slowdown(),
            loss: self.loss(),
            withheld: self.withheld.plus(cost.withheld),
            total: self.total.plus(cost.total),
        }
    }

    /// Likely, at least, at most.
    fn loss(&self) -> Option<[f64; 3]> {
        let [likely, least, most] = self.trial.loss()?;
        let [before, least_before, most_before] = if self.is_open() { self.beside_buffer } else { [0.0; 3] };
        Some([likely + before, least + least_before, most + most_before])
    }

    fn next_mode(&self, now: Nanos, reading: &CpuReading) -> Option<Mode> {
        if !self.trial.can_judge() {
            return (self.mode == Mode::Open && self.has_choice).then_some(Mode::Buffered);
        }
        let Slowdown { ratio, low, pairs, .. } = self.trial.slowdown()?;
        let [likely, least, most] = self.loss()?;
        let promise = self.promise.fraction();
        let late = reading.late.map_or(0, |late| late.least_ppm);
        let is_beyond =
            least > promise || (likely > promise && pairs >= MANY && least > 0.0) || late > PROMISED_PPM;
        let is_calm = late <= PROMISED_PPM / 2;
        let may_open =
            self.is_small && likely < promise / 2.0 && pairs >= SOME && is_calm && self.again.is_due(now);
        let surely_fits = most < promise / 2.0 && is_calm;
        match self.mode {
            Mode::Open if self.has_choice => {
                let is_longer = ratio > 1.0 + promise && pairs >= SOME && (low > 1.0 || pairs >= 2 * MANY);
                (is_longer || late > PROMISED_PPM).then_some(Mode::Buffered)
            }
            Mode::Open => is_beyond.then_some(Mode::Shared(1)),
            Mode::Buffered if is_beyond => Some(Mode::Shared(1)),
            Mode::Buffered => may_open.then_some(Mode::Open),
            Mode::Shared(halvings) if is_beyond => {
                (halvings < HALVINGS).then_some(Mode::Shared(halvings + 1))
            }
            Mode::Shared(1) => {
                surely_fits.then_some(if self.has_choice { Mode::Buffered } else { Mode::Open })
            }
            Mode::Shared(halvings) => surely_fits.then_some(Mode::Shared(halvings - 1)),
        }
    }

    fn enter(&mut self, now: Nanos, mode: Mode) {
        match self.mode {
            Mode::Open => self.again.failed(now),
            Mode::Buffered => self.beside_buffer = self.loss().unwrap_or_default(),
            Mode::Shared(_) => {}
        }
        let cost = self.trial.cost();
        self.withheld = self.withheld.plus(cost.withheld);
        self.total = self.total.plus(cost.total);
        self.moves += 1;
        self.trial = Trial::new(
            in_mode(self.setting, mode, self.has_choice),
            self.seed.wrapping_add(u64::from(self.moves)),
        );
        self.mode = mode;
    }
}

/// How to test in this mode.
fn in_mode(setting: TrialSetting, mode: Mode, has_choice: bool) -> TrialSetting {
    let calm = Share::ppm(setting.dense.as_ppm() / CALM).max(setting.rare);
    let dense = match mode {
        Mode::Open if has_choice => OFTEN,
        Mode::Buffered => calm,
        _ => setting.dense,
    };
    TrialSetting { dense, ..setting }
}
