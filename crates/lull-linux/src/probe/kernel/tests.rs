use super::*;

#[test]
fn releases_of_all_kinds_give_their_numbers() {
    for (release, version) in [
        ("6.18.44-fc-v657", (6, 18)),
        ("5.15.0-1051-aws", (5, 15)),
        ("7.0-rc3", (7, 0)),
        ("", (0, 0)),
        ("strange", (0, 0)),
    ] {
        assert_eq!(version_of(release), version, "{release}");
    }
}

#[test]
fn newer_and_older_compare_by_both_numbers() {
    let kernel = Kernel { version: (5, 19), ..Kernel::default() };
    assert!(kernel.at_least(5, 5) && kernel.at_least(4, 20) && kernel.at_least(5, 19));
    assert!(!kernel.at_least(5, 20) && !kernel.at_least(6, 0));
}

#[test]
fn pressure_counts_only_where_it_can_be_read() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("proc/pressure/cpu")).unwrap();
    std::fs::write(dir.path().join("proc/pressure/io"), "some avg10=0.00 total=1\n").unwrap();
    assert_eq!(Kernel::read(&Root::at(dir.path())).pressure, ["io"]);
}
