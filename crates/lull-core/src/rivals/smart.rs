//! `smart`: run in the foreground's calm, stand still in its busy periods (S-1 to S-4).
//!
//! Problem: a foreground that serves people is busy in waves. A priority makes both classes share every wave; a job that
//! is suspended through the waves and runs between them costs less, if one knows when a wave begins and how long it lasts.
//!
//! Approach: look at the foreground's processor use once per *monitoring window*. First learn: for some windows with the job
//! held, for as many with the job at work. From each half follow the mean utilisation, and the *bursty window*: the mean
//! length of unbroken runs of windows at or above that mean. Then schedule: a window at or above the mean of its half is
//! the beginning of a wave, and its bursty window says how long to wait before looking again.
//!
//! ```text
//!   new, restart, or `period` is over
//!         │
//!  ┌──────▼──────── characterisation ────────────┐
//!  │ Alone: held,       ──────▶ Beside: running, │
//!  │ n windows                  n windows        │
//!  └──────────────────────────────────┬──────────┘
//!                                     ▼           scheduling
//!   util < U beside:             ┌────────┐ ── util ≥ U beside: Freeze, wait BW beside ──▶ ┌───────────┐
//!   wait one window            ┌─┤ Active │                                               │ Suspended ├─┐ util ≥ U alone:
//!                              └▶└────────┘ ◀── util < U alone: Thaw, wait one window ──── └───────────┘◀┘ wait BW alone
//! ```
//!
//! Units: busy time is cumulative, over all CPUs; a utilisation is a number of CPUs. Bursty windows are rounded to whole
//! monitoring windows, because that is when there is something to decide.
//!
//! Beyond the source, where its rules would stop the job for ever:
//! - A window in which the foreground uses less than `rest` is calm, whatever the mean is; else a foreground that does
//!   nothing would never be below its own mean.
//! - After `longest` without a break the job runs for one window.
//!
//! Edge cases: who looks late gets one long window. Busy time that goes back, because a process is gone, counts as zero.
//! Who belongs to the foreground (S-4) is its owner's to say.
//!
//! Source: Yan, Hughes, Riska, Smirni, *Overcoming Limitations of Off-the-shelf Priority Schedulers in Dynamic
//! Environments* (2012), section III and figure 3. S-3: time returns to characterisation, and so does an owner that knows of a change
//! ([`change`]), by [`restart`](Smart::restart).

pub mod change;

use serde::{Deserialize, Serialize};

use crate::base::share::Share;
use crate::base::time::Nanos;
use crate::idletime::hold::HoldAction;

/// How `smart` looks and learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmartSetting {
    /// The monitoring window.
    pub window: Nanos,
    /// Windows in each half of the characterisation; at least 1.
    pub windows: u32,
    /// Time of scheduling after which everything is learnt anew.
    pub period: Nanos,
    /// Use of one CPU below which the foreground is calm in any case.
    pub rest: Share,
    /// The longest suspension without a break.
    pub longest: Nanos,
}

impl Default for SmartSetting {
    /// The source's window; the rest it leaves open.
    fn default() -> Self {
        Self::with_window(Nanos::from_secs(10))
    }
}

impl SmartSetting {
    /// Everything in proportion to the window.
    pub const fn with_window(window: Nanos) -> Self {
        Self {
            window,
            windows: 6,
            period: window.times(120),
            rest: Share::percent(1),
            longest: window.times(30),
        }
    }
}

/// What was learnt of the foreground in one half of the characterisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Character {
    /// Mean utilisation, in CPUs (UTIL).
    pub mean: f64,
    /// Mean length of runs of windows at or above the mean, in windows (BW).
    pub burst: f64,
}

impl Character {
    /// Of the utilisation in consecutive windows.
    fn of(samples: &[f64]) -> Self {
        let mean = samples.iter().sum::<f64>() / samples.len().max(1) as f64;
        let (mut runs, mut high, mut before) = (0_u32, 0_u32, false);
        for sample in samples {
            let now = *sample >= mean;
            high += u32::from(now);
            runs += u32::from(now && !before);
            before = now;
        }
        Self { mean, burst: f64::from(high) / f64::from(runs.max(1)) }
    }

    /// The bursty window as a number of monitoring windows to wait.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive float saturates")]
    fn wait(&self) -> u32 {
        (self.burst.round() as u32).max(1)
    }
}

/// What `smart` is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SmartState {
    /// Learning, the job held.
    Alone,
    /// Learning, the job at work.
    Beside,
    /// Scheduling, the job at work.
    Active,
    /// Scheduling, the job held.
    Suspended,
}

