//! `lull reserve`: who gets how much, as a tree of files.
//!
//! Problem: background work comes last, but two services that both matter need shares that hold. Approach: the tree of reservations of
//! [`lull_core::reserve`], kept by the control groups of [`lull_linux::reserve`], is a file system that any shell can use, as in Eclipse/BSD.
//!
//! ```text
//!   echo, cat, ls ──▶ FUSE ──▶ files ──▶ state ──▶ tree (pure)
//!                                          ├────▶ enforcers ──▶ control groups
//!                                          └────▶ domains ◀── forks
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`mount`] | the commands `mount` and `unmount`, and the serving process's life |
//! | [`files`] | what is a file, and its number |
//! | [`state`] | what an open, a read, a write does |
//! | [`domains`] | reservation domains of processes, and what their children get |
//! | [`serve`] | the FUSE side |
//! | [`status`] | the tree for programs: the file `status` |
//! | [`find`] | mounts of this machine |
//! | [`net`] | interfaces that are shared: the option, and telling packets by process |
//! | [`exec`], [`show`], [`tag`], [`top`] | the other commands |
//!
//! Edge cases: if the serving process is killed, processes go on with the weights that they have, files give ENOTCONN, and the next mount
//! dissolves the groups ([`lull_linux::reserve::sweep()`]).

use clap::{Args, Subcommand};

mod domains;
mod exec;
mod fault;
mod files;
mod find;
mod mount;
mod net;
mod serve;
mod show;
mod state;
mod status;
mod tag;
mod top;

pub(crate) use net::tell as tell_interfaces;

/// Arguments of `lull reserve`.
#[derive(Debug, Args)]
pub(crate) struct ReserveArgs {
    #[command(subcommand)]
    what: Reserve,
}

#[derive(Debug, Subcommand)]
enum Reserve {
    /// Mount the tree of reservations; `ls`, `cat`, `echo >` and `mkdir` do the rest (root).
    Mount(mount::MountArgs),
    /// Unmount it: all processes go back to where they were, and nothing of it is left (root).
    Unmount(mount::UnmountArgs),
    /// Run a command in a reservation, with everything that it starts.
    ///
    /// Exit status: that of the command; 125 if lull itself failed, 126 if the command cannot be executed, 127 if it does not exist.
    Exec(exec::ExecArgs),
    /// Show the reservations in which a process is, and those that its children will get.
    Show(show::ShowArgs),
    /// Switch the queue of one descriptor of a process: its reads and writes then wait there, whatever the process's own queue.
    Tag(tag::TagArgs),
    /// Show who gets how much now.
    Top(top::TopArgs),
}

impl ReserveArgs {
    /// Whether this is `exec`, which fails as `env` does.
    pub(crate) const fn is_exec(&self) -> bool {
        matches!(self.what, Reserve::Exec(_))
    }

    /// Whether this is `show`, which only tells.
    pub(crate) const fn is_show(&self) -> bool {
        matches!(self.what, Reserve::Show(_))
    }
}

/// Does it.
///
/// # Errors
/// In words, for whoever asked.
pub(crate) fn run(args: ReserveArgs) -> anyhow::Result<()> {
    match args.what {
        Reserve::Mount(args) => mount::mount(&args),
        Reserve::Unmount(args) => mount::unmount(&args),
        Reserve::Exec(args) => match exec::exec(&args)? {},
        Reserve::Show(args) => show::run(&args),
        Reserve::Tag(args) => tag::run(&args),
        Reserve::Top(args) => top::run(&args),
    }
}
