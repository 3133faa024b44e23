use std::process::{Command, Stdio};

use super::*;

#[test]
fn children_are_in_the_queue_of_their_nearest_ancestor_that_entered_one() {
    let me = i32::try_from(std::process::id()).unwrap();
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let mut owners = Owners::default();
    let now = Nanos::from_secs(100);
    assert_eq!(owners.of_thread(now, child.id(), pid), None);
    assert!(owners.enter(me, Id(3)));
    assert_eq!(owners.of_process(pid), Some(Id(3)));
    assert_eq!(owners.of_thread(now, child.id(), pid), Some(Id(3)), "entering ends what was remembered");
    assert!(owners.enter(pid, Id(4)));
    assert_eq!((owners.of_process(pid), owners.of_process(me)), (Some(Id(4)), Some(Id(3))));
    assert_eq!((owners.count(Id(3)), owners.count(Id(4))), (1, 1));
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(owners.count(Id(4)), 0, "it has ended");
    owners.remove(Id(3));
    assert_eq!(owners.of_process(me), None);
}

#[test]
fn what_a_process_entered_stays_for_children_that_outlive_it() {
    let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    let mut owners = Owners::default();
    assert!(owners.enter(pid, Id(7)));
    drop(child.stdin.take());
    child.wait().unwrap();
    assert!(!owners.enter(pid, Id(8)), "there is no such process");
    assert_eq!(owners.of_thread(Nanos::from_secs(5), std::process::id(), pid), Some(Id(7)));
}
