use super::*;

#[test]
fn frozen_groups_are_found_in_both_versions() {
    let root = tempfile::tempdir().unwrap();
    for (place, text) in [
        ("unified/a/cgroup.freeze", "1\n"),
        ("unified/b/cgroup.freeze", "0\n"),
        ("c/cgroup.freeze", "1\n"),
        ("freezer/d/freezer.state", "FROZEN\n"),
        ("freezer/e/freezer.state", "THAWED\n"),
    ] {
        let path = root.path().join(place);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    for (line, frozen) in
        [("0::/a", true), ("0::/b", false), ("0::/c", true), ("3:freezer:/d", true), ("3:freezer:/e", false)]
    {
        assert_eq!(is_frozen(root.path(), line), frozen, "{line}");
    }
    assert!(!is_frozen(root.path(), "nonsense") && !is_frozen(root.path(), "2:cpu:/a"));
}

#[test]
fn looks_are_spaced_and_see_no_background_where_there_is_none() {
    let mut watch = Watch::begin(Nanos::ZERO);
    for step in 0..30_u64 {
        watch.look(Nanos::from_millis(100 * step), None);
    }
    assert_eq!(watch.clone().until(Nanos::from_millis(1_600)).len(), 3, "at 0.5, 1, and 1.5 s");
    assert_eq!(watch.background_cpus(), Some(0.0));
    assert_eq!(Watch::begin(Nanos::ZERO).background_cpus(), None, "nothing was seen");
    let moments = watch.until(Nanos::MAX);
    assert_eq!(moments.len(), 5);
    assert!(moments.iter().all(|moment| moment.background_cpus == 0.0 && !moment.held));
}
