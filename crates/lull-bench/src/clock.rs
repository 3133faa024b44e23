//! The monotonic clock and exact sleeping.
//!
//! All processes of one machine share CLOCK_MONOTONIC, so the time stamps that a load generator reports can
//! be laid over those of the harness. Sleeps are to an absolute time; with the default timer slack of 50 µs a
//! think time of 200 µs would be off by a quarter, so every generator calls [`sharp_timers`] first.

use std::io;

use lull_core::Nanos;
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

use crate::error::Context;
use crate::{Error, stop};

/// The monotonic clock.
pub use lull_linux::clock::now;

/// Sleeps until the monotonic clock shows `end`, or until a signal arrives.
pub fn sleep_until(end: Nanos) {
    // An error here is EINTR: the caller looks at its stop flag next.
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &timespec(end));
}

/// Longest sleep of [`wait_until`], after which it looks at the stop flag.
const LONGEST_SLEEP: Nanos = Nanos::from_millis(20);

/// Sleeps until `end`, or until asked to stop; the time then.
pub fn wait_until(end: Nanos) -> Nanos {
    loop {
        let now = now();
        if now >= end || stop::requested() {
            return now;
        }
        sleep_until(now.plus(LONGEST_SLEEP).min(end));
    }
}

/// A time as the kernel takes it.
pub fn timespec(time: Nanos) -> TimeSpec {
    TimeSpec::nanoseconds(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX))
}

/// Sets the calling thread's timer slack to its minimum, 1 ns.
pub fn sharp_timers() -> Result<(), Error> {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory.
    let result = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_u64) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }.to("set the timer slack")
}
