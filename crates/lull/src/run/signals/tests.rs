//! Made-up status files.

use super::shows_pending;

fn status(pnd: &str, shd: &str, blk: &str, ign: &str) -> String {
    format!(
        "Name:\tx\nSigQ:\t0/1\nSigPnd:\t{pnd}\nShdPnd:\t{shd}\nSigBlk:\t{blk}\nSigIgn:\t{ign}\nSigCgt:\t0\n"
    )
}

#[test]
fn only_deliverable_signals_count() {
    let zero = "0000000000000000";
    let usr1 = "0000000000000200";
    assert!(!shows_pending(&status(zero, zero, zero, zero)));
    assert!(shows_pending(&status(usr1, zero, zero, zero)));
    assert!(shows_pending(&status(zero, usr1, zero, zero)));
    assert!(!shows_pending(&status(zero, usr1, usr1, zero)));
    assert!(!shows_pending(&status(zero, usr1, zero, usr1)));
}

#[test]
fn a_thread_that_is_gone_counts_as_pending() {
    assert!(super::is_pending(u32::MAX >> 1));
}
