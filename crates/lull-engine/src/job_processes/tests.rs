//! A real child.

use std::collections::HashMap;

use super::{descendants, descends, parent_of};

#[test]
fn a_child_descends_from_its_parent() {
    let own = i32::try_from(std::process::id()).unwrap();
    let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
    let pid = i32::try_from(child.id()).unwrap();
    assert_eq!(parent_of(pid), Some(own));
    let mut known = HashMap::new();
    assert!(!descendants(Some(own), pid, &mut known).contains(&pid));
    assert!(!known.contains_key(&pid));
    assert!(descendants(Some(own), -1, &mut known).contains(&pid));
    // Its ancestor is gone.
    assert!(descendants(None, -1, &mut known).contains(&pid));
    assert!(!descendants(None, -1, &mut HashMap::new()).contains(&pid));
    assert!(descends(pid, own) && descends(own, own) && !descends(own, pid) && !descends(0, own));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!descendants(None, -1, &mut known).contains(&pid));
}
