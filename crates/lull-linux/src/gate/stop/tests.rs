use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::*;

struct Sleeper(Child);

impl Sleeper {
    fn new() -> Self {
        Self(Command::new("sleep").arg("1000").spawn().unwrap())
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.0.id()).unwrap()
    }

    fn comes_to(&self, wanted: char) {
        let begun = Instant::now();
        while state_of(&Root::real(), self.pid()).unwrap().0 != wanted {
            assert!(begun.elapsed() < Duration::from_secs(60), "{wanted}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn stopper() -> Stopper {
    Stopper::new(Arc::new(Shared::new().unwrap()))
}

#[test]
fn what_the_user_stopped_stays_stopped() {
    let (running, stopped) = (Sleeper::new(), Sleeper::new());
    assert!(send(stopped.pid(), libc::SIGSTOP));
    stopped.comes_to('T');
    running.comes_to('S');
    let pids = || vec![running.pid(), stopped.pid(), 1 << 30];
    let mut stopper = stopper();
    stopper.hold(pids);
    running.comes_to('T');
    assert!(stopper.is_holding());
    stopper.release();
    running.comes_to('S');
    assert!(!stopper.is_holding());
    stopped.comes_to('T');
}

#[test]
fn who_is_continued_meanwhile_is_stopped_again_and_let_go_on_drop() {
    let one = Sleeper::new();
    one.comes_to('S');
    let mut stopper = stopper();
    stopper.hold(|| vec![one.pid()]);
    one.comes_to('T');
    assert!(send(one.pid(), libc::SIGCONT));
    one.comes_to('S');
    stopper.hold(|| vec![one.pid()]);
    one.comes_to('T');
    drop(stopper);
    one.comes_to('S');
}

#[test]
fn a_number_that_was_reused_is_not_continued() {
    let one = Sleeper::new();
    assert!(send(one.pid(), libc::SIGSTOP));
    one.comes_to('T');
    let (_, start) = state_of(&Root::real(), one.pid()).unwrap();
    let mut stopper = stopper();
    assert!(stopper.shared.list_stopped(Stopped { pid: one.pid(), start: start + 1 }));
    stopper.release();
    one.comes_to('T');
}

#[test]
fn an_heir_lets_go_on_what_a_killed_process_had_stopped() {
    let one = Sleeper::new();
    one.comes_to('S');
    let mut killed = stopper();
    killed.hold(|| vec![one.pid()]);
    one.comes_to('T');
    let shared = Arc::clone(&killed.shared);
    std::mem::forget(killed);
    release(&shared);
    one.comes_to('S');
    assert!(shared.stopped().is_empty());
}
