use std::os::fd::AsFd;

use super::*;
use crate::slowdisk::LoopDevice;

#[test]
fn the_bracketed_name_is_the_current_one() {
    assert_eq!(parse("none [mq-deadline] bfq\n"), (Some("mq-deadline"), vec!["none", "mq-deadline", "bfq"]));
    assert_eq!(parse("none\n"), (None, vec!["none"]));
}

#[test]
fn a_missing_scheduler_is_an_obstacle_with_a_next_step() {
    let sys = tempfile::tempdir().unwrap();
    fs::create_dir_all(sys.path().join("sda/queue")).unwrap();
    fs::write(sys.path().join("sda/queue/scheduler"), "[none] mq-deadline\n").unwrap();
    assert!(obstacle(sys.path(), "sda", "bfq").unwrap().contains("modprobe bfq"));
    assert_eq!(obstacle(sys.path(), "sda", "none"), None);
    assert!(obstacle(sys.path(), "sdb", "bfq").unwrap().contains("sdb"));
}

#[test]
fn the_former_scheduler_returns_even_after_a_panic() {
    let backing = tempfile::NamedTempFile::new().unwrap();
    backing.as_file().set_len(1 << 20).unwrap();
    let device = match LoopDevice::attach(backing.as_file().as_fd()) {
        Ok(device) => device,
        Err(error) => {
            eprintln!("SKIPPED: no loop device to try on: {error}");
            return;
        }
    };
    let (sys, disk) = (Path::new(SYS_BLOCK), device.name());
    let Some(before) = current(sys, &disk) else {
        eprintln!("SKIPPED: {disk} names no scheduler");
        return;
    };
    let text = fs::read_to_string(file(sys, &disk)).unwrap();
    let Some(other) = parse(&text).1.into_iter().find(|name| *name != before) else {
        eprintln!("SKIPPED: {disk} has only one scheduler");
        return;
    };
    let guard = SchedulerGuard::select(sys, &disk, other).unwrap();
    assert_eq!((guard.former(), current(sys, &disk).as_deref()), (before.as_str(), Some(other)));
    drop(guard);
    assert_eq!(current(sys, &disk).as_deref(), Some(before.as_str()));

    let panicked = std::panic::catch_unwind(|| {
        let _guard = SchedulerGuard::select(sys, &disk, other).unwrap();
        panic!("a run failed");
    });
    assert!(panicked.is_err());
    assert_eq!(current(sys, &disk), Some(before));
}
