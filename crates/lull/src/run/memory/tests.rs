//! What is said of the job's memory, and what passes between the threads.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use lull_core::{Nanos, Ticket};

use super::link::{Cause, Link, Verdict};
use super::{CACHE_KEEP_BYTES, MOST_KEPT_BYTES, MemorySummary};
use crate::run::settings::{Given, parse};
use crate::run::supervisor::Nudge;

#[test]
fn only_what_there_is_is_said() {
    let mut summary =
        MemorySummary { filled_bytes: 3 << 20, evicted_bytes: 2 << 20, ..MemorySummary::default() };
    assert!(summary.text().contains("3.0 MiB brought in, 2.0 MiB taken out again\n"), "{}", summary.text());
    assert_eq!(summary.short_text(), "resident 0 B");
    summary.dirtied_bytes = 5 << 20;
    summary.dirty_bytes = 1 << 20;
    summary.kept_bytes = 1 << 20;
    assert!(summary.text().contains("1.0 MiB kept; 5.0 MiB made dirty"), "{}", summary.text());
    assert!(summary.short_text().ends_with(", cache kept 1.0 MiB, dirty 1.0 MiB"));
}

#[test]
fn a_job_keeps_more_page_cache_where_nobody_uses_the_memory() {
    let given = |text: &str| Given::default().over(parse(text).unwrap()).unwrap().memory.unwrap();
    let aim = given("");
    assert_eq!(aim.may_keep(0, 0), CACHE_KEEP_BYTES);
    assert_eq!(aim.may_keep(100 << 20, 300 << 20), 100 << 20);
    assert_eq!(aim.may_keep(0, u64::MAX), MOST_KEPT_BYTES);
    let named = given("[run]\ncache-keep = \"8MiB\"\n");
    assert_eq!(named.may_keep(100 << 20, 300 << 20), 8 << 20, "what is named is kept to");
}

#[test]
fn a_piece_waits_for_its_turn_and_a_hold_ends_by_itself() {
    let nudge = || Nudge::new().unwrap();
    let link = Link::new(Arc::new(nudge()), [nudge(), nudge()]);
    let ticket = link.ask(7, 4096);
    let wishes = link.take_wishes(4096);
    assert_eq!(wishes.len(), 1);
    assert_eq!((wishes[0].dev, wishes[0].ticket, wishes[0].bytes), (7, ticket, 4096));
    assert!(link.window_bytes() == 4096 && link.take_wishes(u64::MAX).is_empty());
    assert!(!link.grant(Ticket(1)), "a trapped call's ticket is none of ours");
    assert!(link.take_granted().is_empty());
    assert!(link.grant(ticket));
    assert_eq!(link.take_granted(), [ticket]);
    let memory = link.ask_launder(7, 4096);
    assert!(link.grant(memory) && link.take_granted().is_empty());
    assert_eq!(link.take_launder(), [(memory, Verdict::Granted)]);
    let [dirty, memory] = [link.ask(9, 4096), link.ask_launder(9, 4096)];
    link.answer_unwatched(dirty);
    link.answer_unwatched(memory);
    assert_eq!(link.take_granted(), [dirty], "the kernel would write it at some time too");
    assert_eq!(link.take_launder(), [(memory, Verdict::Refused)], "nobody knows a gap there");
    assert!(!link.is_over());
    link.end();
    assert!(link.is_over());
    link.hold(Cause::Dirty, Nanos(100));
    assert_eq!(link.hold_until(Nanos(99)), Some(Nanos(100)));
    assert_eq!(link.hold_until(Nanos(100)), None);
    link.hold(Cause::Room, Nanos(300));
    link.hold(Cause::Dirty, Nanos::ZERO);
    assert_eq!(link.hold_until(Nanos(200)), Some(Nanos(300)), "one cause does not end the other's hold");
}