impl SmartState {
    /// Whether the job is held.
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Alone | Self::Suspended)
    }

    /// Whether the foreground is being learnt.
    pub const fn is_learning(self) -> bool {
        matches!(self, Self::Alone | Self::Beside)
    }
}

/// The scheduler of one job.
#[derive(Clone, Debug)]
pub struct Smart {
    setting: SmartSetting,
    state: SmartState,
    /// Utilisation in the windows of the present half.
    samples: Vec<f64>,
    alone: Character,
    beside: Character,
    /// Windows still to be waited out.
    wait: u32,
    /// When the present window began, and the busy time then; `None` before the first step.
    began: Option<(Nanos, Nanos)>,
    /// When scheduling last began.
    learnt: Option<Nanos>,
    /// Since when the job is held without a break.
    held: Option<Nanos>,
}

impl Smart {
    /// Nothing is known; the first step holds the job.
    pub fn new(setting: SmartSetting) -> Self {
        let window = setting.window.max(Nanos(1));
        Self {
            setting: SmartSetting { window, windows: setting.windows.max(1), ..setting },
            state: SmartState::Alone,
            samples: Vec::new(),
            alone: Character::default(),
            beside: Character::default(),
            wait: 1,
            began: None,
            learnt: None,
            held: None,
        }
    }

    /// What it is doing.
    pub fn state(&self) -> SmartState {
        self.state
    }

    /// What is known of the foreground alone and beside the job; `None` until both were seen once.
    pub fn character(&self) -> Option<[Character; 2]> {
        self.learnt.map(|_| [self.alone, self.beside])
    }

    /// When the next step is due.
    pub fn next_wake(&self, now: Nanos) -> Nanos {
        self.began.map_or(now, |(began, _)| began.plus(self.setting.window)).max(now)
    }

    /// The foreground has changed: learn anew. The next step begins it.
    pub fn restart(&mut self) {
        self.state = SmartState::Alone;
        self.samples.clear();
        self.began = None;
    }

    /// Takes in the processor time that the foreground has ever used.
    pub fn step(&mut self, now: Nanos, busy: Nanos) -> Option<HoldAction> {
        let Some((began, busy_then)) = self.began else {
            self.began = Some((now, busy));
            return self.enter(now, SmartState::Alone);
        };
        let span = now.since(began);
        if span < self.setting.window {
            return None;
        }
        self.began = Some((now, busy));
        let util = busy.since(busy_then).as_secs_f64() / span.as_secs_f64();
        match self.state {
            SmartState::Alone | SmartState::Beside => self.learn(now, util),
            SmartState::Active | SmartState::Suspended => self.schedule(now, util),
        }
    }

    /// The last word: whoever is held goes on.
    pub fn finish(&mut self) -> Option<HoldAction> {
        self.held.take().map(|_| HoldAction::Release)
    }

    fn learn(&mut self, now: Nanos, util: f64) -> Option<HoldAction> {
        self.samples.push(util);
        if u32::try_from(self.samples.len()).unwrap_or(u32::MAX) < self.setting.windows {
            return None;
        }
        let character = Character::of(&std::mem::take(&mut self.samples));
        self.wait = 1;
        if self.state == SmartState::Alone {
            self.alone = character;
            return self.enter(now, SmartState::Beside);
        }
        self.beside = character;
        self.learnt = Some(now);
        self.enter(now, SmartState::Active)
    }

    fn schedule(&mut self, now: Nanos, util: f64) -> Option<HoldAction> {
        if self.learnt.is_none_or(|learnt| now.since(learnt) >= self.setting.period) {
            return self.enter(now, SmartState::Alone);
        }
        self.wait = self.wait.saturating_sub(1);
        if self.held.is_some_and(|since| now.since(since) >= self.setting.longest) {
            self.wait = 1;
            return self.enter(now, SmartState::Active);
        }
        if self.wait > 0 {
            return None;
        }
        let is_suspended = self.state == SmartState::Suspended;
        let character = if is_suspended { self.alone } else { self.beside };
        let is_calm = util < self.setting.rest.fraction() || util < character.mean;
        self.wait = if is_calm { 1 } else { character.wait() };
        self.enter(now, if is_calm { SmartState::Active } else { SmartState::Suspended })
    }

    fn enter(&mut self, now: Nanos, state: SmartState) -> Option<HoldAction> {
        self.state = state;
        match (state.is_held(), self.held) {
            (true, None) => {
                self.held = Some(now);
                Some(HoldAction::Hold)
            }
            (false, Some(_)) => {
                self.held = None;
                Some(HoldAction::Release)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
