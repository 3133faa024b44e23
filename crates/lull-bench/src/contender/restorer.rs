//! Puts back what a contender has changed outside of its processes, also when the harness is killed.
//!
//! Problem: guards put things back when they are dropped, and nothing is dropped after SIGKILL. A disk would
//! keep the wrong scheduler, and a frozen job would stay frozen for ever: it cannot even see that its input
//! has ended.
//!
//! Approach: a shell on a leash. It sleeps until its standard input ends, which is a pipe that only the
//! harness holds, and then does what it was told. At an orderly end it does so too, after the guards:
//! everything that it does may be done twice.
//!
//! Edge case: the signals of a terminal and of a shutdown do not end it before the harness is gone.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ChildStdout;

use crate::Error;
use crate::process::{Options, Proc, shown};

/// How often a group that still has processes is tried again, ten times a second.
const TRIES: u32 = 100;

/// Waits for the end of the harness; its work is done when it was dropped.
#[derive(Debug)]
pub struct Restorer {
    // Its end is the message.
    _process: Proc,
    _stdout: ChildStdout,
}

impl Restorer {
    fn start(script: &str) -> Result<Self, Error> {
        // Before it has said that it is ready, a signal could end it with nothing done.
        let whole = format!("trap '' INT TERM HUP; echo ready; cat > /dev/null; {script}");
        let argv = ["sh", "-c", &whole].map(OsString::from);
        let (mut process, mut stdout) = Proc::spawn(&argv, Options { leash: true, ..Options::default() })?;
        let mut ready = [0; 6];
        match stdout.read_exact(&mut ready) {
            Ok(()) => Ok(Self { _process: process, _stdout: stdout }),
            Err(error) => Err(process.failed(&format!("it did not get ready: {error}"))),
        }
    }

    /// Writes `text` to `file`.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn of_file(file: &Path, text: &str) -> Result<Self, Error> {
        let [text, file] = [OsString::from(text), file.into()].map(|word| shown(&[word]));
        Self::start(&format!("echo {text} > {file}"))
    }

    /// Thaws control groups and removes them as soon as their processes are gone.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn of_groups(groups: &[PathBuf]) -> Result<Self, Error> {
        let groups = groups.iter().map(|group| shown(&[group.into()])).collect::<Vec<_>>().join(" ");
        Self::start(&format!(
            "for g in {groups}; do \
               if [ -e \"$g/cgroup.freeze\" ]; then echo 0 > \"$g/cgroup.freeze\"; fi; \
               if [ -e \"$g/freezer.state\" ]; then echo THAWED > \"$g/freezer.state\"; fi; \
             done; n=0; \
             while [ $n -lt {TRIES} ]; do n=$((n+1)); left=; \
               for g in {groups}; do rmdir \"$g\" 2> /dev/null; if [ -d \"$g\" ]; then left=1; fi; done; \
               if [ -z \"$left\" ]; then exit 0; fi; sleep 0.1; \
             done"
        ))
    }
}

#[cfg(test)]
mod tests;
