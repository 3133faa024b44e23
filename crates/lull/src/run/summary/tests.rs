//! What the summary says.

use super::{CpuSummary, DiskSummary, GateCounts, Summary, WholeSummary};
use lull_engine::report::figures::{Delays, LossSummary};
use lull_engine::report::whole::LostPart;

#[test]
fn the_text_names_every_disk_that_worked_and_the_json_comes_back() {
    let disk = DiskSummary {
        disk: "vda".into(),
        background_requests: 3,
        latency: Delays { quiet_mean_ns: Some(35_000), quiet_p99_ns: Some(90_000), ..Delays::default() },
        ..DiskSummary::default()
    };
    let idle = DiskSummary { disk: "sdb".into(), ..DiskSummary::default() };
    let summary = Summary {
        is_complete: true,
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
    assert_eq!(serde_json::from_str::<Summary>(&summary.json()).unwrap(), summary);
}

#[test]
fn a_summary_without_numbers_shows_none() {
    let summary = Summary {
        command: vec!["tar".into()],
        unmet: vec!["--protect".into()],
        notes: vec!["killed".into()],
        ..Summary::default()
    };
    assert_eq!(summary.text(), "lull: tar in 0ns; no numbers\nlull: note: --protect\nlull: note: killed\n");
    let json: serde_json::Value = serde_json::from_str(&summary.json()).unwrap();
    assert_eq!(json["notes"][0], "killed");
    assert!(json["held_ns"].is_null() && json["sensor"].is_null() && json["promised"].is_null(), "{json}");
}

#[test]
fn a_promise_is_kept_broken_or_open() {
    let lost = |lost_worst, least, most| DiskSummary {
        lost: 0.02,
        lost_worst,
        loss: Some(LossSummary { likely: 0.03, least, most }),
        ..DiskSummary::default()
    };
    let kept = |worst, least, most| lost(worst, least, most).keeps(0.05);
    assert_eq!(kept(0.02, 0.0, Some(0.049)), Some(true));
    assert_eq!((kept(0.06, 0.0, Some(0.049)), kept(0.02, 0.06, None)), (Some(false), Some(false)));
    assert_eq!((kept(0.02, 0.01, Some(0.2)), kept(0.02, 0.0, None)), (None, None));
    assert_eq!(kept(2.75, 0.0, None), None, "booked before anything is known");
    let told = lost(0.02, 0.01, Some(0.2)).lost_text(0.05);
    assert!(told.contains("lost 2.0%") && told.contains("1.0% to 20.0%") && told.contains("5.0%"), "{told}");
    assert!(lost(0.02, 0.0, None).lost_text(0.05).contains("too little"));
}

#[test]
fn a_job_without_a_cpu_is_told_for_how_long_if_that_is_worth_a_line() {
    let told = |starved_ns| {
        Summary { is_complete: true, wall_ns: 20_000_000_000, starved_ns, ..Summary::default() }.text()
    };
    assert!(told(Some(15_100_000_000)).contains("lull: it wanted a CPU and had none for 15.1s\n"));
    assert!(!told(Some(100_000_000)).contains("no CPU"));
    assert!(!told(None).contains("no CPU"));
}

#[test]
fn a_policy_that_holds_the_whole_job_is_told_with_its_holds() {
    let summary = Summary {
        is_complete: true,
        command: vec!["make".into()],
        policy: "smart".into(),
        regulation: Some("smart: ended before the foreground was learnt".into()),
        wall_ns: 4_000_000_000,
        held_ns: 1_000_000_000,
        holds: 3,
        job_held_ns: 1_000_000_000,
        ..Summary::default()
    };
    let text = summary.text();
    assert!(text.contains("make in 4s, 75.0% of it active; policy smart, held 3 times, 1s in all"), "{text}");
    assert!(text.contains("ended before") && !text.contains("calls gated"), "{text}");
    let told: serde_json::Value = serde_json::from_str(&summary.json()).unwrap();
    assert!(told.get("promised").is_none() && told["policy"] == "smart", "{told}");
    let (regulation, gate) = (None, GateCounts { trapped: 7, ..GateCounts::default() });
    let gated = Summary { regulation, gate, ..summary.clone() };
    assert!(gated.text().contains("; 7 calls gated, 0 waited"), "{}", gated.text());
    let idle = Summary { gate: GateCounts::default(), ..gated };
    assert!(!idle.text().contains("gated"), "{}", idle.text());
}

#[test]
fn what_was_withheld_for_tests_is_told_beside_what_was_lent() {
    let mut summary = Summary {
        is_complete: true,
        holds: 1,
        job_held_ns: 3_600_000_000,
        cpu: Some(CpuSummary {
            lent: "every CPU, in the idle class".into(),
            tested_ns: 3_600_000_000,
            ..CpuSummary::default()
        }),
        ..Summary::default()
    };
    let text = summary.text();
    assert!(text.contains("lull: held once, 3.60s in all\n"), "{text}");
    assert!(
        text.contains("; beside it the job had every CPU, in the idle class; 3.60s withheld for tests\n"),
        "{text}"
    );
    assert!(!text.contains("once woken"), "{text}");
    let waited =
        CpuSummary { delay_quiet_ns: Some(9_000), delay_loaded_ns: Some(12_000), ..CpuSummary::default() };
    assert!(waited.text().contains("waited 12us for a CPU beside the job, 9us without it\n"), "{waited:?}");
    summary.holds = 2;
    summary.cpu = Some(CpuSummary { tested_ns: 0, ..summary.cpu.unwrap() });
    let text = summary.text();
    assert!(text.contains("held 2 times, ") && !text.contains("withheld"), "{text}");
}

#[test]
fn the_sum_is_told_after_the_resources_with_what_each_took_of_it() {
    let part = |resource: &str, lost| LostPart { resource: resource.to_owned(), lost };
    let parts = vec![part("cpu", 0.011), part("vda", 0.02)];
    let whole = WholeSummary { lost: 0.031, lost_worst: 0.047, parts, kept: Some(true) };
    let summary = Summary { is_complete: true, promised: 0.05, whole: Some(whole), ..Summary::default() };
    let text = summary.text();
    assert!(
        text.contains(
            "lull: in all: the foreground lost 3.1% of its time (cpu 1.1%, vda 2.0%), 4.7% in the worst minute; at most \
             5.0% is promised over all: kept\n"
        ),
        "{text}"
    );
    assert!(!Summary { whole: None, ..summary }.text().contains("in all:"));
}
