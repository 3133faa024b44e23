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
