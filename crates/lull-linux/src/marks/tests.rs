use std::process::Command;

use super::apply::{decimal, parse_decimal, raised};
use super::*;
use crate::probe::{
    Attempt, Autogroup, BpfFacts, CgroupFacts, CpuFacts, DiskFacts, Facts, Hierarchy, IoprioEffect,
    IoprioLevel, Kernel, Layout, NetFacts, SeccompFacts, UserFacts,
};
use crate::topology::{DevT, DiskKind};

fn disk(name: &str, kind: DiskKind, level: IoprioLevel) -> DiskFacts {
    DiskFacts {
        name: name.to_owned(),
        dev: DevT::new(8, 0),
        kind,
        model: None,
        size_bytes: 1 << 30,
        rotational: Some(false),
        scheduler: None,
        schedulers: Vec::new(),
        nr_requests: None,
        wbt_us: None,
        read_ahead_kib: None,
        below: Vec::new(),
        loop_direct_io: None,
        mounts: Vec::new(),
        ioprio: IoprioEffect { level, why: format!("because {level:?}") },
    }
}

fn v2(child: Attempt, freeze: bool, cpu_idle: bool) -> CgroupFacts {
    let hierarchy = Hierarchy {
        version: 2,
        controllers: Vec::new(),
        handed_down: Vec::new(),
        mount: "/sys/fs/cgroup".into(),
        own_path: "/own".to_owned(),
        own: Some("/sys/fs/cgroup/own".into()),
        at_root: false,
        child,
        above: None,
        inside: None,
        most_tasks: None,
        freeze,
        cpu_idle,
        quota: cpu_idle,
        kill: true,
        cpuset: false,
        memory: false,
    };
    CgroupFacts { layout: Layout::V2, v2: Some(hierarchy), v1: Vec::new() }
}

/// A host that offers everything.
fn rich() -> Facts {
    Facts {
        kernel: Kernel { release: "6.18.0".to_owned(), version: (6, 18), pressure: Vec::new() },
        user: UserFacts::default(),
        bpf: BpfFacts {
            btf: true,
            unprivileged_disabled: Some(2),
            map: Attempt::Works,
            tracing: Attempt::Works,
        },
        seccomp: SeccompFacts {
            user_notification: Attempt::Works,
            listener: Attempt::Works,
            needs_no_new_privs: false,
            wait_killable: true,
            sync_wake_up: true,
            can_continue: true,
            sizes_bytes: None,
        },
        cgroups: v2(Attempt::Works, true, true),
        net: NetFacts::default(),
        cpu: CpuFacts {
            cpus: 2,
            memory_bytes: 1 << 30,
            swap_bytes: 0,
            autogroup: Autogroup { enabled: true, applies: false, why: String::new() },
            sched_idle: Attempt::Works,
            ioprio_idle: Attempt::Works,
            nice: Attempt::Works,
        },
        disks: vec![disk("sda", DiskKind::Disk, IoprioLevel::Full)],
    }
}

fn reason<'a>(plan: &'a Plan, what: &str) -> &'a Reason {
    plan.reasons
        .iter()
        .find(|reason| reason.what == what)
        .unwrap_or_else(|| panic!("no reason for {what}: {plan:?}"))
}

#[test]
fn a_rich_host_gets_the_best_of_everything() {
    let plan = Plan::for_facts(&rich());
    assert!(
        plan.sensor.best && plan.request_gate.best && plan.hold_gate.best && plan.cpus.best && plan.cpu_idle
    );
    assert_eq!(reason(&plan, "I/O class idle on sda").effect, Effect::Takes);
    assert_eq!(reason(&plan, "nice 19").effect, Effect::NoEffect);
    assert!(plan.marks.contains(Mark::SchedIdle) && !plan.marks.contains(Mark::Nice));
}

#[test]
fn a_scheduler_that_ignores_classes_makes_the_class_a_tag_only() {
    let mut facts = rich();
    facts.disks = vec![
        disk("vda", DiskKind::Disk, IoprioLevel::None),
        disk("sdb", DiskKind::Disk, IoprioLevel::Order),
        disk("dm-0", DiskKind::DeviceMapper, IoprioLevel::None),
    ];
    let plan = Plan::for_facts(&facts);
    assert_eq!(reason(&plan, "I/O class idle on vda").effect, Effect::NoEffect);
    assert_eq!(reason(&plan, "I/O class idle on sdb").effect, Effect::Partly);
    assert!(plan.marks.contains(Mark::IoprioIdle), "the sensors read it");
    assert!(plan.reasons.iter().all(|reason| !reason.what.contains("dm-0")), "the disks below decide");
}

