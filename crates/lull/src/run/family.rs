//! The processes of a job: those of its control group, or without one what descends from the front except lull's own
//! helpers.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lull_core::Nanos;
use lull_linux::cgroup::{JobGroup, is_being_frozen};
use lull_linux::sense::{machine, pressure, processes};
use lull_linux::stat_line::parent_of;

/// How to find the job's processes.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    groups: Vec<PathBuf>,
    front: i32,
    own: i32,
}

impl Family {
    /// As seen by the supervisor, a child of the front.
    pub(crate) fn of_supervisor(group: Option<&JobGroup>) -> Self {
        // SAFETY: both only ask.
        let (front, own) = unsafe { (libc::getppid(), libc::getpid()) };
        Self { groups: group.map(JobGroup::paths).unwrap_or_default(), front, own }
    }

    /// Front and supervisor.
    pub(crate) fn helpers(&self) -> Vec<u32> {
        [self.front, self.own].into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect()
    }

    /// The job's v2 control group.
    pub(crate) fn v2_group(&self) -> Option<&Path> {
        self.groups.iter().find(|path| path.join("cgroup.controllers").exists()).map(PathBuf::as_path)
    }

    /// The id of the job's v2 control group: its inode.
    pub(crate) fn group_id(&self) -> Option<u64> {
        Some(self.v2_group()?.metadata().ok()?.ino())
    }

    /// The processor time that the job has used; `None` without a control group that accounts it.
    pub(crate) fn cpu_time(&self) -> Option<Nanos> {
        self.groups.iter().find_map(|group| machine::group_time(group))
    }

    /// For how long the job wanted a CPU and had none; `None` without a control group that tells.
    pub(crate) fn starved_of_cpu(&self) -> Option<Nanos> {
        self.groups.iter().find_map(|group| pressure::starved_of_cpu(group))
    }

    /// Whether the job's group, or one above it, is being frozen.
    pub(crate) fn is_frozen(&self) -> bool {
        self.groups.iter().any(|group| is_being_frozen(group))
    }

    /// All processes of the machine but the job's, front and supervisor.
    pub(crate) fn others(&self) -> Vec<i32> {
        let job = self.pids();
        let is_other = |pid: &i32| *pid != self.front && *pid != self.own && !job.contains(pid);
        processes::all().into_iter().filter(is_other).collect()
    }

    /// The job's processes now.
    pub(crate) fn pids(&self) -> Vec<i32> {
        match self.groups.first() {
            Some(group) => std::fs::read_to_string(group.join("cgroup.procs"))
                .map(|text| text.lines().filter_map(|line| line.parse().ok()).collect())
                .unwrap_or_default(),
            None => descendants(self.front, self.own),
        }
    }
}

/// All descendants of `front` except `own` and other processes of lull.
fn descendants(front: i32, own: i32) -> Vec<i32> {
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
            // What the supervisor has started is the user's measure, not the job.
            if pid == own {
                return false;
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

/// Whether `pid` is `ancestor` or descends from it.
pub(crate) fn descends(pid: i32, ancestor: i32) -> bool {
    let mut next = Some(pid).filter(|pid| *pid > 1);
    while let Some(pid) = next {
        if pid == ancestor {
            return true;
        }
        next = parent_of(pid).filter(|parent| *parent > 1);
    }
    false
}

#[cfg(test)]
mod tests;
