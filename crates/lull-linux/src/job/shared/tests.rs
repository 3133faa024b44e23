//! Listing and unlisting.

use super::{MAX_STOPPED, MAX_WAITING, Shared, Stopped};

#[test]
fn listed_calls_survive_in_the_list_until_unlisted() {
    let shared = Shared::new().unwrap();
    assert!(shared.list(0) && shared.list(17));
    assert_eq!(shared.unanswered(), [0, 17, 0]);
    shared.unlist(0);
    assert_eq!(shared.unanswered(), [17, 0]);
}

#[test]
fn a_full_table_says_so() {
    let shared = Shared::new().unwrap();
    assert!((0..MAX_WAITING as u64).all(|id| shared.list(id)));
    assert!(!shared.list(9_999));
    shared.unlist(5);
    assert!(shared.list(9_999));
}

#[test]
fn stopped_processes_are_known_by_id_and_start() {
    let shared = Shared::new().unwrap();
    let (one, reused) = (Stopped { pid: (1 << 22) - 1, start: 7 }, Stopped { pid: (1 << 22) - 1, start: 8 });
    assert!(shared.list_stopped(one) && shared.list_stopped(reused));
    assert_eq!(shared.stopped(), [one, reused]);
    shared.unlist_stopped(one);
    assert_eq!(shared.stopped(), [reused]);
    let others = i32::try_from(MAX_STOPPED).unwrap();
    assert!((1..others).all(|pid| shared.list_stopped(Stopped { pid, start: 0 })));
    assert!(!shared.list_stopped(one));
    assert_eq!(shared.stopped().len(), MAX_STOPPED);
}

#[test]
fn another_process_can_map_the_same_memory_and_nothing_else() {
    let (shared, file) = Shared::with_file().unwrap();
    let again = Shared::of(&file).unwrap();
    assert!(shared.list(41));
    assert!(again.unanswered().contains(&41));
    again.unlist(41);
    assert!(!shared.unanswered().contains(&41));
    assert!(nix::unistd::ftruncate(&file, 0).is_err(), "it cannot shrink under who has mapped it");
    let plain = std::os::fd::OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
    assert!(Shared::of(&plain).is_err());
}
