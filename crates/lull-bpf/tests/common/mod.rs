//! What the tests of this directory share.

use std::time::{Duration, Instant};

/// After this long a test takes something for lost: a CPU may be gone for seconds on a busy machine.
pub(crate) const HANG: Duration = Duration::from_secs(60);

/// Waits until `is_so`.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < HANG, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Whether there is something to read from `fd`, now or within [`HANG`].
pub(crate) fn becomes_readable(fd: i32) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let limit_ms = i32::try_from(HANG.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one valid pollfd.
    unsafe { libc::poll(&raw mut poll, 1, limit_ms) == 1 }
}
