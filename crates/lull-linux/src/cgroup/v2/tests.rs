#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use super::{home_of, prepare_beside};

#[test]
fn what_stood_beside_the_own_group_goes_home_to_it() {
    let slice = tempfile::tempdir().unwrap();
    let path = slice.path().join("lull-1-2-3-4");
    let own = slice.path().join("session-3.scope");
    fs::create_dir(&own).unwrap();
    fs::write(own.join("cgroup.procs"), "").unwrap();
    let memberships = "0::/user.slice/user-0.slice/session-3.scope\n";
    fs::write(slice.path().join("cgroup.subtree_control"), "memory pids\n").unwrap();
    assert_eq!(home_of(&path, memberships), Some(own));
    assert_eq!(home_of(&path, "0::/elsewhere\n"), None);
    assert_eq!(home_of(&path, "0::/\n"), None);
    fs::write(slice.path().join("cgroup.subtree_control"), "\n").unwrap();
    assert_eq!(home_of(&path, memberships), None, "the parent takes processes");
}

#[test]
fn the_own_group_s_number_of_tasks_is_the_sibling_s() {
    let slice = tempfile::tempdir().unwrap();
    let [own, path] = ["own", "job"].map(|name| slice.path().join(name));
    for directory in [&own, &path] {
        fs::create_dir(directory).unwrap();
    }
    prepare_beside(&own, &path).unwrap();
    fs::write(own.join("pids.max"), "3500\n").unwrap();
    assert!(prepare_beside(&own, &path).is_err(), "a limit that cannot be kept is not left behind");
    fs::write(path.join("pids.max"), "max\n").unwrap();
    prepare_beside(&own, &path).unwrap();
    assert_eq!(fs::read_to_string(path.join("pids.max")).unwrap(), "3500");
}
