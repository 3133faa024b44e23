//! What the request gate does to programs that use signals, or want to trap calls themselves. The programs are ignored tests of
//! this very file, run under lull.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and a program prints"
)]

mod common;

use std::fs::File;
use std::io::{ErrorKind, Write};

use common::{lull_run, output};
use lull_bpf::{Job, Restart};

const WRITES: u32 = 2000;
const BYTES: usize = 128 * 1024;
const TIMER_NS: i64 = 10_000_000;
/// How the program's result begins in what the test harness prints.
const RESULT: &str = "interrupted: ";
/// Where such calls cannot be made again. Where nothing else runs it is about one in 5,000; far more on a machine at its limit.
const INTERRUPTED_AT_MOST: u32 = WRITES / 50;

/// The output and the words of lull of a program of this file under `lull run OPTIONS`.
fn run(options: &[&str], program: &str) -> (String, String) {
    let own = std::env::current_exe().unwrap();
    let words = [own.to_str().unwrap(), "--ignored", "--exact", "--nocapture", program];
    let output = output(&mut lull_run(options, &words));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    assert!(output.status.success(), "{} {}", text(output.stdout), text(output.stderr));
    (text(output.stdout), text(output.stderr))
}

extern "C" fn handle(_signal: libc::c_int) {}

/// From now on this thread is sent a signal at each period, whose handler has no SA_RESTART.
fn start_timer() {
    // SAFETY: all-zero records are valid; they live through the calls, which copy them.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGALRM, &raw const action, std::ptr::null_mut()), 0);
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGALRM;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer = std::mem::zeroed();
        assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer), 0);
        let period = libc::timespec { tv_sec: 0, tv_nsec: TIMER_NS };
        let setting = libc::itimerspec { it_interval: period, it_value: period };
        assert_eq!(libc::timer_settime(timer, 0, &raw const setting, std::ptr::null_mut()), 0);
    }
}

#[test]
#[ignore = "run by another test, under lull"]
fn program_that_writes_beside_a_timer() {
    // No disk is behind it, so that no foreground on this machine holds the calls.
    let mut file: File = tempfile::tempfile_in("/dev/shm").unwrap();
    let bytes = vec![1; BYTES];
    start_timer();
    let mut interrupted = 0;
    for write in 0..WRITES {
        if write % 64 == 0 {
            std::io::Seek::rewind(&mut file).unwrap();
        }
        match file.write(&bytes) {
            Ok(written) => assert_eq!(written, BYTES, "a write to a file is never short"),
            Err(error) if error.kind() == ErrorKind::Interrupted => interrupted += 1,
            Err(error) => panic!("{error}"),
        }
    }
    println!("\n{RESULT}{interrupted}");
}

#[test]
fn a_timer_hardly_ever_interrupts_a_gated_write_and_never_an_ungated_one() {
    let interrupted = |options: &[&str]| -> u32 {
        let (said, _) = run(options, "program_that_writes_beside_a_timer");
        let count = said.lines().find_map(|line| line.strip_prefix(RESULT)).unwrap();
        count.parse().unwrap()
    };
    let gated = interrupted(&[]);
    let are_made_again = Restart::load(Job::default()).is_ok();
    assert!(gated <= if are_made_again { 0 } else { INTERRUPTED_AT_MOST }, "{gated}");
    assert_eq!(interrupted(&["--gate", "none", "--longest-hold", "off"]), 0);
}

#[test]
#[ignore = "run by another test, under lull"]
fn program_that_listens_and_wants_io_uring() {
    let filter = [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW }];
    let program = libc::sock_fprog { len: 1, filter: filter.as_ptr().cast_mut() };
    let mut setup = [0_u8; 128];
    // SAFETY: the records live through the calls.
    let (listener, listener_error, ring, ring_error) = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        let (set, flags) = (libc::SECCOMP_SET_MODE_FILTER, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER);
        let listener = libc::syscall(libc::SYS_seccomp, set, flags, &raw const program);
        let listener_error = *libc::__errno_location();
        let ring = libc::syscall(libc::SYS_io_uring_setup, 1, setup.as_mut_ptr());
        (listener, listener_error, ring, *libc::__errno_location())
    };
    let name = |result: i64, error| if result < 0 { error } else { 0 };
    println!("\n{RESULT}{} {}", name(listener, listener_error), name(ring, ring_error));
}

#[test]
fn what_is_in_the_way_of_a_program_is_told_with_the_flag_that_helps() {
    let program = "program_that_listens_and_wants_io_uring";
    let (result, words) = run(&[], program);
    assert!(result.contains(&format!("{RESULT}{} {}", libc::EBUSY, libc::ENOSYS)), "{result}");
    assert_eq!(words.matches("use --gate none").count(), 1, "{words}");
    assert_eq!(words.matches("--io-uring leaves it").count(), 1, "{words}");
    let (result, words) = run(&["--gate", "none", "--io-uring"], program);
    assert!(!result.contains(&format!("{RESULT}{}", libc::EBUSY)), "{result}");
    assert!(!words.contains("--gate none"), "{words}");
}
