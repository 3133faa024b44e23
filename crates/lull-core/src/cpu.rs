//! How many CPUs are lent: all but those that the foreground uses, and a buffer for its next burst.
//!
//! Problem: a job that shares a CPU with the foreground delays it, whatever its priority: caches, and the way out of the
//! kernel, are paid by who comes next. A job that is held until the foreground has gone gets nothing beside a server.
//!
//! Approach: blind isolation. The foreground needs no model: how many CPUs it uses is seen, and a few more are kept free, so that its
//! next burst finds one. The job has the rest.
//!
//! ```text
//!  foreground's CPUs ──▶ need (the most of the last moments) ─┐
//!                                                            ├─▶ lent = CPUs − need − buffer, at least one
//!  bursts that found no CPU free ──▶ buffer: one more, or less┘
//!  audit: loss, late share ──▶ mode
//! ```
//!
//! The audit compares, at short, random moments. It corrects in either direction, slowly:
//!
//! ```text
//!            bursts are longer than beside                    the loss is beyond the promise
//!  ┌──────┐  the buffer by the promise     ┌──────────┐ ───────────────────────────▶ ┌────────────────┐
//!  │ Open │ ─────────────────────────────▶ │ Buffered │                              │ Shared(1..)    │
//!  └──────┘ ◀───────────────────────────── └──────────┘ ◀─────────────────────────── └────────────────┘
//!   every CPU   few CPUs, the loss is       all but need    surely within half        one CPU, for 1/2, 1/4, … of
//!               within half, last try long  and buffer                                the time; the floor at the least
//! ```
//!
//! Nothing is held before harm is proved, or likely after many comparisons. The idle class protects the foreground on the CPUs that are lent.
//!
//! 1. *At work* (`presence.rs`): a foreground that uses hardly any CPU loses hardly any; beside it everything is lent. And a job that
//!    uses little costs little: nothing is kept from it.
//! 2. *Need* (`need.rs`): it rises at once, and falls when the peak is some time ago.
//! 3. *Buffer* (`buffer.rs`): one in a hundred bursts may find no free CPU.
//! 4. *Mode* (`audit.rs`).
//!
//! Units: CPUs; nanoseconds. Edge cases: with one CPU there is none to keep free, and the class alone protects, or a share of time. A
//! foreground on all CPUs leaves the job one, in the idle class: what the foreground leaves of it.
//!
//! Source: Iorgulescu et al., *PerfIso: Performance Isolation for Commercial Latency-Sensitive Services*, USENIX ATC 2018; section 5 of
//! Eggert & Touch, SOSP 2005, for what is promised.

mod audit;
mod buffer;
mod bulk;
mod need;
mod presence;

pub use audit::{Audited, Mode};
pub use bulk::Bulk;
pub use presence::Presence;

use serde::{Deserialize, Serialize};

use crate::base::share::{Loss, Share};
use crate::base::time::Nanos;
use crate::promise::late::Late;
use crate::promise::trial::{Reading, TrialSetting};
use audit::{Audit, Side};
use buffer::Buffer;
use need::Need;

/// How often to look where what is lent does not follow the need.
const LOOK: Nanos = Nanos::from_millis(100);
/// How often what is lent may grow: the more CPUs a look serves, the more often, and so much each time, one in so many of all.
const GROW_WITH_TWO: Nanos = Nanos::from_millis(16);
const GROW_AT_BEST: Nanos = Nanos::from_millis(2);
const GROW_BY: u32 = 16;

/// How the CPUs are lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CpuSetting {
    /// How many there are.
    pub cpus: u32,
    /// What the foreground may lose of its time.
    pub promise: Loss,
    /// The least that the job gets, of one CPU.
    pub floor: Share,
    /// How the audit tests.
    pub trial: TrialSetting,
}

impl Default for CpuSetting {
    fn default() -> Self {
        Self {
            cpus: 1,
            promise: Loss::percent(5),
            floor: Share::percent(2),
            trial: TrialSetting { dense: Share::percent(10), recovery: 4, ..TrialSetting::default() },
        }
    }
}

/// What the observers know at one moment. Sums only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuReading {
    /// CPUs that the foreground uses now.
    pub running: u32,
    /// The most that it used at once since the last call.
    pub peak: u32,
    /// CPU time of the foreground.
    pub busy: Nanos,
    /// Its bursts that ended, or values of its own measure.
    pub bursts: Reading,
    /// Bursts that began, and those of them that found no free CPU because of the job.
    pub began: u64,
    /// See `began`.
    pub crowded: u64,
    /// The share of its bursts that were late because of the job, if that is known.
    pub late: Option<Late>,
    /// Whether the job has work for a CPU.
    pub wants: bool,
    /// Whether it uses so little that nothing is gained by keeping CPUs from it ([`Presence::of_job`]).
    pub is_light: bool,
}

