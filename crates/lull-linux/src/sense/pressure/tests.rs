#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use lull_core::Nanos;

use super::{MACHINE, OthersPressure, Trigger, stalled, starved_of_cpu};
use crate::cgroup::memory::MemoryGroup;
use crate::root::Root;

#[test]
fn stalls_of_some_task_are_read_in_microseconds() {
    let text = "some avg10=0.00 avg60=0.12 avg300=0.05 total=1500\nfull avg10=0.00 total=9\n";
    assert_eq!(stalled(text), Some(Nanos::from_micros(1500)));
    assert_eq!(stalled("full avg10=0.00 total=9\n"), None);
    assert_eq!(stalled(""), None, "as with psi=0");
}

#[test]
fn a_group_is_starved_while_none_of_its_tasks_has_a_cpu() {
    let group = tempfile::tempdir().unwrap();
    assert_eq!(starved_of_cpu(group.path()), None, "a v1 group");
    let told =
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9\n";
    std::fs::write(group.path().join("cpu.pressure"), told).unwrap();
    assert_eq!(starved_of_cpu(group.path()), Some(Nanos::from_micros(9)));
}

#[test]
fn there_is_no_trigger_on_what_is_not_there() {
    assert!(Trigger::open(Path::new("/proc/pressure/nothing")).is_err());
}

#[test]
fn root_a_trigger_is_had_where_the_machine_tells_its_pressure() {
    if std::fs::read_to_string(MACHINE).is_err() {
        eprintln!("SKIPPED: no pressure stall information here");
        return;
    }
    Trigger::open(Path::new(MACHINE)).unwrap();
}

#[test]
fn others_waited_for_what_neither_the_job_nor_lull_did() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, micros: u64| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("some avg10=0.00 total={micros}\nfull avg10=0.00 total=0\n")).unwrap();
    };
    write("proc/pressure/memory", 1000);
    write("job/memory.pressure", 300);
    let job = dir.path().join("job");
    let mut others = OthersPressure::new(&Root::at(dir.path()), &[], Some(&job));
    assert_eq!(others.stalled(), Nanos::from_micros(700));
    others.aside(|| write("proc/pressure/memory", 1500));
    assert_eq!(others.stalled(), Nanos::from_micros(700), "that was lull's own");
    write("job/memory.pressure", 9000);
    assert_eq!(others.stalled(), Nanos::ZERO, "stalls overlap");
    let nothing = OthersPressure::new(&Root::at(dir.path().join("nowhere")), &[], None);
    assert_eq!(nothing.stalled(), Nanos::ZERO);
}

#[test]
fn a_limited_group_that_tells_counts_instead_of_the_machine() {
    let dir = tempfile::tempdir().unwrap();
    let group = dir.path().join("group");
    std::fs::create_dir_all(&group).unwrap();
    for (name, text) in [("memory.max", "1000000\n"), ("memory.pressure", "some avg10=0.00 total=42\n")] {
        std::fs::write(group.join(name), text).unwrap();
    }
    let limits = [MemoryGroup::open(&group).unwrap()];
    let others = OthersPressure::new(&Root::at(dir.path()), &limits, None);
    assert_eq!(others.stalled(), Nanos::from_micros(42));
}
