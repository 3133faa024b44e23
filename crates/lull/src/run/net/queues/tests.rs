//! The line of the summary.

use super::{Fate, QueueSummary};

#[test]
fn a_line_says_where_how_fast_and_what_has_become_of_it() {
    let line = |rate_kbit, fate| QueueSummary { interface: "eth0".to_owned(), rate_kbit, fate }.text();
    assert_eq!(line(Some(90_000), Fate::Removed), "lull: eth0: queue with two classes at 90mbit, removed\n");
    let lines = [line(None, Fate::Removed), line(None, Fate::Shared), line(None, Fate::StillUsed)];
    assert_eq!(lines[0], "lull: eth0: queue with two classes, removed\n");
    assert!(lines[1].contains("another run") && lines[2].contains("last process of the job"), "{lines:?}");
}
