//! Real processes: this one's children are the batch system, its guest and the owner, told by their names.

use std::process::{Child, Command};

use super::*;

const DAEMONS: Daemons = Daemons { master: "tenants-master", starter: "tenants-starter-of-guests" };

/// A shell of that name that starts `body`, and its whole family's end.
struct Family {
    child: Child,
    _dir: tempfile::TempDir,
}

impl Family {
    fn named(name: &str, body: &str) -> Self {
        use std::os::unix::process::CommandExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        std::os::unix::fs::symlink("/bin/sh", &path).unwrap();
        let child = Command::new(&path).args(["-c", body]).process_group(0).spawn().unwrap();
        Self { child, _dir: dir }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        let group = nix::unistd::Pid::from_raw(self.child.id().cast_signed());
        let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

const SPIN: &str = "while :; do :; done";

/// Counts until `seen` holds, for a minute at the most.
fn until(first: &Count, seen: impl Fn(&Tenants) -> bool) -> Tenants {
    for _ in 0..600 {
        let tenants = Count::now(&Root::real(), DAEMONS).since(first);
        if seen(&tenants) {
            return tenants;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("never seen");
}

#[test]
fn a_guest_is_what_descends_from_a_starter() {
    let dir = tempfile::tempdir().unwrap();
    let starter = dir.path().join(DAEMONS.starter);
    std::os::unix::fs::symlink("/bin/sh", &starter).unwrap();
    let body = format!("{} -c '/bin/sh -c \"{SPIN}\" & wait' & wait", starter.display());
    let before = Count::now(&Root::real(), DAEMONS);
    let family = Family::named(DAEMONS.master, &body);
    let tenants = until(&before, |seen| seen.guests.cpu >= Nanos::from_millis(200));
    assert_eq!(tenants.guest_count, 1);
    assert!(tenants.guests.ran >= Nanos::from_millis(100), "{tenants:?}");
    drop(family);
    let after = Count::now(&Root::real(), DAEMONS);
    assert_eq!(after.since(&before).guest_count, 0);
}

#[test]
fn the_rest_is_the_owners_and_daemons_are_nobodys() {
    let before = Count::now(&Root::real(), DAEMONS);
    let daemons = Family::named(DAEMONS.master, SPIN);
    let used_by_daemons = || {
        let stat = Process::of(&Root::real(), daemons.child.id().cast_signed());
        stat.map_or(Nanos::ZERO, |process| ticks(process.stat.own_ticks().unwrap()))
    };
    until(&before, |_| used_by_daemons() >= Nanos::from_millis(300));
    let whose = |child: &Child| {
        let pid = child.id().cast_signed();
        let count = Count::now(&Root::real(), DAEMONS);
        count.threads.get(&(pid, pid)).map(|(whose, ..)| *whose)
    };
    assert_eq!(whose(&daemons.child), None);
    let owner = Family::named("tenants-owner", SPIN);
    until(&before, |seen| seen.owner.cpu > Nanos::ZERO);
    assert_eq!(whose(&owner.child), Some(Whose::Owner));
}

#[test]
fn missed_is_waiting_of_wanting() {
    let used = |ran, waited| Use { ran: Nanos(ran), waited: Nanos(waited), ..Use::default() };
    assert_eq!(used(0, 0).missed(), None);
    assert_eq!(used(75, 25).missed(), Some(0.25));
    assert_eq!(schedstat("214443221 28567992 1120\n"), Some((Nanos(214_443_221), Nanos(28_567_992))));
    assert_eq!(schedstat(""), None);
}

/// Names of its own: tests run beside each other.
const ORPHANS: Daemons = Daemons { master: "orphans-master", starter: "orphans-starter-of-guests" };

/// The starter's end makes an orphan of what it started.
#[test]
fn what_was_a_guests_stays_a_guests() {
    let dir = tempfile::tempdir().unwrap();
    let starter = dir.path().join(ORPHANS.starter);
    std::os::unix::fs::symlink("/bin/sh", &starter).unwrap();
    // A name of its own, by which it is found.
    let name = format!("orphan-{}", std::process::id());
    let spins = dir.path().join(&name);
    std::os::unix::fs::symlink("/bin/sh", &spins).unwrap();
    let body = format!("{} -c '{} -c \"{SPIN}\" & wait' & wait", starter.display(), spins.display());
    let family = Family::named(ORPHANS.master, &body);
    let root = Root::real();
    let find = |name: &str| {
        let name = name.get(..COMM_BYTES).unwrap_or(name);
        let is_it = |pid: &i32| Process::of(&root, *pid).is_some_and(|process| process.name == name);
        all().into_iter().find(is_it)
    };
    let mut count = Count::now(&root, ORPHANS);
    let guest = (0..600)
        .find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            find(&name)
        })
        .unwrap();
    let whose_is = |count: &Count| count.threads.get(&(guest, guest)).map(|(whose, ..)| *whose);
    count = count.next(&root, ORPHANS);
    let before = whose_is(&count);
    assert!(matches!(before, Some(Whose::Guest(_))), "{before:?}");
    let starter = nix::unistd::Pid::from_raw(find(ORPHANS.starter).unwrap());
    nix::sys::signal::kill(starter, nix::sys::signal::Signal::SIGKILL).unwrap();
    while proc::parent_of(guest) == Some(starter.as_raw()) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    for _ in 0..3 {
        count = count.next(&root, ORPHANS);
        assert_eq!(whose_is(&count), before);
    }
    assert_eq!(count.guest_count, 0, "it is no guest that could be moved");
    drop(family);
}
