//! A command whose reads and writes wait for their turn at a disk.
//!
//! ```text
//!   this process ── forks ──▶ a child, which forks the keeper and ends
//!        │ installs the filter, hands the listener over, waits for "go"
//!        ▼ the command            keeper: gives the listener to the mount ([`lull_linux::reserve::disk::attach`])
//! ```
//! The keeper is nobody's child, so the command meets no process that it does not know. If the mount does not take the listener the
//! keeper says so and the command is not started.

use std::convert::Infallible;
use std::os::fd::AsRawFd;

use anyhow::{Context, bail};
use lull_linux::job::launch::{Command, Launch, Report, next_report};
use lull_linux::job::passing::Channel;
use lull_linux::reserve::disk::attach::Keeper;
use lull_linux::seccomp::Scope;
use lull_linux::seccomp::filter::{self, Wants};
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, getpid};

use super::super::find::Mounted;
use crate::run::helper;

/// The keeper's name, as `ps` shows it.
const KEEPER: &std::ffi::CStr = c"lull-keeper";

/// Becomes the command.
pub(super) fn become_gated(command: &Command, mounted: &Mounted) -> anyhow::Result<Infallible> {
    let program = filter::program(Wants { scope: Scope::All, ..Wants::default() });
    let mask =
        SigSet::empty().thread_swap_mask(SigmaskHow::SIG_BLOCK).context("cannot read the signal mask")?;
    let (ours, theirs) = Channel::pair().context("cannot make a socket pair")?;
    let (mount, root) = (mounted.pid, getpid());
    // SAFETY: this process has started no thread.
    match unsafe { fork() }.context("cannot fork")? {
        ForkResult::Parent { child } => {
            drop(theirs);
            waitpid(child, None).context("cannot wait for a child")?;
        }
        ForkResult::Child => {
            drop(ours);
            // SAFETY: as above, in the child.
            let is_keeper = matches!(unsafe { fork() }, Ok(ForkResult::Child));
            if is_keeper {
                keep(&theirs, mount, root);
            }
            // SAFETY: skips handlers that belong to the parent.
            unsafe { libc::_exit(0) };
        }
    }
    let launch = Launch {
        command,
        program: &program,
        traps: true,
        set_marks: &|| {},
        mask: *mask.as_ref(),
        notify: None,
    };
    // SAFETY: this process has started no thread, and nothing of it is needed any more.
    unsafe { launch.run(&ours) }
}

/// The keeper's life.
fn keep(channel: &Channel, mount: u32, root: Pid) {
    let attached = attach(channel, mount, root);
    let keeper = match attached {
        Ok(keeper) => keeper,
        // Without a "go" the command's process ends with the status of a failure of ours.
        Err(error) => {
            eprintln!("lull: {error:#}");
            return;
        }
    };
    let _ = channel.send(b"g", None);
    // Closed by the exec, or by the end of the process.
    if let Ok(Report::ExecFailed(error)) = next_report(channel) {
        eprintln!("lull: cannot execute the command: {error}");
    }
    let [mount, listener] = keeper.descriptors();
    helper::become_helper(KEEPER, &[mount, listener]);
    keeper.keep();
}

fn attach(channel: &Channel, mount: u32, root: Pid) -> anyhow::Result<Keeper> {
    match next_report(channel).context("cannot hear of the filter")? {
        Report::Listener(fd) => {
            debug_assert!(fd.as_raw_fd() > 2);
            Keeper::attach(fd, mount, root.as_raw())
                .context("the mount does not take the command's reads and writes")
        }
        Report::NoListener(error) => {
            let why = error.map_or_else(String::new, |error| format!(" ({error})"));
            bail!(
                "reads and writes cannot be gated here{why}: a command that is under a filter with a listener already, \
                 as in `lull run`, can have no second one"
            )
        }
        Report::ExecFailed(error) => Err(error).context("cannot execute the command"),
        Report::Closed => bail!("the command's process ended before it began"),
    }
}
