//! Names that exist and names that do not.

use super::{find, unit_below};

#[test]
fn a_running_process_is_found_and_a_wrong_name_is_told() {
    let own = std::process::id();
    assert_eq!(find(&[own.to_string()]).unwrap().pids, [own]);
    for name in ["4194305", "no-such-unit.service", "no/such/group"] {
        let error = format!("{:#}", find(&[name.to_owned()]).unwrap_err());
        assert!(error.contains(name), "{error}");
    }
}

#[test]
fn units_are_found_in_trees() {
    let dir = tempfile::tempdir().unwrap();
    let unit = dir.path().join("system.slice/db.service");
    std::fs::create_dir_all(&unit).unwrap();
    assert_eq!(unit_below(dir.path(), "db.service"), Some(unit));
    assert_eq!(unit_below(dir.path(), "web.service"), None);
}
