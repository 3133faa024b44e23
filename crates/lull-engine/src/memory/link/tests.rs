#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use lull_core::{Nanos, Ticket};

use super::{Cause, Link, Verdict};
use crate::nudge::Nudge;

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
