use super::*;

/// What a group's files hold: v2, or v1.
fn group(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

fn text(dir: &tempfile::TempDir, name: &str) -> String {
    // A plain file keeps the tail of a longer text; a control file takes each write as a whole.
    fs::read_to_string(dir.path().join(name)).unwrap()
}

#[test]
fn a_v2_group_is_held_in_one_write() {
    let dir = group(&[(V2, "")]);
    let quota = Quota::open(dir.path()).unwrap();
    quota.hold().unwrap();
    assert_eq!(text(&dir, V2), "1000 100000");
    assert!(is_held(dir.path()));
    quota.release().unwrap();
    assert_eq!(text(&dir, V2), "100000000000 100000");
    assert!(!is_held(dir.path()));
    fs::write(dir.path().join(V2), "").unwrap();
    quota.restore().unwrap();
    assert_eq!(text(&dir, V2), "max");
}

#[test]
fn a_v1_group_is_held_likewise() {
    let dir = group(&[(V1, "")]);
    let quota = Quota::open(dir.path()).unwrap();
    quota.hold().unwrap();
    assert_eq!(text(&dir, V1), "1000");
    assert!(is_held(dir.path()));
    quota.release().unwrap();
    assert!(!is_held(dir.path()));
    fs::write(dir.path().join(V1), "").unwrap();
    quota.restore().unwrap();
    assert_eq!(text(&dir, V1), "-1");
}

#[test]
fn a_group_without_the_controller_has_no_quota() {
    let dir = group(&[]);
    assert!(Quota::open(dir.path()).is_none() && !is_there(dir.path()) && !is_held(dir.path()));
}
