#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

#[test]
fn the_highest_group_of_the_least_weight_decides() {
    let dir = tempfile::tempdir().unwrap();
    let mount = dir.path();
    let group = mount.join("user.slice/lull.slice/a.scope/job");
    fs::create_dir_all(&group).unwrap();
    assert_eq!(reach_of(mount, &group), Reach::Session);
    fs::write(group.join("cpu.idle"), "1\n").unwrap();
    assert_eq!(reach_of(mount, &group), Reach::Within("user.slice/lull.slice/a.scope".into()));
    fs::write(mount.join("user.slice/lull.slice/cpu.idle"), "1\n").unwrap();
    assert_eq!(reach_of(mount, &group), Reach::Within("user.slice".into()));
    fs::write(mount.join("user.slice/cpu.weight"), "1\n").unwrap();
    assert_eq!(reach_of(mount, &group), Reach::Everybody);
}
