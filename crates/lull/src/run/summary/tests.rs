//! What the summary says.

use super::{DiskSummary, Summary, bytes};

#[test]
fn bytes_have_units() {
    assert_eq!(bytes(12), "12 B");
    assert_eq!(bytes(1536), "1.5 KiB");
    assert_eq!(bytes(3 << 30), "3.0 GiB");
}

#[test]
fn the_text_names_every_disk_that_worked_and_the_json_comes_back() {
    let disk = DiskSummary {
        disk: "vda".into(),
        background_requests: 3,
        quiet_mean_ns: Some(35_000),
        quiet_p99_ns: Some(90_000),
        ..DiskSummary::default()
    };
    let idle = DiskSummary { disk: "sdb".into(), ..DiskSummary::default() };
    let summary = Summary {
        command: vec!["tar".into()],
        wall_ns: 2_000_000_000,
        held_ns: 500_000_000,
        disks: vec![disk, idle],
        ..Summary::default()
    };
    let text = summary.text();
    assert!(
        text.contains("tar in 2s, 75.0% of it active") && text.contains("vda") && !text.contains("sdb"),
        "{text}"
    );
    let json = serde_json::to_string(&summary).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), summary);
}
