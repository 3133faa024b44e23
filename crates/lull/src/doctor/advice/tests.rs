use super::super::tests::{facts, poor};
use super::*;

/// As where groups decide.
fn class(facts: &Facts) -> Class {
    let inside = facts.cgroups.idling().is_none().then(|| "a session".to_owned());
    Class { inside, shares: None, why: None }
}

fn commands(facts: &Facts, systemd: bool) -> Vec<String> {
    let all = all(facts, Some(&class(facts)), Path::new("/usr/bin/lull"), systemd);
    all.into_iter().filter_map(|advice| advice.command).collect()
}

#[test]
fn a_host_that_has_everything_gets_no_advice() {
    let facts = facts();
    assert_eq!(all(&facts, Some(&class(&facts)), Path::new("lull"), true), []);
}

#[test]
fn an_ordinary_user_under_systemd_is_told_the_commands() {
    let commands = commands(&poor(), true);
    assert_eq!(commands[0], "sudo setcap cap_bpf,cap_perfmon,cap_net_admin,cap_net_raw+ep /usr/bin/lull");
    assert_eq!(commands[1], "loginctl enable-linger");
    assert!(commands[2].starts_with("setsid "), "{commands:?}");
    let mut facts = poor();
    facts.cpu.autogroup.applies = false;
    let last = cpu(&facts, &class(&facts), true).unwrap().command;
    assert_eq!(last.as_deref(), Some("sudo lull run -- sudo -u \"$USER\" CMD"));
    facts.user.euid = 0;
    assert_eq!(cpu(&facts, &class(&facts), true), None);
}

#[test]
fn who_sees_disks_and_cpus_but_may_not_hold_traffic_is_told_so() {
    let mut facts = facts();
    (facts.user.euid, facts.user.capabilities) = (1000, vec!["CAP_NET_ADMIN", "CAP_NET_RAW"]);
    assert_eq!(sensor(&facts, Path::new("lull")), None);
    facts.user.capabilities.pop();
    let advice = sensor(&facts, Path::new("lull")).unwrap();
    assert!(advice.what.contains("CAP_NET_ADMIN"), "{advice:?}");
    assert!(advice.command.unwrap().contains("cap_net_admin"));
}

#[test]
fn without_systemd_a_session_of_its_own_is_the_remedy() {
    let commands = commands(&poor(), false);
    assert!(commands.iter().all(|command| !command.contains("systemd")), "{commands:?}");
    assert!(commands.iter().any(|command| command.starts_with("setsid ")), "{commands:?}");
}

#[test]
fn each_refusal_of_seccomp_has_its_own_advice() {
    let mut facts = facts();
    let advise = |facts: &Facts| gate(facts).unwrap().what;
    facts.seccomp.listener = Attempt::from_errno(libc::EBUSY);
    assert!(advise(&facts).contains("outside"));
    facts.seccomp.listener = Attempt::from_errno(libc::ENOSYS);
    assert!(advise(&facts).contains("profile"));
    facts.seccomp.listener = Attempt::Works;
    facts.seccomp.sync_wake_up = false;
    assert!(advise(&facts).contains("6.6"));
    facts.seccomp.can_continue = false;
    assert!(advise(&facts).contains("5.5"));
}

#[test]
fn root_without_bpf_is_not_told_to_become_root() {
    let mut facts = facts();
    facts.bpf.tracing = Attempt::from_errno(libc::EPERM);
    let advice = sensor(&facts, Path::new("lull")).unwrap();
    assert!(advice.what.contains("container") && advice.command.is_none());
    facts.bpf.btf = false;
    assert!(sensor(&facts, Path::new("lull")).unwrap().what.contains("CONFIG_DEBUG_INFO_BTF"));
}

#[test]
fn a_loop_device_without_direct_io_is_told_how_to_get_it() {
    let mut facts = facts();
    facts.disks[0].kind = DiskKind::Loop;
    facts.disks[0].name = "loop3".to_owned();
    facts.disks[0].loop_direct_io = Some(false);
    assert_eq!(commands(&facts, true), ["sudo losetup --direct-io=on /dev/loop3"]);
    facts.disks[0].loop_direct_io = Some(true);
    assert!(commands(&facts, true).is_empty());
}

#[test]
fn read_only_and_missing_hierarchies_are_told_apart() {
    let mut facts = facts();
    let own = facts.cgroups.v2.as_mut().unwrap();
    own.child = Attempt::from_errno(libc::EROFS);
    assert!(hold(&facts, true).unwrap().what.contains("read-only"));
    facts.cgroups.v2 = None;
    assert!(hold(&facts, true).unwrap().command.unwrap().contains("mount -t cgroup2"));
}

#[test]
fn who_runs_under_limits_is_told_how_to_get_out_of_them() {
    let mut facts = facts();
    facts.user.euid = 0;
    assert_eq!(inside(&facts, true), None);
    facts.cgroups.v2.as_mut().unwrap().inside = Some("cpu.max of group a is set".to_owned());
    let found = inside(&facts, true).unwrap();
    assert!(found.what.contains("cpu.max") && found.command.unwrap().starts_with("systemd-run --scope"));
    assert_eq!(inside(&facts, false).unwrap().command, None, "without systemd");
}
