//! A terminal with a program on it, as a person would use it.

use std::io::{Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use nix::poll::{PollFd, PollFlags, poll};

use super::wait_until;

pub(crate) const CTRL_C: &str = "\x03";
pub(crate) const CTRL_Z: &str = "\x1a";
/// How often to look whether the terminal goes away.
const LOOK_MS: u8 = 20;

/// The master side of a terminal of 24 rows, whose session a child leads.
pub(crate) struct Terminal {
    master: Option<std::fs::File>,
    listener: Option<JoinHandle<()>>,
    seen: Arc<Mutex<String>>,
    ends: Arc<AtomicBool>,
    pub(crate) child: Child,
}

impl Terminal {
    /// Starts `command` as the leader of the terminal's session.
    pub(crate) fn start(mut command: Command) -> Self {
        let size = libc::winsize { ws_row: 24, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        let pair = nix::pty::openpty(Some(&size), None).unwrap();
        // Whoever inherits the master keeps the terminal from hanging up.
        for end in [&pair.master, &pair.slave] {
            // SAFETY: a flag of an open descriptor.
            unsafe { libc::fcntl(end.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
        }
        let copy = |end: &OwnedFd| end.try_clone().unwrap();
        command.stdin(copy(&pair.slave)).stdout(copy(&pair.slave)).stderr(copy(&pair.slave));
        // SAFETY: system calls only.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        let master = std::fs::File::from(pair.master);
        let seen = Arc::new(Mutex::new(String::new()));
        let ends = Arc::new(AtomicBool::new(false));
        let listener = listen(master.try_clone().unwrap(), Arc::clone(&seen), Arc::clone(&ends));
        Self { master: Some(master), listener: Some(listener), seen, ends, child }
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.master.as_ref().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// The terminal goes away, as when its window is closed.
    pub(crate) fn hang_up(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        self.master = None;
    }

    /// Waits until `text` has appeared `times` times.
    pub(crate) fn wait_for(&self, text: &str, times: usize) {
        let mut last = String::new();
        let is_there = || {
            last.clone_from(&self.seen.lock().unwrap());
            last.matches(text).count() >= times
        };
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| wait_until("text", is_there)));
        assert!(outcome.is_ok(), "no {text:?} ({times} times) on the terminal, but:\n{last}");
    }

    /// Says a command to a shell and returns what it leaves in `$?`.
    pub(crate) fn status_of_last(&mut self) -> i32 {
        let seen = self.seen.lock().unwrap().len();
        // What is typed is echoed; the quotes tell the echo from the answer.
        self.type_in("echo 'sta''tus='$?.\n");
        let mut status = None;
        wait_until("the shell's answer", || {
            let text = self.seen.lock().unwrap()[seen..].to_owned();
            status = text
                .split("status=")
                .nth(1)
                .and_then(|rest| rest.split_once('.'))
                .and_then(|(number, _)| number.parse().ok());
            status.is_some()
        });
        status.unwrap()
    }
}

/// A test that failed leaves nothing running.
impl Drop for Terminal {
    fn drop(&mut self) {
        self.hang_up();
        super::send(self.child.id(), libc::SIGKILL);
        let _ = self.child.wait();
    }
}

/// Collects what the terminal shows, until it `ends` or its other side does.
fn listen(mut master: std::fs::File, seen: Arc<Mutex<String>>, ends: Arc<AtomicBool>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while !ends.load(Ordering::Relaxed) {
            let mut ready = [PollFd::new(master.as_fd(), PollFlags::POLLIN)];
            if poll(&mut ready, LOOK_MS).unwrap() == 0 {
                continue;
            }
            // The other side's end reads as an error.
            let Ok(length @ 1..) = master.read(&mut bytes) else { return };
            seen.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    })
}
