//! The state of a resource, from cumulative views alone.
//!
//! Problem: a kernel program that sees a foreground request arrive must know which state it found, without keeping
//! a machine and its timers. And the policy must come to the same state from a view read now as from every event
//! since the last reading.
//!
//! Approach: the machine of [`machine`](crate::machine) has no memory beyond what is in service and the start of
//! the latest interval, so its state is a function of an [`Observation`] and the time:
//!
//! 1. F if foreground is in service;
//! 2. else P if a running interval was started by the foreground, or by background that fell empty in `*-bp`;
//! 3. else B if background is in service;
//! 4. else I.
//!
//! An interval that began at `from` runs while `now < from + interval`. A `from` of zero means "never": no interval
//! runs. A zero interval never runs. An infinite one runs for ever; it is started by the foreground's arrival as
//! well as by its end, under both start rules, so that a missed event cannot let background through (I-5).
//!
//! The views know no backlog. A background request that waits while another one ends (B on b in `bp-*`) is known
//! to [`Resource`](crate::resource::Resource) only; without one waiting and without a grant under way both agree.
//! `lull_record.h` repeats [`derive_state`] for the kernel programs, and a test compares the two.

use crate::machine::{AfterEmpty, StartRule, State, Variant};
use crate::time::{Interval, Nanos};
use crate::view::{ClassView, Observation};

/// The state at `now` of a resource with no background request waiting.
pub fn derive_state(
    observation: &Observation,
    interval: Interval,
    variant: Variant,
    start_rule: StartRule,
    now: Nanos,
) -> State {
    let Observation { foreground, background } = observation;
    let emptied = variant.on_empty == AfterEmpty::Interval && background.in_service == 0;
    let background_from = if emptied { background.last_end } else { Nanos::ZERO };
    if foreground.in_service > 0 {
        State::Foreground
    } else if runs(interval, foreground_from(foreground, interval, start_rule), now)
        || runs(interval, background_from, now)
    {
        State::Interval
    } else if background.in_service > 0 {
        State::Background
    } else {
        State::Idle
    }
}

/// When the foreground last started the interval; zero for never.
pub(crate) fn foreground_from(view: &ClassView, interval: Interval, start_rule: StartRule) -> Nanos {
    match (interval, start_rule) {
        (Interval::Infinite, _) => view.last_start.max(view.last_end),
        (Interval::Finite(_), StartRule::Completion) => view.last_end,
        (Interval::Finite(_), StartRule::Request) => view.last_start,
    }
}

/// Whether an interval that began at `from` (zero for never) is still running.
pub(crate) fn runs(interval: Interval, from: Nanos, now: Nanos) -> bool {
    match interval {
        _ if from == Nanos::ZERO => false,
        Interval::Finite(Nanos::ZERO) => false,
        Interval::Finite(length) => now < from.plus(length),
        Interval::Infinite => true,
    }
}

#[cfg(test)]
mod tests;
