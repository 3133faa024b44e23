//! How much memory the job may have, and when its pages have to go.
//!
//! Problem: when the foreground needs memory that the job has, each of its faults waits while a page of the job is written
//! out; the two then take pages from each other, and a foreground that comes second may never get its working set (Ryu et
//! al., section 3.2: more than 200 times its time).
//!
//! Approach: a *reserve* is kept free ahead of demand. While others grow, as much again as they took of late is *wanted*
//! free beside it, `AHEAD` times, or what they will take while a batch goes if they go on as fast: taking pages is slower than
//! filling them, so it has to begin long before nothing is left. When less than that is free, pages of the job go in
//! batches that are large beside what the kernel takes at a time (their section 3.3). From then on the job has a *ceiling*, so that it does not take back what it gave; the ceiling rises
//! again, slowly, while much is free. Where memory is scarce the job has one before it gave anything, so that it cannot take
//! the reserve between two looks. The reserve itself follows the pressure: it doubles while the foreground has to wait for
//! pages (it faults them in again, or stands still for want of memory), and shrinks while it does not. Waits of late count, so that it does
//! not matter how often one looks; and only while little is free: with much free they have another cause.
//!
//! What is free is partly a guess: page cache that looks old may be the foreground's. So the pages that others lost and wanted again tell
//! more than that guess: while they do, and hardly any memory is unused, a batch goes whatever seems to be free.
//!
//! A shortage that the job cannot meet, because what it has is in use, locked or has no swap to go to, would go on for ever: the job
//! held, its memory gone through at each look. So after a batch that gave next to nothing there is a pause ([`Backoff`]), twice as long after
//! each further one. It ends early when the job has grown by a batch: then it has something to give.
//!
//! ```text
//!                     free < wanted: page out
//!                     scarce: at what there is less the reserve
//!   ┌──────┐ ────────────────────────────────▶ ┌─────────┐ ── free < wanted: page out, lower ──┐
//!   │ Open │                                   │ Ceiling │ ◀───────────────────────────────────┘
//!   └──────┘ ◀── ceiling beyond all there is ─ └─────────┘ ◀── free ≥ 2 × wanted for REST: raise
//! ```
//!
//! The thresholds of their section 3.2: below `low` the job is left alone and, where the kernel can, protected; above
//! `high` its pages go first, as told here; between, age alone decides, which is the kernel's affair. With both at 0, the
//! default, the foreground gets everything. A batch may be fixed ([`MemoryLimit::with_batch`]): then so much goes at every look, however much is
//! missing.
//!
//! Units: bytes. Edge cases: a job that is at its floor gives nothing, however much is wanted; a machine of which nothing
//! is known (`total` 0) wants nothing; a `free` that jumps between looks is believed.

use serde::{Deserialize, Serialize};

use crate::base::backoff::Backoff;
use crate::base::time::Nanos;

/// Pages that the kernel takes at a time (SWAP_CLUSTER_MAX), of 4 KiB, times the factor that the paper found best.
const LEAST_BATCH: u64 = 50 * 32 * 4096;
/// The reserve is one part in these of all there is, at least and at most.
const LEAST_RESERVE_PART: u64 = 32;
const MOST_RESERVE_PART: u64 = 8;
/// … but never more than this.
const RESERVE_AT_MOST: u64 = 512 << 20;
/// A batch at most: what goes in some tens of milliseconds, after which there may be other things to do.
const MOST_BATCH: u64 = 64 << 20;
/// What others took of late is forgotten in about this time.
const LATELY: Nanos = Nanos::from_millis(500);
/// This many times what others took of late is wanted free, …
const AHEAD: u64 = 2;
/// … or what they take in this time at the pace of late: a batch lasts about as long.
const HORIZON: Nanos = Nanos::from_millis(100);
/// … beside the reserve, but not more than one part in these of all there is.
const MOST_AHEAD_PART: u64 = 4;
/// With less free than one part in these of all there is, memory is scarce.
const SCARCE_PART: u64 = 4;
/// How long much must be free before the ceiling rises, and no page be waited for before the reserve shrinks.
const REST: Nanos = Nanos::from_secs(1);
/// Pages that the foreground waited for of late, and that are no accident.
const STALLS: u64 = 16;
/// … or time that it stood still: one part in a hundred.
const STALLED: Nanos = Nanos(LATELY.0 / 100);
/// How fast a foreground takes memory at most: about as fast as a processor clears it, in bytes per microsecond.
const FASTEST: u64 = 4_000;
/// What others take between two looks without growing: one batch of the kernel.
const CALM_BYTES: u64 = 32 * 4096;
/// A batch of which less than one part in these has gone was in vain.
const GIVEN_PART: u64 = 8;
/// The pause after it, at least and at most.
const LEAST_PAUSE: Nanos = Nanos::from_millis(8);
const MOST_PAUSE: Nanos = Nanos::from_secs(16);
/// Bounds on the time between two looks; while little is free but nobody grows, …
const SOONEST: Nanos = Nanos::from_millis(4);
const LATEST: Nanos = Nanos::from_secs(4);
/// … the time between looks grows to this, as one part in [`CALM_PART`] of the time since somebody grew. A glance is far cheaper
/// than a look.
const SCARCE: Nanos = Nanos::from_millis(100);
const CALM_PART: u64 = 8;

