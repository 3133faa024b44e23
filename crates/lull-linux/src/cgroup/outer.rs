//! Whether somebody else freezes a control group.
//!
//! A thread whose call waits for lull does not stand still, so the group that is being frozen never becomes frozen: lull lets such calls go.
//!
//! Source: `cgroup.freeze` in Documentation/admin-guide/cgroup-v2.rst; `freezer.state`, which tells of the groups above too, in
//! cgroup-v1/freezer-subsystem.rst.

use std::fs::read_to_string;
use std::path::Path;

/// Whether the group, or one above it, is frozen or on the way to it.
pub fn is_being_frozen(group: &Path) -> bool {
    let reads = |path: &Path, file: &str| read_to_string(path.join(file)).ok();
    if let Some(state) = reads(group, "freezer.state") {
        return state.trim() != "THAWED";
    }
    // The root group has no such file.
    let states = group.ancestors().map_while(|path| reads(path, "cgroup.freeze"));
    states.into_iter().any(|state| state.trim() == "1")
}

#[cfg(test)]
mod tests;
