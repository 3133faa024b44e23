//! A network namespace without a name, held by a descriptor.
//!
//! `unshare` and `setns` move the calling thread alone, so both happen in threads of their own, which end
//! there.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use lull_linux::gate::qdisc::{run_tool, tool};
use nix::sched::{CloneFlags, setns, unshare};

use crate::Error;
use crate::error::Context;

/// See the module. Gone when dropped, unless a process still runs in it.
#[derive(Debug)]
pub struct Namespace {
    handle: File,
}

impl Namespace {
    /// A new one, empty but for a loopback device that is down.
    ///
    /// # Errors
    /// Without CAP_SYS_ADMIN, or when the kernel has none to give.
    pub fn new() -> Result<Self, Error> {
        let made = on_a_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET)?;
            File::open("/proc/thread-self/ns/net")
        });
        made.to("make a network namespace").map(|handle| Self { handle })
    }

    /// The one at this path.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Error> {
        File::open(path).at("open", path).map(|handle| Self { handle })
    }

    /// Its number, as in `/proc/PID/ns/net`.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn number(&self) -> Result<u64, Error> {
        self.handle.metadata().map(|found| found.ino()).to("look at a network namespace")
    }

    /// A path to it for as long as this process lives.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.handle.as_raw_fd())
    }

    /// Runs `work` in a thread inside; what it opens stays inside.
    ///
    /// # Errors
    /// When the thread cannot enter.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        let done = on_a_thread(|| {
            setns(&self.handle, CloneFlags::CLONE_NEWNET)?;
            Ok(work())
        });
        done.to("enter a network namespace")
    }

    /// Makes `command` run inside.
    pub fn confine(&self, command: &mut Command) {
        let handle = self.handle.as_raw_fd();
        // SAFETY: between fork and exec only setns is called, which is async-signal-safe. The number stays
        // that of the handle as long as this namespace is not dropped before the command is started; a number
        // that is no namespace any more is refused by the kernel.
        unsafe {
            command.pre_exec(move || {
                let handle = BorrowedFd::borrow_raw(handle);
                setns(handle, CloneFlags::CLONE_NEWNET).map_err(io::Error::from)
            });
        }
    }

    /// Runs a configuring command, given as words with single blanks, inside.
    pub(super) fn configure(&self, words: &str) -> Result<(), Error> {
        let fail = |problem: String| Error::Process { command: words.to_owned(), problem };
        let mut command = tool(words);
        self.confine(&mut command);
        run_tool(command).map(drop).map_err(fail)
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

fn on_a_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that entered it panicked")))
    })
}