/// What the user wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryThresholds {
    /// Below this the job keeps its pages.
    pub low_bytes: u64,
    /// Above this its pages go first.
    pub high_bytes: u64,
}

/// What there is at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryView {
    /// All the memory of the machine, or of the group that limits job and foreground.
    pub total_bytes: u64,
    /// Of that, what the foreground can have without anybody's pages being taken.
    pub free_bytes: u64,
    /// Of what is free, what nobody uses, not even as page cache.
    pub unused_bytes: u64,
    /// The job's pages in memory.
    pub job_bytes: u64,
    /// Pages that somebody other than the job lost and wanted again soon, since the beginning.
    pub refaults: u64,
    /// Pages that somebody other than the job had to wait for, since the beginning.
    pub stalls: u64,
    /// How long somebody other than the job stood still for want of memory, since the beginning; zero where that is not told.
    pub stalled: Nanos,
}

impl MemoryView {
    /// Whether both are of the same scope: what was counted in another cannot be compared.
    fn is_of(&self, other: &Self) -> bool {
        self.total_bytes == other.total_bytes
    }

    /// What neither is free nor the job's.
    fn others_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub(self.free_bytes).saturating_sub(self.job_bytes)
    }
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAction {
    /// Take this much from the job, at once.
    pub page_out_bytes: u64,
    /// What the job may have from now on; `None`: anything.
    pub ceiling_bytes: Option<u64>,
    /// Whether the foreground wants memory that the job has.
    pub is_short: bool,
    /// Whether the job is to be held, since its pages are to go now.
    pub holds: bool,
    /// Look again after this long, …
    pub next_look: Nanos,
    /// … or sooner: glance this often at what is free or the job's, …
    pub next_glance: Nanos,
    /// … and look when others have taken so much of it.
    pub glance_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    job_bytes: u64,
    batch_bytes: u64,
}

/// The job's share of the memory.
#[derive(Clone, Debug)]
pub struct MemoryLimit {
    setting: MemoryThresholds,
    /// What goes at a time, if not what is missing.
    batch_bytes: Option<u64>,
    reserve_bytes: u64,
    ceiling: Option<u64>,
    /// Since when the ceiling and the reserve are as they are.
    ceiling_since: Nanos,
    reserve_since: Nanos,
    /// When somebody else's memory grew last.
    grew: Nanos,
    /// What others took of late, what they waited for, and how long.
    rise_bytes: u64,
    /// The fastest that they grew between two looks of late, as bytes in [`HORIZON`].
    pace_bytes: u64,
    stalls: u64,
    stalled: Nanos,
    /// Pages that others lost of late.
    refaults: u64,
    /// The latest batch that was asked for, and what the job had then.
    asked: Option<Asked>,
    tries: Backoff,
    /// What the job had after the latest batch in vain.
    stuck_bytes: u64,
    /// When the job was last asked for something.
    short: Nanos,
    looked: Nanos,
    seen: Option<MemoryView>,
}

impl MemoryLimit {
    /// Without a ceiling.
    pub fn new(setting: MemoryThresholds) -> Self {
        Self {
            setting,
            batch_bytes: None,
            reserve_bytes: 0,
            ceiling: None,
            ceiling_since: Nanos::ZERO,
            reserve_since: Nanos::ZERO,
            grew: Nanos::ZERO,
            rise_bytes: 0,
            pace_bytes: 0,
            stalls: 0,
            stalled: Nanos::ZERO,
            refaults: 0,
            asked: None,
            tries: Backoff::new(LEAST_PAUSE, MOST_PAUSE),
            stuck_bytes: 0,
            short: Nanos::ZERO,
            looked: Nanos::ZERO,
            seen: None,
        }
    }

