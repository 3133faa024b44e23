#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use lull_core::{Nanos, Ticket};

use super::{Cause, Exchange, Verdict};
use crate::nudge::Nudge;

#[test]
fn a_piece_waits_for_its_turn_and_a_hold_ends_by_itself() {
    let nudge = || Nudge::new().unwrap();
    let exchange = Exchange::new(Arc::new(nudge()), [nudge(), nudge()]);
    let ticket = exchange.ask(7, 4096);
    let wishes = exchange.take_wishes(4096);
    assert_eq!(wishes.len(), 1);
    assert_eq!((wishes[0].dev, wishes[0].ticket, wishes[0].bytes), (7, ticket, 4096));
    assert!(exchange.window_bytes() == 4096 && exchange.take_wishes(u64::MAX).is_empty());
    assert!(!exchange.grant(Ticket(1)), "a trapped call's ticket is none of ours");
    assert!(exchange.take_granted().is_empty());
    assert!(exchange.grant(ticket));
    assert_eq!(exchange.take_granted(), [ticket]);
    let memory = exchange.ask_swap_ahead(7, 4096);
    assert!(exchange.grant(memory) && exchange.take_granted().is_empty());
    assert_eq!(exchange.take_swap_ahead(), [(memory, Verdict::Granted)]);
    let [dirty, memory] = [exchange.ask(9, 4096), exchange.ask_swap_ahead(9, 4096)];
    exchange.answer_unwatched(dirty);
    exchange.answer_unwatched(memory);
    assert_eq!(exchange.take_granted(), [dirty], "the kernel would write it at some time too");
    assert_eq!(exchange.take_swap_ahead(), [(memory, Verdict::Refused)], "nobody knows a gap there");
    assert!(!exchange.is_over());
    exchange.end();
    assert!(exchange.is_over());
    exchange.hold(Cause::Dirty, Nanos(100));
    assert_eq!(exchange.hold_until(Nanos(99)), Some(Nanos(100)));
    assert_eq!(exchange.hold_until(Nanos(100)), None);
    exchange.hold(Cause::Room, Nanos(300));
    exchange.hold(Cause::Dirty, Nanos::ZERO);
    assert_eq!(exchange.hold_until(Nanos(200)), Some(Nanos(300)), "one cause does not end the other's hold");
}
