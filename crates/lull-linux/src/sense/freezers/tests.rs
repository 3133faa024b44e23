use std::fs;

use super::{Freezers, is_being_frozen};
use crate::root::Root;

#[test]
fn a_group_is_frozen_with_those_above_it() {
    let root = tempfile::tempdir().unwrap();
    let (outer, job) = (root.path().join("outer"), root.path().join("outer/job"));
    fs::create_dir_all(&job).unwrap();
    let write = |path: &std::path::Path, state| fs::write(path.join("cgroup.freeze"), state).unwrap();
    write(&outer, "0\n");
    write(&job, "0\n");
    assert!(!is_being_frozen(&job));
    write(&outer, "1\n");
    assert!(is_being_frozen(&job) && is_being_frozen(&outer));
    write(&outer, "0\n");
    write(&job, "1\n");
    assert!(is_being_frozen(&job) && !is_being_frozen(&outer));
}

#[test]
fn the_first_version_tells_it_in_one_file() {
    let group = tempfile::tempdir().unwrap();
    for (state, expected) in [("THAWED\n", false), ("FREEZING\n", true), ("FROZEN\n", true)] {
        fs::write(group.path().join("freezer.state"), state).unwrap();
        assert_eq!(is_being_frozen(group.path()), expected, "{state}");
    }
    assert!(!is_being_frozen(&group.path().join("gone")));
}

#[test]
fn a_thread_is_frozen_by_its_own_group_wherever_that_is() {
    let host = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = host.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "proc/self/mountinfo",
        "24 1 0:21 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
         25 1 0:22 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n",
    );
    write("proc/7/cgroup", "3:freezer:/moved\n2:cpu,cpuacct:/elsewhere\n0::/\n");
    write("proc/8/cgroup", "3:freezer:/\n0::/box/inner\n");
    let root = Root::at(host.path());
    let freezers = Freezers::find(&root);
    let frozen = || [7, 8, 9].map(|tid| freezers.freeze(&root, tid));
    assert_eq!(frozen(), [false; 3]);
    write("sys/fs/cgroup/freezer/moved/freezer.state", "FREEZING\n");
    assert_eq!(frozen(), [true, false, false]);
    write("sys/fs/cgroup/unified/box/cgroup.freeze", "1\n");
    write("sys/fs/cgroup/unified/box/inner/cgroup.freeze", "0\n");
    assert_eq!(frozen(), [true, true, false]);
}
