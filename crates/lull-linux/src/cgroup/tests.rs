use std::os::fd::AsFd;
use std::process::{Child, Command};
use std::time::Instant;

use super::*;
use crate::root::Root;

/// A v2 group's directory as the kernel would fill it.
fn fake_v2(path: &Path) {
    fs::create_dir_all(path).unwrap();
    for (name, text) in [
        ("cgroup.controllers", ""),
        ("cgroup.procs", ""),
        ("cgroup.freeze", "0"),
        ("cgroup.events", "populated 0\nfrozen 0\n"),
        ("cpu.idle", "0"),
    ] {
        fs::write(path.join(name), text).unwrap();
    }
}

fn hierarchy(version: u8, own: &Path, child: Attempt) -> Hierarchy {
    Hierarchy {
        version,
        controllers: vec!["cpu".to_owned()],
        handed_down: Vec::new(),
        mount: own.to_owned(),
        own_path: "/own".to_owned(),
        own: Some(own.to_owned()),
        at_root: false,
        child,
        above: None,
        inside: None,
        most_tasks: None,
        freeze: version == 2,
        cpu_idle: false,
        quota: false,
        kill: version == 2,
        cpuset: false,
        memory: false,
    }
}

fn pure_v2(own: &Path, child: Attempt) -> CgroupFacts {
    CgroupFacts { layout: Layout::V2, v2: Some(hierarchy(2, own, child)), v1: Vec::new() }
}

fn a_name() -> GroupName {
    GroupName::next(&Root::real())
}

/// The facts of this host, if a job can be frozen here.
fn real_facts() -> Option<CgroupFacts> {
    let facts = CgroupFacts::read(&Root::real(), true);
    if facts.freezing().is_none() {
        eprintln!("SKIPPED: no control group can be made here");
        return None;
    }
    Some(facts)
}

fn sleeper() -> Child {
    Command::new("sleep").arg("1000").spawn().unwrap()
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn names_survive_being_written_and_read() {
    let name = a_name();
    assert_eq!(name.to_string().parse::<GroupName>().unwrap(), name);
    assert_ne!(a_name(), a_name());
    for other in
        ["lull", "lull-1", "lull-1-2-3", "lull-1-2-3-4-5", "lull-a-2-3-4", "user.slice", "lull-1-2-3-"]
    {
        let error = other.parse::<GroupName>().unwrap_err().to_string();
        assert!(error.contains(other), "{error}");
    }
}

#[test]
fn an_owner_is_gone_when_its_number_means_another_process() {
    let root = Root::real();
    let name = a_name();
    assert!(!name.owner_is_gone(&root));
    let reused = GroupName { start_ticks: name.start_ticks + 1, ..name.clone() };
    assert!(reused.owner_is_gone(&root));
    let elsewhere = GroupName { namespace: name.namespace + 1, ..reused };
    assert!(!elsewhere.owner_is_gone(&root), "another PID namespace can't be judged from here");
}

#[test]
fn a_delegated_v2_group_freezes_without_any_controller() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("group");
    fake_v2(&path);
    let job = JobGroup::open(std::slice::from_ref(&path)).unwrap();
    job.freeze().unwrap();
    assert_eq!(fs::read_to_string(path.join("cgroup.freeze")).unwrap(), "1");
    assert!(!job.is_frozen(), "asked for is not yet frozen");
    fs::write(path.join("cgroup.events"), "populated 1\nfrozen 1\n").unwrap();
    assert!(job.is_frozen());
    job.thaw().unwrap();
    assert_eq!(fs::read_to_string(path.join("cgroup.freeze")).unwrap(), "0");
    job.add(4711).unwrap();
    assert_eq!(job.procs().unwrap(), [4711]);
    assert!(job.set_idle_cpu().unwrap());
    assert_eq!(fs::read_to_string(path.join("cpu.idle")).unwrap(), "1");
}

#[test]
fn a_session_that_is_not_ours_misses_all_and_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let facts = pure_v2(dir.path(), Attempt::from_errno(libc::EACCES));
    let job = JobGroup::create(&a_name(), &facts);
    let missing: Vec<_> = job.missing().iter().map(|missing| missing.what).collect();
    assert_eq!(missing, ["freeze", "cpu.idle", CPU_QUOTA]);
    assert!(job.missing()[0].why.contains("systemd-run --user --scope"), "{:?}", job.missing());
    assert!(!job.can_freeze() && !job.is_frozen() && job.procs().unwrap().is_empty());
    assert!(job.freeze().is_err());
    assert!(!job.set_idle_cpu().unwrap());
    job.remove().unwrap();
}

#[test]
fn v2_without_a_handed_down_cpu_controller_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let facts = pure_v2(dir.path(), Attempt::Works);
    let why = why_not(&facts, "cpu", |hierarchy| hierarchy.cpu_idle);
    assert!(why.contains("hand the cpu controller down"), "{why}");
}

#[test]
fn a_group_that_can_not_be_made_is_missing_and_not_fatal() {
    let facts = pure_v2(Path::new("/nonexistent/place"), Attempt::Works);
    let job = JobGroup::create(&a_name(), &facts);
    assert!(job.missing()[0].why.contains("/nonexistent/place"), "{:?}", job.missing());
}

#[test]
fn a_real_job_freezes_thaws_and_outlives_its_group() {
    let Some(facts) = real_facts() else { return };
    let job = JobGroup::create(&a_name(), &facts);
    let mut child = sleeper();
    let pid = i32::try_from(child.id()).unwrap();
    job.add(pid).unwrap();
    assert_eq!(job.procs().unwrap(), [pid]);
    job.freeze().unwrap();
    wait_until("the job freezes", || job.is_frozen());
    job.thaw().unwrap();
    wait_until("the job thaws", || !job.is_frozen());
    job.freeze().unwrap();
    let paths = job.paths();
    job.remove().unwrap();
    assert!(paths.iter().all(|path| !path.exists()), "{paths:?}");
    assert!(child.try_wait().unwrap().is_none(), "removal kills nothing");
    end(child);
}

