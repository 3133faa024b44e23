use std::fs;

use super::*;

/// A tree with autogroup on, and the given mount table and memberships.
fn host(mountinfo: &str, memberships: &str) -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("proc/sys/kernel/sched_autogroup_enabled", "1\n"),
        ("proc/self/mountinfo", mountinfo),
        ("proc/self/cgroup", memberships),
        ("proc/meminfo", "MemTotal:        2048 kB\nSwapTotal:          16 kB\n"),
    ] {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let root = Root::at(dir.path());
    (dir, root)
}

const V2: &str = "30 1 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

#[test]
fn on_v2_the_nearest_group_with_a_weight_decides() {
    let (dir, root) = host(V2, "0::/user.slice/session-1.scope\n");
    let slice = dir.path().join("sys/fs/cgroup/user.slice");
    fs::create_dir_all(slice.join("session-1.scope")).unwrap();
    let read = || autogroup(&root, &CgroupFacts::read(&root, false));
    assert!(read().applies, "no group on the way has the cpu controller");
    fs::write(slice.join("cpu.weight"), "100\n").unwrap();
    let found = read();
    assert!(!found.applies && found.why.contains("user.slice"), "{found:?}");
}

#[test]
fn on_v1_it_applies_in_the_root_group_only() {
    let v1 = "31 1 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";
    let (dir, root) = host(v1, "3:cpu,cpuacct:/\n");
    let cpu = dir.path().join("sys/fs/cgroup/cpu");
    fs::create_dir_all(&cpu).unwrap();
    fs::write(cpu.join("release_agent"), "").unwrap();
    assert!(autogroup(&root, &CgroupFacts::read(&root, false)).applies);
    fs::create_dir_all(cpu.join("mine")).unwrap();
    fs::write(dir.path().join("proc/self/cgroup"), "3:cpu,cpuacct:/mine\n").unwrap();
    assert!(!autogroup(&root, &CgroupFacts::read(&root, false)).applies);
}

#[test]
fn switched_off_it_never_applies() {
    let (dir, root) = host("", "");
    fs::write(dir.path().join("proc/sys/kernel/sched_autogroup_enabled"), "0\n").unwrap();
    let found = autogroup(&root, &CgroupFacts::read(&root, false));
    assert!(!found.enabled && !found.applies);
}

#[test]
fn memory_is_told_in_bytes_and_trials_leave_this_process_as_it_was() {
    let (_dir, root) = host("", "");
    let policy = || {
        // SAFETY: asks for this thread's policy; no pointers.
        unsafe { libc::sched_getscheduler(0) }
    };
    let before = policy();
    let facts = CpuFacts::read(&root, &CgroupFacts::read(&root, false));
    assert_eq!((facts.memory_bytes, facts.swap_bytes), (2048 * 1024, 16 * 1024));
    assert!(facts.cpus >= 1);
    assert_eq!(policy(), before);
}
