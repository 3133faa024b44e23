//! The command without lull, at low priority alone.
//!
//! For who would rather have the command run than be told that lull cannot: a batch system's guest has nobody who reads what is said and
//! starts it again. Whatever lull had begun when it failed ends by itself: the helpers' channels close as this process becomes the command.

use std::os::unix::ffi::OsStrExt;

use lull_linux::job::launch;
use lull_linux::marks::MarkSet;
use nix::sys::signal::SigSet;

use super::front::{Ending, end_like};
use super::{MARKS, cannot_run};
use crate::cli::RunArgs;

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
