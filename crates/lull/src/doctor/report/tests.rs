use super::super::page::WIDTH;
use super::super::tests::{facts, findings, poor};
use super::*;

fn text(findings: &Findings) -> String {
    let mut page = Page::new(false);
    write(&mut page, findings);
    page.finish()
}

#[test]
fn every_section_is_there_and_every_line_but_commands_fits() {
    for facts in [facts(), poor()] {
        let text = text(&findings(facts));
        for title in [
            "Kernel and user",
            "Sensor",
            "Request gate",
            "Hold gate",
            "Class marks",
            "Disk ",
            "What would improve",
        ] {
            assert!(text.lines().any(|line| line.starts_with(title)), "{title} is missing in {text}");
        }
        for line in text.lines().filter(|line| !line.trim_start().starts_with('$')) {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }
}

#[test]
fn popular_remedies_without_effect_are_named() {
    let text = text(&findings(poor()));
    assert!(text.contains("ionice -c 3               no effect: scheduler none"), "{text}");
    assert!(text.contains("no effect between sessions"), "{text}");
}

#[test]
fn bfq_is_used_and_not_fought() {
    let text = text(&findings(facts())).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("full effect") && text.contains("leaves the rest to bfq"), "{text}");
}

#[test]
fn with_a_path_only_its_disks_are_told() {
    let mut findings = findings(facts());
    findings.asked = Some(Asked { path: "/srv".into(), served_by: Vec::new() });
    findings.facts.disks.clear();
    let text = text(&findings);
    assert!(text.starts_with("/srv is served by\n  no local disk"), "{text}");
    assert!(!text.contains("Kernel and user") && !text.contains("What would"), "{text}");
}

#[test]
fn a_volume_s_class_depends_on_the_disks_below() {
    let mut facts = facts();
    facts.disks[0].kind = DiskKind::DeviceMapper;
    facts.disks[0].ioprio.level = IoprioLevel::None;
    facts.disks[0].below = vec!["sda2".to_owned()];
    let text = text(&findings(facts));
    assert!(text.contains("depends:") && text.contains("on top of                 sda2"), "{text}");
}

#[test]
fn sizes_are_told_in_the_largest_fitting_unit() {
    for (bytes, text) in [
        (0, "0 B"),
        (512, "512 B"),
        (1 << 20, "1 MiB"),
        (1_610_612_736, "1.5 GiB"),
        (250 << 30, "250 GiB"),
        (u64::MAX, "16384 PiB"),
    ] {
        assert_eq!(size(bytes), text);
    }
}

#[test]
fn many_mounts_are_counted() {
    let mut disk = facts().disks.remove(0);
    disk.mounts = (0..9).map(|n| format!("/m{n}").into()).collect();
    assert_eq!(mounts(&disk), "/m0, /m1, /m2, /m3, 5 more");
}
