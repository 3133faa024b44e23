use super::*;
use IoprioLevel::{Full, None as Nothing, Order};

#[test]
fn the_selected_scheduler_stands_in_brackets() {
    let (selected, all) = parse_schedulers("none [mq-deadline] kyber bfq");
    assert_eq!(selected.unwrap(), "mq-deadline");
    assert_eq!(all, ["none", "mq-deadline", "kyber", "bfq"]);
    assert_eq!(parse_schedulers("none").0.unwrap(), "none");
    assert_eq!(parse_schedulers(""), (None, vec![]));
}

#[test]
fn classes_count_as_far_as_the_scheduler_looks_at_them() {
    for (kind, scheduler, level, word) in [
        (DiskKind::Disk, Some("none"), Nothing, "none"),
        (DiskKind::Disk, Some("kyber"), Nothing, "kyber"),
        (DiskKind::Disk, Some("mq-deadline"), Order, "orders"),
        (DiskKind::Disk, Some("bfq"), Full, "bfq"),
        (DiskKind::Disk, Some("homemade"), Nothing, "not known"),
        (DiskKind::DeviceMapper, Some("none"), Nothing, "below"),
        (DiskKind::Raid, None, Nothing, "below"),
        (DiskKind::Zram, None, Nothing, "no scheduler"),
    ] {
        let effect = ioprio_effect(kind, scheduler, None);
        assert_eq!(effect.level, level, "{kind:?} {scheduler:?}");
        assert!(effect.why.contains(word), "{effect:?}");
    }
    let lost = ioprio_effect(DiskKind::Loop, Some("bfq"), Some(false));
    assert!(lost.why.contains("direct I/O"), "{lost:?}");
}

#[test]
fn facts_of_the_running_host_s_disks_are_consistent() {
    let root = Root::real();
    for disk in read_all(&root, &Topology::host()) {
        assert!(disk.size_bytes > 0 && disk.size_bytes % 512 == 0);
        if let Some(selected) = &disk.scheduler {
            assert!(disk.schedulers.contains(selected), "{disk:?}");
        }
    }
}
