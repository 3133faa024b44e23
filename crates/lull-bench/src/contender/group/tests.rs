use super::*;

fn quota(file: &str) -> (tempfile::TempDir, Option<Quota>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(file), "max 100000").unwrap();
    let quota = Quota::of(dir.path());
    (dir, quota)
}

#[test]
fn quotas_are_written_as_each_version_reads_them() {
    for (file, cpus, text) in [
        ("cpu.cfs_quota_us", 1.5, "150000"),
        ("cpu.cfs_quota_us", 0.0, "1000"),
        ("cpu.max", 0.25, "25000 100000"),
        ("cpu.max", 0.001, "1000 100000"),
    ] {
        let (dir, quota) = quota(file);
        quota.unwrap().set(cpus).unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join(file)).unwrap(), text);
    }
    assert!(quota("cpu.shares").1.is_none());
}

#[test]
fn the_account_of_the_group_comes_before_the_clocks_of_its_processes() {
    for (file, account, used) in [
        ("cpu.cfs_quota_us", ("cpuacct.usage", "7000000\n"), Nanos::from_millis(7)),
        ("cpu.max", ("cpu.stat", "usage_usec 7000\nuser_usec 1\n"), Nanos::from_millis(7)),
        ("cpu.cfs_quota_us", ("cpu.stat", "nr_periods 3\n"), Nanos::ZERO),
    ] {
        let (dir, quota) = quota(file);
        std::fs::write(dir.path().join(account.0), account.1).unwrap();
        assert_eq!(quota.unwrap().used(), used, "{account:?}");
    }
}

#[test]
fn a_process_uses_time_and_one_that_is_gone_none() {
    let own = i32::try_from(std::process::id()).unwrap();
    let before = process_time(own).unwrap();
    let mut sum = 0_u64;
    while process_time(own).unwrap() == before {
        sum = std::hint::black_box(sum.wrapping_add(1));
    }
    assert_eq!(process_time(-5), None);
}

/// The group, or why there can be none here.
fn real(purpose: Use) -> Option<CpuGroup> {
    CpuGroup::create(purpose).inspect_err(|error| eprintln!("SKIPPED: {error}")).ok()
}

#[test]
fn root_a_job_enters_its_group_and_the_group_goes() {
    let Some(group) = real(Use::Idle) else { return };
    let directory = group.directory().to_owned();
    assert_eq!(std::fs::read_to_string(directory.join("cpu.idle")).unwrap().trim(), "1");
    let argv = group.wrap(["sh", "-c", "cat /proc/self/cgroup"].map(OsString::from).to_vec());
    let output = std::process::Command::new(&argv[0]).args(&argv[1..]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(directory.file_name().unwrap().to_str().unwrap()), "{text}");
    drop(group);
    assert!(!directory.exists());
}

#[test]
fn root_a_quota_reaches_the_kernel_and_what_the_job_used_is_known() {
    let Some(group) = real(Use::Quota) else { return };
    let quota = group.quota().unwrap();
    quota.set(0.5).unwrap();
    let (file, text) = quota.setting(0.5);
    assert_eq!(std::fs::read_to_string(file).unwrap().trim(), text);
    assert_eq!(quota.used(), Nanos::ZERO);
    let argv = group.wrap(["sh", "-c", "while :; do :; done"].map(OsString::from).to_vec());
    let mut child = std::process::Command::new(&argv[0]).args(&argv[1..]).spawn().unwrap();
    while quota.used() == Nanos::ZERO {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    let before = quota.used();
    child.wait().unwrap();
    let directory = group.directory().to_owned();
    if machine::group_time(&directory).is_some() {
        assert!(quota.used() >= before && before > Nanos::ZERO, "what ended is still accounted for");
    }
    drop(group);
    assert!(!directory.exists());
}

#[test]
fn root_a_class_in_force_is_in_a_group_at_the_top_that_goes() {
    for (class, files) in [(Class::Idle, &["cpu.idle"][..]), (Class::Nice, &["cpu.weight", "cpu.shares"])] {
        let Some(group) = real(Use::Top(class)) else { return };
        let directory = group.directory().to_owned();
        let mount = directory.parent().unwrap();
        assert!(!mount.join("cgroup.type").exists(), "v2 has it in all groups but the top: {mount:?}");
        let read = |name: &&str| std::fs::read_to_string(directory.join(name)).ok();
        let text = files.iter().find_map(read).unwrap();
        assert!(["1", "2"].contains(&text.trim()), "{text}");
        let argv = group.wrap(["cat", "/proc/self/cgroup"].map(OsString::from).to_vec());
        let output = std::process::Command::new(&argv[0]).args(&argv[1..]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let name = directory.file_name().unwrap().to_str().unwrap();
        assert!(text.lines().any(|line| line.ends_with(&format!(":/{name}"))), "{text}");
        drop(group);
        assert!(!directory.exists());
    }
}
