use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::{IOPRIO_WHO_PROCESS, IoClass};
use crate::root::Root;

fn class_on(schedulers: &[&str]) -> IoClass {
    let dir = TempDir::new().unwrap();
    let names: Vec<String> = (0..schedulers.len()).map(|at| format!("sd{at}")).collect();
    for (name, schedulers) in names.iter().zip(schedulers) {
        let queue = dir.path().join(format!("sys/block/{name}/queue"));
        fs::create_dir_all(&queue).unwrap();
        fs::write(queue.join("scheduler"), schedulers).unwrap();
    }
    IoClass::behind_a_gate(&Root::at(dir.path()), names.iter().map(String::as_str))
}

#[test]
fn only_mq_deadline_has_the_job_served_by_turns() {
    assert_eq!(class_on(&[]), IoClass::Idle);
    assert_eq!(class_on(&["[none] mq-deadline bfq"]), IoClass::Idle);
    assert_eq!(class_on(&["none [mq-deadline] bfq"]), IoClass::Lowest);
    assert_eq!(class_on(&["[none] mq-deadline", "[mq-deadline] none"]), IoClass::Lowest);
    assert_eq!(class_on(&["[mq-deadline] bfq", "mq-deadline [bfq]"]), IoClass::Idle);
}

fn class_of(tid: i32) -> i64 {
    // SAFETY: integers alone.
    unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, tid) }
}

#[test]
fn who_has_chosen_another_class_keeps_it() {
    // As lull, as `ionice -c3`, and as `ionice -c2 -n3` set them.
    let classes = [3 << 13, 3 << 13 | 7, 2 << 13 | 3];
    let mut children = classes.map(|_| Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap());
    let pids = children.each_ref().map(|child| i32::try_from(child.id()).unwrap());
    for (pid, class) in pids.iter().zip(classes) {
        // SAFETY: integers alone.
        let set = unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, *pid, class) };
        assert_eq!(set, 0);
    }
    IoClass::Idle.change(|| pids.to_vec(), IoClass::Lowest);
    assert_eq!(pids.map(class_of), [2 << 13 | 7, 3 << 13 | 7, 2 << 13 | 3]);
    IoClass::Lowest.change(|| pids.to_vec(), IoClass::Idle);
    assert_eq!(pids.map(class_of), classes.map(i64::from));
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
