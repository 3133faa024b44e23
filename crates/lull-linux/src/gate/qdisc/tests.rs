//! What tc shows, what it is told, and (as root) the life of an arrangement in a namespace of its own.

use nix::sched::{CloneFlags, unshare};

use super::{
    HANDLE, QdiscError, QdiscPlan, TwoClasses, arrangement, lock_name, own_namespace, parse_lock_name,
    parse_root, root_of, run, sweep,
};

#[test]
fn the_root_is_the_first_line() {
    let root = |shown: &str| parse_root(shown).map(|(kind, handle)| format!("{kind} {handle}"));
    assert_eq!(root("qdisc noqueue 0: root refcnt 2 \n").as_deref(), Some("noqueue 0:"));
    assert_eq!(
        root("qdisc htb 1077: root refcnt 3\nqdisc pfifo 8001: parent 1077:10\n").as_deref(),
        Some("htb 1077:")
    );
    assert_eq!(root(""), None);
    assert_eq!(root("Cannot find device"), None);
}

#[test]
fn background_has_the_last_priority_and_a_hundredth() {
    let commands = arrangement("eth0", "1:", 100_000, 50_000, "pfifo limit 9");
    assert!(commands[2].contains("classid 1:10 htb rate 99000kbit ceil 100000kbit prio 0"), "{commands:?}");
    assert!(commands[3].contains("classid 1:20 htb rate 1000kbit ceil 100000kbit prio 7"), "{commands:?}");
    assert!(commands.iter().filter(|words| words.ends_with("flowid 1:20")).count() == 2);
    assert!(commands.iter().all(|words| !words.contains("  ")));
}

#[test]
fn a_lock_is_named_after_the_interface_in_its_namespace() {
    assert_eq!(parse_lock_name(&lock_name(4_026_531_840, 7)), Some((4_026_531_840, 7)));
    assert_eq!(parse_lock_name("qdisc-7"), None);
    assert_eq!(parse_lock_name("other"), None);
}

/// The calling thread gets a namespace with an interface `one`.
fn interface() -> Option<QdiscPlan> {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("SKIPPED: needs root");
        return None;
    }
    unshare(CloneFlags::CLONE_NEWNET).unwrap();
    run("ip link add one type veth peer name two").unwrap();
    run("ip link set one up").unwrap();
    let plan = QdiscPlan { interface: "one".to_owned(), rate_kbit: Some(50_000) };
    let probe = arrangement("one", "7:", 1_000, 10_000, "pfifo limit 9");
    if let Err(error) = probe.iter().try_for_each(|words| run(words).map(drop)) {
        eprintln!("SKIPPED: {error}");
        return None;
    }
    run("tc qdisc del dev one root").unwrap();
    Some(plan)
}

fn handle() -> String {
    root_of("one").unwrap().1
}

#[test]
fn root_the_last_user_takes_it_off() {
    let Some(plan) = interface() else { return };
    let first = TwoClasses::put_on(&plan).unwrap();
    let second = TwoClasses::put_on(&plan).unwrap();
    assert_eq!(handle(), HANDLE);
    first.release();
    assert_eq!(handle(), HANDLE);
    second.release();
    assert_eq!(handle(), "0:");
    second.release();
    assert!(!second.path.exists());
    // The name is free for the next.
    let third = TwoClasses::put_on(&plan).unwrap();
    first.release();
    assert_eq!(handle(), HANDLE);
    third.release();
    assert_eq!(handle(), "0:");
}

#[test]
fn root_a_run_that_names_another_rate_is_refused_and_the_first_keeps_its_own() {
    let Some(plan) = interface() else { return };
    let first = TwoClasses::put_on(&plan).unwrap();
    let at = |rate_kbit| TwoClasses::put_on(&QdiscPlan { rate_kbit, ..plan.clone() });
    let error = at(Some(90_000)).unwrap_err();
    assert!(matches!(error, QdiscError::OtherRate { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("'one' at 50mbit, so 90mbit") && text.lines().count() == 1, "{text}");
    // No rate asks for nothing.
    for joined in [at(None).unwrap(), at(Some(50_000)).unwrap()] {
        assert_eq!(joined.rate_kbit(), Some(50_000));
        assert!(!joined.release());
    }
    assert!(first.release());
    assert_eq!(handle(), "0:");
    // What the last user had is forgotten.
    let unlimited = at(None).unwrap();
    assert!(at(Some(50_000)).unwrap_err().to_string().contains("without a rate"));
    assert!(unlimited.release());
}

#[test]
fn root_what_killed_runs_left_is_swept_and_what_is_used_stays() {
    let Some(plan) = interface() else { return };
    let alive = TwoClasses::put_on(&plan).unwrap();
    sweep();
    assert_eq!(handle(), HANDLE);
    // A killed process closes the descriptor.
    let path = alive.path.clone();
    drop(alive);
    assert_eq!(handle(), HANDLE);
    sweep();
    assert_eq!(handle(), "0:");
    assert!(!path.exists());
}

#[test]
fn root_an_arrangement_of_somebody_elses_stays_as_it_is() {
    let Some(plan) = interface() else { return };
    run("tc qdisc add dev one root handle 8: pfifo limit 7").unwrap();
    let error = TwoClasses::put_on(&plan).unwrap_err();
    assert!(matches!(error, QdiscError::Arranged { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("'one'") && text.contains("pfifo 8:") && text.lines().count() == 1, "{text}");
    assert_eq!(handle(), "8:");
    let index = nix::net::if_::if_nametoindex("one").unwrap();
    assert!(!std::path::Path::new(super::LOCKS).join(lock_name(own_namespace(), index)).exists());
    let nowhere = QdiscPlan { interface: "nowhere".to_owned(), rate_kbit: None };
    assert!(TwoClasses::put_on(&nowhere).unwrap_err().to_string().contains("'nowhere'"));
}

#[test]
fn what_the_system_answered_is_told_once() {
    let path = std::path::PathBuf::from("/run/lull/qdisc-1-2");
    let error = QdiscError::Lock { path, cause: std::io::ErrorKind::PermissionDenied.into() };
    assert_eq!(error.to_string().matches("permission denied").count(), 1);
    assert!(std::error::Error::source(&error).is_none(), "a report would print it again");
}
