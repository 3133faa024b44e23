//! The state of a resource, from cumulative views alone.
//!
//! Problem: a kernel program that sees a foreground request arrive must know which state it found, without keeping
//! a machine and its timers. And the policy must come to the same state from a view read now as from every event
//! since the last reading.
//!
//! Approach: the machine of [`machine`](crate::idletime::machine) has no memory beyond what is in service and the start of
//! the latest interval, so its state is a function of an [`Observation`] and the time:
//!
//! 1. F if foreground is in service;
//! 2. else P if a running interval was started by the foreground, or by background as the variant says;
//! 3. else B if background is in service;
//! 4. else I.
//!
//! An interval that began at `from` runs while `now < from + interval`, an infinite one for ever, one of zero never.
//! A `from` of zero means "never": no interval runs.
//!
//! The views know no backlog. In `bp-*` each end of a background request counts as one with another waiting (B on
//! b), in `bb-bp` one that leaves none in service as one with none waiting (B on i).
//! [`Resource`](crate::idletime::resource::Resource) knows the backlog; without a grant under way it agrees, in `bb-*` when
//! none waits, in `bp-*` when one does. `lull_policy.h` repeats [`derive_state`] and [`earliest_lull`] for the kernel
//! programs, and a test compares them.

use crate::base::time::{Interval, Nanos};
use crate::base::view::{ClassView, Observation};
use crate::idletime::machine::{AfterBackground, AfterEmpty, StartRule, State, Variant};

/// The state at `now` as the views tell it.
pub fn derive_state(
    observation: &Observation,
    interval: Interval,
    variant: Variant,
    start_rule: StartRule,
    now: Nanos,
) -> State {
    let Observation { foreground, background } = observation;
    let queued = variant.on_background == AfterBackground::Interval;
    let emptied = variant.on_empty == AfterEmpty::Interval && background.in_service == 0;
    let background_from = if queued || emptied { background.last_end } else { Nanos::ZERO };
    if foreground.in_service > 0 {
        State::Foreground
    } else if runs(interval, foreground_from(foreground, start_rule), now)
        || runs(interval, background_from, now)
    {
        State::Interval
    } else if background.in_service > 0 {
        State::Background
    } else {
        State::Idle
    }
}

/// When the foreground may leave the resource to background at the earliest: what is in service needs `leaving` for it, and
/// nothing more arrives. `now` if it has left it; [`Nanos::MAX`] if the interval is infinite. An interval that background
/// started does not count.
pub fn earliest_lull(
    foreground: &ClassView,
    interval: Interval,
    start_rule: StartRule,
    leaving: Nanos,
    now: Nanos,
) -> Nanos {
    let busy = foreground.in_service > 0;
    let gone = if busy { now.plus(leaving) } else { now };
    let from = if busy && start_rule == StartRule::Completion {
        gone
    } else {
        foreground_from(foreground, start_rule)
    };
    match interval {
        _ if from == Nanos::ZERO || interval == Interval::NONE => gone,
        Interval::Finite(length) => gone.max(from.plus(length)),
        Interval::Infinite => Nanos::MAX,
    }
}

/// When the foreground last started the interval; zero for never.
pub(crate) fn foreground_from(view: &ClassView, start_rule: StartRule) -> Nanos {
    match start_rule {
        StartRule::Completion => view.last_end,
        StartRule::Request => view.last_start,
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
