#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use super::{home_of, prepare};

#[test]
fn what_stood_above_the_own_group_goes_home_to_it() {
    let slice = tempfile::tempdir().unwrap();
    let path = slice.path().join("lull-1-2-3-4");
    fs::write(slice.path().join("cgroup.type"), "domain\n").unwrap();
    fs::write(slice.path().join("cgroup.subtree_control"), "memory pids\n").unwrap();
    for below in ["session-3.scope", "user-0.slice/session-3.scope"] {
        let own = slice.path().join(below);
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("cgroup.procs"), "").unwrap();
        assert_eq!(home_of(&path, "0::/user.slice/user-0.slice/session-3.scope\n"), Some(own.clone()));
        fs::remove_dir_all(&own).unwrap();
    }
    let own = slice.path().join("session-3.scope");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("cgroup.procs"), "").unwrap();
    assert_eq!(home_of(&path, "0::/elsewhere\n"), None);
    assert_eq!(home_of(&path, "0::/\n"), None);
    fs::write(slice.path().join("cgroup.subtree_control"), "\n").unwrap();
    assert_eq!(home_of(&path, "0::/session-3.scope\n"), None, "the parent takes processes");
    fs::write(slice.path().join("cgroup.subtree_control"), "memory\n").unwrap();
    fs::remove_file(slice.path().join("cgroup.type")).unwrap();
    assert_eq!(home_of(&path, "0::/session-3.scope\n"), None, "the parent is the top");
}

#[test]
fn the_number_of_tasks_is_taken_along() {
    let path = tempfile::tempdir().unwrap();
    prepare(path.path(), None).unwrap();
    assert!(prepare(path.path(), Some(3500)).is_err(), "a limit that cannot be kept is not left behind");
    fs::write(path.path().join("pids.max"), "max\n").unwrap();
    prepare(path.path(), Some(3500)).unwrap();
    assert_eq!(fs::read_to_string(path.path().join("pids.max")).unwrap(), "3500");
}
