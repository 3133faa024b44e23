//! What the line says.

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
    status.memory = Some("resident 1.0 MiB, dirty 2.0 MiB".into());
    assert!(
        text(&status).ends_with("resident 1.0 MiB, dirty 2.0 MiB | foreground 35us without, 40us with us")
    );
}
