//! Forks and ends that the kernel tells of.

use std::process::Command;

use super::*;

#[test]
fn only_processes_count() {
    let mut bytes = [0_u8; FIELDS_AT + 16];
    let mut set = |at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    set(EVENT_AT, WHAT_FORK);
    for (number, value) in [10, 10, 20, 20].into_iter().enumerate() {
        set(FIELDS_AT + 4 * number, value);
    }
    assert_eq!(parse(&bytes), Some(Change::Fork { parent: 10, child: 20 }));
    bytes[FIELDS_AT + 8..FIELDS_AT + 12].copy_from_slice(&21_u32.to_ne_bytes());
    assert_eq!(parse(&bytes), None, "a thread");
    assert_eq!(parse(&bytes[..EVENT_AT + 8]), None, "cut off");
}

#[test]
fn root_a_child_is_told_from_its_fork_to_its_end() {
    let Ok(forks) = Forks::listen() else { return eprintln!("SKIPPED: no process connector here") };
    let mut child = Command::new("true").spawn().unwrap();
    let pid = child.id().cast_signed();
    child.wait().unwrap();
    let own = std::process::id().cast_signed();
    let mut seen = Vec::new();
    while seen.last() != Some(&Change::Exit(pid)) {
        match forks.wait().unwrap() {
            Change::Lost => return eprintln!("SKIPPED: too much happens here"),
            change => seen.push(change),
        }
    }
    assert!(seen.contains(&Change::Fork { parent: own, child: pid }), "{seen:?}");
}
