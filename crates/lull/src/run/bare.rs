//! The command without lull, at low priority alone.
//!
//! For who would rather have the command run than be told that lull cannot: a batch system's guest has nobody who reads what is said and
//! starts it again. Whatever lull had begun when it failed ends by itself: the helpers' channels close as this process becomes the command.

use std::os::unix::ffi::OsStrExt;

use lull_linux::job::launch::{self, STATUS_NOT_EXECUTABLE, STATUS_NOT_FOUND};
use lull_linux::marks::MarkSet;
use nix::sys::signal::SigSet;

use super::args::RunArgs;
use super::front::{Ending, Inherited, end_like};
use super::marks::{MARKS, marks};
use super::net::options::value_without_equals;
use super::settings::RunSettings;
use super::status;

/// Why the command runs without helpers.
const ALONE: &str = "this user may have no more processes (ulimit -u), and lull needs two: the command runs at low priority alone";

/// Becomes the command, with the signal mask that lull was started with; or ends, when there is no such command.
///
/// # Errors
/// When the command is none.
pub(crate) fn become_command(args: &RunArgs, mask: &SigSet) -> std::io::Result<std::convert::Infallible> {
    let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let command = launch::Command::new(args.command.iter().map(|word| word.as_bytes().to_vec()))?;
    // What the kernel refuses is left out by itself.
    let _ = MARKS.into_iter().collect::<MarkSet>().apply();
    // SAFETY: lull's first process has one thread.
    let error = unsafe { command.execute(mask.as_ref()) };
    end_like(Ending::Exited(cannot_run(&error, &words)))
}

/// Where the user may have no process more, the command takes the place of this one: it runs, at low priority alone. Helpers that were
/// started end when their channels close, which they have by now.
pub(crate) fn run_alone(
    error: anyhow::Error,
    settings: &RunSettings,
    command: &launch::Command,
    words: &[String],
    inherited: &Inherited,
) -> anyhow::Error {
    if error.downcast_ref() != Some(&nix::errno::Errno::EAGAIN) {
        return error;
    }
    if !settings.this.quiet {
        status::say(ALONE);
    }
    while nix::sys::wait::wait().is_ok() {}
    let _ = marks(settings).apply();
    inherited.restore_dispositions();
    // SAFETY: the front has one thread.
    let error = unsafe { command.execute(inherited.mask.as_ref()) };
    end_like(Ending::Exited(cannot_run(&error, words)))
}

/// Tells why; returns the status to exit with.
pub(crate) fn cannot_run(error: &std::io::Error, words: &[String]) -> i32 {
    let missing = error.raw_os_error() == Some(libc::ENOENT);
    let status = if missing { STATUS_NOT_FOUND } else { STATUS_NOT_EXECUTABLE };
    let advice = if missing { "check the name and PATH" } else { "check that it is an executable file" };
    let given: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let meant = value_without_equals(&given, &words[0]).filter(|_| missing);
    let advice = meant.unwrap_or_else(|| advice.to_owned());
    status::say(&format!("cannot run '{}': {error}; {advice}", words[0]));
    status
}
