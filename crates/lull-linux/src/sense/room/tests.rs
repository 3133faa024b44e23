#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::{RoomSensor, Scope};
use crate::cgroup::memory::MemoryGroup;
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
    ("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 300 kB\n"),
    ("proc/vmstat", "workingset_refault_anon 1\nworkingset_refault_file 2\npgmajfault 4\npgfault 999\n"),
];

#[test]
fn the_machine_alone_is_the_scope_without_limits() {
    let host = host(&MACHINE);
    let sensor = RoomSensor::new(Root::at(host.path()), Vec::new());
    let scope = sensor.look();
    assert_eq!(sensor.unused(), 10 << 10, "page cache is used");
    let expected = Scope { total_bytes: 1000 << 10, free_bytes: 300 << 10, stalls: 7 };
    assert_eq!(scope, Some(expected));
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
    let sensor = RoomSensor::new(Root::at(host.path()), vec![group]);
    assert_eq!(sensor.look(), Some(Scope { total_bytes: 102_400, free_bytes: 10_240 + 2048, stalls: 5 }));
    assert_eq!(sensor.glance(), Some(10_240), "page cache is not looked at");
    std::fs::write(host.path().join("g/memory.usage_in_bytes"), "100352\n").unwrap();
    assert_eq!(sensor.unused(), 2048);
}

#[test]
fn nothing_is_said_of_a_machine_that_cannot_be_read() {
    let host = host(&[]);
    let sensor = RoomSensor::new(Root::at(host.path()), Vec::new());
    assert_eq!((sensor.look(), sensor.glance(), sensor.unused()), (None, None, 0));
}
