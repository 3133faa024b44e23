#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{Course, Memory, command_line, find, held_of, swapped};

#[test]
fn a_process_tells_what_it_has() {
    let status = "VmSize:\t  900 kB\nRssAnon:\t     2048 kB\nRssFile:\t 12 kB\nVmSwap:\t       4 kB\n";
    assert_eq!(held_of(status), Memory { resident_bytes: 2 << 20, swapped_bytes: 4096 });
    assert_eq!(held_of("Name: kthread\n"), Memory::default());
}

#[test]
fn swap_is_counted_in_both_directions() {
    assert_eq!(swapped("pgpgin 5\npswpin 7\npswpout 9\nzswpout 3\n"), [9, 7]);
    assert_eq!(swapped(""), [0, 0]);
}

#[test]
fn a_party_that_was_stopped_has_no_length() {
    let course = |ended_s| Course { started_s: 2.0, ended_s, requests: 1 };
    assert_eq!(course(Some(5.0)).took_s(), Some(3.0));
    assert_eq!(course(None).took_s(), None);
}

#[test]
fn a_load_is_found_below_its_control() {
    let me = i32::try_from(std::process::id()).unwrap();
    let mut child = std::process::Command::new("sh").args(["-c", "sleep 61.5; true"]).spawn().unwrap();
    let wanted = command_line(&["sleep".into(), "61.5".into()]);
    let found = loop {
        if let Some(pid) = find(me, &wanted) {
            break pid;
        }
        assert!(child.try_wait().unwrap().is_none(), "the shell has ended");
    };
    assert_ne!(found, i32::try_from(child.id()).unwrap(), "the shell is not it");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(found), nix::sys::signal::Signal::SIGKILL).unwrap();
    child.wait().unwrap();
}
