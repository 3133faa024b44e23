//! Reservations on real control groups: weights that the kernel was given, processes in and out, nothing left.

use std::fs;
use std::process::{Child, Command};

use lull_core::reserve::{Kind, ROOT, Terms};

use super::*;
use crate::cgroup::GroupName;

/// One at a time: each looks for what is left of this process's groups.
static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn sleeper() -> Child {
    Command::new("sleep").arg("1000").spawn().unwrap()
}

fn pid(child: &Child) -> i32 {
    i32::try_from(child.id()).unwrap()
}

/// The enforcer of a resource, if this host has one.
fn start(name: &str) -> Option<Box<dyn Enforcer>> {
    let mut found = None;
    for choice in Enforcement::find(&Facts::probe(), Vec::new(), false) {
        match choice.enforcer {
            Ok(enforcer) if choice.name == name => found = Some(enforcer),
            Ok(mut other) => other.restore().unwrap(),
            Err(why) => eprintln!("SKIPPED: {}: {why}", choice.name),
        }
    }
    found
}

/// Makes a reservation in the tree and in the kernel.
fn make(tree: &mut Tree, enforcer: &mut dyn Enforcer, parent: Id, kind: Kind, terms: &str) -> Id {
    let id = tree.create(parent, kind, 0).unwrap();
    enforcer.make(tree, id).unwrap();
    tree.set(id, Terms::parse(terms, tree.whole()).unwrap()).unwrap();
    enforcer.apply(tree, parent).unwrap();
    id
}

/// A group of this process's tests that a process is in.
fn group_of(pid: i32, ending: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    text.lines().find(|line| line.ends_with(ending)).map(str::to_owned)
}

/// Directories of this process's trees, anywhere.
fn left(path: &std::path::Path, depth: u32, found: &mut Vec<std::path::PathBuf>) {
    let own = GroupName::next(&Root::real());
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().parse::<GroupName>().ok();
        if name.is_some_and(|name| name.pid == own.pid) {
            found.push(path.clone());
        }
        if depth > 0 && path.is_dir() {
            left(&path, depth - 1, found);
        }
    }
}

#[test]
fn root_cpu_weights_follow_the_terms_and_nothing_is_left() {
    let _alone = alone();
    let Some(mut enforcer) = start("cpu") else { return };
    let mut tree = Tree::new("cpu", enforcer.whole(), 0);
    let site = make(&mut tree, &mut *enforcer, ROOT, Kind::Internal, "50% 50");
    let rival = make(&mut tree, &mut *enforcer, ROOT, Kind::Internal, "25% 25");
    let queue = make(&mut tree, &mut *enforcer, site, Kind::Queue, "0% 1");
    let child = sleeper();
    let before = fs::read_to_string(format!("/proc/{}/cgroup", pid(&child))).unwrap();
    assert!(!enforcer.is_used("r0/q0"));
    enforcer.enter("r0/q0", pid(&child)).unwrap();
    assert_eq!(enforcer.queue_of(pid(&child)).as_deref(), Some("r0/q0"));
    assert!(enforcer.is_used("r0/q0") && group_of(pid(&child), "/r0/q0").is_some());
    assert_eq!((enforcer.usage("r0/q0").processes, enforcer.usage("r0/q0").requests), (1, 1));
    let mut tops = Vec::new();
    left(std::path::Path::new("/sys/fs/cgroup"), 4, &mut tops);
    let weight = |path: &str| -> u64 {
        let files = ["cpu.weight", "cpu.shares"];
        let found = tops.iter().flat_map(|top| files.map(|file| top.join(path).join(file)));
        found.into_iter().find_map(|file| fs::read_to_string(file).ok()).unwrap().trim().parse().unwrap()
    };
    assert_eq!(weight("r0"), 2 * weight("r1"));
    assert!(weight("") > weight("r0") / 100, "what is reserved counts against the rest");
    tree.set(rival, Terms::parse("0% 100", tree.whole()).unwrap()).unwrap();
    enforcer.apply(&tree, ROOT).unwrap();
    assert_eq!(weight("r0"), weight("r1"), "the minimum binds: half and half");
    assert!(enforcer.remove(&tree, queue).is_err(), "a queue in use stays");
    enforcer.restore().unwrap();
    assert_eq!(fs::read_to_string(format!("/proc/{}/cgroup", pid(&child))).unwrap(), before);
    assert!(tops.iter().all(|top| !top.exists()), "{tops:?}");
    end(child);
}

