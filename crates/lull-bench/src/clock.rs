//! The monotonic clock and exact sleeping.
//!
//! All processes of one machine share CLOCK_MONOTONIC, so the time stamps that a load generator reports can be laid
//! over those of the harness. Sleeps are to an absolute time; with the default timer slack of 50 µs a think time of
//! 200 µs would be off by a quarter, so every generator calls [`sharp_timers`] first.

use std::io;

use lull_core::Nanos;
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

use crate::Error;
use crate::error::Context;

/// The monotonic clock.
pub fn now() -> Nanos {
    clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(Nanos::ZERO, |time| Nanos(u64::try_from(time.num_nanoseconds()).unwrap_or(0)))
}

/// Sleeps until the monotonic clock shows `end`, or until a signal arrives.
pub fn sleep_until(end: Nanos) {
    let spec = nix::sys::time::TimeSpec::nanoseconds(i64::try_from(end.as_nanos()).unwrap_or(i64::MAX));
    // An error here is EINTR: the caller looks at its stop flag next.
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &spec);
}

/// Sets the calling thread's timer slack to its minimum, 1 ns.
pub fn sharp_timers() -> Result<(), Error> {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory.
    let result = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }.to("set the timer slack")
}
