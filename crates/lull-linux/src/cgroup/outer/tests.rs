use std::fs;

use super::is_being_frozen;

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
