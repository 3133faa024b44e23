//! The disks of this very machine, by the kernel's counters, which need no rights.

use super::*;

fn started(names: &[&str]) -> Sensors {
    let aim = DiskAim {
        watches: true,
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        ..DiskAim::default()
    };
    start(&aim, &JobProcesses::of_supervisor(None))
}

#[test]
fn without_bpf_each_disk_is_sampled() {
    let mut sensors = started(&[]);
    let chosen = choose(&[], &mut Vec::new());
    assert_eq!(sensors.disks.len(), chosen.len(), "{:?}", sensors.notes);
    assert!(!sensors.has_bpf() && sensors.kind == "/proc/diskstats");
    let now = clock::now();
    for disk in &mut sensors.disks {
        // A sensor without events says when it has to be read again.
        let waits = lull_core::Wake { foreground_end: true, ..lull_core::Wake::default() };
        disk.observe(now);
        assert!(disk.next_sample(now, &waits).is_some_and(|at| at >= now), "{}", disk.traits.name);
        assert!(disk.device().is_none() && !disk.wants_hold());
    }
}

#[test]
fn only_those_that_were_named_are_watched() {
    assert!(started(&["no such disk"]).disks.is_empty());
    let Some(first) = choose(&[], &mut Vec::new()).into_iter().next() else { return };
    let named = started(&[&first.name]);
    assert!(named.disks.len() == 1 && named.disks[0].traits.name == first.name);
    let none = start(&DiskAim::default(), &JobProcesses::of_supervisor(None));
    assert!(none.disks.is_empty() && none.kind == "none");
}
