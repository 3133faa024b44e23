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
fn who_asks_for_none_is_told_what_to_do() {
    let told = holding(Path::new("/nonexistent/cpu/r0")).unwrap_err().to_string();
    assert!(told.contains("/nonexistent/cpu/r0") && told.contains("lull reserve mount"), "{told}");
}
