use lull_linux::probe::{
    Attempt, Autogroup, BpfFacts, CgroupFacts, CpuFacts, DiskFacts, Hierarchy, InterfaceFacts, IoprioEffect,
    IoprioLevel, Kernel, Layout, NetFacts, SeccompFacts, UserFacts,
};
use lull_linux::topology::{DevT, DiskKind};

use std::path::Path;

use super::*;

/// A host that has everything, with one disk under bfq.
pub(super) fn facts() -> Facts {
    let own = Hierarchy {
        version: 2,
        controllers: Vec::new(),
        handed_down: Vec::new(),
        mount: "/sys/fs/cgroup".into(),
        own_path: "/own".to_owned(),
        own: Some("/sys/fs/cgroup/own".into()),
        at_root: false,
        child: Attempt::Works,
        above: None,
        inside: None,
        most_tasks: None,
        freeze: true,
        cpu_idle: true,
        quota: true,
        kill: true,
        cpuset: false,
        memory: false,
    };
    let disk = DiskFacts {
        name: "sda".to_owned(),
        dev: DevT::new(8, 0),
        kind: DiskKind::Disk,
        model: Some("ACME 3000".to_owned()),
        size_bytes: 1 << 40,
        rotational: Some(true),
        scheduler: Some("bfq".to_owned()),
        schedulers: vec!["none".to_owned(), "bfq".to_owned()],
        nr_requests: Some(64),
        wbt_us: Some(75_000),
        read_ahead_kib: Some(128),
        below: Vec::new(),
        loop_direct_io: None,
        mounts: vec!["/".into()],
        ioprio: IoprioEffect { level: IoprioLevel::Full, why: "bfq serves class idle last".to_owned() },
    };
    Facts {
        kernel: Kernel { release: "6.18.0".to_owned(), version: (6, 18), pressure: vec!["io".to_owned()] },
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
        cgroups: CgroupFacts { layout: Layout::V2, v2: Some(own), v1: Vec::new() },
        cpu: CpuFacts {
            cpus: 4,
            memory_bytes: 16 << 30,
            swap_bytes: 0,
            autogroup: Autogroup { enabled: true, applies: false, why: "a group decides".to_owned() },
            sched_idle: Attempt::Works,
            ioprio_idle: Attempt::Works,
            nice: Attempt::Works,
        },
        net: NetFacts {
            interfaces: vec![InterfaceFacts {
                name: "eth0".to_owned(),
                index: 2,
                up: true,
                loopback: false,
                queue_packets: Some(1000),
            }],
            congestion_controls: vec!["reno".to_owned()],
        },
        disks: vec![disk],
    }
}

/// An ordinary user in a login session, on a virtual disk.
pub(super) fn poor() -> Facts {
    let mut facts = facts();
    facts.user =
        UserFacts { uid: 1000, euid: 1000, missing_capabilities: vec!["CAP_BPF"], ..UserFacts::default() };
    facts.bpf.map = Attempt::from_errno(libc::EPERM);
    facts.bpf.tracing = Attempt::from_errno(libc::EPERM);
    facts.seccomp.needs_no_new_privs = true;
    facts.cpu.autogroup.applies = true;
    if let Some(own) = &mut facts.cgroups.v2 {
        own.child = Attempt::from_errno(libc::EACCES);
        own.freeze = false;
        own.cpu_idle = false;
    }
    let disk = &mut facts.disks[0];
    disk.scheduler = Some("none".to_owned());
    disk.ioprio =
        IoprioEffect { level: IoprioLevel::None, why: "scheduler none looks at no class".to_owned() };
    facts
}

/// All that follows from facts.
pub(super) fn findings(facts: Facts) -> Findings {
    let plan = Plan::for_facts(&facts);
    let advice = advice::all(&facts, None, Path::new("/usr/bin/lull"), true);
    let (class, memory, network, reservations) = (None, None, None, None);
    Findings {
        version: "0",
        asked: None,
        facts,
        plan,
        signals: None,
        class,
        memory,
        network,
        reservations,
        htcondor: None,
        advice,
    }
}

#[test]
fn json_holds_facts_plan_and_advice() {
    let json = serde_json::to_value(findings(poor())).unwrap();
    assert_eq!(json["plan"]["sensor"]["name"], "diskstats");
    assert_eq!(json["facts"]["disks"][0]["ioprio"]["level"], "none");
    assert_eq!(json["facts"]["disks"][0]["dev"], "8:0");
    assert!(json["advice"][0]["command"].as_str().unwrap().contains("setcap"));
    assert!(json.get("asked").is_none());
}

#[test]
fn a_path_that_is_not_there_is_told_by_name() {
    let error = ask(&Topology::host(), "/no/such/path".into()).unwrap_err().to_string();
    assert!(error.contains("/no/such/path"), "{error}");
}

#[test]
fn a_disk_may_be_asked_for_by_its_bare_name() {
    let topology = Topology::host();
    let Some(disk) = topology.disks().into_iter().next() else {
        eprintln!("SKIPPED: this host has no disk");
        return;
    };
    let asked = ask(&topology, disk.name.clone().into()).unwrap();
    assert_eq!(asked.served_by[0], disk);
}

#[test]
fn both_forms_are_written_for_the_running_host() {
    run(DoctorArgs { json: false, path: None }).unwrap();
    run(DoctorArgs { json: true, path: Some("/".into()) }).unwrap();
}
