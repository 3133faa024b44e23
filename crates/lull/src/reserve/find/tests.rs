//! Names of mounts.

use super::*;

#[test]
fn a_mounts_source_names_who_serves_it() {
    let own = Mounted::parse(Path::new("/reserv"), &source()).unwrap();
    assert_eq!(own.pid, std::process::id());
    assert!(own.is_served());
    let reused = Mounted { start_ticks: own.start_ticks + 1, ..own.clone() };
    assert!(!reused.is_served());
    for other in ["", "/dev/sda1", "lull-reserve:", "lull-reserve:1", "lull-reserve:a:b", "lull-slow-disk"] {
        assert_eq!(Mounted::parse(Path::new("/reserv"), other), None, "{other}");
    }
}

#[test]
fn of_several_mounts_one_must_be_named_and_a_dead_one_is_told() {
    let served = |point: &str| Mounted::parse(Path::new(point), &source()).unwrap();
    let dead = Mounted { start_ticks: 0, ..served("/c") };
    assert_eq!(only(vec![dead.clone(), served("/a")], "--mount DIR").unwrap(), served("/a"));
    let told = only(vec![served("/a"), dead.clone(), served("/b")], "--mount DIR").unwrap_err().to_string();
    assert!(told.contains("/a and /b") && told.contains("--mount DIR"), "{told}");
    let told = only(vec![dead], "--mount DIR").unwrap_err().to_string();
    assert!(told.contains("is gone") && told.contains("lull reserve mount /c"), "{told}");
    assert!(only(Vec::new(), "--mount DIR").unwrap_err().to_string().contains("no reservations"));
}

#[test]
fn a_path_is_absolute_and_without_links_also_where_its_end_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().canonicalize().unwrap();
    std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
    assert_eq!(place(&real.join("link/x/y")), real.join("x/y"));
    assert_eq!(place(&real.join("link")), real);
    assert_eq!(place(Path::new(".")), std::env::current_dir().unwrap().canonicalize().unwrap());
    assert!(place(Path::new("nonexistent/r0")).is_absolute());
}

#[test]
fn who_asks_for_none_is_told_what_to_do() {
    let told = holding(Path::new("/nonexistent/cpu/r0")).unwrap_err().to_string();
    assert!(told.contains("/nonexistent/cpu/r0") && told.contains("lull reserve mount"), "{told}");
}
