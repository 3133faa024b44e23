//! The processes of a job that has no control group: what descends from the front, without lull's own helpers.

use std::collections::HashMap;

/// All descendants of `front` except `own` and other processes of lull.
pub(crate) fn descendants(front: i32, own: i32) -> Vec<i32> {
    let mut parents = HashMap::new();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    for pid in entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        if let Some(parent) = parent_of(pid) {
            parents.insert(pid, parent);
        }
    }
    let comes_from = |mut pid: i32| {
        while pid > 1 {
            if pid == front {
                return true;
            }
            pid = parents.get(&pid).copied().unwrap_or(0);
        }
        false
    };
    // SAFETY: getsid only asks; the helpers lead sessions of their own.
    let is_helper =
        |pid: i32| pid == own || (parents.get(&pid) == Some(&front) && unsafe { libc::getsid(pid) } == pid);
    parents.keys().copied().filter(|pid| *pid != front && !is_helper(*pid) && comes_from(*pid)).collect()
}

/// The fourth field of `/proc/PID/stat`; the second, the name, may hold anything.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{descendants, parent_of};

    #[test]
    fn a_child_descends_from_its_parent() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("30").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        assert_eq!(parent_of(pid), Some(own));
        assert!(descendants(own, -1).contains(&pid));
        assert!(!descendants(own, pid).contains(&pid));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
