//! The two numbers of a disk, and how they follow what the foreground loses.
//!
//! ```text
//!  loss   beyond the promise │ window ─▶ where the loss would be the promise, a half at the least
//!                            │ and at the smallest window, far beyond it: interval × 2 (from 0: a service time)
//!         ───────────────────┼─────────────────────────────────────────────────────────────────────
//!         within it          │ no interval, and the window was used up: + 64 KiB (in the beginning: up to × 4)
//!         within half of it  │ interval / 2, down to 0
//! ```
//!
//! Within means even if the estimate is too low by its error, beyond even if it is too high: between the two nothing moves. Late
//! requests count as beyond. An interval is worth it only if background gets more done with it than without it and for less of the
//! time, as the credits allow it then ([`super::credits`]): `rate · promise / loss`. Else there is none for a while. It pays where requests
//! come in bursts; where their gaps are regular, or tell nothing, it does not.
//!
//! What was tried in vain is tried again after twice as long each time: an interval that was too short, a window that was too wide, and
//! one that let more in and got no more done. On a disk that serves one request at a time the second is so from the first.
//!
//! Units: bytes, nanoseconds. Source: X-2 and section 5.2 of the paper (an interval that grows fast and shrinks slowly, as TCP's window
//! does the other way round).

use super::nanos;
use crate::base::backoff::Backoff;
use crate::base::time::Nanos;
use crate::idletime::setting::LEAST_BYTES;

/// What a job starts with: a few requests, so that the foreground's first ones are cheap.
const START_BYTES: u64 = 4 * LEAST_BYTES;
const MOST_BYTES: u64 = 1 << 30;
const LONGEST: Nanos = Nanos::from_secs(10);
/// In the beginning a window may grow so many times at once.
const LEAP: f64 = 4.0;
/// An interval of less than a service time over this is none.
const NO_INTERVAL: u64 = 64;
const AGAIN_AFTER: Nanos = Nanos::from_secs(4);
const AGAIN_AT_MOST: Nanos = Nanos::from_secs(300);
/// A window that has grown by this much has to get more done: as much more as this part of the growth.
const GROWN: f64 = 1.25;
const GAIN: f64 = 0.25;
/// So many times the promise is far beyond it: the credits do the rest.
const BEYOND: f64 = 2.0;
/// With an interval so much more has to be done within the promise.
const WORTH: f64 = 1.1;

/// What is known of the present two numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finding {
    /// The share of its time that the foreground loses, and the error of that.
    pub(super) loss: f64,
    pub(super) error: f64,
    /// Whether more of its requests are late than may be.
    pub(super) is_late: bool,
    /// Time of a background request in the device.
    pub(super) service: Option<f64>,
    /// Background requests per nanosecond.
    pub(super) rate: f64,
    /// Whether the window had opened meanwhile, since the foreground was away: what a request took says nothing of the window then.
    pub(super) is_open: bool,
    /// Whether background had to wait for room under the window.
    pub(super) is_full: bool,
}

