use std::process::Command;

use super::*;

#[test]
fn an_impossible_map_is_refused_with_its_error_number() {
    let attr = MapAttr { map_type: u32::MAX, key_size: 4, value_size: 8, max_entries: 1, map_flags: 0 };
    assert_ne!(bpf(BPF_MAP_CREATE, &attr), 0);
}

#[test]
fn usable_needs_all_three() {
    let all =
        BpfFacts { btf: true, unprivileged_disabled: Some(2), map: Attempt::Works, tracing: Attempt::Works };
    assert!(all.usable());
    assert!(!BpfFacts { btf: false, ..all.clone() }.usable());
    assert!(!BpfFacts { map: Attempt::fails("no"), ..all.clone() }.usable());
    assert!(!BpfFacts { tracing: Attempt::fails("no"), ..all }.usable());
}

#[test]
fn trials_leave_no_descriptor_behind() {
    let count = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    // In a process of its own: other tests open and close files in this one.
    if std::env::var_os("LULL_COUNT_FDS").is_some() {
        let before = count();
        for _ in 0..20 {
            try_map();
            try_tracing();
        }
        assert_eq!(count(), before);
        return;
    }
    let name = "probe::bpf::tests::trials_leave_no_descriptor_behind";
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--test-threads=1"])
        .env("LULL_COUNT_FDS", "1")
        .status()
        .unwrap();
    assert!(status.success());
}
