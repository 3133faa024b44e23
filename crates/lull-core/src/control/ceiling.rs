//! A value that failed is not tried again for a while.
//!
//! Back-off: 4 s, doubled each time that the same value is tried again and fails again, up to five minutes. Neither
//! several steps down in a row nor the failure of a higher value doubles it.

use crate::time::Nanos;

const BACK_OFF: Nanos = Nanos::from_secs(4);
const BACK_OFF_MOST: Nanos = Nanos::from_secs(300);

/// The lowest value that failed of late, if any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ceiling(Option<Failure>);

#[derive(Clone, Copy, Debug)]
struct Failure {
    value: u32,
    until: Nanos,
    back_off: Nanos,
}

impl Ceiling {
    /// Whether `value` must not be tried at `now`.
    pub(super) fn bars(&self, now: Nanos, value: u32) -> bool {
        self.0.is_some_and(|failure| value >= failure.value && now < failure.until)
    }

    /// `value` has failed.
    pub(super) fn lower_to(&mut self, now: Nanos, value: u32) {
        let back_off = match self.0 {
            Some(failure) if now < failure.until => failure.back_off,
            Some(failure) if value <= failure.value => failure.back_off.times(2).min(BACK_OFF_MOST),
            _ => BACK_OFF,
        };
        self.0 = Some(Failure { value, until: now.plus(back_off), back_off });
    }
}
