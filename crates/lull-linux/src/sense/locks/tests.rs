use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};

use super::{DevT, Root, Wait, is_awaited, waits};

const TEXT: &str = "\
1: POSIX  ADVISORY  WRITE 400 fe:01:17 0 EOF
2: FLOCK  ADVISORY  WRITE 1234 fe:00:4711 0 EOF
2: -> FLOCK  ADVISORY  WRITE 5678 fe:00:4711 0 EOF
2: -> FLOCK  ADVISORY  READ 5679 fe:00:4711 0 EOF
3: OFDLCK ADVISORY  READ -1 103:2:99 0 EOF
";

#[test]
fn each_waiter_is_told_with_its_holder_and_the_file() {
    let wait = |waiter| Wait { holder: 1234, waiter, dev: DevT::new(0xfe, 0), inode: 4711 };
    assert_eq!(waits(TEXT), [wait(5678), wait(5679)]);
    for odd in
        ["", "7", "2: -> FLOCK", "2: -> FLOCK ADVISORY WRITE x fe:00:1 0 EOF", "2: -> A B C 1 fe 0 EOF"]
    {
        assert_eq!(waits(odd), []);
    }
}

#[test]
fn only_a_lock_of_the_job_s_that_another_waits_for_counts() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("proc/1234")).unwrap();
    std::fs::write(root.path().join("proc/locks"), TEXT).unwrap();
    let awaits = |job: &[i32]| is_awaited(&Root::at(root.path()), || job.to_vec());
    assert!(awaits(&[1234]));
    assert!(awaits(&[1234, 5678]), "one of the waiters is not of the job");
    assert!(!awaits(&[1234, 5678, 5679]) && !awaits(&[400]) && !awaits(&[]));
}

fn sh(script: &str, file: &std::path::Path) -> Child {
    let mut sh = Command::new("sh");
    sh.args(["-c", script, "sh"]).arg(file).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap()
}

/// Until it is so; a machine under load takes its time.
fn eventually(is_so: impl Fn() -> bool) -> bool {
    (0..500).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        is_so()
    })
}

#[test]
fn a_lock_whose_taker_has_ended_is_that_of_whoever_has_the_file_open() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut holder = sh("exec 9>\"$1\"; flock 9; read -r end", file.path());
    let is_locked = || {
        let other = File::open(file.path()).unwrap();
        // SAFETY: an open descriptor; the lock goes with it.
        unsafe { libc::flock(other.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) != 0 }
    };
    assert!(eventually(is_locked));
    let job = [holder.id().cast_signed()];
    assert!(!is_awaited(&Root::real(), || job.to_vec()));
    let mut waiter = sh("flock \"$1\" true", file.path());
    assert!(eventually(|| is_awaited(&Root::real(), || job.to_vec())));
    assert!(!is_awaited(&Root::real(), || vec![1]));
    drop(holder.stdin.take());
    holder.wait().unwrap();
    waiter.wait().unwrap();
    assert!(!is_awaited(&Root::real(), || job.to_vec()));
}
