#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

/// A made-up v2 host with a session in a slice.
struct Host(tempfile::TempDir);

const SLICE: &str = "cg/user.slice/user-0.slice";

impl Host {
    fn new(own: &str) -> Self {
        let host = Self(tempfile::tempdir().unwrap());
        host.write("proc/self/mountinfo", "30 1 0:28 / /cg rw - cgroup2 cgroup2 rw\n");
        host.write("proc/self/cgroup", &format!("0::/user.slice/user-0.slice/{own}\n"));
        host.write("cg/user.slice/pids.max", "9000\n");
        for (file, text) in [
            ("cgroup.type", "domain"),
            ("cgroup.procs", "1"),
            ("cpu.weight", "20"),
            ("cpu.max", "max 100000"),
            ("memory.max", "max"),
            ("memory.low", "4096"),
            ("io.max", ""),
            ("pids.max", "3500"),
        ] {
            host.write(&format!("{SLICE}/{own}/{file}"), &format!("{text}\n"));
        }
        host
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn v2(&self) -> Hierarchy {
        CgroupFacts::read(&Root::at(self.0.path()), false).v2.unwrap()
    }

    /// What leaving all groups up to below `place` takes along, or why it may not be.
    fn leaves(&self, place: &str) -> Result<Option<u64>, String> {
        leaves(&self.path("cg"), &self.v2().own.unwrap(), &self.path(place))
    }
}

#[test]
fn what_has_no_limits_may_be_left_and_the_least_number_of_tasks_is_taken_along() {
    for own in ["session-3.scope", "cron.service"] {
        let host = Host::new(own);
        assert_eq!(host.leaves("cg"), Ok(Some(3500)));
        host.write("cg/user.slice/pids.max", "100\n");
        assert_eq!(host.leaves("cg"), Ok(Some(100)));
        assert_eq!(host.leaves("cg/user.slice"), Ok(Some(3500)), "what is above stays above");
    }
}

#[test]
fn a_limit_that_the_job_would_leave_keeps_it_inside() {
    for (file, text) in [
        ("memory.max", "104857600"),
        ("memory.high", "104857600"),
        ("memory.swap.max", "0"),
        ("cpu.max", "50000 100000"),
        ("io.max", "8:0 rbps=1000 wbps=max riops=max wiops=max\n8:16 rbps=1000 wbps=max riops=max wiops=max"),
        ("cpuset.cpus", "0-1"),
    ] {
        let host = Host::new("session-3.scope");
        host.write(&format!("cg/user.slice/{file}"), text);
        let why = host.leaves("cg").unwrap_err();
        assert!(why.contains(file) && why.contains("user.slice") && !why.contains('\n'), "{why}");
        assert!(host.leaves("cg/user.slice").is_ok(), "where the limit goes on to count");
    }
}

#[test]
fn other_jobs_and_threaded_groups_are_left_as_they_are() {
    let job = "lull-12-345-4026531836-0";
    for own in [job.to_owned(), format!("{job}/deeper")] {
        assert!(Host::new(&own).leaves("cg").unwrap_err().contains("another lull"));
    }
    let host = Host::new("session-3.scope");
    host.write(&format!("{SLICE}/session-3.scope/cgroup.type"), "threaded\n");
    assert!(host.leaves("cg").unwrap_err().contains("threaded"));
}

#[test]
fn groups_that_get_no_controller_are_no_place_and_are_removed() {
    let host = Host::new("session-3.scope");
    let mut v2 = host.v2();
    find(&Root::at(host.0.path()), &mut v2);
    assert_eq!((v2.above.clone(), v2.inside.clone()), (None, None));
    assert_eq!(v2.place(), v2.own.as_deref());
    for place in ["cg", "cg/user.slice", SLICE] {
        let names = fs::read_dir(host.path(place)).unwrap().flatten().map(|entry| entry.file_name());
        assert!(names.into_iter().all(|name| !name.to_string_lossy().starts_with("lull-")), "{place}");
    }
}

#[test]
fn root_the_highest_group_with_the_cpu_controller_is_the_place() {
    let root = Root::real();
    let facts = CgroupFacts::read(&root, true);
    let Some(cpu) = facts.v1_of("cpu").filter(|cpu| cpu.child.works()) else {
        println!("SKIPPED: no group of a v1 cpu controller can be made here");
        return;
    };
    if cpu.inside.is_none() {
        assert_eq!(cpu.place(), Some(cpu.mount.as_path()), "{cpu:?}");
    }
    let mut moved = cpu.clone();
    let middle = cpu.mount.join(GroupName::next(&root).to_string());
    let own = middle.join("own");
    fs::create_dir(&middle).unwrap();
    let made = fs::create_dir(&own);
    let name = middle.file_name().unwrap().to_owned();
    // The name of a job's group in the path keeps a job inside, so the place is looked for below a plain name.
    let plain = cpu.mount.join(format!("plain-{}", std::process::id()));
    fs::create_dir(&plain).unwrap();
    moved.own = Some(plain.clone());
    find(&root, &mut moved);
    let (free, inside_free) = (moved.above.clone(), moved.inside.clone());
    fs::write(plain.join("cpu.cfs_quota_us"), "50000").unwrap();
    (moved.above, moved.inside) = (None, None);
    find(&root, &mut moved);
    let limited = (moved.above.clone(), moved.inside.clone());
    moved.own = Some(own.clone());
    (moved.above, moved.inside) = (None, None);
    find(&root, &mut moved);
    for group in [&own, &middle, &plain] {
        fs::remove_dir(group).unwrap();
    }
    made.unwrap();
    assert_eq!((free, inside_free), (Some(cpu.mount.clone()), None));
    assert_eq!(limited.0, None);
    assert!(limited.1.unwrap().contains("cpu.cfs_quota_us"));
    assert!(moved.above.is_none() && moved.inside.unwrap().contains("another lull"), "{name:?}");
}
