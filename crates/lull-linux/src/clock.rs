//! The one clock: CLOCK_MONOTONIC, the same that the kernel programs read.

use lull_core::Nanos;

/// The time now.
pub fn now() -> Nanos {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the answer; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    let (secs, nanos) = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    Nanos(secs.saturating_mul(1_000_000_000).saturating_add(nanos))
}
