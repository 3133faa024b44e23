use lull_linux::sense::machine;

use super::*;

/// The group, or why there can be none here.
fn real(purpose: Purpose) -> Option<CpuGroup> {
    CpuGroup::create(purpose).inspect_err(|error| eprintln!("SKIPPED: {error}")).ok()
}

#[test]
fn root_a_job_enters_its_group_and_the_group_goes() {
    let Some(group) = real(Purpose::Idle) else { return };
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
    let Some(group) = real(Purpose::Quota) else { return };
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
        let Some(group) = real(Purpose::Top(class)) else { return };
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
