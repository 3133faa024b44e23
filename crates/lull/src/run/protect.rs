//! `--protect`: which processes and control groups are foreground.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use lull_bpf::Protect;
use lull_linux::probe::cgroups::v2_mount;
use lull_linux::root::Root;

/// A systemd unit's directory, anywhere below the mount.
fn unit_below(dir: &Path, unit: &str) -> Option<PathBuf> {
    let entries: Vec<_> =
        std::fs::read_dir(dir).ok()?.flatten().filter(|entry| entry.path().is_dir()).collect();
    let own = entries.iter().find(|entry| entry.file_name() == unit).map(std::fs::DirEntry::path);
    own.or_else(|| entries.iter().find_map(|entry| unit_below(&entry.path(), unit)))
}

const UNIT_KINDS: [&str; 3] = [".service", ".scope", ".slice"];

/// The root of the v2 hierarchy; `option` needs it.
///
/// # Errors
/// When none is mounted.
pub(crate) fn v2_root(option: &str) -> anyhow::Result<PathBuf> {
    v2_mount(&Root::real()).with_context(|| format!("{option}: no cgroup v2 is mounted"))
}

/// The directory of a control group: of a systemd unit, or a path (absolute, or below the mount).
///
/// # Errors
/// When nothing here has that name.
pub(crate) fn group(option: &str, name: &str) -> anyhow::Result<PathBuf> {
    let mount = v2_root(&format!("{option} {name}"))?;
    let path = if UNIT_KINDS.iter().any(|kind| name.ends_with(kind)) && !name.contains('/') {
        unit_below(&mount, name)
            .with_context(|| format!("{option} {name}: no control group of that unit; is it running?"))?
    } else if Path::new(name).starts_with(&mount) {
        PathBuf::from(name)
    } else {
        mount.join(name.trim_start_matches('/'))
    };
    if !path.is_dir() {
        bail!(
            "{option} {name}: no control group at {}; name a running unit or a control group",
            path.display()
        );
    }
    Ok(path)
}

/// Looks each name up: a process id, a systemd unit, or a path of a v2 control group (absolute, or below its mount).
///
/// # Errors
/// A name that nothing here has.
pub(crate) fn find(names: &[String]) -> anyhow::Result<Protect> {
    let mut found = Protect::default();
    for name in names {
        if let Ok(pid) = name.parse::<u32>() {
            if !Path::new(&format!("/proc/{pid}")).exists() {
                bail!(
                    "--protect {pid}: no such process; name a running process id, a unit or a control group"
                );
            }
            found.pids.push(pid);
            continue;
        }
        let meta = std::fs::metadata(group("--protect", name)?)?;
        found.cgroup_ids.push(meta.ino());
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
