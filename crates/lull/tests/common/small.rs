//! A small machine: a limited control group in which a foreground and a job under lull share the memory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use lull_bench::contender::group::entering;
use lull_linux::cgroup::GroupName;
use lull_linux::cgroup::memory::MemoryGroup;
use lull_linux::probe::CgroupFacts;
use lull_linux::root::Root;
use serde_json::Value;

use super::{AWAKE, needs_root, new_marker, send, spawn_marked, wait_until};

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const EXE: &str = env!("CARGO_BIN_EXE_lull");

/// A limited group that goes when dropped.
pub(crate) struct Small(pub(crate) Option<MemoryGroup>);

impl Small {
    /// `None`, told aloud, where there is none to be had.
    pub(crate) fn machine(bytes: u64) -> Option<Self> {
        if !needs_root() {
            return None;
        }
        let root = Root::real();
        match MemoryGroup::create(&GroupName::next(&root), &CgroupFacts::read(&root, true)) {
            Ok(group) => {
                group.set_limit(Some(bytes)).unwrap();
                Some(Self(Some(group)))
            }
            Err(error) => {
                eprintln!("SKIPPED: {error}");
                None
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.as_ref().unwrap().path()
    }

    /// A command that runs in it.
    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let argv = entering(self.path(), words.iter().map(OsString::from).collect());
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The group that lull has made for its job's memory.
    pub(crate) fn of_job(&self) -> Option<MemoryGroup> {
        let entries = std::fs::read_dir(self.path()).unwrap().flatten();
        entries.filter(|entry| entry.path().is_dir()).find_map(|entry| MemoryGroup::open(&entry.path()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let Some(group) = self.0.take() else { return };
        if std::thread::panicking() {
            // What the failed test leaves behind is in the way of the next one.
            let below = std::fs::read_dir(group.path()).into_iter().flatten().flatten();
            for path in
                below.map(|entry| entry.path()).filter(|path| path.is_dir()).chain([group.path().into()])
            {
                kill_all_in(&path);
                let _removed_below = std::fs::remove_dir(path);
            }
            return;
        }
        // lull's helpers end a moment after the run.
        wait_until("the small machine to be empty", || is_empty(group.path()));
        group.remove().unwrap();
    }
}

/// Whether a group has neither processes nor groups below.
fn is_empty(group: &Path) -> bool {
    let pids = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    let mut below = std::fs::read_dir(group).into_iter().flatten().flatten();
    pids.is_empty() && !below.any(|entry| entry.path().is_dir())
}

/// Kills what runs in a group, and waits for the end of it, but not for ever.
fn kill_all_in(group: &Path) {
    for _ in 0..100 {
        let pids = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        if pids.is_empty() {
            return;
        }
        for pid in pids.lines().filter_map(|pid| pid.parse().ok()) {
            send(pid, libc::SIGKILL);
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// A job with a working set of `mib`, under lull.
pub(crate) fn job(small: &Small, mib: &str, summary: &Path) -> Child {
    run_job(small, &[EXE, "load", "mem-work", "--json", "--memory", mib], summary)
}

/// One that fills it though others use every CPU.
pub(crate) fn awake_job(small: &Small, mib: &str, summary: &Path) -> Child {
    let script = format!("{AWAKE}exec {EXE} load mem-work --json --memory {mib}");
    run_job(small, &["bash", "-c", &script], summary)
}

fn run_job(small: &Small, job: &[&str], summary: &Path) -> Child {
    let mut words = vec![EXE, "run", "--quiet", "--resources", "memory", "--json", "--summary"];
    words.extend([summary.to_str().unwrap(), "--"]);
    words.extend(job);
    spawn_marked(small.command(&words).env("XDG_CONFIG_HOME", "/nonexistent"), &new_marker())
}

/// The summary that a run wrote.
pub(crate) fn summary_of(path: &PathBuf) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}
