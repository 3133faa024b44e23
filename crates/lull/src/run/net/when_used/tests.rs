use std::sync::mpsc::SyncSender;

use super::*;

const START: Nanos = Nanos::from_secs(7);

/// As after the first socket, with what the loader would say it by.
fn loading() -> (WhenUsed, SyncSender<Outcome>) {
    let (sender, outcome) = sync_channel(1);
    let until = START.plus(WAIT_AT_MOST);
    let loading =
        Loading { outcome, _taken: channel().0, waiting: Vec::new(), until, checked: START, calm: None };
    (WhenUsed::Loading(loading), sender)
}

/// A socket that this thread makes.
fn socket(id: u64) -> Trap {
    let tid = nix::unistd::gettid().as_raw().unsigned_abs();
    Trap { id, tid, nr: libc::SYS_socket, args: [2, 1, 0, 0, 0, 0] }
}

#[test]
fn sockets_wait_until_the_loader_has_spoken_and_later_ones_do_not() {
    let (mut net, loader) = loading();
    assert!(net.must_wait(START, &socket(11)) && net.must_wait(START, &socket(12)));
    let later = START.plus(SIGNAL_CHECK);
    assert!(matches!(net.step(later), (None, free) if free.is_empty()));
    loader.send(Err("no BPF".to_owned())).unwrap();
    let (outcome, free) = net.step(later);
    assert!(matches!(outcome, Some(Err(why)) if why == "no BPF"));
    assert_eq!(free, [11, 12]);
    assert!(!net.must_wait(later, &socket(13)));
    assert_eq!((net.next(), net.end()), (None, vec![]));
}

#[test]
fn nobody_waits_for_ever_and_what_comes_late_is_taken() {
    let (mut net, loader) = loading();
    assert!(net.must_wait(START, &socket(11)));
    assert!(net.next().is_some_and(|at| at <= START.plus(SIGNAL_CHECK)));
    let over = START.plus(WAIT_AT_MOST);
    assert!(matches!(net.step(over), (None, free) if free == [11]));
    assert!(!net.must_wait(over, &socket(12)));
    assert_eq!(net.next(), None);
    loader.send(Err("late".to_owned())).unwrap();
    assert!(matches!(net.step(over), (Some(Err(why)), free) if why == "late" && free.is_empty()));
}

#[test]
fn a_call_whose_thread_is_gone_or_has_a_signal_waits_no_more() {
    let (mut net, _loader) = loading();
    // No process has this number.
    let gone = Trap { tid: u32::MAX >> 1, ..socket(11) };
    assert!(net.must_wait(START, &gone) && net.must_wait(START, &socket(12)));
    assert!(matches!(net.step(START.plus(SIGNAL_CHECK)), (None, free) if free == [11]));
    assert_eq!(net.end(), [12]);
}

#[test]
fn a_loader_that_dies_holds_nobody() {
    let (mut net, loader) = loading();
    assert!(net.must_wait(START, &socket(11)));
    drop(loader);
    assert!(matches!(net.step(START), (None, free) if free == [11]));
    assert!(!net.must_wait(START, &socket(12)));
}

#[test]
fn a_socket_waits_no_more_once_the_interfaces_are_seen_to_be_nobodys() {
    let dir = tempfile::tempdir().unwrap();
    let say = |own: u32, other: u32| {
        std::fs::create_dir_all(dir.path().join("proc/net")).unwrap();
        let row = |name: &str, packets: u32| format!("{name:>6}: 9 1 0 0 0 0 0 0 9 {packets} 0 0 0 0 0 0\n");
        let table = format!("Inter-| Receive\n face |bytes\n{}{}", row("lo", own), row("eth0", other));
        std::fs::write(dir.path().join("proc/net/dev"), table).unwrap();
    };
    for (own, other, is_free) in [(9, 5, true), (9, 6, false), (5, 5, true)] {
        say(5, 5);
        let (mut net, _loader) = loading();
        if let WhenUsed::Loading(loading) = &mut net {
            loading.calm = Some(Calm::begin(Root::at(dir.path()), START));
        }
        assert!(net.must_wait(START, &socket(11)));
        assert_eq!(net.next(), Some(START.plus(CALM)));
        // What stays on this machine takes no interface.
        say(own, other);
        assert_eq!(net.step(START.plus(CALM)).1.len(), usize::from(is_free), "{own} {other}");
        assert_eq!(net.must_wait(START.plus(CALM), &socket(12)), !is_free);
    }
}