#[test]
fn root_a_dead_owners_tree_is_dissolved_and_its_processes_go_on() {
    let _alone = alone();
    let facts = Facts::probe();
    let own = GroupName::next(&Root::real());
    let dead = GroupName { start_ticks: own.start_ticks + 1, number: 3_000_001, ..own };
    let Ok(mut enforcer) = cpu::Cpu::start(&facts, &dead.to_string(), &groups::Joint::default(), false)
    else {
        return eprintln!("SKIPPED: no reservations of CPU time here");
    };
    let mut tree = Tree::new("cpu", enforcer.whole(), 0);
    let parent = make(&mut tree, &mut enforcer, ROOT, Kind::Internal, "0% 1");
    make(&mut tree, &mut enforcer, parent, Kind::Queue, "0% 1");
    let mut child = sleeper();
    enforcer.enter("r0/q0", pid(&child)).unwrap();
    let swept = sweep(&Root::real(), &facts.cgroups);
    let mine = dead.to_string();
    assert!(swept.iter().any(|top| top.ends_with(&mine)), "{swept:?}");
    assert!(group_of(pid(&child), "/q0").is_none());
    assert!(child.try_wait().unwrap().is_none(), "nothing is killed");
    end(child);
}

#[test]
fn root_memory_that_one_was_promised_is_kept_from_the_others() {
    let _alone = alone();
    let Some(mut enforcer) = start("mem") else { return };
    let mut tree = Tree::new("mem", enforcer.whole(), 0);
    let site = make(&mut tree, &mut *enforcer, ROOT, Kind::Internal, "25% 0");
    let queue = make(&mut tree, &mut *enforcer, site, Kind::Queue, "0% 0");
    let rival = make(&mut tree, &mut *enforcer, ROOT, Kind::Queue, "10% 0");
    let mut tops = Vec::new();
    left(std::path::Path::new("/sys/fs/cgroup/memory"), 6, &mut tops);
    let limit = |path: &str| -> u64 {
        let text = fs::read_to_string(tops[0].join(path).join("memory.limit_in_bytes")).unwrap();
        text.trim().parse().unwrap()
    };
    let whole = enforcer.whole().amount;
    let near = |limit: u64, percent: u64| limit.abs_diff(whole / 100 * percent) < 1 << 20;
    assert!(near(limit("r0"), 90) && near(limit("q0"), 75), "{} {}", limit("r0"), limit("q0"));
    tree.set(rival, Terms::default()).unwrap();
    enforcer.apply(&tree, ROOT).unwrap();
    assert!(limit("r0") > whole && near(limit("q0"), 75));
    // A bound of the queue's own: who wants more does not get it.
    let backlog = Backlog::parse("max 32MiB", tree.whole()).unwrap();
    enforcer.bound(&tree.path(queue), &backlog).unwrap();
    let mut child = Command::new("sh")
        .args(["-c", "read go; exec dd if=/dev/zero of=/dev/null bs=100M count=1 status=none"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    enforcer.enter("r0/q0", pid(&child)).unwrap();
    drop(child.stdin.take());
    let status = child.wait().unwrap();
    assert!(!status.success(), "{status}");
    assert!(enforcer.usage("r0/q0").refused > 0);
    assert!(enforcer.bound("q0", &Backlog::parse("5 max", tree.whole()).unwrap()).is_err());
    enforcer.restore().unwrap();
    assert!(tops.iter().all(|top| !top.exists()), "{tops:?}");
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}
