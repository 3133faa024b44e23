#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::fd::AsRawFd;

use lull_engine::nudge::Nudge;

use super::*;

#[test]
fn a_sleep_ends_by_a_descriptor_or_when_its_time_has_come() {
    let (nudge, mut sleep) = (Nudge::new().unwrap(), Sleep::default());
    let fd = nudge.as_raw_fd();
    assert!(!sleep.is_ready(fd), "nothing was waited for");
    sleep.until([fd], Some(Nanos::ZERO));
    assert!(!sleep.is_ready(fd));
    nudge.give();
    sleep.until([fd], None);
    assert!(sleep.is_ready(fd));
    nudge.take();
    sleep.until([fd], Some(clock::now()));
    assert!(!sleep.is_ready(fd));
    assert!(!sleep.is_ready(-1), "who has no descriptor wakes nobody");
}
