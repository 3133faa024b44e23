//! The processes of a job: those of its control group, or without one what descends from the front except lull's own
//! helpers.
//!
//! Without a group children outlive their parents: while the front lives they become its own, since it is then a subreaper
//! (prctl(2)); of those that go on after it, and after it was killed, each that was ever seen is known, with what descends from
//! it. A process that comes and loses its parents between two looks, after the front's end, is not found.

use std::collections::HashMap;
use std::ffi::CStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lull_bpf::Job;
use lull_core::Nanos;
use lull_linux::cgroup::JobGroup;
use lull_linux::proc::{self, StatLine, parent_of};
use lull_linux::root::Root;
use lull_linux::sense::freezers::Freezers;
use lull_linux::sense::{machine, pressure};

use crate::lock::lock;

/// The names of lull's own helper processes, as `ps` shows them. The kernel cuts a name after 15 bytes.
pub const SUPERVISOR: &CStr = c"lull-supervisor";
/// See [`SUPERVISOR`].
pub const GUARDIAN: &CStr = c"lull-guardian";
const HELPERS: [&CStr; 2] = [SUPERVISOR, GUARDIAN];

/// How to find the job's processes.
#[derive(Clone, Debug)]
pub struct JobProcesses {
    groups: Vec<PathBuf>,
    front: i32,
    own: i32,
    /// Without a group: those that were ever seen, by id, with their start times.
    known: Arc<Mutex<HashMap<i32, u64>>>,
    freezers: Arc<Freezers>,
}

impl JobProcesses {
    /// As seen by the supervisor, a child of the front.
    pub fn of_supervisor(group: Option<&JobGroup>) -> Self {
        // SAFETY: both only ask.
        let (front, own) = unsafe { (libc::getppid(), libc::getpid()) };
        let groups = group.map(JobGroup::paths).unwrap_or_default();
        let freezers = Arc::new(Freezers::find(&Root::real()));
        Self { groups, front, own, known: Arc::default(), freezers }
    }

    /// Whoever is listed in this folder, as in a control group.
    #[cfg(test)]
    pub(crate) fn of_folder(group: &Path) -> Self {
        Self {
            groups: vec![group.to_owned()],
            front: 0,
            own: 0,
            known: Arc::default(),
            freezers: Arc::default(),
        }
    }

    /// Front and supervisor.
    pub fn helpers(&self) -> Vec<u32> {
        [self.front, self.own].into_iter().filter_map(|pid| u32::try_from(pid).ok()).collect()
    }

    /// The job's v2 control group.
    pub fn v2_group(&self) -> Option<&Path> {
        self.groups.iter().find(|path| path.join("cgroup.controllers").exists()).map(PathBuf::as_path)
    }

    /// The id of the job's v2 control group: its inode.
    pub fn group_id(&self) -> Option<u64> {
        Some(self.v2_group()?.metadata().ok()?.ino())
    }

    /// A handle of one's own on the job's control groups.
    pub fn open_group(&self) -> Option<JobGroup> {
        JobGroup::open(&self.groups).ok().filter(|_| !self.groups.is_empty())
    }

    /// How the observers of the disks tell the job's tasks.
    pub fn job(&self) -> Job {
        let [root, helper] = [self.front, self.own].map(|pid| u32::try_from(pid).unwrap_or(0));
        Job { group: self.group_id(), root, helper }
    }

    /// The processor time that the job has used; `None` without a control group that accounts it.
    pub fn cpu_time(&self) -> Option<Nanos> {
        self.groups.iter().find_map(|group| machine::group_time(group))
    }

    /// For how long the job wanted a CPU and had none; `None` without a control group that tells.
    pub fn starved_of_cpu(&self) -> Option<Nanos> {
        self.groups.iter().find_map(|group| pressure::starved_of_cpu(group))
    }

    /// Whether somebody freezes this thread.
    pub fn is_frozen(&self, tid: u32) -> bool {
        self.freezers.freeze(&Root::real(), tid)
    }

    /// All processes of the machine but the job's, front and supervisor.
    pub fn others(&self) -> Vec<i32> {
        let job = self.pids();
        let is_other = |pid: &i32| *pid != self.front && *pid != self.own && !job.contains(pid);
        proc::all().into_iter().filter(is_other).collect()
    }

    /// The job's processes now.
    pub fn pids(&self) -> Vec<i32> {
        match self.groups.first() {
            Some(group) => std::fs::read_to_string(group.join("cgroup.procs"))
                .map(|text| text.lines().filter_map(|line| line.parse().ok()).collect())
                .unwrap_or_default(),
            None => {
                // SAFETY: only asks. Of whoever is born later the front's number may be another's.
                let front = Some(self.front).filter(|front| unsafe { libc::getppid() } == *front);
                descendants(front, self.own, &mut lock(&self.known))
            }
        }
    }
}

/// All descendants of `front` and of those that are `known` already, except `own` and other processes of lull. They are known from
/// then on, as long as they live.
fn descendants(front: Option<i32>, own: i32, known: &mut HashMap<i32, u64>) -> Vec<i32> {
    let (mut parents, mut starts) = (HashMap::new(), HashMap::new());
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let root = Root::real();
    for pid in entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        let line = StatLine::read(&root, pid);
        if let Some((parent, start)) = line.and_then(|line| Some((line.parent()?, line.start_ticks()?))) {
            parents.insert(pid, parent);
            starts.insert(pid, start);
        }
    }
    let is_helper = |pid: i32| pid == own || leads_as_helper(&root, pid);
    known.retain(|pid, start| starts.get(pid) == Some(start) && !is_helper(*pid));
    let comes_from = |mut pid: i32| {
        while pid > 1 {
            if Some(pid) == front || known.contains_key(&pid) {
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
    let found: Vec<i32> = parents
        .keys()
        .copied()
        .filter(|pid| Some(*pid) != front && comes_from(*pid) && !is_helper(*pid))
        .collect();
    known.extend(found.iter().filter_map(|pid| Some((*pid, *starts.get(pid)?))));
    found
}

/// Whether this is a helper of a lull's, by its name and because it leads a session.
fn leads_as_helper(root: &Root, pid: i32) -> bool {
    let is_named = root
        .read(format!("/proc/{pid}/comm"))
        .is_some_and(|name| HELPERS.iter().any(|helper| name.trim_end().as_bytes() == helper.to_bytes()));
    // SAFETY: getsid only asks.
    is_named && unsafe { libc::getsid(pid) } == pid
}

/// Whether `pid` is `ancestor` or descends from it.
pub fn descends(pid: i32, ancestor: i32) -> bool {
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
