#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::probe::{CgroupFacts, Layout};

/// A made-up v2 host with a session in a slice that hands memory down.
struct Host(tempfile::TempDir);

const SLICE: &str = "cg/user.slice/user-0.slice";

impl Host {
    fn new(own: &str) -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        host.write("proc/self/mountinfo", "30 1 0:28 / /cg rw - cgroup2 cgroup2 rw\n");
        host.write("proc/self/cgroup", &format!("0::/user.slice/user-0.slice/{own}\n"));
        host.write(&format!("{SLICE}/cgroup.subtree_control"), "cpu memory pids\n");
        host.write(&format!("{SLICE}/cgroup.procs"), "");
        for (file, text) in [
            ("cgroup.type", "domain"),
            ("cgroup.subtree_control", ""),
            ("cgroup.procs", "1"),
            ("cpu.weight", "100"),
            ("cpu.max", "max 100000"),
            ("memory.max", "max"),
            ("memory.low", "0"),
            ("io.max", ""),
            ("pids.max", "3500"),
        ] {
            host.write(&format!("{SLICE}/{own}/{file}"), &format!("{text}\n"));
        }
        host
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn v2(&self) -> Hierarchy {
        CgroupFacts::read(&Root::at(self.0.path()), false).v2.unwrap()
    }

    /// Why the job stays below the own group.
    fn why(&self) -> String {
        place(&self.v2()).unwrap_err()
    }
}

#[test]
fn a_session_whose_slice_hands_memory_down_lets_the_job_stand_beside_it() {
    for own in ["session-3.scope", "run-u12.scope"] {
        let host = Host::new(own);
        assert_eq!(
            place(&host.v2()).unwrap(),
            host.0.path().join(SLICE),
            "pids.max is copied, the rest is default"
        );
    }
}

#[test]
fn a_limit_that_the_job_would_leave_keeps_it_below() {
    for (file, text) in [
        ("memory.max", "104857600"),
        ("memory.high", "104857600"),
        ("memory.low", "4096"),
        ("memory.swap.max", "0"),
        ("cpu.max", "50000 100000"),
        ("cpu.weight", "20"),
        ("cpu.idle", "1"),
        ("io.max", "8:0 rbps=1000 wbps=max riops=max wiops=max"),
        ("io.weight", "default 100\n8:0 50"),
        ("cpuset.cpus", "0-1"),
    ] {
        let host = Host::new("session-3.scope");
        host.write(&format!("{SLICE}/session-3.scope/{file}"), text);
        let why = host.why();
        assert!(why.contains(file) && !why.contains('\n'), "{why}");
    }
}

#[test]
fn without_a_parent_that_hands_memory_down_there_is_no_place_beside() {
    let host = Host::new("session-3.scope");
    host.write(&format!("{SLICE}/cgroup.subtree_control"), "pids\n");
    assert!(host.why().contains("no memory controller"), "{}", host.why());
    // A container's mount shows the own group as its topmost.
    host.write(
        "proc/self/mountinfo",
        "30 1 0:28 /user.slice/user-0.slice/session-3.scope /cg rw - cgroup2 cgroup2 rw\n",
    );
    assert!(host.why().contains("topmost"), "{}", host.why());
}

#[test]
fn services_other_jobs_and_threaded_groups_are_left_as_they_are() {
    assert!(Host::new("cron.service").why().contains("service"));
    let job = "lull-12-345-4026531836-0";
    assert!(Host::new(job).why().contains("another lull"));
    assert!(Host::new(&format!("{job}/deeper")).why().contains("another lull"));
    let host = Host::new("session-3.scope");
    host.write(&format!("{SLICE}/session-3.scope/cgroup.type"), "threaded\n");
    assert!(host.why().contains("threaded"));
}

#[test]
fn a_sibling_that_gets_no_controller_is_no_use_and_is_removed() {
    let host = Host::new("session-3.scope");
    let mut v2 = host.v2();
    try_beside(&Root::at(host.0.path()), &mut v2);
    assert!(!v2.is_beside() && v2.beside.as_ref().unwrap().to_string().contains("memory"), "{v2:?}");
    assert_eq!(v2.place(), v2.own.as_deref());
    let left: Vec<_> = fs::read_dir(host.0.path().join(SLICE)).unwrap().flatten().collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn the_group_is_made_in_the_parent_where_the_trial_worked() {
    let host = Host::new("session-3.scope");
    let v2 = Hierarchy { beside: Some(Trial::Works), ..host.v2() };
    assert_eq!(v2.place().unwrap(), host.0.path().join(SLICE));
}

#[test]
fn root_beside_is_tried_only_where_nothing_else_gives_memory() {
    let facts = CgroupFacts::read(&Root::real(), true);
    let Some(v2) = &facts.v2 else {
        eprintln!("SKIPPED: no v2 hierarchy here");
        return;
    };
    if facts.layout == Layout::Hybrid {
        assert!(!v2.is_beside(), "memory belongs to v1 here: {v2:?}");
        assert_eq!(v2.place(), v2.own.as_deref());
        let v1 = facts.v1_of("memory").is_some_and(|memory| memory.child.works() && memory.memory);
        assert_eq!(v2.beside.is_none(), v1 || !v2.child.works(), "{v2:?}");
    } else {
        assert!(!v2.is_beside() || v2.memory, "{v2:?}");
    }
}