impl Finding {
    /// Background requests per nanosecond that would be done within the promise.
    fn within(&self, promise: f64) -> f64 {
        self.rate * (promise / self.loss.max(promise)).min(1.0)
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Steering {
    window: u64,
    interval: Nanos,
    /// Whether no harm was seen yet.
    leaps: bool,
    /// A window, and what a request took under it.
    base: Option<(u64, f64)>,
    /// What is done within the promise without an interval, if there is one.
    without: Option<f64>,
    widen: Backoff,
    shorten: Backoff,
    lengthen: Backoff,
    was_shortened: bool,
    was_widened: bool,
    /// The window that was tried in vain.
    barred: u64,
    /// Whether the window is not to be moved.
    is_fixed: bool,
}

impl Steering {
    /// On a slow disk a few requests at once would be too many.
    pub(super) fn new() -> Self {
        Self {
            window: START_BYTES,
            interval: Nanos::ZERO,
            leaps: true,
            base: None,
            without: None,
            lengthen: Backoff::new(AGAIN_AFTER, AGAIN_AT_MOST),
            widen: Backoff::new(AGAIN_AFTER, AGAIN_AT_MOST),
            shorten: Backoff::new(AGAIN_AFTER, AGAIN_AT_MOST),
            was_shortened: false,
            was_widened: false,
            barred: u64::MAX,
            is_fixed: false,
        }
    }

    /// Only the interval follows: the window is the user's.
    pub(super) fn with_fixed_window() -> Self {
        Self { window: LEAST_BYTES, leaps: false, is_fixed: true, ..Self::new() }
    }

    /// A disk that takes milliseconds: one request at a time, and not at once.
    pub(super) fn begin_slowly(&mut self, interval: Nanos) {
        (self.window, self.interval, self.leaps) = (LEAST_BYTES, interval, false);
    }

    /// Whether the window may still grow by much at once.
    pub(super) fn leaps(&self) -> bool {
        self.leaps
    }

    pub(super) fn window(&self) -> u64 {
        self.window
    }

    pub(super) fn interval(&self) -> Nanos {
        self.interval
    }

    /// What is done has changed from outside: an old base says nothing any more.
    pub(super) fn restart(&mut self) {
        self.base = None;
    }

    /// Follows what was found; whether anything changed.
    pub(super) fn adjust(&mut self, now: Nanos, found: &Finding, promise: f64) -> bool {
        let before = (self.window, self.interval);
        let at_least = found.loss - found.error;
        let at_most = (found.loss + found.error).max(promise / 1e3);
        let goes_back = self.interval > Nanos::ZERO
            && at_least <= BEYOND * promise
            && self.without.is_some_and(|without| found.within(promise) < WORTH * without);
        if goes_back {
            // Without one the bucket of credits does better.
            (self.interval, self.without) = (Nanos::ZERO, None);
            self.lengthen.failed(now);
        } else if found.is_late || at_least > promise {
            self.back_off(now, found, promise);
        } else if !found.is_open && !self.gets_more_done(now, found.service) {
        } else if self.interval > Nanos::ZERO {
            if at_most < promise / 2.0 && self.shorten.is_due(now) {
                self.shorten(found.service);
            }
        } else if !self.is_fixed && at_most < promise && found.is_full {
            let most =
                if self.leaps { self.window as f64 * LEAP } else { (self.window + LEAST_BYTES) as f64 };
            let bar = if self.widen.is_due(now) { MOST_BYTES } else { self.barred - LEAST_BYTES };
            let wanted = steps((self.window as f64 * promise / at_most).min(most));
            self.was_widened = wanted > self.window;
            self.window = wanted.min(bar).max(self.window);
        }
        (self.window, self.interval) != before
    }

    fn back_off(&mut self, now: Nanos, found: &Finding, promise: f64) {
        let leapt = std::mem::take(&mut self.leaps);
        if self.window > LEAST_BYTES {
            if std::mem::take(&mut self.was_widened) && !leapt {
                self.bar(now);
            }
            let part = if found.is_late { 0.5 } else { (promise / found.loss).max(0.5) };
            self.window = steps(self.window as f64 * part + LEAST_BYTES as f64 / 2.0)
                .min(self.window - LEAST_BYTES)
                .max(LEAST_BYTES);
            self.base = self.base.filter(|(window, _)| *window <= self.window);
        } else if (found.is_late || found.loss - found.error > BEYOND * promise) && self.lengthen.is_due(now)
        {
            if self.interval == Nanos::ZERO {
                self.without = Some(found.within(promise));
            }
            if std::mem::take(&mut self.was_shortened) {
                self.shorten.failed(now);
            }
            if self.without.is_none() {
                // The one it began with: what is done without any is not known yet.
                self.interval = Nanos::ZERO;
                return;
            }
            let first = nanos(found.service.unwrap_or(0.0));
            let longer = if self.interval == Nanos::ZERO { first } else { self.interval.times(2) };
            self.interval = longer.clamp(Nanos(1), LONGEST);
        }
    }

    fn shorten(&mut self, service: Option<f64>) {
        let least = nanos(service.unwrap_or(0.0) / NO_INTERVAL as f64);
        let half = Nanos(self.interval.0 / 2);
        self.interval = if half <= least { Nanos::ZERO } else { half };
        self.was_shortened = true;
    }

    /// Whether a window that has grown was worth it; else it is what it was before.
    fn gets_more_done(&mut self, now: Nanos, service: Option<f64>) -> bool {
        let Some(service) = service.filter(|service| *service > 0.0) else { return true };
        let (window, before) = *self.base.get_or_insert((self.window, service));
        let grown = self.window as f64 / window as f64;
        if grown < GROWN {
            return true;
        }
        if grown * before / service >= 1.0 + GAIN * (grown - 1.0) {
            self.base = Some((self.window, service));
            return true;
        }
        self.bar(now);
        self.window = window;
        self.leaps = false;
        false
    }

    /// The present window was tried in vain: none as wide is tried for a while, for longer if it is the same again.
    fn bar(&mut self, now: Nanos) {
        if self.window < self.barred / 2 || self.window > self.barred.saturating_mul(2) {
            self.widen.succeeded();
        }
        self.barred = self.window;
        self.widen.failed(now);
    }
}

/// Whole steps of [`LEAST_BYTES`], one at the least.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a saturating cast")]
fn steps(bytes: f64) -> u64 {
    (bytes / LEAST_BYTES as f64 + 1e-9).floor().max(1.0) as u64 * LEAST_BYTES
}

#[cfg(test)]
mod tests;
