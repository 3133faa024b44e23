#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{MemorySensor, Scope};
use crate::cgroup::memory::{MemoryGroup, Returns};
use crate::root::Root;

fn host(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

const MACHINE: [(&str, &str); 2] = [
    (
        "proc/meminfo",
        "MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 300 kB\nActive(file): 240 kB\nInactive(file): 40 kB\nSReclaimable: 20 kB\n",
    ),
    ("proc/vmstat", "workingset_refault_anon 1\nworkingset_refault_file 2\npgmajfault 4\npgfault 999\n"),
];

#[test]
fn the_machine_alone_is_the_scope_without_limits() {
    let host = host(&MACHINE);
    let sensor = MemorySensor::new(Root::at(host.path()), Vec::new());
    let scope = sensor.look();
    let returns = Returns { refaults: 3, activates: None };
    let expected =
        Scope { total_bytes: 1000 << 10, free_bytes: 40 << 10, stalls: 7, returns, unused_bytes: 10 << 10 };
    assert_eq!(scope, Some(expected), "page cache is used");
}

#[test]
fn the_scope_with_the_least_free_memory_counts() {
    let v1 = [
        ("g/memory.limit_in_bytes", "102400\n"),
        ("g/memory.usage_in_bytes", "92160\n"),
        ("g/memory.stat", "total_inactive_file 4096\ntotal_pgmajfault 5\n"),
    ];
    let host = host(&[MACHINE.as_slice(), &v1].concat());
    let group = MemoryGroup::open(&host.path().join("g")).unwrap();
    let sensor = MemorySensor::new(Root::at(host.path()), vec![group]);
    let returns = Returns::default();
    assert_eq!(
        sensor.look(),
        Some(Scope {
            total_bytes: 102_400,
            free_bytes: 10_240 + 2048,
            stalls: 5,
            returns,
            unused_bytes: 10_240
        })
    );
    assert_eq!(sensor.glance(), Some(10_240), "page cache is not looked at");
    std::fs::write(host.path().join("g/memory.usage_in_bytes"), "100352\n").unwrap();
    assert_eq!(sensor.look().unwrap().unused_bytes, 2048);
}

#[test]
fn nothing_is_said_of_a_machine_that_cannot_be_read() {
    let host = host(&[]);
    let sensor = MemorySensor::new(Root::at(host.path()), Vec::new());
    assert_eq!((sensor.look(), sensor.glance()), (None, None));
}

#[test]
fn page_cache_that_is_in_use_is_not_free() {
    let look = |active: u32, inactive: u32| {
        let info = format!(
            "MemTotal: 1000 kB\nMemFree: 20 kB\nMemAvailable: {} kB\nActive(file): {active} kB\nInactive(file): {inactive} kB\n",
            active + inactive
        );
        let host = host(&[("proc/meminfo", &info)]);
        MemorySensor::new(Root::at(host.path()), Vec::new()).look().unwrap().free_bytes >> 10
    };
    assert_eq!(look(800, 0), 20, "a hot set that fills the machine");
    assert_eq!(look(0, 800), 420);
    assert_eq!(look(0, 30), 30, "no more than the kernel thinks");
}

#[test]
fn pages_that_fit_nowhere_do_not_count_as_lost_where_that_is_told() {
    let vmstat = "workingset_refault_anon 1\nworkingset_refault_file 90\nworkingset_activate_anon 2\nworkingset_activate_file 7\n";
    let host = host(&[MACHINE[0], ("proc/vmstat", vmstat)]);
    let all = MemorySensor::new(Root::at(host.path()), Vec::new()).look().unwrap().returns;
    assert_eq!(all.without(&Returns { refaults: 50, activates: Some(4) }), 5);
    assert_eq!(all.without(&Returns { refaults: 50, activates: None }), 41);
}
