//! What the disk does for background when it may: the most that was seen of late.
//!
//! Seen is what was asked for in a stretch of time: several requests, or a tenth of a second, since a single one in a short stretch says
//! nothing. The most fades slowly.

use crate::base::time::Nanos;
use crate::idletime::setting::LEAST_BYTES;

const STRETCH_BYTES: u64 = 16 * LEAST_BYTES;
const STRETCH: Nanos = Nanos::from_millis(100);
/// One part in so many fades with each stretch in which background did something.
const FADES: f64 = 128.0;

#[derive(Clone, Debug, Default)]
pub(super) struct Rate {
    /// Bytes per second.
    best: f64,
    began: Option<(Nanos, u64)>,
}

impl Rate {
    /// Background has asked for `bytes` so far.
    pub(super) fn look(&mut self, now: Nanos, bytes: u64) {
        let (then, before) = *self.began.get_or_insert((now, bytes));
        let (span, did) = (now.since(then), bytes.saturating_sub(before));
        if span < STRETCH && did < STRETCH_BYTES {
            return;
        }
        if did > 0 && span > Nanos::ZERO {
            self.best = (self.best * (1.0 - 1.0 / FADES)).max(did as f64 / span.as_secs_f64());
        }
        self.began = Some((now, bytes));
    }

    pub(super) fn best(&self) -> f64 {
        self.best
    }
}
