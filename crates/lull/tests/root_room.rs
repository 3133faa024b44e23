//! Memory on a small machine: the foreground gets the job's, and the out-of-memory killer takes the job. And `lull set`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{finish, lull, lull_run, needs_root, new_marker, output, send, spawn_marked, wait_until};
use lull_bench::contender::group::entering;
use lull_bench::contender::setting::SwapFile;
use lull_bench::units::Bytes;
use lull_linux::cgroup::GroupName;
use lull_linux::cgroup::memory::MemoryGroup;
use lull_linux::probe::CgroupFacts;
use lull_linux::root::Root;
use serde_json::Value;

const MIB: u64 = 1 << 20;
const EXE: &str = env!("CARGO_BIN_EXE_lull");

/// A limited group that goes when dropped.
struct Small(Option<MemoryGroup>);

impl Small {
    /// `None`, told aloud, where there is none to be had.
    fn machine(bytes: u64) -> Option<Self> {
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

    fn path(&self) -> &Path {
        self.0.as_ref().unwrap().path()
    }

    /// A command that runs in it.
    fn command(&self, words: &[&str]) -> Command {
        let argv = entering(self.path(), words.iter().map(OsString::from).collect());
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The group that lull has made for its job's memory.
    fn of_job(&self) -> Option<MemoryGroup> {
        let entries = std::fs::read_dir(self.path()).unwrap().flatten();
        entries.filter(|entry| entry.path().is_dir()).find_map(|entry| MemoryGroup::open(&entry.path()))
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        if let Some(group) = self.0.take() {
            group.remove().unwrap();
        }
    }
}

/// A job with a working set of `mib`, under lull.
fn job(small: &Small, mib: &str, summary: &Path) -> Child {
    let mut words = vec![EXE, "run", "--quiet", "--resources", "memory", "--json", "--summary"];
    words.extend([summary.to_str().unwrap(), "--", EXE, "load", "mem-work", "--json", "--memory", mib]);
    spawn_marked(small.command(&words).env("XDG_CONFIG_HOME", "/nonexistent"), &new_marker())
}

fn summary_of(path: &PathBuf) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn root_a_foreground_that_comes_second_gets_the_jobs_memory() {
    let Some(small) = Small::machine(192 * MIB) else { return };
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let _swap = match SwapFile::add(dir.path(), Bytes(512 * MIB)) {
        Ok(swap) => swap,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
    };
    let file = dir.path().join("summary");
    let child = job(&small, "96MiB", &file);
    let has = || small.of_job().and_then(|group| group.usage()).unwrap_or(0);
    wait_until("the job's working set", || has() >= 96 * MIB);
    let set = "128MiB";
    let words = [EXE, "load", "mem-work", "--memory", set, "--ready", "--requests", "1000", "--json"];
    let foreground = finish(small.command(&words).spawn().unwrap());
    assert!(foreground.status.success());
    wait_until("the job to have given", || has() <= 64 * MIB);
    send(child.id(), libc::SIGTERM);
    finish(child);
    let summary = summary_of(&file);
    assert!(summary["memory"]["given_bytes"].as_u64().unwrap() >= 32 * MIB, "{summary}");
}

#[test]
fn root_the_out_of_memory_killer_takes_the_job() {
    let Some(small) = Small::machine(96 * MIB) else { return };
    if std::fs::write(small.path().join("memory.swappiness"), "0").is_err() {
        eprintln!("SKIPPED: swapping cannot be turned off for a group here");
        return;
    }
    let words = [EXE, "load", "mem-work", "--memory", "40MiB", "--ready", "--json"];
    let foreground = small.command(&words).spawn().unwrap();
    wait_until("the foreground's working set", || small.0.as_ref().unwrap().usage().unwrap() >= 40 * MIB);
    let dir = tempfile::tempdir().unwrap();
    let job = finish(job(&small, "128MiB", &dir.path().join("summary")));
    assert!(!job.status.success(), "the job has more than there is");
    send(foreground.id(), libc::SIGTERM);
    assert!(finish(foreground).status.success(), "the foreground lives");
}

#[test]
fn root_thresholds_are_set_while_the_job_runs() {
    if !needs_root() {
        return;
    }
    let spawn = |resources: &str| {
        let options = ["--resources", resources];
        spawn_marked(&mut lull_run(&options, &["sleep", "60"]), &new_marker())
    };
    let set = |pid: u32, words: &[&str]| output(lull().args(["set", &pid.to_string()]).args(words));
    let managed = spawn("memory");
    wait_until("the run to answer", || set(managed.id(), &["--mem-high", "200MiB"]).status.success());
    let done = set(managed.id(), &["--mem-low", "10MiB"]);
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "mem-low 10MiB, mem-high 200MiB");
    let refused = set(managed.id(), &["--mem-low", "201MiB"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is above"), "{refused:?}");
    let plain = spawn("disk");
    wait_until("the run to refuse", || {
        String::from_utf8_lossy(&set(plain.id(), &["--mem-low", "1MiB"]).stderr).contains("not managed")
    });
    for child in [managed, plain] {
        send(child.id(), libc::SIGTERM);
        finish(child);
    }
    let gone = set(u32::MAX >> 1, &["--mem-low", "1MiB"]);
    assert!(String::from_utf8_lossy(&gone.stderr).contains("no lull run"), "{gone:?}");
}