/// What the job has until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lent {
    /// CPUs, at least one.
    pub cpus: u32,
    /// The share of time in which it may use them; less than all only where one is lent.
    pub share: Share,
    /// Whether it is withheld for the audit.
    pub withheld: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct CpuBuffer {
    setting: CpuSetting,
    presence: Presence,
    need: Need,
    buffer: Buffer,
    audit: Audit,
    at_work: bool,
    /// Whether CPUs are kept from the job: a foreground is at work, and not everything is lent beside it.
    confined: bool,
    lent: Lent,
    grown: Nanos,
    next: Option<Nanos>,
}

impl CpuBuffer {
    /// Everything is lent. The order of the audit's tests follows from `seed`.
    pub fn new(setting: CpuSetting, seed: u64) -> Self {
        let cpus = setting.cpus.max(1);
        let setting = CpuSetting { cpus, ..setting };
        Self {
            setting,
            presence: Presence::of_foreground(),
            need: Need::default(),
            buffer: Buffer::default(),
            audit: Audit::new(&setting, seed),
            at_work: false,
            confined: false,
            lent: Lent { cpus, share: Share::ALL, withheld: false },
            grown: Nanos::ZERO,
            next: None,
        }
    }

    /// Takes in what the observers know; returns what is lent until the next call: at [`next`](Self::next), or as soon as the
    /// foreground uses more CPUs than [`wake_above`](Self::wake_above) says.
    pub fn step(&mut self, now: Nanos, reading: &CpuReading) -> Lent {
        self.at_work = self.presence.look(now, reading.busy);
        self.need.look(now, reading.running.max(reading.peak));
        let could_lend_less = self.confined && self.lent.cpus > 1;
        let most = self.setting.cpus - 1;
        self.buffer.look(now, reading.began, reading.crowded, could_lend_less, most);
        let keeps = self.at_work && !reading.is_light;
        let side = self.audit.step(now, reading, keeps);
        self.confined = keeps && side != Side::Open;
        let wanted = self.wanted();
        let cpus = if wanted <= self.lent.cpus || !self.confined {
            self.grown = now;
            wanted
        } else if now.since(self.grown) >= self.grow_every() {
            self.grown = now;
            wanted.min(self.lent.cpus + (self.setting.cpus / GROW_BY).max(1))
        } else {
            self.lent.cpus
        };
        let share = if keeps { self.audit.share().max(self.setting.floor) } else { Share::ALL };
        self.lent = Lent { cpus, share, withheld: keeps && side == Side::Held };
        self.next = self.next_look(now, reading);
        debug_assert_eq!(self.check(), Ok(()));
        self.lent
    }

    /// When to call again at the latest; `None` while the foreground's next burst decides.
    pub fn next(&self) -> Option<Nanos> {
        self.next
    }

    /// The foreground's use, in CPUs, beyond which to call at once; `None` if that changes nothing.
    pub fn wake_above(&self) -> Option<u32> {
        if !self.at_work {
            return Some(0);
        }
        (self.lent.cpus > 1 && self.confined).then(|| self.need.most())
    }

    /// Whether the foreground is at work.
    pub fn at_work(&self) -> bool {
        self.at_work
    }

    /// From now on this may be lost.
    pub fn set_promise(&mut self, promise: Loss) {
        self.audit.set_promise(promise);
    }

    /// What is lent now.
    pub fn lent(&self) -> Lent {
        self.lent
    }

    /// CPUs kept free for the next burst.
    pub fn spare(&self) -> u32 {
        if self.audit.mode() == Mode::Open { 0 } else { self.buffer.cpus() }
    }

    /// What the audit knows.
    pub fn audited(&self) -> Audited {
        self.audit.audited()
    }

    fn wanted(&self) -> u32 {
        let cpus = self.setting.cpus;
        if !self.confined {
            return cpus;
        }
        cpus.saturating_sub(self.need.most()).saturating_sub(self.buffer.cpus()).max(1)
    }

    fn grow_every(&self) -> Nanos {
        Nanos(GROW_WITH_TWO.0 * 2 / u64::from(self.setting.cpus)).max(GROW_AT_BEST)
    }

    fn next_look(&self, now: Nanos, reading: &CpuReading) -> Option<Nanos> {
        if !self.at_work {
            return (reading.running > 0).then(|| now.plus(self.presence.missing()));
        }
        let may_grow = self.confined && self.setting.cpus > 2;
        let look = if may_grow { now.plus(self.grow_every()) } else { now.next_multiple_of(LOOK) };
        Some(self.audit.next_change().map_or(look, |at| at.min(look)).max(now.plus(Nanos(1))))
    }

    /// Everything that must hold at any time.
    ///
    /// # Errors
    /// Names the first condition that does not hold.
    pub fn check(&self) -> Result<(), &'static str> {
        let Lent { cpus, share, withheld } = self.lent;
        if cpus == 0 || cpus > self.setting.cpus {
            Err("no CPU is lent, or more than there are")
        } else if share < self.setting.floor.min(Share::ALL) {
            Err("less is lent than the floor")
        } else if !self.at_work && (cpus < self.setting.cpus || share < Share::ALL || withheld) {
            Err("something is kept from the job, and nobody is at work")
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests;
