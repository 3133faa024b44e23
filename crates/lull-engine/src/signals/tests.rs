//! Made-up status files.

use super::{has_tracer, pending, spoken};

fn status(pnd: &str, shd: &str, blk: &str, ign: &str) -> String {
    format!(
        "Name:\tx\nSigQ:\t0/1\nSigPnd:\t{pnd}\nShdPnd:\t{shd}\nSigBlk:\t{blk}\nSigIgn:\t{ign}\nSigCgt:\t0\n"
    )
}

#[test]
fn only_deliverable_signals_count() {
    let zero = "0000000000000000";
    let usr1 = "0000000000000200";
    assert_eq!(0, pending(&status(zero, zero, zero, zero)));
    assert_eq!(0x200, pending(&status(usr1, zero, zero, zero)));
    assert_eq!(0x200, pending(&status(zero, usr1, zero, zero)));
    assert_eq!(0x200, pending(&status(zero, usr1, usr1, zero)), "whoever blocks it may wait for it");
    assert_eq!(0, pending(&status(zero, usr1, zero, usr1)));
}

#[test]
fn a_tracer_has_a_number() {
    assert!(has_tracer("Name:\tx\nTracerPid:\t17\nUid:\t0\n"));
    assert!(!has_tracer("Name:\tx\nTracerPid:\t0\nUid:\t0\n") && !has_tracer(""));
}

#[test]
fn a_thread_that_is_gone_counts_as_pending() {
    assert!(super::is_pending(u32::MAX >> 1));
}

#[test]
fn nobody_talks_to_a_job_by_timers_and_children() {
    for signal in [libc::SIGALRM, libc::SIGCHLD, libc::SIGURG, libc::SIGPROF, libc::SIGVTALRM, libc::SIGIO] {
        assert_eq!(spoken() & 1 << (signal - 1), 0, "{signal}");
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGTSTP, libc::SIGHUP, libc::SIGUSR1] {
        assert_ne!(spoken() & 1 << (signal - 1), 0, "{signal}");
    }
}