/// How often a program that counts has counted while `during` ran.
fn counted(count: &Path, during: impl FnOnce()) -> u64 {
    let read = || fs::read_to_string(count).unwrap().lines().count() as u64;
    let before = read();
    during();
    read() - before
}

#[test]
fn root_a_held_job_gets_next_to_nothing_and_goes_on_when_it_is_let_go() {
    let Some(facts) = real_facts() else { return };
    let job = JobGroup::create(&a_name(), &facts);
    let Some(quota) = job.quota() else {
        eprintln!("SKIPPED: no CPU quota here");
        return job.remove().unwrap();
    };
    let dir = tempfile::tempdir().unwrap();
    let count = dir.path().join("count");
    fs::write(&count, "").unwrap();
    let script = format!("while :; do echo >> '{}'; done", count.display());
    let child = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    job.add(i32::try_from(child.id()).unwrap()).unwrap();
    wait_until("it counts", || counted(&count, || std::thread::sleep(Duration::from_millis(20))) > 0);
    quota.hold().unwrap();
    assert!(job.paths().iter().any(|path| is_held(path)));
    // A tick for who runs, then 1 ms of 100.
    std::thread::sleep(Duration::from_millis(50));
    let held = counted(&count, || std::thread::sleep(Duration::from_millis(500)));
    quota.release().unwrap();
    let free = counted(&count, || std::thread::sleep(Duration::from_millis(500)));
    assert!(held * 5 < free, "{held} while held, {free} after");
    quota.hold().unwrap();
    job.relieve().unwrap();
    assert!(!job.paths().iter().any(|path| is_held(path)));
    wait_until("it counts again", || counted(&count, || std::thread::sleep(Duration::from_millis(20))) > 0);
    end(child);
    job.remove().unwrap();
}

#[test]
fn a_real_job_gets_the_idle_class_where_there_is_one() {
    let Some(facts) = real_facts() else { return };
    let job = JobGroup::create(&a_name(), &facts);
    if job.set_idle_cpu().unwrap() {
        let idle = job.paths().into_iter().find_map(|path| fs::read_to_string(path.join("cpu.idle")).ok());
        assert_eq!(idle.unwrap().trim(), "1");
    } else {
        assert!(job.missing().iter().any(|missing| missing.what == "cpu.idle"));
    }
    job.remove().unwrap();
}

#[test]
fn the_v1_freezer_serves_where_v2_is_missing() {
    let Some(mut facts) = real_facts() else { return };
    facts.v2 = None;
    if facts.freezing().is_none() {
        eprintln!("SKIPPED: no v1 freezer here");
        return;
    }
    let job = JobGroup::create(&a_name(), &facts);
    let child = sleeper();
    job.add(i32::try_from(child.id()).unwrap()).unwrap();
    job.freeze().unwrap();
    wait_until("the job freezes", || job.is_frozen());
    job.remove().unwrap();
    end(child);
}

#[test]
fn a_child_enters_its_groups_before_it_runs() {
    use std::os::unix::process::CommandExt;
    let Some(facts) = real_facts() else { return };
    let job = JobGroup::create(&a_name(), &facts);
    let child = {
        let owned: Vec<_> = job.entries().iter().map(|fd| fd.try_clone_to_owned().unwrap()).collect();
        let mut command = Command::new("sleep");
        command.arg("1000");
        let enter = move || {
            owned.iter().try_for_each(|fd| crate::marks::enter(&[fd.as_fd()])).map_err(io::Error::from)
        };
        // SAFETY: the closure only writes to open descriptors.
        unsafe { command.pre_exec(enter) };
        command.spawn().unwrap()
    };
    assert_eq!(job.procs().unwrap(), [i32::try_from(child.id()).unwrap()]);
    end(child);
    job.remove().unwrap();
}

// `root_`: any `lull run` beside it would sweep the same leftovers.
#[test]
fn root_a_sweep_thaws_what_runs_and_removes_what_is_empty() {
    let Some(facts) = real_facts() else { return };
    let root = Root::real();
    let dead = |number| GroupName { start_ticks: a_name().start_ticks + 1, number, ..a_name() };
    let populated = JobGroup::create(&dead(1_000_001), &facts);
    let empty = JobGroup::create(&dead(1_000_002), &facts);
    let alive = JobGroup::create(&a_name(), &facts);
    let child = sleeper();
    populated.add(i32::try_from(child.id()).unwrap()).unwrap();
    populated.freeze().unwrap();
    wait_until("the leftover freezes", || populated.is_frozen());
    let quota = populated.quota().map(|quota| quota.hold().unwrap());
    assert_eq!(populated.paths().iter().any(|path| is_held(path)), quota.is_some());
    alive.freeze().unwrap();

    let swept = crate::leftovers::sweep(&root, &facts);
    wait_until("the leftover thaws", || !populated.is_frozen());
    assert!(!populated.paths().iter().any(|path| is_held(path)));
    assert!(populated.paths().iter().all(|path| path.exists() && swept.kept.contains(path)));
    assert!(empty.paths().iter().all(|path| !path.exists() && swept.removed.contains(path)));
    assert!(alive.paths().iter().all(|path| path.exists()), "a living owner's group is left alone");

    end(child);
    populated.remove().unwrap();
    alive.remove().unwrap();
}