    /// The same, but so much goes at a time.
    #[must_use]
    pub fn with_batch(self, batch_bytes: Option<u64>) -> Self {
        Self { batch_bytes, ..self }
    }

    /// Other thresholds from now on.
    pub fn set(&mut self, setting: MemoryThresholds) {
        self.setting = setting;
        self.ceiling = self.ceiling.map(|ceiling| ceiling.max(self.floor()));
    }

    /// The thresholds in force.
    pub fn setting(&self) -> MemoryThresholds {
        self.setting
    }

    /// What is to be kept free.
    pub fn reserve_bytes(&self) -> u64 {
        self.reserve_bytes
    }

    /// What the job keeps, whatever the foreground needs.
    fn floor(&self) -> u64 {
        self.setting.high_bytes.max(self.setting.low_bytes)
    }

    /// What is to be free now: the reserve, and more while others grow.
    fn wanted(&self, view: &MemoryView) -> u64 {
        let ahead = self.rise_bytes.saturating_mul(AHEAD).min(view.total_bytes / MOST_AHEAD_PART);
        self.reserve_bytes + ahead.max(self.pace_bytes)
    }

    /// A look at the memory.
    pub fn step(&mut self, now: Nanos, view: &MemoryView) -> MemoryAction {
        let before = self.seen.replace(*view).unwrap_or(*view);
        let passed = now.since(self.looked);
        self.looked = now;
        self.follow_pressure(now, view, &before, passed);
        let pace_bytes = self.follow_growth(now, view, &before, passed);
        let is_losing = self.follow_losses(view, &before, passed);
        let wanted = self.wanted(view);
        let is_short = (view.free_bytes < wanted || is_losing) && view.job_bytes > self.floor();
        self.follow_giving(now, view, is_short);
        let holds = is_short && (self.tries.is_due(now) || view.job_bytes >= self.stuck_bytes + LEAST_BATCH);
        let mut page_out_bytes = 0;
        if holds {
            // Whoever grows still will want so much more before the batch has gone.
            let missing =
                wanted.saturating_sub(view.free_bytes).max(pace_bytes).clamp(LEAST_BATCH, MOST_BATCH);
            let batch = self.batch_bytes.unwrap_or(missing);
            page_out_bytes = batch.min(view.job_bytes - self.floor());
            self.asked = Some(Asked { job_bytes: view.job_bytes, batch_bytes: page_out_bytes });
            self.ceiling = Some(view.job_bytes - page_out_bytes);
            self.ceiling_since = now;
            // Answered.
            self.refaults = 0;
        } else if !is_short {
            self.follow_free(now, view, wanted);
        }
        let next_glance = next_glance(view, wanted);
        let calm = Nanos(now.since(self.grew).0 / CALM_PART).min(SCARCE);
        MemoryAction {
            page_out_bytes,
            ceiling_bytes: self.ceiling,
            is_short,
            holds,
            next_look: next_glance.max(calm),
            next_glance,
            glance_bytes: CALM_BYTES,
        }
    }

    /// Whether others lose pages that they use, and nothing else is there for them.
    fn follow_losses(&mut self, view: &MemoryView, before: &MemoryView, passed: Nanos) -> bool {
        let lost = if view.is_of(before) { view.refaults.saturating_sub(before.refaults) } else { 0 };
        self.refaults = lately(self.refaults, passed) + lost;
        self.refaults >= STALLS && view.unused_bytes < 2 * self.reserve_bytes
    }

    /// Whether the job gave what it was asked for.
    fn follow_giving(&mut self, now: Nanos, view: &MemoryView, is_short: bool) {
        if let Some(Asked { job_bytes, batch_bytes }) = self.asked.take() {
            if job_bytes.saturating_sub(view.job_bytes) >= batch_bytes.div_ceil(GIVEN_PART) {
                self.tries.succeeded();
            } else {
                self.tries.failed(now);
                self.stuck_bytes = view.job_bytes;
            }
        }
        if is_short {
            self.short = now;
        } else if now.since(self.short) >= REST {
            self.tries.succeeded();
        }
    }

