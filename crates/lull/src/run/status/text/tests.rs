//! What the line says, and on how many pages.

use super::{Status, pages, parts, whole};
use lull_engine::report::status::LinkStatus;

fn text(status: &Status) -> String {
    pages(status, 1_000).remove(0)
}

fn link(interface: &str) -> LinkStatus {
    LinkStatus { interface: interface.into(), state: 'P', interval: "25ms".into(), background_bytes: 2048 }
}

/// A job that uses a disk, memory and two interfaces.
fn busy() -> Status {
    Status {
        state: 'B',
        disk: "vda".into(),
        active: 0.5,
        background_bytes: 1 << 20,
        quiet_ns: Some(35_000),
        loaded_ns: Some(40_000),
        lost: Some(0.0123),
        memory: Some("resident 1.0 MiB, dirty 2.0 MiB".into()),
        links: vec![link("eth0"), link("wlan0")],
        ..Status::default()
    }
}

#[test]
fn where_there_is_no_row_all_is_in_one_line() {
    let line = whole(&busy());
    assert_eq!(line, pages(&busy(), 1_000).remove(0).replacen("lull ", "lull: ", 1) + "\n");
    assert!(line.starts_with("lull: ") && line.matches("lull").count() == 1, "{line}");
}

#[test]
fn the_line_says_what_is_waited_for() {
    let mut status = Status { state: 'F', disk: "vda".into(), waiting: 2, ..Status::default() };
    assert!(text(&status).contains("waiting: the foreground uses the disk"));
    status.state = 'P';
    assert!(text(&status).contains("preemption interval"));
    assert!(text(&busy()).starts_with("lull running | active 50% | vda B 1.0 MiB, "), "{}", text(&busy()));
}

#[test]
fn a_job_that_is_not_held_and_gets_no_cpu_is_not_said_to_run_as_it_likes() {
    let starved = Status { starved: true, ..busy() };
    assert!(
        text(&starved).starts_with("lull running, but gets no CPU | active 50% | "),
        "{}",
        text(&starved)
    );
    let held = Status { held: true, held_for_cpu: true, ..starved };
    assert!(text(&held).starts_with("lull held: the foreground uses the CPUs | "), "{}", text(&held));
}

#[test]
fn every_resource_is_told() {
    let shown = text(&busy());
    for part in [
        "| eth0 P 2.0 KiB, interval 25ms |",
        "| wlan0 P 2.0 KiB, interval 25ms |",
        "| 1.2% lost in all |",
        "| resident 1.0 MiB, dirty 2.0 MiB |",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(shown.ends_with("| vda: foreground 35us without, 40us with us"), "{shown}");
}

#[test]
fn a_disk_that_the_job_does_not_use_is_not_told() {
    let status = Status { background_bytes: 0, links: Vec::new(), memory: None, lost: None, ..busy() };
    assert_eq!(text(&status), "lull running | active 50%");
}

#[test]
fn what_does_not_fit_has_a_page_of_its_own() {
    let shown = pages(&busy(), 79);
    assert!(shown.len() > 1, "{shown:?}");
    for (index, page) in shown.iter().enumerate() {
        assert!(page.starts_with("lull running | active 50% | "), "{page}");
        assert!(page.ends_with(&format!(" | {}/{}", index + 1, shown.len())), "{page}");
    }
    for part in ["vda B", "resident", "eth0", "wlan0", "40us with us"] {
        assert_eq!(shown.iter().filter(|page| page.contains(part)).count(), 1, "{part} in {shown:?}");
    }
}

#[test]
fn one_page_has_no_number() {
    let status = Status { held: true, quiet_ns: None, lost: None, memory: None, links: Vec::new(), ..busy() };
    let shown = pages(&status, 60);
    assert!(shown.len() == 1 && shown[0].starts_with("lull held | vda B 1.0 MiB"), "{shown:?}");
    assert!(!shown[0].contains("1/1"), "{shown:?}");
}

#[test]
fn whatever_the_job_does_every_part_is_shown_whole() {
    let held = |status| Status { held: true, ..status };
    let all = [
        busy(),
        held(busy()),
        held(Status { held_for_net: true, ..busy() }),
        held(Status { held_for_cpu: true, held_for_test: true, ..busy() }),
        Status { waiting: 3, state: 'F', ..busy() },
        Status { waiting: 3, state: 'X', ..busy() },
    ];
    for status in all {
        let shown = pages(&status, 79);
        for part in parts(&status) {
            assert!(shown.iter().any(|page| page.contains(&part)), "{part} in {shown:?}");
        }
    }
}

#[test]
fn a_policy_that_holds_the_whole_job_says_what_it_does() {
    let status = Status { active: 0.25, regulation: Some("smart: held".into()), ..Status::default() };
    assert_eq!(text(&status), "lull smart: held | active 25%");
}

#[test]
fn a_test_is_told_from_a_hold() {
    let mut status = Status { held: true, held_for_cpu: true, ..Status::default() };
    assert!(text(&status).contains("held: the foreground uses the CPUs"), "{}", text(&status));
    status.held_for_test = true;
    assert!(text(&status).contains("held: testing what the job costs"), "{}", text(&status));
}

#[test]
fn no_page_is_wider_than_the_terminal() {
    for width in 1..200 {
        for count in 0..5 {
            let links = (0..count).map(|index| link(&format!("eth{index}"))).collect();
            let shown = pages(&Status { links, ..busy() }, width);
            assert!(!shown.is_empty());
            assert!(shown.iter().all(|page| page.chars().count() <= width), "{width}: {shown:?}");
        }
    }
}