#[test]
fn autogroup_confines_the_cpu_class_unless_a_group_is_idle() {
    let mut facts = rich();
    facts.cpu.autogroup.applies = true;
    assert!(!reason(&Plan::for_facts(&facts), "SCHED_IDLE").why.contains("same session"));
    facts.cgroups = v2(Attempt::Works, true, false);
    let plan = Plan::for_facts(&facts);
    assert!(reason(&plan, "SCHED_IDLE").why.contains("same session"));
    assert_eq!(reason(&plan, "SCHED_IDLE").effect, Effect::Partly);
    assert!(reason(&plan, "nice 19").why.contains("autogroup"));
    assert_eq!(reason(&plan, "cpu.idle").effect, Effect::Refused);
}

#[test]
fn nice_is_set_where_the_idle_class_is_refused() {
    let mut facts = rich();
    facts.cpu.sched_idle = Attempt::from_errno(libc::EPERM);
    let plan = Plan::for_facts(&facts);
    assert_eq!(reason(&plan, "SCHED_IDLE").effect, Effect::Refused);
    assert!(plan.marks.contains(Mark::Nice) && !plan.marks.contains(Mark::SchedIdle));
}

#[test]
fn a_poor_host_gets_fallbacks_that_name_what_is_lacking() {
    let mut facts = rich();
    facts.bpf.map = Attempt::from_errno(libc::EPERM);
    facts.seccomp.listener = Attempt::from_errno(libc::EBUSY);
    facts.cgroups = v2(Attempt::from_errno(libc::EACCES), false, false);
    facts.cpu.ioprio_idle = Attempt::from_errno(libc::ENOSYS);
    let plan = Plan::for_facts(&facts);
    assert_eq!(
        (plan.sensor.name, plan.request_gate.name, plan.hold_gate.name),
        ("diskstats", "none", "none")
    );
    assert!(!plan.cpus.best);
    assert!(plan.sensor.why.contains("EPERM") && plan.request_gate.why.contains("EBUSY"));
    assert!(reason(&plan, "cpu.idle").why.contains("EACCES"));
    assert_eq!(reason(&plan, "I/O class idle").effect, Effect::Refused);
    assert!(!plan.marks.contains(Mark::IoprioIdle));
}

#[test]
fn an_older_seccomp_works_with_its_lacks_named() {
    let mut facts = rich();
    facts.seccomp.sync_wake_up = false;
    let plan = Plan::for_facts(&facts);
    assert_eq!(plan.request_gate.name, "seccomp user notification");
    assert!(!plan.request_gate.best && plan.request_gate.why.contains("synchronous"));
}

#[test]
fn a_plan_serialises_its_marks_by_name() {
    let json = serde_json::to_value(Plan::for_facts(&rich())).unwrap();
    let marks: Vec<_> = json["marks"].as_array().unwrap().iter().map(|mark| mark.as_str().unwrap()).collect();
    assert_eq!(marks, ["ioprio-idle", "sched-idle", "oom-score", "timer-slack"]);
    assert_eq!(json["reasons"][0]["effect"], "takes");
}

#[test]
fn decimals_are_read_and_written_without_allocation() {
    for value in [0, 7, -1, 1000, -1000, i32::MAX, -i32::MAX] {
        let (text, length) = decimal(value);
        assert_eq!(std::str::from_utf8(&text[..length]).unwrap(), value.to_string());
        assert_eq!(parse_decimal(format!("{value}\n").as_bytes()), Some(value));
    }
    assert_eq!(parse_decimal(b"\n"), None);
    assert_eq!(parse_decimal(b"-"), None);
    assert_eq!(parse_decimal(b"99999999999"), None);
    assert_eq!((raised(0), raised(200), raised(-300), raised(-1000)), (1000, 1000, 700, 0));
}

/// Runs a shell command in a child that bears the marks, and gives its output.
fn marked(marks: MarkSet, script: &str) -> String {
    use std::os::unix::process::CommandExt;
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    let set = move || {
        if marks.apply().is_empty() { Ok(()) } else { Err(std::io::ErrorKind::PermissionDenied.into()) }
    };
    // SAFETY: `apply` only makes system calls.
    unsafe { command.pre_exec(set) };
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn a_marked_child_and_its_children_bear_the_marks() {
    let marks = MarkSet::from_iter([Mark::SchedIdle, Mark::Nice, Mark::OomScore, Mark::TimerSlack]);
    let own: i32 = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim().parse().unwrap();
    let score = marked(marks, "sh -c 'cat /proc/self/oom_score_adj'");
    assert_eq!(score.trim().parse::<i32>().unwrap(), raised(own));
    // Field 41 of stat is the policy, field 19 the nice value.
    let stat = marked(marks, "sh -c 'cat /proc/self/stat'");
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    assert_eq!((fields[38], fields[16]), ("5", "19"));
}

#[test]
fn a_marked_child_has_the_idle_io_class() {
    let output = marked(MarkSet::default().with(Mark::IoprioIdle), "ionice -p $$");
    if output.is_empty() {
        eprintln!("SKIPPED: ionice is not installed");
        return;
    }
    assert_eq!(output.trim(), "idle");
}