    /// The ceiling while enough is free: the job leaves the reserve alone, and gets back what nobody wants.
    fn follow_free(&mut self, now: Nanos, view: &MemoryView, wanted: u64) {
        let all = view.job_bytes + view.free_bytes;
        let least = view.job_bytes.max(self.floor());
        // Half-way between where its pages have to go and where the ceiling rises.
        let most = all.saturating_sub(self.reserve_bytes + self.reserve_bytes / 2).max(least);
        let is_scarce = view.free_bytes < view.total_bytes / SCARCE_PART;
        match self.ceiling {
            None if is_scarce => {
                self.ceiling = Some(most);
                self.ceiling_since = now;
            }
            Some(ceiling) if ceiling > most => self.ceiling = Some(most),
            Some(ceiling) if view.free_bytes >= 2 * wanted && now.since(self.ceiling_since) >= REST => {
                let more = (view.free_bytes - self.reserve_bytes) / 2;
                let raised = ceiling.max(view.job_bytes).saturating_add(more).min(most);
                self.ceiling = Some(raised).filter(|raised| is_scarce || *raised < most);
                self.ceiling_since = now;
            }
            _ => {}
        }
    }

    /// Adds what others took since the last look to what they took of late, of which some is forgotten; returns their pace since then,
    /// as bytes in [`HORIZON`].
    fn follow_growth(&mut self, now: Nanos, view: &MemoryView, before: &MemoryView, passed: Nanos) -> u64 {
        let (others, others_before) = (view.others_bytes(), before.others_bytes());
        if others > others_before + CALM_BYTES {
            self.grew = now;
        }
        let rise = (self.rise_bytes + others).saturating_sub(others_before);
        self.rise_bytes = lately(rise, passed);
        // What the job lost of its page cache looks as if others had half of it.
        let lost = before.job_bytes.saturating_sub(view.job_bytes) / 2;
        let grown = if view.is_of(before) { others.saturating_sub(others_before + lost) } else { 0 };
        let pace = u128::from(grown) * u128::from(HORIZON.0) / u128::from(passed.max(SOONEST).0);
        let pace = u64::try_from(pace).unwrap_or(u64::MAX).min(view.total_bytes / MOST_AHEAD_PART);
        // Who gives memory back takes it from there the next time.
        let before = if others < others_before { 0 } else { lately(self.pace_bytes, passed) };
        self.pace_bytes = before.max(pace);
        pace
    }

    /// The reserve doubles while the foreground waits for pages and the job has some to give; else it shrinks.
    fn follow_pressure(&mut self, now: Nanos, view: &MemoryView, before: &MemoryView, passed: Nanos) {
        let least = (view.total_bytes / LEAST_RESERVE_PART).min(RESERVE_AT_MOST);
        let most = (view.total_bytes / MOST_RESERVE_PART).min(RESERVE_AT_MOST);
        self.stalls = lately(self.stalls, passed) + view.stalls.saturating_sub(before.stalls);
        self.stalled = Nanos(lately(self.stalled.0, passed)).plus(view.stalled.since(before.stalled));
        let waited = self.stalls >= STALLS || self.stalled >= STALLED;
        if waited && view.job_bytes > self.floor() && view.free_bytes < 2 * self.reserve_bytes {
            self.reserve_bytes *= 2;
            self.reserve_since = now;
            // Answered.
            (self.stalls, self.stalled) = (0, Nanos::ZERO);
        } else if now.since(self.reserve_since) >= REST {
            self.reserve_bytes -= self.reserve_bytes / 8;
            self.reserve_since = now;
        }
        self.reserve_bytes = self.reserve_bytes.clamp(least, most.max(least));
    }
}

/// Before the foreground can have taken half of what is above what is wanted.
fn next_glance(view: &MemoryView, wanted: u64) -> Nanos {
    let above = view.free_bytes.saturating_sub(wanted);
    Nanos::from_micros(above / 2 / FASTEST).clamp(SOONEST, LATEST)
}

/// What is left of an amount of late after some time.
fn lately(amount: u64, passed: Nanos) -> u64 {
    let forgotten = u128::from(amount) * u128::from(passed.min(LATELY).0) / u128::from(LATELY.0);
    amount - u64::try_from(forgotten).unwrap_or(amount)
}

#[cfg(test)]
mod tests;
