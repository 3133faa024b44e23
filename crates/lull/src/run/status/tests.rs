//! What the line says.

use super::super::messages::LinkStatus;
use super::{Status, text};

#[test]
fn the_line_says_what_is_waited_for() {
    let mut status = Status { state: 'F', disk: "vda".into(), active: 0.5, waiting: 2, ..Status::default() };
    assert!(text(&status).contains("waiting: the foreground uses the disk"));
    status.state = 'P';
    assert!(text(&status).contains("preemption interval"));
    status.waiting = 0;
    status.state = 'B';
    assert!(text(&status).contains("running") && text(&status).contains("50%"));
    status.quiet_ns = Some(35_000);
    status.loaded_ns = Some(40_000);
    status.links = vec![LinkStatus {
        interface: "eth0".into(),
        state: 'P',
        interval: "25ms".into(),
        background_bytes: 2048,
    }];
    assert!(text(&status).contains("| eth0 P 2.0 KiB, interval 25ms"));
    let other =
        LinkStatus { interface: "wlan0".into(), state: 'B', interval: "1ms".into(), background_bytes: 0 };
    status.links.push(other);
    let shown = text(&status);
    assert!(shown.contains("| eth0 P ") && shown.contains("| wlan0 B "), "{shown}");
    status.memory = Some("resident 1.0 MiB, dirty 2.0 MiB".into());
    assert!(text(&status).contains("| resident 1.0 MiB, dirty 2.0 MiB |"));
    assert!(text(&status).ends_with("foreground 35us without, 40us with us"));
}

#[test]
fn a_policy_that_holds_the_whole_job_says_what_it_does() {
    let status = Status { active: 0.25, regulation: Some("smart: held".into()), ..Status::default() };
    assert_eq!(text(&status), "lull smart: held | active 25%");
}

#[test]
fn a_test_is_told_from_a_hold() {
    let mut status = Status { frozen: true, frozen_for_cpu: true, ..Status::default() };
    assert!(text(&status).contains("held: the foreground uses the CPUs"), "{}", text(&status));
    status.frozen_for_test = true;
    assert!(text(&status).contains("held: testing what the job costs"), "{}", text(&status));
}
