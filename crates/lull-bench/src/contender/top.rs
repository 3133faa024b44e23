//! A control group at the top of the tree: where a class or a weight of its own is compared with everybody
//! else's.
//!
//! Problem: SCHED_IDLE and nice order tasks within one CPU group only. A session (autogroup), a slice and a
//! service are such groups, so a job marked inside one weighs as much against the others as its group does.
//! Approach: a group at the top of the hierarchy that has the cpu controller, with the idle class or the
//! least weight, as anybody with root's rights can type it.
//!
//! | | v1 | v2 |
//! |---|---|---|
//! | idle | `cpu.idle` = 1 | `cpu.idle` = 1 |
//! | least weight | `cpu.shares` = 2 | `cpu.weight` = 1 |
//!
//! Edge cases: on v2 a top-level group has these files only where the root hands the cpu controller down;
//! that is not changed here, and the contender says what to type. In a container the top is that of what its
//! mount shows.
//!
//! Source: `Documentation/admin-guide/cgroup-v2.rst` ("CPU"), sched(7).

use std::fs;
use std::path::{Path, PathBuf};

use lull_linux::cgroup::{GroupError, GroupName, JobGroup};
use lull_linux::probe::CgroupFacts;

/// A class among CPU groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Runs when no other group wants the CPU.
    Idle,
    /// The least weight, as nice has it among tasks.
    Nice,
}

/// A new group at the top.
pub(super) struct Top {
    /// The group.
    pub(super) job: JobGroup,
    /// Its directory.
    pub(super) directory: PathBuf,
    /// What was written, as one would type it.
    pub(super) typed: String,
}

impl Class {
    /// Control files that give it, the first that is there counts.
    const fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Idle => &[("cpu.idle", "1")],
            Self::Nice => &[("cpu.weight", "1"), ("cpu.shares", "2")],
        }
    }
}

/// Makes the group, or says why there can be none.
pub(super) fn make(name: &GroupName, facts: &CgroupFacts, class: Class) -> Result<Top, String> {
    let hierarchy = facts.v1_of("cpu").or(facts.v2.as_ref()).ok_or("no control groups are mounted")?;
    let directory = hierarchy.mount.join(name.to_string());
    fs::create_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let made = equip(&directory, class);
    if made.is_err() {
        let _swept_later = fs::remove_dir(&directory);
    }
    let (job, typed) = made?;
    Ok(Top { job, directory, typed })
}

fn equip(directory: &Path, class: Class) -> Result<(JobGroup, String), String> {
    let there = class
        .files()
        .iter()
        .map(|(file, text)| (directory.join(file), *text))
        .find(|(file, _)| file.exists());
    let (file, text) = there.ok_or_else(|| {
        let control = directory.with_file_name("cgroup.subtree_control");
        if control.exists() {
            format!("the top hands no cpu controller down; echo +cpu > {}", control.display())
        } else {
            "this kernel has no such file for CPU groups".to_owned()
        }
    })?;
    fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    let job = JobGroup::open(&[directory.to_owned()]).map_err(|error: GroupError| error.to_string())?;
    Ok((job, format!("echo {text} > {}", file.display())))
}
