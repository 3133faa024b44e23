//! A real child.

use super::{descendants, descends, parent_of};

#[test]
fn a_child_descends_from_its_parent() {
    let own = i32::try_from(std::process::id()).unwrap();
    let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    assert_eq!(parent_of(pid), Some(own));
    assert!(descendants(own, -1).contains(&pid));
    assert!(!descendants(own, pid).contains(&pid));
    assert!(descends(pid, own) && descends(own, own) && !descends(own, pid) && !descends(0, own));
    child.kill().unwrap();
    child.wait().unwrap();
}
